//! C++ names after the Itanium ABI (section 5.1, <https://itanium-cxx-abi.github.io/cxx-abi/abi.html>).
//!
//! Our own, because the one library there is backtracks: names of 170 bytes kept it busy for a
//! minute (`_Z1fDT` + `clpt` repeated), at any limit of depth that real names pass, and names come
//! from the processes that are profiled. This parser never goes back except to repeat a pack
//! expansion, and counts every byte that it writes. Names with expressions in them (`X..E`,
//! `DT..E`) stay mangled: 844 of the 102,446 names that clang, LLVM and libstdc++ export. The others
//! of these come out as `c++filt` writes them.

mod encoding;
mod operator;
mod template;
mod types;

use std::rc::Rc;

/// Bytes written, copies included, before giving up. Of the 102,446 names that clang, LLVM and
/// libstdc++ export, the costliest takes 42,023.
const WORK: usize = 256 << 10;

/// Longest piece of text.
const MAX_TEXT_BYTES: usize = 4096;

/// Deepest nesting of types and scopes: safe on a 2 MiB stack without optimisation.
const MAX_DEPTH: u32 = 100;

/// Demangles a name that begins with `_Z`, in the style of `c++filt`. `None` for whatever is not
/// such a name, holds an expression or meets a bound.
pub(crate) fn demangle_cpp(mangled: &str) -> Option<String> {
    let input = mangled.strip_prefix("_Z")?.as_bytes();
    let mut parser = Parser::new(input);
    let text = parser.encoding(true)?;
    let tail = mangled.get(2 + parser.position..)?;
    match tail.bytes().next() {
        None | Some(b'@') => Some(text),
        // The compiler split, cloned or specialised the function.
        Some(b'.') => Some(format!("{text} [clone {tail}]")),
        Some(_) => None,
    }
}

/// A type or a name, in two halves: a declarator goes between them (`void (*` and `)(int)`).
#[derive(Clone, Debug, Default)]
struct Text {
    left: String,
    right: String,
    form: Form,
}

/// What a declarator around a type has to know of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Plain,
    /// A pointer to it is `left(*right)`.
    Function,
    /// A pointer to it is `left (*)right`.
    Array,
    /// `&`: a reference to it is the same.
    LvalueReference,
    /// `&&`: an lvalue reference to it is `&`.
    RvalueReference,
}

/// A template argument.
#[derive(Clone, Debug)]
enum Argument {
    One(Rc<Text>),
    Pack(Vec<Rc<Text>>),
}

/// What can be referred back to.
#[derive(Clone, Debug)]
enum Substitution {
    Known {
        text: Rc<Text>,
        /// The encoding whose template arguments are in the text, if any are: in another
        /// encoding, `T_` means something else.
        scope: Option<u32>,
        /// The text is a template parameter and nothing else: the one with this index.
        parameter: Option<usize>,
    },
    /// The text that was made while a pack was expanded is that of one element only.
    OfPack,
}

/// Where the parser is, and what it may refer back to.
#[derive(Debug)]
struct Parser<'a> {
    input: &'a [u8],
    position: usize,
    substitutions: Vec<Substitution>,
    /// Arguments of the template whose signature is read: what `T_` means.
    arguments: Vec<Argument>,
    /// The element that is taken of a pack, inside of an expansion.
    pack_element: Option<usize>,
    /// Length of the pack that an expansion met.
    pack_length: Option<usize>,
    /// In the parameters of a lambda, `T_` is `auto`.
    in_lambda: bool,
    /// The encoding that is read, by number.
    scope: u32,
    scopes: u32,
    /// Uses of template parameters so far.
    parameter_uses: u64,
    depth: u32,
    work: usize,
}

impl<'a> Parser<'a> {
    fn new(input: &'a [u8]) -> Self {
        Self {
            input,
            position: 0,
            substitutions: Vec::new(),
            arguments: Vec::new(),
            pack_element: None,
            pack_length: None,
            in_lambda: false,
            scope: 0,
            scopes: 0,
            parameter_uses: 0,
            depth: 0,
            work: WORK,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.input.get(self.position).copied()
    }

    fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.input.get(self.position + ahead).copied()
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.input[self.position..].starts_with(token.as_bytes());
        if found {
            self.position += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Option<()> {
        self.take(token).then_some(())
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.position += 1;
        Some(byte)
    }

    /// Decimal digits; `None` without any.
    fn number(&mut self) -> Option<usize> {
        let digits = self.input[self.position..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let text = str::from_utf8(&self.input[self.position..self.position + digits]).ok()?;
        self.position += digits;
        text.parse().ok()
    }

    /// `_` is 0, `0_` is 1 and so on, in base 36 or 10.
    fn sequence(&mut self, radix: u32) -> Option<usize> {
        let mut value: Option<usize> = None;
        loop {
            match self.next()? {
                b'_' => return Some(value.map_or(0, |value| value + 1)),
                digit if !digit.is_ascii_lowercase() => {
                    let digit = char::from(digit).to_digit(radix)? as usize;
                    let so_far = value.unwrap_or(0);
                    value = Some(so_far.checked_mul(radix as usize)?.checked_add(digit)?);
                    // No name has so many of anything.
                    value.filter(|value| *value < MAX_TEXT_BYTES)?;
                }
                _ => return None,
            }
        }
    }

    /// Takes the cost of text out of the budget, and refuses what is too long.
    fn charge(&mut self, length: usize) -> Option<()> {
        // Sixteen: a step that writes nothing costs something too.
        self.work = self.work.checked_sub(length + 16)?;
        (length <= MAX_TEXT_BYTES).then_some(())
    }

    fn push(&mut self, target: &mut String, text: &str) -> Option<()> {
        target.push_str(text);
        self.charge(target.len().min(text.len() + 64))?;
        (target.len() <= MAX_TEXT_BYTES).then_some(())
    }

    /// Runs `step` one level deeper.
    fn deeper<T>(&mut self, step: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let result = step(self);
        self.depth -= 1;
        result
    }

    /// Makes text known for later references. `uses` is what `parameter_uses` was before it
    /// was read.
    fn remember(&mut self, text: &Rc<Text>, uses: u64) {
        self.remember_as(text, uses, None);
    }

    fn remember_as(&mut self, text: &Rc<Text>, uses: u64, parameter: Option<usize>) {
        let substitution = if self.pack_element.is_some() {
            Substitution::OfPack
        } else {
            Substitution::Known {
                text: Rc::clone(text),
                scope: (self.parameter_uses != uses).then_some(self.scope),
                parameter,
            }
        };
        self.substitutions.push(substitution);
    }

    fn recall(&mut self, index: usize) -> Option<Rc<Text>> {
        match self.substitutions.get(index)? {
            Substitution::Known {
                text, scope: None, ..
            } => Some(Rc::clone(text)),
            Substitution::Known {
                text,
                scope: Some(scope),
                parameter,
            } => {
                self.parameter_uses += 1;
                match parameter {
                    _ if *scope == self.scope => Some(Rc::clone(text)),
                    Some(parameter) => {
                        let parameter = *parameter;
                        self.argument(parameter)
                    }
                    None => None,
                }
            }
            Substitution::OfPack => None,
        }
    }
}

impl Text {
    fn plain(left: impl Into<String>) -> Self {
        Self {
            left: left.into(),
            ..Self::default()
        }
    }

    fn whole(&self) -> String {
        format!("{}{}", self.left, self.right)
    }

    fn len(&self) -> usize {
        self.left.len() + self.right.len()
    }
}

#[cfg(test)]
mod tests;
