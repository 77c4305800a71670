//! The report for people, on a terminal of 100 columns.

mod account;
mod head;
mod table;
mod tables;

use std::io::{self, Write};

use self::table::Table;
use super::{
    Grouping, Options, ReportError,
    label::{Detail, Labels},
    listing::{Listing, idle_note},
    one,
    overview::Overview,
    printable::printable,
    ranking::{self, OwnerKey},
    units::{amount, percent},
};
use crate::summary::{Owner, Profile, Summary};

/// Rows of the tables beside it.
const SIDE_ROWS: usize = 10;

/// Columns when the width of the terminal is not known.
const DEFAULT_WIDTH: usize = 100;

/// Writes text, with ANSI colours where asked for.
struct Page<'a> {
    out: &'a mut dyn Write,
    colour: bool,
    width: usize,
}

/// ANSI "select graphic rendition" codes (ECMA-48, 8.3.117).
#[derive(Clone, Copy)]
enum Tone {
    Bold,
    Good,
    Bad,
}

impl Page<'_> {
    fn tone(&self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Bold => 1,
            Tone::Good => 32,
            Tone::Bad => 31,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        let heading = self.tone(Tone::Bold, &printable(text));
        writeln!(self.out, "\n{heading}")
    }

    fn table(&mut self, table: &Table) -> io::Result<()> {
        let style = if self.colour {
            |head: &str| format!("\x1b[2m{head}\x1b[0m")
        } else {
            |head: &str| head.to_owned()
        };
        table.write(self.out, self.width, style)
    }

    /// A word, then items as many as fit a line, the rest on lines below.
    fn items(&mut self, word: &str, items: &[String]) -> io::Result<()> {
        const INDENT: usize = 12;
        let mut line = format!("  {word:<width$}", width = INDENT - 2);
        let mut used = INDENT;
        for (index, item) in items.iter().enumerate() {
            let length = visible(item);
            if index > 0 && used + 2 + length > self.width {
                writeln!(self.out, "{}", line.trim_end())?;
                line = " ".repeat(INDENT);
                used = INDENT;
            } else if index > 0 {
                line.push_str("  ");
                used += 2;
            }
            line.push_str(item);
            used += length;
        }
        writeln!(self.out, "{}", line.trim_end())
    }
}

/// Characters that take a column: all but the escapes of [`Page::tone`].
fn visible(text: &str) -> usize {
    let mut in_escape = false;
    text.chars()
        .filter(|&c| {
            let shown = !in_escape && c != '\x1b';
            in_escape = if in_escape { c != 'm' } else { c == '\x1b' };
            shown
        })
        .count()
}

/// Writes the report of one profile.
pub(super) fn write(
    summary: &Summary,
    options: &Options,
    detail: Detail,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let mut page = Page {
        out,
        colour: options.colour,
        width: options.width.unwrap_or(DEFAULT_WIDTH).clamp(60, 200),
    };
    let overview = Overview::new(summary);
    head::write(&mut page, summary, &overview)?;
    if summary.profiles().is_empty() && options.profile.is_none() {
        writeln!(
            page.out,
            "\nNo samples: nothing ran while this was recorded."
        )?;
    } else {
        let (name, profile) = one(summary, options)?;
        profile_section(&mut page, summary, options, detail, name, profile)?;
        let others = summary
            .profiles()
            .keys()
            .filter(|other| *other != name)
            .map(|other| printable(other).into_owned())
            .collect::<Vec<_>>();
        if !others.is_empty() {
            writeln!(
                page.out,
                "\nAlso in this recording (--profile): {}",
                others.join(", ")
            )?;
        }
    }
    account::write(&mut page, &overview)?;
    Ok(())
}

fn profile_section(
    page: &mut Page<'_>,
    summary: &Summary,
    options: &Options,
    detail: Detail,
    name: &str,
    profile: &Profile,
) -> io::Result<()> {
    let labels = Labels::new(summary.stacks(), detail);
    let heading = format!("{name}: {}", amount(profile, profile.total));
    page.heading(&heading)?;
    if let Some(note) = idle_note(profile) {
        writeln!(page.out, "  {note}")?;
    }
    let has_command = profile
        .samples
        .keys()
        .any(|(_, owner)| summary.owner(*owner).is_some_and(|owner| owner.command));
    let all = |_: &Owner| true;
    if has_command {
        let within = |owner: &Owner| owner.command;
        let own = ranking::owners(summary, profile, OwnerKey::Process, within);
        let total = own.iter().map(|row| row.value).sum::<i64>();
        page.heading(&format!(
            "The command and its children: {} ({} % of all)",
            amount(profile, total),
            percent(total as f64, profile.total as f64)
        ))?;
        causes(page, summary, profile, true)?;
        tables::main(page, summary, options, profile, &labels, total, &within)?;
        page.heading("The whole node")?;
    }
    causes(page, summary, profile, false)?;
    tables::main(
        page,
        summary,
        options,
        profile,
        &labels,
        profile.total,
        &all,
    )?;
    if options.by != Grouping::Process {
        page.heading("By process")?;
        let rows = ranking::owners(summary, profile, OwnerKey::Process, all);
        tables::owners(
            page,
            profile,
            OwnerKey::Process,
            &rows,
            profile.total,
            SIDE_ROWS,
        )?;
    }
    Ok(())
}

/// What was waited for, or behind whom, with a blank line before what follows.
fn causes(
    page: &mut Page<'_>,
    summary: &Summary,
    profile: &Profile,
    only_command: bool,
) -> io::Result<()> {
    match Listing::causes(summary, profile, only_command) {
        Some(listing) => {
            account::draw(page, listing)?;
            writeln!(page.out)
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Options, write},
        *,
    };
    use crate::{fixture, summary::Filter};

    fn text(options: &Options) -> String {
        let mut out = Vec::new();
        write(&fixture::summary(Filter::default()), options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The whole report, by hand.
    #[test]
    fn golden() {
        assert_eq!(text(&Options::default()), include_str!("golden.txt"));
    }

    /// Every grouping fits 100 columns, and nothing of a hostile name reaches the terminal.
    #[test]
    fn fits_and_is_harmless() {
        for word in Grouping::WORDS {
            let options = Options {
                by: word.parse().unwrap(),
                ..Options::default()
            };
            let text = text(&options);
            assert!(
                text.lines().all(|line| line.chars().count() <= 100),
                "{text}"
            );
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
        }
    }

    /// Colours appear when asked for and only change the colours.
    #[test]
    fn colours() {
        let coloured = text(&Options {
            colour: true,
            ..Options::default()
        });
        let plain = coloured
            .split('\x1b')
            .enumerate()
            .map(|(i, part)| match (i, part.split_once('m')) {
                (0, _) | (_, None) => part,
                (_, Some((_, rest))) => rest,
            })
            .collect::<String>();
        assert!(
            coloured.contains("\x1b[31msteal 10.0 %\x1b[0m"),
            "{coloured}"
        );
        assert_eq!(plain, text(&Options::default()));
        assert_eq!(visible("\x1b[31msteal\x1b[0m m"), "steal m".len());
    }
}
