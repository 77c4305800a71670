//! Operator names.

/// Two-letter codes and what stands behind the word `operator`.
const OPERATORS: &[(&[u8; 2], &str)] = &[
    (b"aN", "&="),
    (b"aS", "="),
    (b"aa", "&&"),
    (b"ad", "&"),
    (b"an", "&"),
    (b"aw", " co_await"),
    (b"cl", "()"),
    (b"cm", ","),
    (b"co", "~"),
    (b"dV", "/="),
    (b"da", " delete[]"),
    (b"de", "*"),
    (b"dl", " delete"),
    (b"dv", "/"),
    (b"eO", "^="),
    (b"eo", "^"),
    (b"eq", "=="),
    (b"ge", ">="),
    (b"gt", ">"),
    (b"ix", "[]"),
    (b"lS", "<<="),
    (b"le", "<="),
    (b"ls", "<<"),
    (b"lt", "<"),
    (b"mI", "-="),
    (b"mL", "*="),
    (b"mi", "-"),
    (b"ml", "*"),
    (b"mm", "--"),
    (b"na", " new[]"),
    (b"ne", "!="),
    (b"ng", "-"),
    (b"nt", "!"),
    (b"nw", " new"),
    (b"oR", "|="),
    (b"oo", "||"),
    (b"or", "|"),
    (b"pL", "+="),
    (b"pl", "+"),
    (b"pm", "->*"),
    (b"pp", "++"),
    (b"ps", "+"),
    (b"pt", "->"),
    (b"qu", "?"),
    (b"rM", "%="),
    (b"rS", ">>="),
    (b"rm", "%"),
    (b"rs", ">>"),
    (b"ss", "<=>"),
];

/// The operator behind a code.
pub(super) fn operator(code: [u8; 2]) -> Option<&'static str> {
    OPERATORS
        .binary_search_by(|(known, _)| known.as_slice().cmp(&code))
        .ok()
        .and_then(|index| OPERATORS.get(index))
        .map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table is sorted, as the search needs.
    #[test]
    fn sorted() {
        assert!(OPERATORS.is_sorted_by(|left, right| left.0 < right.0));
        assert_eq!(operator(*b"ls"), Some("<<"));
        assert_eq!(operator(*b"zz"), None);
    }
}
