//! Templates: `<substitution>`, `<template-param>`, `<template-args>`.

use std::rc::Rc;

use super::{Argument, Parser, Text};

impl Parser<'_> {
    /// `S_`, `S0_`, `Sa` and so on; `St` is a scope and not one of these.
    pub(super) fn substitution(&mut self) -> Option<Rc<Text>> {
        self.expect("S")?;
        let abbreviation = match self.peek()? {
            b'a' => "std::allocator",
            b'b' => "std::basic_string",
            b's' => "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
            b'i' => "std::basic_istream<char, std::char_traits<char> >",
            b'o' => "std::basic_ostream<char, std::char_traits<char> >",
            b'd' => "std::basic_iostream<char, std::char_traits<char> >",
            _ => {
                let index = self.sequence(36)?;
                return self.recall(index);
            }
        };
        self.position += 1;
        Some(Rc::new(Text::plain(abbreviation)))
    }

    /// `T_`, `T0_` and so on, and the index.
    pub(super) fn template_parameter(&mut self) -> Option<(Rc<Text>, usize)> {
        self.expect("T")?;
        let index = self.sequence(10)?;
        if self.in_lambda {
            let text = Rc::new(Text::plain(format!("auto:{}", index + 1)));
            return Some((text, index));
        }
        self.parameter_uses += 1;
        Some((self.argument(index)?, index))
    }

    /// The template argument that a parameter stands for.
    pub(super) fn argument(&mut self, index: usize) -> Option<Rc<Text>> {
        match self.arguments.get(index)? {
            Argument::One(text) => Some(Rc::clone(text)),
            Argument::Pack(elements) => {
                // Outside of an expansion, a pack has no single text.
                let element = self.pack_element?;
                self.pack_length = Some(elements.len());
                Some(match elements.get(element) {
                    Some(text) => Rc::clone(text),
                    None => Rc::default(),
                })
            }
        }
    }

    /// A name with the arguments that follow it. Those of an encoding are what `T_` means.
    pub(super) fn with_arguments(&mut self, name: &Text, is_encoding: bool) -> Option<Rc<Text>> {
        let arguments = self.template_arguments(is_encoding)?;
        let mut text = name.whole();
        if text.ends_with('<') {
            text.push(' ');
        }
        self.push(&mut text, &arguments)?;
        self.charge(text.len())?;
        Some(Rc::new(Text::plain(text)))
    }

    /// `I ARGUMENT... E`
    fn template_arguments(&mut self, is_encoding: bool) -> Option<String> {
        self.expect("I")?;
        if is_encoding {
            self.arguments.clear();
        }
        let mut text = String::from("<");
        while !self.take("E") {
            let argument = self.template_argument()?;
            let elements = match &argument {
                Argument::One(text) => std::slice::from_ref(text),
                Argument::Pack(elements) => elements.as_slice(),
            };
            for element in elements {
                if text.len() > 1 {
                    self.push(&mut text, ", ")?;
                }
                self.push(&mut text, &element.whole())?;
            }
            if is_encoding {
                self.arguments.push(argument);
            }
        }
        // As `c++filt` and every compiler before C++11.
        let end = if text.ends_with('>') { " >" } else { ">" };
        self.push(&mut text, end)?;
        Some(text)
    }

    fn template_argument(&mut self) -> Option<Argument> {
        self.charge(0)?;
        match self.peek()? {
            b'L' => Some(Argument::One(Rc::new(Text::plain(self.literal()?)))),
            b'J' => self.deeper(|parser| {
                parser.expect("J")?;
                let mut elements = Vec::new();
                while !parser.take("E") {
                    match parser.template_argument()? {
                        Argument::One(text) => elements.push(text),
                        Argument::Pack(more) => elements.extend(more),
                    }
                }
                Some(Argument::Pack(elements))
            }),
            b'X' => None,
            b'D' if self.peek_at(1) == Some(b'p') => {
                let elements = self.pack_expansion()?;
                Some(Argument::Pack(elements))
            }
            _ => self.type_text().map(Argument::One),
        }
    }

    /// `L TYPE VALUE E` or `L_Z ENCODING E`
    fn literal(&mut self) -> Option<String> {
        self.expect("L")?;
        if self.take("_Z") {
            let text = self.encoding(true)?;
            self.expect("E")?;
            return Some(text);
        }
        let kind = self.peek()?;
        let type_text = self.type_text()?.whole();
        let sign = if self.take("n") { "-" } else { "" };
        let start = self.position;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
        {
            self.position += 1;
        }
        let value = str::from_utf8(&self.input[start..self.position]).ok()?;
        self.expect("E")?;
        self.charge(value.len() + type_text.len())?;
        let suffix = match kind {
            b'i' => "",
            b'j' => "u",
            b'l' => "l",
            b'm' => "ul",
            b'x' => "ll",
            b'y' => "ull",
            b'b' => {
                return match value {
                    "0" => Some("false".to_owned()),
                    "1" => Some("true".to_owned()),
                    _ => None,
                };
            }
            b'D' if type_text == "decltype(nullptr)" => return Some("nullptr".to_owned()),
            _ if value.is_empty() => return None,
            _ => return Some(format!("({type_text}){sign}{value}")),
        };
        (!value.is_empty()).then(|| format!("{sign}{value}{suffix}"))
    }
}
