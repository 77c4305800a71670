//! Text in HTML.

use super::super::printable::printable;

/// A text from a recording as HTML text or the value of a quoted attribute. Recordings hold names
/// that processes chose, and a report is opened in a browser by somebody with more rights.
pub(super) fn text(raw: &str) -> String {
    markup(&printable(raw))
}

/// Any text as the value of a quoted attribute, character by character; for a whole document in
/// `srcdoc`.
pub(super) fn markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing that opens a tag, ends an attribute or starts an entity passes.
    #[test]
    fn leaves_no_markup() {
        assert_eq!(
            text("<img src=x onerror=\"a('&')\">\0"),
            "&lt;img src=x onerror=&quot;a(&#39;&amp;&#39;)&quot;&gt;\\x00"
        );
    }
}
