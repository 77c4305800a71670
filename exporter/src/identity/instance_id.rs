//! `service.instance.id`.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// Sets our identifiers apart from other hashes of the same text.
const NAMESPACE: &str = "evenkeel service.instance.id";

/// An identifier that is unique for a host, a container and a service, and the same again after
/// each restart: the first 16 bytes of a SHA-256 over these names, each ended by a NUL, in the form
/// of a UUID of version 8 (RFC 9562, appendix B.2 has the same construction).
///
/// The same names give the same identifier on every machine, so `host` must be one that no other
/// host has: `host.id`.
pub fn derive(host: &str, container_id: Option<&str>, service_name: &str) -> String {
    let mut hash = Sha256::new();
    for part in [NAMESPACE, host, container_id.unwrap_or(""), service_name] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digest = hash.finalize();
    let mut text = String::with_capacity(36);
    for (index, byte) in digest.iter().take(16).enumerate() {
        let byte = match index {
            6 => (byte & 0x0f) | 0x80,
            8 => (byte & 0x3f) | 0x80,
            _ => *byte,
        };
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UUID of version 8 that does not change between versions of ours.
    #[test]
    fn is_stable() {
        assert_eq!(derive("h", None, "s"), derive("h", None, "s"));
        let text = derive("9f86d081884c7d65", None, "evenkeel");
        assert_eq!(text.len(), 36);
        assert_eq!(text.as_bytes().get(14), Some(&b'8'));
        assert!(text.as_bytes().get(19).is_some_and(|b| b"89ab".contains(b)));
    }

    /// Each part matters, and parts cannot run into each other.
    #[test]
    fn is_unique() {
        let all = [
            derive("h", None, "s"),
            derive("i", None, "s"),
            derive("h", Some("c"), "s"),
            derive("h", None, "t"),
            derive("hc", None, "s"),
            derive("h", Some("cs"), ""),
        ];
        let unique: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(unique.len(), all.len());
    }
}
