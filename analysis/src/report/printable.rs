//! Names from processes made safe to show: they are whatever a process chose to call itself.

use std::{borrow::Cow, fmt::Write};

/// True for what may move a cursor, hide or reorder text, or end a line: control characters, line
/// and paragraph separators, and the bidirectional formatting characters (Unicode UAX #9, 2).
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// The text with every hostile character, and every one for which `also` holds, written as an
/// escape (`\x3b`, `\u{202e}`).
pub(super) fn escape(text: &str, also: fn(char) -> bool) -> Cow<'_, str> {
    let escaped = |c| is_hostile(c) || also(c);
    if !text.chars().any(escaped) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if !escaped(c) {
            result.push(c);
            continue;
        }
        // Writing to a String cannot fail.
        let _ = match u32::from(c) {
            code @ 0..=0xff => write!(result, "\\x{code:02x}"),
            code => write!(result, "\\u{{{code:x}}}"),
        };
    }
    Cow::Owned(result)
}

/// The text for a terminal or a page: one line, in reading order.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

/// Shortens a text to `width` characters by leaving out its middle: the ends of a symbol (crate,
/// function) say more than its generics.
pub(super) fn elide(text: &str, width: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= width {
        return Cow::Borrowed(text);
    }
    let kept = width.saturating_sub(1);
    let head = kept / 2;
    let tail = kept - head;
    let mut result = text.chars().take(head).collect::<String>();
    result.push('…');
    result.extend(text.chars().skip(length - tail));
    Cow::Owned(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terminal escapes, line ends and direction overrides become visible text.
    #[test]
    fn defuses_control_characters() {
        assert_eq!(printable("a\x1b[31mb\nc"), "a\\x1b[31mb\\x0ac");
        assert_eq!(printable("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(printable("Füße [k] <T>"), "Füße [k] <T>");
    }

    /// Both ends stay, and the result has the width asked for.
    #[test]
    fn elides_the_middle() {
        assert_eq!(elide("abcdefghij", 7), "abc…hij");
        assert_eq!(elide("abc", 3), "abc");
        assert_eq!(elide("äöüß", 3), "ä…ß");
        assert_eq!(elide("abc", 0), "…");
    }
}
