//! Folded stacks: `PROCESS;frame;...;leaf VALUE`, one line a stack, root first (contract).

use std::io::Write;

use super::{
    ReportError,
    label::{Class, Label, Labels},
    printable::escape,
    tree::CallTree,
};
use crate::summary::{Profile, Summary};

/// Suffix of kernel frames.
const KERNEL: &str = "_[k]";

/// A name that cannot end a frame or a line. Spaces may stay: the value is what follows the last
/// one.
fn safe(name: &str) -> String {
    escape(name, |c| c == ';').into_owned()
}

fn frame(label: &Label) -> String {
    let mut name = safe(&label.with_place());
    if label.class == Class::Kernel {
        name.push_str(KERNEL);
    }
    name
}

/// Writes all stacks of a profile, values in its unit; their sum is the profile's total.
pub(super) fn write(
    summary: &Summary,
    profile: &Profile,
    labels: &Labels,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let tree = CallTree::new(summary, profile, labels, safe, |label, _| frame(label));
    tree.visit(|names, value| writeln!(out, "{} {value}", names.join(";")))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Grouping, Options, write};
    use crate::{fixture, summary::Filter};

    fn folded(by: Grouping) -> String {
        let options = Options {
            format: Format::Folded,
            by,
            ..Options::default()
        };
        let mut out = Vec::new();
        write(&fixture::summary(Filter::default()), &options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The contract, by hand: process first, root to leaf, inlined frames of their own, kernel
    /// frames marked, an unnamed frame by module and address, the cut stack's marker after the
    /// process, hostile names on one line. Windows are summed (3 + 2 in `handle`).
    #[test]
    fn matches_the_contract() {
        let expected = "\
evil\\x3b\\x0a<b>;a b\\x3bc 12 1
nginx;[truncated];libx.so+0x1234 2
nginx;main;handle 5
nginx;main;handle;parse;sys_read_[k] 5
spin;main;inner 7
";
        assert_eq!(folded(Grouping::Function), expected);
    }

    /// By line, frames say where they are; one function at two places is two frames.
    #[test]
    fn by_line() {
        let folded = folded(Grouping::Line);
        assert!(
            folded.contains("nginx;main nginx.c:10;handle http.c:20 5\n"),
            "{folded}"
        );
        let inlined = "nginx;main nginx.c:10;handle http.c:22;parse parse.c:7;sys_read_[k] 5\n";
        assert!(folded.contains(inlined), "{folded}");
    }

    /// Nothing is lost between the profile and its lines.
    #[test]
    fn sum_is_the_total() {
        let summary = fixture::summary(Filter::default());
        let sum = folded(Grouping::Function)
            .lines()
            .filter_map(|line| line.rsplit_once(' ')?.1.parse::<i64>().ok())
            .sum::<i64>();
        assert_eq!(sum, summary.profiles()["on_cpu"].total);
        assert_eq!(sum, 20);
    }
}
