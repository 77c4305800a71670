//! What can go wrong in a report.

use std::io;

use evenkeel_semconv::attribute::value::evenkeel_signal_state::ATTACHED;
use thiserror::Error;

use super::{Options, listing::idle_note, overview::Overview, printable::printable};
use crate::summary::{Filter, LoadError, Profile, Summary};

/// A word that is none of the choices.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("no such {what}: `{word}` (choose {choices})")]
pub struct BadChoice {
    what: &'static str,
    word: String,
    choices: String,
}

impl BadChoice {
    pub(super) fn new(what: &'static str, word: &str, choices: &[&str]) -> Self {
        Self {
            what,
            word: word.to_owned(),
            choices: choices.join(", "),
        }
    }
}

/// Why there is no report. The text names what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A recording cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The recording has no profile of that name.
    #[error("no profile `{name}` in this recording{why} ({advice})")]
    NoProfile {
        /// Name that was asked for.
        name: String,
        /// Why it is missing, where the recording says so.
        why: String,
        /// What there is instead.
        advice: String,
    },
    /// No sample passes the filters.
    #[error("no sample matches {filters} ({advice})")]
    NoMatch {
        /// The filters.
        filters: String,
        /// What would find one.
        advice: String,
    },
    /// The report could not be written.
    #[error("cannot write the report: {0} (is the disk full, or the reader gone?)")]
    Write(#[from] io::Error),
    /// The flame graph could not be drawn.
    #[error("cannot draw the flame graph of {profile}: {source} (use --format folded instead)")]
    FlameGraph {
        /// Name of the profile.
        profile: String,
        /// What the library says.
        source: io::Error,
    },
}

impl ReportError {
    /// No sample of these profiles.
    pub(super) fn no_match<'a>(
        options: &Options,
        mut profiles: impl Iterator<Item = &'a Profile>,
    ) -> Self {
        let advice = match profiles.find_map(idle_note) {
            Some(note) => note,
            None => "drop a filter, or see what there is with --by process".to_owned(),
        };
        Self::NoMatch {
            filters: printable(&Filter::new(&options.filters).to_string()).into_owned(),
            advice,
        }
    }

    pub(super) fn no_profile(summary: &Summary, options: &Options) -> Self {
        let name = options
            .profile
            .clone()
            .unwrap_or_else(|| "on_cpu".to_owned());
        let why = Overview::new(summary)
            .signals
            .into_iter()
            .find(|signal| signal.name == name && signal.state != ATTACHED)
            .map(|signal| match signal.reason {
                Some(reason) => format!(": its signal was {}, {reason}", signal.state),
                None => format!(": its signal was {}", signal.state),
            })
            .unwrap_or_default();
        let names = summary
            .profiles()
            .keys()
            .map(|name| printable(name).into_owned())
            .collect::<Vec<_>>();
        Self::NoProfile {
            name,
            why: printable(&why).into_owned(),
            advice: if names.is_empty() {
                "it holds no samples at all; record while something runs".to_owned()
            } else {
                format!("choose {}", names.join(", "))
            },
        }
    }
}
