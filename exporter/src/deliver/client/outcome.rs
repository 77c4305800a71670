//! What became of one request.

use std::time::Duration;

/// Server messages longer than this are cut: they go into log lines and nowhere else.
const MESSAGE_CHARS: usize = 300;

/// What became of one request, in the terms of the OTLP specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All of it was accepted.
    Accepted,
    /// The request was accepted and the server says something about it. It must not be sent
    /// again.
    Partial {
        /// Rejected profiles or data points; zero for a mere warning.
        rejected: u64,
        /// The server's words.
        message: String,
    },
    /// Worth another try.
    Retryable {
        /// What happened.
        reason: String,
        /// How long the server asks to wait.
        delay: Option<Duration>,
    },
    /// The same request would be refused again.
    Refused {
        /// The status and the server's words.
        reason: String,
    },
}

/// Makes a server's text fit for one log line: bounded, without control characters.
pub(super) fn legible(text: &str) -> String {
    let mut chars = text.trim().chars();
    let mut legible: String = chars
        .by_ref()
        .take(MESSAGE_CHARS)
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect();
    if chars.next().is_some() {
        legible.push_str("...");
    }
    legible
}

/// An error and all that caused it, in one line; libraries print only the outermost.
pub(super) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        // Some libraries repeat the text of their cause.
        if !text.ends_with(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    legible(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hostile server can neither flood the log nor forge lines in it.
    #[test]
    fn messages_are_bounded() {
        assert_eq!(legible(" a\nb "), "a b");
        assert_eq!(
            legible(&"x".repeat(10_000)).chars().count(),
            MESSAGE_CHARS + 3
        );
    }
}
