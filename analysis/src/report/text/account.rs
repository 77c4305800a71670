//! The foot of the text: run-queue waits and the state of the signals.

use std::io;

use super::{
    super::{
        listing::{Content, Listing},
        overview::Overview,
    },
    Page,
    table::{Column, Table},
};

/// Run-queue waits by what put the task on the queue, and the state of each signal.
pub(super) fn write(page: &mut Page<'_>, overview: &Overview) -> io::Result<()> {
    for (heading, listing) in [
        ("Run-queue wait", Listing::waits(overview)),
        ("Signals", Listing::signals(overview)),
    ] {
        if let Some(listing) = listing {
            page.heading(heading)?;
            draw(page, listing)?;
        }
    }
    Ok(())
}

/// Writes a table.
pub(super) fn draw(page: &mut Page<'_>, listing: Listing) -> io::Result<()> {
    let columns: Vec<_> = listing
        .columns
        .iter()
        .map(|(name, content)| {
            let column = match content {
                Content::Name => Column::Left,
                Content::Number | Content::Share => Column::Right,
                Content::Sentence => Column::Elastic,
            };
            (*name, column)
        })
        .collect();
    let mut table = Table::new(&columns);
    for row in listing.rows {
        table.push(row);
    }
    page.table(&table)
}
