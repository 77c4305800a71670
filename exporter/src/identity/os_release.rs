//! The `os-release` file (freedesktop `os-release(5)`): shell assignments, read without a shell.

/// What is taken from the file. A key that is missing, empty or badly quoted is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OsRelease {
    /// `NAME`, such as `Debian GNU/Linux`.
    pub(super) name: Option<String>,
    /// `VERSION_ID`, such as `12`; rolling distributions have none.
    pub(super) version_id: Option<String>,
}

impl OsRelease {
    /// Reads the assignments; a later one of the same name wins, as in a shell.
    pub(super) fn parse(text: &str) -> Self {
        let mut release = Self::default();
        for line in text.lines() {
            let Some((key, value)) = line.trim().split_once('=') else {
                continue;
            };
            let target = match key {
                "NAME" => &mut release.name,
                "VERSION_ID" => &mut release.version_id,
                _ => continue,
            };
            *target = unquote(value).filter(|value| !value.is_empty());
        }
        release
    }
}

fn unquote(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let Some(quote) = quote else {
        return Some(text.to_owned());
    };
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    if quote == '\'' {
        return Some(inner.to_owned());
    }
    let mut value = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        value.push(if character == '\\' {
            characters.next()?
        } else {
            character
        });
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quoted, unquoted and escaped values; comments and other keys are passed over.
    #[test]
    fn reads_assignments() {
        let release = OsRelease::parse(
            "# comment\nPRETTY_NAME=\"x\"\nNAME=\"Red \\\"Hat\\\" \\$1\"\nVERSION_ID='9.4'\n",
        );
        assert_eq!(release.name.as_deref(), Some("Red \"Hat\" $1"));
        assert_eq!(release.version_id.as_deref(), Some("9.4"));
        assert_eq!(OsRelease::parse("NAME=Arch").name.as_deref(), Some("Arch"));
    }

    /// What cannot be read is absent, never a guess.
    #[test]
    fn broken_values_are_absent() {
        assert_eq!(
            OsRelease::parse("NAME=\"open\nVERSION_ID=\n\u{0}=\n"),
            OsRelease::default()
        );
        assert_eq!(OsRelease::parse("NAME=\""), OsRelease::default());
    }
}
