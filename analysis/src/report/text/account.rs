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
    listing(page, "Run-queue wait", Listing::waits(overview))?;
    listing(page, "Signals", Listing::signals(overview))
}

fn listing(page: &mut Page<'_>, heading: &str, listing: Option<Listing>) -> io::Result<()> {
    let Some(listing) = listing else {
        return Ok(());
    };
    page.heading(heading)?;
    let columns: Vec<_> = listing
        .columns
        .iter()
        .map(|(name, content)| {
            let column = match content {
                Content::Name => Column::Left,
                Content::Number => Column::Right,
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
