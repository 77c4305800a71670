//! Types: `<type>`, `<function-type>`, `<bare-function-type>`.

use std::rc::Rc;

use super::{Form, Parser, Text};

impl Parser<'_> {
    /// A type.
    pub(super) fn type_text(&mut self) -> Option<Rc<Text>> {
        self.deeper(Self::type_here)
    }

    fn type_here(&mut self) -> Option<Rc<Text>> {
        self.charge(0)?;
        let uses = self.parameter_uses;
        let first = self.peek()?;
        if let Some(name) = builtin(first) {
            self.position += 1;
            return Some(Rc::new(Text::plain(name)));
        }
        let text = match (first, self.peek_at(1)) {
            (b'r' | b'V' | b'K', _) => self.qualified_type()?,
            (b'P', _) => self.declared("*", Form::Plain)?,
            (b'R', _) => self.declared("&", Form::LvalueReference)?,
            (b'O', _) => self.declared("&&", Form::RvalueReference)?,
            (b'C', _) => self.suffixed(" _Complex")?,
            (b'G', _) => self.suffixed(" _Imaginary")?,
            (b'F', _) => self.function_type("")?,
            (b'A', _) => self.array_type()?,
            (b'M', _) => self.member_pointer()?,
            (b'U', Some(b'0'..=b'9')) => {
                self.position += 1;
                let qualifier = self.source_name()?;
                let inner = self.type_text()?;
                let mut text = inner.as_ref().clone();
                self.push(&mut text.left, &format!(" {qualifier}"))?;
                Rc::new(text)
            }
            (b'u', Some(b'0'..=b'9')) => {
                self.position += 1;
                Rc::new(Text::plain(self.source_name()?))
            }
            (b'D', Some(second)) => match self.d_type(second)? {
                // Types with a fixed name are not remembered.
                (text, true) => return Some(text),
                (text, false) => text,
            },
            (b'T', Some(b's' | b'u' | b'e')) => {
                self.position += 2;
                self.name(None)?
            }
            (b'T', _) => {
                let (parameter, index) = self.template_parameter()?;
                self.remember_as(&parameter, uses, Some(index));
                if self.peek() != Some(b'I') {
                    return Some(parameter);
                }
                self.with_arguments(&parameter, false)?
            }
            (b'S', Some(second)) if second != b't' => {
                let text = self.substitution()?;
                if self.peek() != Some(b'I') {
                    return Some(text);
                }
                self.with_arguments(&text, false)?
            }
            _ => self.name(None)?,
        };
        self.charge(text.len())?;
        self.remember(&text, uses);
        Some(text)
    }

    /// `(int, char)`, `()` for a single `void`.
    pub(super) fn parameters(&mut self) -> Option<String> {
        let mut text = String::from("(");
        if self.peek() == Some(b'v')
            && matches!(
                self.peek_at(1),
                None | Some(b'E' | b'.' | b'@' | b'R' | b'O')
            )
        {
            self.position += 1;
            text.push(')');
            return Some(text);
        }
        let mut any = false;
        loop {
            match self.peek() {
                None | Some(b'E' | b'.' | b'@') => break,
                // `R` or `O` before the end of a function type is its own qualifier.
                Some(b'R' | b'O') if self.peek_at(1) == Some(b'E') => break,
                _ => {}
            }
            any = true;
            let is_pack = self.peek() == Some(b'D') && self.peek_at(1) == Some(b'p');
            let parameters = if is_pack {
                self.pack_expansion()?
            } else {
                vec![self.type_text()?]
            };
            for parameter in parameters {
                if text.len() > 1 {
                    self.push(&mut text, ", ")?;
                }
                self.push(&mut text, &parameter.whole())?;
            }
        }
        self.push(&mut text, ")")?;
        any.then_some(text)
    }

    /// `Dp TYPE`: the type once for each element of the pack in it. The type is read again for
    /// each, which is the only way back in this parser; the budget of work bounds it.
    pub(super) fn pack_expansion(&mut self) -> Option<Vec<Rc<Text>>> {
        self.expect("Dp")?;
        if self.pack_element.is_some() {
            return None;
        }
        let (start, known) = (self.position, self.substitutions.len());
        let mut elements = Vec::new();
        let mut length = 1;
        let mut index = 0;
        loop {
            self.position = start;
            self.substitutions.truncate(known);
            self.pack_element = Some(index);
            self.pack_length = None;
            let element = self.type_text();
            self.pack_element = None;
            let element = element?;
            // A pattern without a pack in it is that of a lambda's `auto...`.
            if let Some(found) = self.pack_length.take() {
                length = found;
            }
            if index < length {
                elements.push(element);
            }
            index += 1;
            if index >= length {
                break;
            }
        }
        // The expansion itself may be referred to, but has no single text.
        self.substitutions.push(super::Substitution::OfPack);
        Some(elements)
    }

    /// `r`, `V`, `K`, printed behind what they qualify.
    pub(super) fn qualifiers(&mut self) -> String {
        let restrict = self.take("r");
        let volatile = self.take("V");
        let constant = self.take("K");
        let mut text = String::new();
        for (is_there, word) in [
            (constant, " const"),
            (volatile, " volatile"),
            (restrict, " restrict"),
        ] {
            if is_there {
                text.push_str(word);
            }
        }
        text
    }

    fn qualified_type(&mut self) -> Option<Rc<Text>> {
        let qualifiers = self.qualifiers();
        // The qualifiers of a function type are part of it.
        if self.peek() == Some(b'F') {
            return self.function_type(&qualifiers);
        }
        let mut text = self.type_text()?.as_ref().clone();
        match text.form {
            // References have no qualifiers.
            Form::LvalueReference | Form::RvalueReference => {}
            Form::Function => self.push(&mut text.right, &qualifiers)?,
            // A template argument may be `const` already.
            _ if text.left.ends_with(&*qualifiers) => {}
            Form::Plain | Form::Array => self.push(&mut text.left, &qualifiers)?,
        }
        Some(Rc::new(text))
    }

    /// A pointer or reference to the type behind the next byte.
    fn declared(&mut self, sign: &str, form: Form) -> Option<Rc<Text>> {
        self.position += 1;
        let inner = self.type_text()?;
        let mut text = inner.as_ref().clone();
        match (inner.form, form) {
            // References to references collapse.
            (Form::LvalueReference, Form::LvalueReference | Form::RvalueReference)
            | (Form::RvalueReference, Form::RvalueReference) => return Some(inner),
            (Form::RvalueReference, Form::LvalueReference) => {
                text.left.pop();
            }
            _ => {
                self.open(&mut text)?;
                self.push(&mut text.left, sign)?;
            }
        }
        text.form = form;
        Some(Rc::new(text))
    }

    /// Opens a parenthesis for the declarator of a function or an array.
    fn open(&mut self, text: &mut Text) -> Option<()> {
        let opening = match text.form {
            Form::Function => "(",
            Form::Array => " (",
            _ => return Some(()),
        };
        self.push(&mut text.left, opening)?;
        text.right.insert(0, ')');
        self.charge(text.right.len())
    }

    fn suffixed(&mut self, suffix: &str) -> Option<Rc<Text>> {
        self.position += 1;
        let mut text = self.type_text()?.as_ref().clone();
        self.push(&mut text.left, suffix)?;
        Some(Rc::new(text))
    }

    /// `[Do] F [Y] RETURNED PARAMETERS [R|O] E`
    fn function_type(&mut self, qualifiers: &str) -> Option<Rc<Text>> {
        let no_except = self.take("Do");
        self.expect("F")?;
        self.take("Y");
        let returned = self.type_text()?;
        let mut right = self.parameters()?;
        self.push(&mut right, qualifiers)?;
        if self.take("R") {
            self.push(&mut right, " &")?;
        } else if self.take("O") {
            self.push(&mut right, " &&")?;
        }
        self.expect("E")?;
        if no_except {
            self.push(&mut right, " noexcept")?;
        }
        self.push(&mut right, &returned.right)?;
        let separator = if returned.right.is_empty() { " " } else { "" };
        Some(Rc::new(Text {
            left: format!("{}{separator}", returned.left),
            right,
            form: Form::Function,
        }))
    }

    /// `A [NUMBER] _ TYPE`
    fn array_type(&mut self) -> Option<Rc<Text>> {
        self.expect("A")?;
        let length = self.number();
        self.expect("_")?;
        let element = self.type_text()?;
        let length = length.map(|length| length.to_string()).unwrap_or_default();
        let separator = if element.form == Form::Array { "" } else { " " };
        let right = match element.form {
            // The outer dimension comes first.
            Form::Array => format!(" [{length}]{}", element.right.trim_start()),
            _ => format!("{separator}[{length}]{}", element.right),
        };
        self.charge(right.len())?;
        Some(Rc::new(Text {
            left: element.left.clone(),
            right,
            form: Form::Array,
        }))
    }

    /// `M CLASS TYPE`
    fn member_pointer(&mut self) -> Option<Rc<Text>> {
        self.expect("M")?;
        let class = self.type_text()?.whole();
        let mut text = self.type_text()?.as_ref().clone();
        match text.form {
            Form::Function | Form::Array => self.open(&mut text)?,
            _ => self.push(&mut text.left, " ")?,
        }
        self.push(&mut text.left, &class)?;
        self.push(&mut text.left, "::*")?;
        text.form = Form::Plain;
        Some(Rc::new(text))
    }

    /// Types that begin with `D`, and whether they have a fixed name.
    fn d_type(&mut self, second: u8) -> Option<(Rc<Text>, bool)> {
        let name = match second {
            b'n' => "decltype(nullptr)",
            b'i' => "char32_t",
            b's' => "char16_t",
            b'u' => "char8_t",
            b'a' => "auto",
            b'c' => "decltype(auto)",
            b'f' => "decimal32",
            b'd' => "decimal64",
            b'e' => "decimal128",
            b'h' => "half",
            b'o' => return Some((self.function_type("")?, false)),
            b'F' => {
                self.position += 2;
                let bits = self.number()?;
                let suffix = if self.take("x") { "x" } else { "" };
                if suffix.is_empty() {
                    self.expect("_")?;
                }
                return Some((Rc::new(Text::plain(format!("_Float{bits}{suffix}"))), true));
            }
            b'v' => {
                self.position += 2;
                let length = self.number()?;
                self.expect("_")?;
                let mut text = self.type_text()?.as_ref().clone();
                self.push(&mut text.left, &format!(" __vector({length})"))?;
                return Some((Rc::new(text), false));
            }
            // Expressions (`DT`, `Dt`) and packs where none may stand.
            _ => return None,
        };
        self.position += 2;
        Some((Rc::new(Text::plain(name)), true))
    }
}

fn builtin(code: u8) -> Option<&'static str> {
    Some(match code {
        b'v' => "void",
        b'w' => "wchar_t",
        b'b' => "bool",
        b'c' => "char",
        b'a' => "signed char",
        b'h' => "unsigned char",
        b's' => "short",
        b't' => "unsigned short",
        b'i' => "int",
        b'j' => "unsigned int",
        b'l' => "long",
        b'm' => "unsigned long",
        b'x' => "long long",
        b'y' => "unsigned long long",
        b'n' => "__int128",
        b'o' => "unsigned __int128",
        b'f' => "float",
        b'd' => "double",
        b'e' => "long double",
        b'g' => "__float128",
        b'z' => "...",
        _ => return None,
    })
}
