//! The foot of the page: run-queue waits, the platform, the signals and what was lost.

use std::io::{self, Write};

use evenkeel_semconv::attribute::value::evenkeel_signal_state;

use super::{
    super::{
        overview::Overview,
        units::{grouped, saturated, seconds},
    },
    chart,
    escape::text,
    tables::table,
};

/// The distribution of run-queue waits.
pub(super) fn waits(overview: &Overview, out: &mut dyn Write) -> io::Result<()> {
    let Some(all) = overview.waits.first() else {
        return Ok(());
    };
    write!(
        out,
        "<section class=\"card\"><h2>Run-queue wait</h2><p class=\"soft\">How long tasks that \
         could run waited for a CPU; a bar for each doubling.</p>{}",
        chart::distribution(&all.distribution)
    )?;
    let time = |value: Option<f64>| value.map_or_else(String::new, seconds);
    let rows = overview.waits.iter().map(|waits| {
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
    });
    let columns = [
        ("after", "name"),
        ("waits", "number"),
        ("in all", "number"),
        ("p50", "number"),
        ("p90", "number"),
        ("p99", "number"),
        ("p99.9", "number"),
    ];
    table("", &columns, rows, overview.waits.len(), out)?;
    writeln!(out, "</section>")
}

/// The platform, the state of each signal, and what is missing.
pub(super) fn platform(overview: &Overview, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<section class=\"card\"><div class=\"columns\"><div><h2>Platform</h2><dl>"
    )?;
    for (word, value) in overview.platform() {
        write!(out, "<dt>{word}</dt><dd>{}</dd>", text(&value))?;
    }
    write!(out, "</dl></div><div><h2>Signals</h2>")?;
    let count = |number: Option<i64>| number.map_or_else(|| "-".to_owned(), grouped);
    let signals = overview.ordered_signals();
    let rows = signals.iter().map(|signal| {
        vec![
            signal.name.clone(),
            signal.state.clone(),
            count(signal.events),
            count(signal.lost),
            signal.reason.clone().unwrap_or_default(),
        ]
    });
    let columns = [
        ("signal", "name"),
        ("state", "name"),
        ("events", "number"),
        ("lost", "number"),
        ("why", "reason"),
    ];
    table("", &columns, rows, signals.len(), out)?;
    let missing = overview.missing();
    for line in &missing {
        write!(out, "<p class=\"bad\">{}</p>", text(line))?;
    }
    let healthy = overview
        .signals
        .iter()
        .all(|signal| signal.state != evenkeel_signal_state::FAILED);
    if missing.is_empty() && healthy && overview.counts_losses() {
        write!(out, "<p class=\"good\">Nothing was lost.</p>")?;
    }
    writeln!(out, "</div></div></section>")
}
