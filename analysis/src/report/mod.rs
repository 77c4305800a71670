//! `evenkeel report`: what a recording says, for people and for machines.

mod error;
mod folded;
mod html;
mod json;
mod label;
mod listing;
mod overview;
mod pprof;
mod printable;
mod ranking;
mod text;
mod tree;
mod units;

use std::{fmt, io::Write, path::PathBuf, str::FromStr};

use evenkeel_semconv::attribute::value::evenkeel_signal_name::ON_CPU;

pub use self::error::{BadChoice, ReportError};
use self::label::{Detail, Labels};
use crate::summary::{Condition, Filter, Limits, Profile, Summary};

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Tables for people.
    #[default]
    Text,
    /// One self-contained page with flame graphs.
    Html,
    /// For machines.
    Json,
    /// Folded stacks, one line each.
    Folded,
    /// gzip'd `profile.proto` for `go tool pprof`.
    Pprof,
}

/// What the first table counts by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// Functions.
    #[default]
    Function,
    /// Source lines.
    Line,
    /// Executable names.
    Process,
    /// Containers.
    Container,
    /// Services.
    Service,
}

macro_rules! words {
    ($type:ident, $what:literal, $($word:literal => $variant:ident),+) => {
        impl $type {
            /// The words of the command line.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl FromStr for $type {
            type Err = BadChoice;

            fn from_str(word: &str) -> Result<Self, BadChoice> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(BadChoice::new($what, word, Self::WORDS)),
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $word,)+
                })
            }
        }
    };
}

words!(Format, "format", "text" => Text, "html" => Html, "json" => Json, "folded" => Folded,
    "pprof" => Pprof);
words!(Grouping, "grouping", "function" => Function, "line" => Line, "process" => Process,
    "container" => Container, "service" => Service);

/// What to report.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Recordings, read as one.
    pub files: Vec<PathBuf>,
    /// Name of the profile; `None` for `on_cpu`, and for all of them in `html` and `json`.
    pub profile: Option<String>,
    /// How to write it.
    pub format: Format,
    /// What to count by.
    pub by: Grouping,
    /// Which samples count; all without conditions.
    pub filters: Vec<Condition>,
    /// Whether text may carry colours (ANSI escapes).
    pub colour: bool,
    /// Columns of the terminal; 100 when unknown. Kept between 60 and 200.
    pub width: Option<usize>,
}

/// Reads the recordings and writes the report.
///
/// # Errors
///
/// When a file is no recording or holds no window, when there is no such profile, when no sample
/// passes the filters, and when `out` fails.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<(), ReportError> {
    let filter = Filter::new(&options.filters);
    let summary = Summary::read(&options.files, filter, Limits::default())?;
    write(&summary, options, out)
}

/// Writes the report of a summary.
///
/// # Errors
///
/// When there is no such profile, when no sample passed the filters, and when `out` fails.
pub fn write(summary: &Summary, options: &Options, out: &mut dyn Write) -> Result<(), ReportError> {
    let nothing_left = summary
        .profiles()
        .values()
        .all(|profile| profile.total == 0);
    if !options.filters.is_empty() && summary.unfiltered_samples() > 0 && nothing_left {
        return Err(ReportError::no_match(options));
    }
    let detail = match options.by {
        Grouping::Line => Detail::Line,
        _ => Detail::Function,
    };
    match options.format {
        Format::Text => text::write(summary, options, detail, out),
        Format::Html => html::write(summary, options, detail, out),
        Format::Json => json::write(summary, options, detail, out),
        Format::Folded => {
            let (_, profile) = one(summary, options)?;
            let labels = Labels::new(summary.stacks(), detail);
            folded::write(summary, profile, &labels, out)
        }
        Format::Pprof => {
            let (_, profile) = one(summary, options)?;
            pprof::write(summary, profile, out)
        }
    }
}

/// The profile that was asked for; by default `on_cpu`, or else the first.
fn one<'a>(summary: &'a Summary, options: &Options) -> Result<(&'a str, &'a Profile), ReportError> {
    let profiles = summary.profiles();
    let found = match &options.profile {
        Some(name) => profiles.get_key_value(name),
        None => profiles
            .get_key_value(ON_CPU)
            .or_else(|| profiles.first_key_value()),
    };
    let (name, profile) = found.ok_or_else(|| ReportError::no_profile(summary, options))?;
    if profile.total == 0 && !options.filters.is_empty() {
        return Err(ReportError::no_match(options));
    }
    Ok((name, profile))
}

/// The profile that was asked for, or all of them, `on_cpu` first.
fn chosen<'a>(
    summary: &'a Summary,
    options: &Options,
) -> Result<Vec<(&'a str, &'a Profile)>, ReportError> {
    if options.profile.is_some() {
        return Ok(vec![one(summary, options)?]);
    }
    let mut profiles = summary
        .profiles()
        .iter()
        .map(|(name, profile)| (name.as_str(), profile))
        .collect::<Vec<_>>();
    profiles.sort_by_key(|(name, _)| *name != ON_CPU);
    Ok(profiles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn report(options: &Options) -> Result<String, ReportError> {
        let summary = fixture::summary(Filter::new(&options.filters));
        let mut out = Vec::new();
        write(&summary, options, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    /// A missing profile is named with those that there are, and with why where that is known.
    #[test]
    fn names_the_profiles_there_are() {
        let ask = |name: &str| {
            let options = Options {
                profile: Some(name.to_owned()),
                ..Options::default()
            };
            report(&options).unwrap_err().to_string()
        };
        assert_eq!(
            ask("on_gpu"),
            "no profile `on_gpu` in this recording (choose on_cpu, stolen)"
        );
        assert_eq!(
            ask("off_cpu"),
            "no profile `off_cpu` in this recording: its signal was failed, no BTF (choose on_cpu, stolen)"
        );
    }

    /// A filter keeps what matches, and one that matches nothing says so.
    #[test]
    fn filters() {
        let with = |filter: &str| {
            report(&Options {
                format: Format::Folded,
                filters: vec![filter.parse().unwrap()],
                ..Options::default()
            })
        };
        assert_eq!(with("process=spin").unwrap(), "spin;main;inner 7\n");
        assert_eq!(with("pid=11").unwrap(), "nginx;main;handle 3\n");
        assert_eq!(with("service=shell").unwrap().lines().count(), 2);
        let error = with("process=apache").unwrap_err().to_string();
        assert!(
            error.starts_with("no sample matches process.executable.name=apache ("),
            "{error}"
        );
    }

    /// The words of the command line, and an error that lists them.
    #[test]
    fn words() {
        for word in Format::WORDS {
            assert_eq!(word.parse::<Format>().unwrap().to_string(), *word);
        }
        let error = "svg".parse::<Format>().unwrap_err().to_string();
        assert_eq!(
            error,
            "no such format: `svg` (choose text, html, json, folded, pprof)"
        );
    }
}
