//! The foot of the text: run-queue waits and the state of the signals.

use std::io;

use super::{
    super::{
        overview::Overview,
        units::{grouped, saturated, seconds},
    },
    Page,
    table::{Column, Table},
};

/// Run-queue waits by what put the task on the queue.
pub(super) fn waits(page: &mut Page<'_>, overview: &Overview) -> io::Result<()> {
    if overview.waits.is_empty() {
        return Ok(());
    }
    page.heading("Run-queue wait")?;
    let mut table = Table::new(&[
        ("after", Column::Left),
        ("waits", Column::Right),
        ("in all", Column::Right),
        ("p50", Column::Right),
        ("p90", Column::Right),
        ("p99", Column::Right),
        ("p99.9", Column::Right),
    ]);
    for waits in &overview.waits {
        let d = &waits.distribution;
        let time = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), seconds);
        table.push([
            waits.reason.clone().unwrap_or_else(|| "(all)".to_owned()),
            grouped(saturated(d.count())),
            time(d.sum()),
            time(d.quantile(0.5)),
            time(d.quantile(0.9)),
            time(d.quantile(0.99)),
            time(d.quantile(0.999)),
        ]);
    }
    page.table(&table)
}

/// State of each signal, and why it is not attached.
pub(super) fn signals(page: &mut Page<'_>, overview: &Overview) -> io::Result<()> {
    if overview.signals.is_empty() {
        return Ok(());
    }
    page.heading("Signals")?;
    let mut table = Table::new(&[
        ("signal", Column::Left),
        ("state", Column::Left),
        ("events", Column::Right),
        ("lost", Column::Right),
        ("why", Column::Elastic),
    ]);
    let count = |number: Option<i64>| number.map_or_else(|| "-".to_owned(), grouped);
    for signal in overview.ordered_signals() {
        table.push([
            signal.name.clone(),
            signal.state.clone(),
            count(signal.events),
            count(signal.lost),
            signal.reason.clone().unwrap_or_default(),
        ]);
    }
    page.table(&table)
}
