//! Tables that the text and the page show alike: chosen here, drawn there.

use evenkeel_semconv::attribute::{self, value::evenkeel_off_cpu_reason};

use super::{
    overview::Overview,
    units::{amount, grouped, percent, saturated, seconds},
};
use crate::summary::{CauseKind, Profile, Summary};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A short name.
    Name,
    /// A number.
    Number,
    /// A share in percent.
    Share,
    /// A sentence, which may be long.
    Sentence,
}

/// A table: named columns and rows of cells.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listing {
    /// Names and contents of the columns.
    pub(super) columns: &'static [(&'static str, Content)],
    /// Cells as they came: each format makes them harmless itself.
    pub(super) rows: Vec<Vec<String>>,
}

impl Listing {
    /// What the tasks of a profile waited for or behind whom, of the recorded command or of all;
    /// `None` where samples do not say.
    pub(super) fn causes(summary: &Summary, profile: &Profile, only_command: bool) -> Option<Self> {
        let kind = profile.causes.kind()?;
        let totals = profile.causes.totals(only_command);
        let whole = totals
            .iter()
            .fold(0.0, |sum, (_, value)| sum + *value as f64);
        let rows = totals
            .into_iter()
            .map(|(cause, value)| {
                let name = match summary.stacks().resolve(cause) {
                    "" => "(unknown)",
                    name => name,
                };
                vec![
                    percent(value as f64, whole),
                    amount(profile, value),
                    name.to_owned(),
                ]
            })
            .collect();
        const SHARE: (&str, Content) = ("share %", Content::Share);
        const TIME: (&str, Content) = ("time", Content::Number);
        Self {
            columns: match kind {
                CauseKind::Reason => &[SHARE, TIME, ("waited for", Content::Name)],
                CauseKind::Behind => &[SHARE, TIME, ("waited behind", Content::Name)],
            },
            rows,
        }
        .unless_empty()
    }

    /// Run-queue waits by what put the task on the queue; `None` when none were recorded.
    pub(super) fn waits(overview: &Overview) -> Option<Self> {
        let time = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), seconds);
        let rows = overview
            .waits
            .iter()
            .map(|waits| {
                let d = &waits.distribution;
                vec![
                    waits.reason.clone().unwrap_or_else(|| "(all)".to_owned()),
                    grouped(saturated(d.count())),
                    time(d.sum()),
                    time(d.quantile(0.5)),
                    time(d.quantile(0.9)),
                    time(d.quantile(0.99)),
                    time(d.quantile(0.999)),
                ]
            })
            .collect();
        Self {
            columns: &[
                ("after", Content::Name),
                ("waits", Content::Number),
                ("in all", Content::Number),
                ("p50", Content::Number),
                ("p90", Content::Number),
                ("p99", Content::Number),
                ("p99.9", Content::Number),
            ],
            rows,
        }
        .unless_empty()
    }

    /// State of each signal, and why it is not attached; `None` when none was reported.
    pub(super) fn signals(overview: &Overview) -> Option<Self> {
        let count = |number: Option<i64>| number.map_or_else(|| "-".to_owned(), grouped);
        let rows = overview
            .ordered_signals()
            .into_iter()
            .map(|signal| {
                vec![
                    signal.name.clone(),
                    signal.state.clone(),
                    count(signal.events),
                    count(signal.lost),
                    signal.reason.clone().unwrap_or_default(),
                ]
            })
            .collect();
        Self {
            columns: &[
                ("signal", Content::Name),
                ("state", Content::Name),
                ("events", Content::Number),
                ("lost", Content::Number),
                ("why", Content::Sentence),
            ],
            rows,
        }
        .unless_empty()
    }

    fn unless_empty(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }
}

/// That idle waiting is not in the numbers, how much it is, and how to see it.
pub(super) fn idle_note(profile: &Profile) -> Option<String> {
    let idle = profile.causes.idle();
    (idle > 0).then(|| {
        format!(
            "idle waiting left out: {}; --filter {}={} shows it",
            amount(profile, idle),
            attribute::EVENKEEL_OFF_CPU_REASON,
            evenkeel_off_cpu_reason::IDLE,
        )
    })
}
