//! Text that processes chose, made fit for people and for OTLP.

use std::fmt::Write as _;

/// Longest name that is taken from a process, in bytes; the length of a file name (`NAME_MAX`).
pub const MAX_NAME_BYTES: usize = 255;

/// Bytes as text: control characters (C0, DEL, C1, line and paragraph separators, bidirectional
/// overrides) and bytes that are not UTF-8 become `\xNN`, one escape a byte; everything else stays.
///
/// The result has at most `limit` bytes, cut between characters or escapes.
pub fn printable(bytes: &[u8], limit: usize) -> String {
    // An escape is longer than what it stands for, so nothing beyond `limit` bytes can matter,
    // bar a character that begins before the limit and is then left out whole.
    let bytes = bytes.get(..limit.saturating_add(4)).unwrap_or(bytes);
    let mut text = String::with_capacity(bytes.len().min(limit));
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_hostile(character) {
                let mut encoded = [0; 4];
                let escaped = escape(character.encode_utf8(&mut encoded).as_bytes());
                if text.len() + escaped.len() > limit {
                    return text;
                }
                text.push_str(&escaped);
            } else {
                if text.len() + character.len_utf8() > limit {
                    return text;
                }
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            if text.len() + 4 > limit {
                return text;
            }
            text.push_str(&escape(&[*byte]));
        }
    }
    text
}

fn escape(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "\\x{byte:02x}");
        text
    })
}

/// Characters that could break a line, a terminal or the reading order of a report.
fn is_hostile(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ordinary text, also beyond ASCII, is not touched.
    #[test]
    fn keeps_ordinary_text() {
        assert_eq!(printable("größe ☃ a\\b".as_bytes(), 255), "größe ☃ a\\b");
    }

    /// Control characters and stray bytes are visible and cannot act.
    #[test]
    fn escapes_hostile_bytes() {
        assert_eq!(
            printable(b"a\n\x1b[31m\xff\xc3", 255),
            "a\\x0a\\x1b[31m\\xff\\xc3"
        );
        assert_eq!(printable("\u{202e}".as_bytes(), 255), "\\xe2\\x80\\xae");
    }

    /// The bound holds for every mixture, and no character or escape is cut in the middle.
    #[test]
    fn bounds_the_length() {
        assert_eq!(printable("ää".as_bytes(), 3), "ä");
        assert_eq!(printable(b"abc\x01", 6), "abc");
        for limit in 0..40 {
            let text = printable("a\u{1}ä\u{2028}☃\u{80}".repeat(9).as_bytes(), limit);
            assert!(text.len() <= limit);
        }
        assert!(printable(&vec![b'x'; 10 << 20], MAX_NAME_BYTES).len() == MAX_NAME_BYTES);
    }
}
