//! The tables of a profile.

use std::io;

use super::{
    super::{
        Grouping, Options,
        label::Labels,
        printable::{elide, printable},
        ranking::{self, OwnerKey, OwnerRow, Ranked, or_dash, short_container},
        units::{grouped, percent},
    },
    Page,
    table::{Column, Table},
};
use crate::summary::{Owner, Profile, Summary};

/// Rows of the table that was asked for.
const MAIN_ROWS: usize = 25;

/// The table that was asked for, of the owners that are wanted; `whole` is 100 %.
pub(super) fn main(
    page: &mut Page<'_>,
    summary: &Summary,
    options: &Options,
    profile: &Profile,
    labels: &Labels,
    whole: i64,
    wanted: &dyn Fn(&Owner) -> bool,
) -> io::Result<()> {
    let key = match options.by {
        Grouping::Function | Grouping::Line => {
            let ranked = ranking::labels(summary, profile, labels, wanted);
            if options.by == Grouping::Line {
                hottest_line(page, labels, &ranked, whole)?;
            }
            return labels_of(page, profile, labels, &ranked, whole);
        }
        Grouping::Process => OwnerKey::Process,
        Grouping::Container => OwnerKey::Container,
        Grouping::Service => OwnerKey::Service,
    };
    let rows = ranking::owners(summary, profile, key, wanted);
    owners(page, profile, key, &rows, whole, MAIN_ROWS)
}

/// A sentence about the line that took most, or about how to get lines.
fn hottest_line(
    page: &mut Page<'_>,
    labels: &Labels,
    ranked: &[Ranked],
    whole: i64,
) -> io::Result<()> {
    let with_line = ranked.iter().find_map(|row| {
        let label = labels.all().get_index(row.label as usize)?;
        (label.line != 0 && row.self_value > 0).then_some((row, label))
    });
    let Some((row, label)) = with_line else {
        return writeln!(
            page.out,
            "  no lines: record without --no-lines, or name debug files with --debug-dir\n"
        );
    };
    let share = percent(row.self_value as f64, whole as f64);
    let (file, function) = (printable(&label.file), printable(&label.name));
    let number = label.line;
    let fixed = format!("  line {number} of : , {share} %").chars().count();
    let room = page.width.saturating_sub(fixed);
    let file = elide(&file, room / 2);
    let function = elide(&function, room - file.chars().count());
    writeln!(
        page.out,
        "  line {number} of {file}: {function}, {share} %\n"
    )
}

fn labels_of(
    page: &mut Page<'_>,
    profile: &Profile,
    labels: &Labels,
    ranked: &[Ranked],
    whole: i64,
) -> io::Result<()> {
    let mut table = Table::new(&[
        ("self %", Column::Right),
        ("total %", Column::Right),
        (value_word(profile), Column::Right),
        ("function", Column::Elastic),
        ("module", Column::Elastic),
    ]);
    for row in ranked.iter().take(MAIN_ROWS) {
        let Some(label) = labels.all().get_index(row.label as usize) else {
            continue;
        };
        table.push([
            percent(row.self_value as f64, whole as f64),
            percent(row.total as f64, whole as f64),
            value_text(profile, row.self_value),
            label.with_place(),
            label.module.clone(),
        ]);
    }
    page.table(&table)?;
    more(page, ranked.len(), MAIN_ROWS)
}

/// A table of owners.
pub(super) fn owners(
    page: &mut Page<'_>,
    profile: &Profile,
    key: OwnerKey,
    rows: &[OwnerRow],
    whole: i64,
    most: usize,
) -> io::Result<()> {
    let share = ("share %", Column::Right);
    let value = (value_word(profile), Column::Right);
    let columns = match key {
        OwnerKey::Process => vec![
            share,
            value,
            ("process", Column::Elastic),
            ("pid", Column::Left),
            ("service", Column::Elastic),
            ("container", Column::Left),
        ],
        OwnerKey::Container => vec![
            share,
            value,
            ("container", Column::Left),
            ("service", Column::Elastic),
            ("processes", Column::Elastic),
        ],
        OwnerKey::Service => vec![
            share,
            value,
            ("service", Column::Elastic),
            ("processes", Column::Elastic),
        ],
    };
    let mut table = Table::new(&columns);
    for row in rows.iter().take(most) {
        let mut cells = vec![
            percent(row.value as f64, whole as f64),
            value_text(profile, row.value),
        ];
        match key {
            OwnerKey::Process => {
                cells.push(row.name.clone());
                cells.push(row.pids_text());
                cells.push(row.services_text());
                cells.push(row.container_text());
            }
            OwnerKey::Container => {
                cells.push(short_container(&row.name));
                cells.push(row.services_text());
                cells.push(row.processes_text());
            }
            OwnerKey::Service => {
                cells.push(or_dash(&row.name));
                cells.push(row.processes_text());
            }
        }
        table.push(cells);
    }
    page.table(&table)?;
    more(page, rows.len(), most)
}

fn more(page: &mut Page<'_>, there: usize, shown: usize) -> io::Result<()> {
    match there.checked_sub(shown) {
        None | Some(0) => Ok(()),
        Some(left) => writeln!(page.out, "  ... and {} more", grouped(left as i64)),
    }
}

/// Word over the column of values.
fn value_word(profile: &Profile) -> &'static str {
    match profile.seconds(1) {
        Some(_) => "seconds",
        None => "value",
    }
}

fn value_text(profile: &Profile, value: i64) -> String {
    match profile.seconds(value) {
        Some(seconds) => format!("{seconds:.2}"),
        None => grouped(value),
    }
}
