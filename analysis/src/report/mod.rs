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
use evenkeel_symbols::DebugFiles;

pub use self::error::{BadChoice, ReportError};
use self::{
    label::{Detail, Labels},
    listing::idle_note,
};
use crate::summary::{Condition, Filter, Limits, Naming, Profile, Summary};

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
    /// Folders with debug files, by which frames without names or lines get them.
    pub debug_directories: Vec<PathBuf>,
    /// Which samples count; all without conditions.
    pub filters: Vec<Condition>,
    /// Whether text may carry colours (ANSI escapes).
    pub colour: bool,
    /// Columns of the terminal; 100 when unknown. Kept between 60 and 200.
    pub width: Option<usize>,
}

/// Reads the recordings and writes the report. Returns what its reader has to know and the format
/// cannot say, in sentences.
///
/// # Errors
///
/// When a file is no recording or holds no window, when there is no such profile, when no sample
/// passes the filters, and when `out` fails.
pub fn run(options: &Options, out: &mut dyn Write) -> Result<Vec<String>, ReportError> {
    let filter = Filter::new(&options.filters);
    let mut summary = Summary::read(&options.files, filter, Limits::default())?;
    let naming = name(&mut summary, options);
    write(&summary, options, out)?;
    let note = match options.format {
        Format::Folded | Format::Pprof => idle_note(one(&summary, options)?.1),
        Format::Text | Format::Html | Format::Json => None,
    };
    Ok(naming.into_iter().chain(note).collect())
}

/// Names frames from debug files and says how that went; `None` when none were given.
fn name(summary: &mut Summary, options: &Options) -> Option<String> {
    if options.debug_directories.is_empty() {
        return None;
    }
    let mut files = DebugFiles::new(options.debug_directories.clone());
    let Naming {
        frames,
        files,
        missing,
        left_out,
    } = summary.name_from(&mut files);
    let mut note = format!(
        "Debug files: {frames} frames named from {files} files; none for {missing} modules."
    );
    if left_out > 0 {
        note.push_str(&format!(" {left_out} files were beyond the bound."));
    }
    Some(note)
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
        return Err(ReportError::no_match(options, summary.profiles().values()));
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
        return Err(ReportError::no_match(options, std::iter::once(profile)));
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

    fn waits(options: &Options) -> Result<String, ReportError> {
        let summary = fixture::waits(Filter::new(&options.filters));
        let mut out = Vec::new();
        write(&summary, options, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    /// Options for a profile of waits with one filter, or none.
    fn of_waits(profile: &str, format: Format, filter: &str) -> Options {
        Options {
            profile: Some(profile.to_owned()),
            format,
            filters: filter
                .split_whitespace()
                .map(|f| f.parse().unwrap())
                .collect(),
            ..Options::default()
        }
    }

    /// Idle waiting is in no format until it is asked for.
    #[test]
    fn idle_waiting_is_left_out() {
        let folded = |filter| waits(&of_waits("off_cpu", Format::Folded, filter)).unwrap();
        assert_eq!(
            folded(""),
            "db;main;lock 1000000000\ndb;main;read 3000000000\n"
        );
        assert_eq!(
            folded("evenkeel.off_cpu.reason=idle"),
            "db;main;epoll 90000000000\nworker;main;epoll 5000000000\n"
        );
        assert_eq!(
            folded("evenkeel.off_cpu.reason=lock"),
            "db;main;lock 1000000000\n"
        );
        for format in [Format::Text, Format::Html, Format::Json, Format::Folded] {
            let report = waits(&of_waits("off_cpu", format, "")).unwrap();
            assert!(!report.contains("epoll"), "{format}: {report}");
        }
    }

    /// What meets the filters and is all idle says so.
    #[test]
    fn only_idle_waiting_says_so() {
        let error = waits(&of_waits("off_cpu", Format::Text, "process=worker")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no sample matches process.executable.name=worker (idle waiting left out: 5.00 s; \
             --filter evenkeel.off_cpu.reason=idle shows it)"
        );
        let both = "process=worker evenkeel.off_cpu.reason=idle";
        assert!(waits(&of_waits("off_cpu", Format::Text, both)).is_ok());
    }

    /// Text and page say how waiting splits, and how much was idle.
    #[test]
    fn waits_are_split() {
        let text = waits(&of_waits("off_cpu", Format::Text, "")).unwrap();
        let expected = "\
off_cpu: 4.00 s
  idle waiting left out: 95.0 s; --filter evenkeel.off_cpu.reason=idle shows it

The command and its children: 1.00 s (25.0 % of all)
  share %    time  waited for
    100.0  1.00 s  lock

  self %  total %  seconds  function  module
   100.0    100.0     1.00  lock      db
     0.0    100.0     0.00  main      db

The whole node
  share %    time  waited for
     75.0  3.00 s  disk_io
     25.0  1.00 s  lock

  self %";
        assert!(text.contains(expected), "{text}");
        let text = waits(&of_waits("run_queue", Format::Text, "")).unwrap();
        let expected = "\
run_queue: 750 ms
  share %     time  waited behind
     66.7   500 ms  other
     26.7   200 ms  (unknown)
      6.7  50.0 ms  throttled
";
        assert!(text.contains(expected), "{text}");

        let page = waits(&Options {
            format: Format::Html,
            ..Options::default()
        })
        .unwrap();
        assert!(page.contains("idle waiting left out: 95.0 s"));
        assert!(page.contains("<th class=\"name\">waited for</th>"));
        let share = "<td class=\"number share\" style=\"--share:75.0%\">75.0</td>\
                     <td class=\"number\">3.00 s</td><td class=\"name\">disk_io</td>";
        assert!(page.contains(share), "{page}");
        assert!(page.contains("<th class=\"name\">waited behind</th>"));
    }

    /// The JSON has the splits in fields of their own, and those without waits have none.
    #[test]
    fn waits_in_json() {
        let report = waits(&Options {
            format: Format::Json,
            ..Options::default()
        })
        .unwrap();
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let profiles = &report["profiles"];
        assert_eq!(profiles["off_cpu"]["total"], 4_000_000_000_i64);
        assert_eq!(profiles["off_cpu"]["idle_left_out"], 95_000_000_000_i64);
        assert_eq!(
            profiles["off_cpu"]["by_reason"],
            serde_json::json!([
                {"reason": "disk_io", "total": 3_000_000_000_i64},
                {"reason": "lock", "total": 1_000_000_000_i64},
            ])
        );
        assert!(profiles["off_cpu"].get("by_behind").is_none());
        assert_eq!(
            profiles["run_queue"]["by_behind"],
            serde_json::json!([
                {"behind": "other", "total": 500_000_000},
                {"behind": "", "total": 200_000_000},
                {"behind": "throttled", "total": 50_000_000},
            ])
        );
        assert!(profiles["run_queue"].get("idle_left_out").is_none());
        let on_cpu = profiles["on_cpu"].as_object().unwrap();
        for field in ["by_reason", "by_behind", "idle_left_out"] {
            assert!(!on_cpu.contains_key(field), "{field}");
        }
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
