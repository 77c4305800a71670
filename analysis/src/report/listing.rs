//! Tables that the text and the page show alike: chosen here, drawn there.

use super::{
    overview::Overview,
    units::{grouped, saturated, seconds},
};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A short name.
    Name,
    /// A number.
    Number,
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
