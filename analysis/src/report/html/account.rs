//! The foot of the page: run-queue waits, the platform, the signals and what was lost.

use std::io::{self, Write};

use evenkeel_semconv::attribute::value::evenkeel_signal_state;

use super::{
    super::{
        listing::{Content, Listing},
        overview::Overview,
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
    listing("", Listing::waits(overview), out)?;
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
    listing("", Listing::signals(overview), out)?;
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

/// A table; nothing where there is none.
pub(super) fn listing(
    heading: &str,
    listing: Option<Listing>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(listing) = listing else {
        return Ok(());
    };
    let columns: Vec<_> = listing
        .columns
        .iter()
        .map(|(name, content)| {
            let class = match content {
                Content::Name => "name",
                Content::Number => "number",
                Content::Share => "share",
                Content::Sentence => "reason",
            };
            (*name, class)
        })
        .collect();
    let there = listing.rows.len();
    table(heading, &columns, listing.rows.into_iter(), there, out)
}
