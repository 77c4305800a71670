//! Encodings and names: `<encoding>`, `<special-name>`, `<name>`, `<nested-name>`, `<local-name>`,
//! `<unqualified-name>`.

use std::{mem, rc::Rc};

use super::{Parser, Text, operator::operator};

/// What the signature behind a name depends on.
#[derive(Debug, Default)]
pub(super) struct NameState {
    /// The name ends in template arguments: the signature begins with the return type.
    has_arguments: bool,
    /// A constructor, destructor or conversion: no return type after all.
    is_unreturning: bool,
    /// ` const`, ` &` and so on of a member function.
    qualifiers: String,
}

impl Parser<'_> {
    /// A function with its parameters, or a variable, or something that the compiler made.
    /// As the scope of a local name, a function is written without its return type.
    pub(super) fn encoding(&mut self, with_return_type: bool) -> Option<String> {
        self.deeper(|parser| {
            let outer = (mem::take(&mut parser.arguments), parser.scope);
            parser.scopes += 1;
            parser.scope = parser.scopes;
            let text = parser.encoding_here(with_return_type);
            (parser.arguments, parser.scope) = outer;
            text
        })
    }

    fn encoding_here(&mut self, with_return_type: bool) -> Option<String> {
        if matches!(self.peek(), Some(b'T' | b'G')) {
            return self.special_name();
        }
        let mut state = NameState::default();
        let name = self.name(Some(&mut state))?;
        let mut text = name.whole();
        if self.at_end_of_encoding() {
            return Some(text);
        }
        let returned = if state.has_arguments && !state.is_unreturning {
            Some(self.type_text()?).filter(|_| with_return_type)
        } else {
            None
        };
        let parameters = self.parameters()?;
        if let Some(returned) = &returned {
            let separator = if returned.right.is_empty() { " " } else { "" };
            text = format!("{}{separator}{text}", returned.left);
        }
        self.push(&mut text, &parameters)?;
        self.push(&mut text, &state.qualifiers)?;
        if let Some(returned) = &returned {
            self.push(&mut text, &returned.right)?;
        }
        Some(text)
    }

    fn at_end_of_encoding(&self) -> bool {
        matches!(self.peek(), None | Some(b'E' | b'.' | b'@'))
    }

    /// Tables, thunks, guards.
    fn special_name(&mut self) -> Option<String> {
        let kind = [self.next()?, self.next()?];
        let (prefix, of_type) = match &kind {
            b"TV" => ("vtable for ", true),
            b"TT" => ("VTT for ", true),
            b"TI" => ("typeinfo for ", true),
            b"TS" => ("typeinfo name for ", true),
            b"GV" => ("guard variable for ", false),
            b"TW" => ("TLS wrapper function for ", false),
            b"TH" => ("TLS init function for ", false),
            b"Th" => {
                self.offset()?;
                let target = self.encoding(true)?;
                return Some(format!("non-virtual thunk to {target}"));
            }
            b"Tv" => {
                self.offset()?;
                self.offset()?;
                let target = self.encoding(true)?;
                return Some(format!("virtual thunk to {target}"));
            }
            b"Tc" => {
                for _ in 0..2 {
                    if self.next()? == b'v' {
                        self.offset()?;
                    }
                    self.offset()?;
                }
                let target = self.encoding(true)?;
                return Some(format!("covariant return thunk to {target}"));
            }
            b"GR" => {
                let name = self.name(None)?.whole();
                let number = self.sequence(36)?;
                return Some(format!("reference temporary #{number} for {name}"));
            }
            _ => return None,
        };
        let subject = if of_type {
            self.type_text()?.whole()
        } else {
            self.name(None)?.whole()
        };
        Some(format!("{prefix}{subject}"))
    }

    /// `[n] DIGITS _`
    fn offset(&mut self) -> Option<()> {
        self.take("n");
        self.number()?;
        self.expect("_")
    }

    /// A name. With a `state`, it is the name of an encoding, whose template arguments are what
    /// `T_` means from then on.
    pub(super) fn name(&mut self, mut state: Option<&mut NameState>) -> Option<Rc<Text>> {
        let uses = self.parameter_uses;
        match self.peek()? {
            b'N' => return self.nested_name(state),
            b'Z' => return self.local_name(state),
            _ => {}
        }
        let is_substitution = self.peek() == Some(b'S') && self.peek_at(1) != Some(b't');
        let name = if is_substitution {
            let text = self.substitution()?;
            // A substitution alone is no name of an encoding.
            (self.peek() == Some(b'I')).then_some(text)?
        } else {
            let scope = if self.take("St") { "std::" } else { "" };
            let (name, is_unreturning) = self.unqualified_name(None)?;
            if let Some(state) = state.as_deref_mut() {
                state.is_unreturning = is_unreturning;
            }
            Rc::new(Text::plain(format!("{scope}{name}")))
        };
        if self.peek() != Some(b'I') {
            return Some(name);
        }
        if !is_substitution {
            self.remember(&name, uses);
        }
        let is_encoding = state.is_some();
        if let Some(state) = state {
            state.has_arguments = true;
        }
        self.with_arguments(&name, is_encoding)
    }

    /// `N [qualifiers] PREFIX... E`
    fn nested_name(&mut self, state: Option<&mut NameState>) -> Option<Rc<Text>> {
        self.expect("N")?;
        let uses = self.parameter_uses;
        let mut qualifiers = self.qualifiers();
        if self.take("R") {
            qualifiers.push_str(" &");
        } else if self.take("O") {
            qualifiers.push_str(" &&");
        }
        let mut scope: Option<Rc<Text>> = None;
        let mut last_name = String::new();
        let mut has_arguments = false;
        let mut is_unreturning = false;
        let mut remembered = false;
        while !self.take("E") {
            let is_encoding = state.is_some();
            remembered = true;
            match (self.peek()?, self.peek_at(1)) {
                (b'I', _) => {
                    // Arguments need a name and cannot follow arguments.
                    let name = scope.take().filter(|_| !has_arguments)?;
                    has_arguments = true;
                    scope = Some(self.with_arguments(&name, is_encoding)?);
                }
                (b'S', Some(b't')) if scope.is_none() => {
                    self.position += 2;
                    scope = Some(Rc::new(Text::plain("std")));
                    remembered = false;
                }
                (b'S', _) if scope.is_none() => {
                    let text = self.substitution()?;
                    last_name = last_component(&text.left).to_owned();
                    has_arguments = text.left.ends_with('>');
                    scope = Some(text);
                    remembered = false;
                }
                (b'T', _) if scope.is_none() => {
                    let (text, index) = self.template_parameter()?;
                    has_arguments = false;
                    self.remember_as(&text, uses, Some(index));
                    scope = Some(text);
                    continue;
                }
                _ => {
                    let (name, unreturning) = self.unqualified_name(Some(&last_name))?;
                    is_unreturning = unreturning;
                    has_arguments = false;
                    let mut text = match &scope {
                        Some(scope) => scope.whole(),
                        None => String::new(),
                    };
                    if scope.is_some() {
                        self.push(&mut text, "::")?;
                    }
                    self.push(&mut text, &name)?;
                    self.charge(text.len())?;
                    last_name = name;
                    scope = Some(Rc::new(Text::plain(text)));
                }
            }
            if remembered && let Some(scope) = &scope {
                self.remember(scope, uses);
            }
        }
        // The whole is remembered by whoever takes it for a type.
        if remembered {
            self.substitutions.pop();
        } else {
            return None;
        }
        if let Some(state) = state {
            state.has_arguments = has_arguments;
            state.is_unreturning = is_unreturning;
            state.qualifiers = qualifiers;
        }
        scope
    }

    /// `Z ENCODING E NAME`: something inside of a function.
    fn local_name(&mut self, state: Option<&mut NameState>) -> Option<Rc<Text>> {
        self.deeper(|parser| {
            parser.expect("Z")?;
            let mut text = parser.encoding(false)?;
            parser.expect("E")?;
            if parser.take("s") {
                parser.discriminator();
                parser.push(&mut text, "::string literal")?;
                return Some(Rc::new(Text::plain(text)));
            }
            if parser.take("d") {
                // Counted from the last parameter.
                let number = parser.sequence(10)? + 1;
                parser.push(&mut text, &format!("::{{default arg#{number}}}"))?;
            }
            let name = parser.name(state)?;
            parser.discriminator();
            parser.push(&mut text, "::")?;
            parser.push(&mut text, &name.left)?;
            parser.charge(text.len())?;
            Some(Rc::new(Text {
                left: text,
                right: name.right.clone(),
                form: name.form,
            }))
        })
    }

    /// `_ DIGIT` or `__ DIGITS _`, of no interest.
    fn discriminator(&mut self) {
        if self.take("__") {
            self.number();
            self.take("_");
        } else if self.peek() == Some(b'_')
            && self.peek_at(1).is_some_and(|byte| byte.is_ascii_digit())
        {
            self.position += 2;
        }
    }

    /// One component of a name, and whether it takes the return type away. `class` is the name of
    /// the class around it, for constructors.
    fn unqualified_name(&mut self, class: Option<&str>) -> Option<(String, bool)> {
        self.take("L");
        let (mut name, is_unreturning) = match (self.peek()?, self.peek_at(1)) {
            (b'0'..=b'9', _) => (self.source_name()?, false),
            (b'C', Some(b'1'..=b'5')) => {
                self.position += 2;
                (constructed(class)?.to_owned(), true)
            }
            (b'D', Some(b'0'..=b'5')) => {
                self.position += 2;
                (format!("~{}", constructed(class)?), true)
            }
            (b'U', Some(b't')) => {
                self.position += 2;
                let number = self.unnamed_number()?;
                (format!("{{unnamed type#{number}}}"), false)
            }
            (b'U', Some(b'l')) => {
                self.position += 2;
                (self.lambda()?, false)
            }
            (b'a'..=b'z', Some(second)) => {
                let code = [self.next()?, second];
                self.position += 1;
                match &code {
                    b"cv" => {
                        let target = self.type_text()?.whole();
                        (format!("operator {target}"), true)
                    }
                    b"li" => (format!("operator\"\" {}", self.source_name()?), false),
                    _ => (format!("operator{}", operator(code)?), false),
                }
            }
            _ => return None,
        };
        while self.take("B") {
            let tag = self.source_name()?;
            self.push(&mut name, &format!("[abi:{tag}]"))?;
        }
        self.charge(name.len())?;
        Some((name, is_unreturning))
    }

    /// `LENGTH IDENTIFIER`
    pub(super) fn source_name(&mut self) -> Option<String> {
        let length = self.number()?;
        let end = self.position.checked_add(length)?;
        let bytes = self.input.get(self.position..end)?;
        let name = str::from_utf8(bytes).ok().filter(|name| !name.is_empty())?;
        self.position = end;
        self.charge(name.len())?;
        if name.starts_with("_GLOBAL__N") {
            return Some("(anonymous namespace)".to_owned());
        }
        Some(name.to_owned())
    }

    /// `PARAMETERS E [NUMBER] _`
    fn lambda(&mut self) -> Option<String> {
        let outer = mem::replace(&mut self.in_lambda, true);
        let parameters = self.parameters();
        self.in_lambda = outer;
        let parameters = parameters?;
        self.expect("E")?;
        let number = self.unnamed_number()?;
        Some(format!("{{lambda{parameters}#{number}}}"))
    }

    /// `_` is the first, `0_` the second.
    fn unnamed_number(&mut self) -> Option<usize> {
        Some(self.sequence(10)? + 1)
    }
}

/// The last component of a qualified name, without its template arguments.
fn last_component(name: &str) -> &str {
    let mut depth = 0i32;
    let mut end = name.len();
    for (index, byte) in name.bytes().enumerate().rev() {
        match byte {
            b'>' => depth += 1,
            b'<' => {
                depth -= 1;
                if depth == 0 {
                    end = index;
                }
            }
            b':' if depth == 0 => return name.get(index + 1..end).unwrap_or(""),
            _ => {}
        }
    }
    name.get(..end).unwrap_or("")
}

/// The name of a class as its constructors have it: without tags.
fn constructed(class: Option<&str>) -> Option<&str> {
    let class = class?;
    let name = class.split("[abi:").next().unwrap_or(class);
    (!name.is_empty()).then_some(name)
}
