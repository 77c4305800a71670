//! Whether the committed files are what the registry says.

use std::{fmt, fs, io, path::PathBuf};

use super::{Artefact, Error};

/// Lines shown of each side of a difference: enough to see which name it is about.
const SHOWN: usize = 12;

/// A committed file that the registry no longer says.
#[derive(Debug)]
pub struct Outdated {
    /// Which file.
    pub path: PathBuf,
    committed: String,
    generated: String,
}

impl Outdated {
    /// The artefacts whose files are missing or differ. A missing file counts as an empty one.
    ///
    /// # Errors
    ///
    /// When a file is there but cannot be read.
    pub fn among(artefacts: Vec<Artefact>) -> Result<Vec<Self>, Error> {
        let mut outdated = Vec::new();
        for Artefact { path, contents } in artefacts {
            let committed = match fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                Err(source) => return Err(Error::Read { path, source }),
            };
            if committed != contents {
                outdated.push(Self {
                    path,
                    committed,
                    generated: contents,
                });
            }
        }
        Ok(outdated)
    }
}

impl fmt::Display for Outdated {
    /// The differing middle of the file, as a diff shows it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let committed: Vec<_> = self.committed.lines().collect();
        let generated: Vec<_> = self.generated.lines().collect();
        let head = common(committed.iter(), generated.iter());
        let committed = &committed[head..];
        let generated = &generated[head..];
        let tail = common(committed.iter().rev(), generated.iter().rev());
        let committed = &committed[..committed.len() - tail];
        let generated = &generated[..generated.len() - tail];

        let path = self.path.display();
        writeln!(
            formatter,
            "--- {path} (committed)\n+++ {path} (from the registry)"
        )?;
        writeln!(
            formatter,
            "@@ -{0},{1} +{0},{2} @@",
            head + 1,
            committed.len(),
            generated.len()
        )?;
        side(formatter, '-', committed)?;
        side(formatter, '+', generated)
    }
}

fn common<'a>(
    left: impl Iterator<Item = &'a &'a str>,
    right: impl Iterator<Item = &'a &'a str>,
) -> usize {
    left.zip(right)
        .take_while(|(left, right)| left == right)
        .count()
}

fn side(formatter: &mut fmt::Formatter<'_>, sign: char, lines: &[&str]) -> fmt::Result {
    for line in lines.iter().take(SHOWN) {
        writeln!(formatter, "{sign}{line}")?;
    }
    match lines.len().checked_sub(SHOWN) {
        Some(hidden @ 1..) => writeln!(formatter, "{sign}... {hidden} more lines"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outdated(committed: Option<&str>, generated: &str) -> Vec<Outdated> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file.rs");
        if let Some(text) = committed {
            fs::write(&path, text).unwrap();
        }
        let contents = generated.to_owned();
        Outdated::among(vec![Artefact { path, contents }]).unwrap()
    }

    /// Equal files are current; other and missing ones are not.
    #[test]
    fn differences_are_found() {
        assert!(outdated(Some("a\nb\n"), "a\nb\n").is_empty());
        assert_eq!(outdated(Some("a\nb\n"), "a\nb").len(), 1);
        assert_eq!(outdated(None, "a\n").len(), 1);
    }

    /// Only the lines between the common head and the common tail are shown, with their place.
    #[test]
    fn the_difference_is_shown() {
        let text = outdated(Some("a\nb\nc\na\n"), "a\nx\ny\nc\na\n")[0].to_string();
        assert!(text.ends_with("@@ -2,1 +2,2 @@\n-b\n+x\n+y\n"), "{text}");
    }

    /// Head and tail do not overlap when lines repeat.
    #[test]
    fn repeated_lines_are_shown_once() {
        let text = outdated(Some("a\na\n"), "a\na\na\n")[0].to_string();
        assert!(text.ends_with("@@ -3,0 +3,1 @@\n+a\n"), "{text}");
    }

    /// A long difference is cut.
    #[test]
    fn long_differences_are_cut() {
        let generated: String = (0..100).map(|line| format!("{line}\n")).collect();
        let text = outdated(None, &generated)[0].to_string();
        assert!(text.ends_with("+11\n+... 88 more lines\n"), "{text}");
    }
}
