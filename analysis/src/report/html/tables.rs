//! Tables of the page.

use std::io::{self, Write};

use super::{
    super::{
        label::Labels,
        ranking::{self, OwnerKey, or_dash, short_container},
        units::{grouped, percent, saturated},
    },
    escape::text,
};
use crate::summary::{Profile, Summary};

/// Rows of a table.
const ROWS: usize = 30;

/// A table; each cell comes with its class and is escaped here.
pub(super) fn table(
    heading: &str,
    columns: &[(&str, &str)],
    rows: impl Iterator<Item = Vec<String>>,
    there: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(
        out,
        "<div><h3>{}</h3><div class=\"scroll\"><table><thead><tr>",
        text(heading)
    )?;
    for (name, class) in columns {
        let class = if *class == "share" { "number" } else { class };
        write!(out, "<th class=\"{class}\">{}</th>", text(name))?;
    }
    write!(out, "</tr></thead><tbody>")?;
    for row in rows {
        write!(out, "<tr>")?;
        for (cell, (_, class)) in row.iter().zip(columns) {
            match *class {
                "share" => {
                    let width = cell.parse::<f64>().unwrap_or(0.0).clamp(0.0, 100.0);
                    write!(
                        out,
                        "<td class=\"number share\" style=\"--share:{width:.1}%\">{}</td>",
                        text(cell)
                    )?;
                }
                class => write!(out, "<td class=\"{class}\">{}</td>", text(cell))?,
            }
        }
        write!(out, "</tr>")?;
    }
    write!(out, "</tbody></table></div>")?;
    if there > ROWS {
        let left = saturated((there - ROWS) as u64);
        write!(out, "<p class=\"soft\">and {} more</p>", grouped(left))?;
    }
    write!(out, "</div>")
}

/// Functions by own value.
pub(super) fn functions(
    summary: &Summary,
    profile: &Profile,
    labels: &Labels,
    out: &mut dyn Write,
) -> io::Result<()> {
    let ranked = ranking::labels(summary, profile, labels, |_| true);
    let rows = ranked.iter().take(ROWS).filter_map(|row| {
        let label = labels.all().get_index(row.label as usize)?;
        let share = |value: i64| percent(value as f64, profile.total as f64);
        Some(vec![
            share(row.self_value),
            share(row.total),
            label.with_place(),
            label.module.clone(),
        ])
    });
    let columns = [
        ("self %", "share"),
        ("total %", "number"),
        ("function", "name"),
        ("module", "name"),
    ];
    table("Functions", &columns, rows, ranked.len(), out)
}

/// Processes, containers or services by value.
pub(super) fn owners(
    summary: &Summary,
    profile: &Profile,
    key: OwnerKey,
    out: &mut dyn Write,
) -> io::Result<()> {
    let owners = ranking::owners(summary, profile, key, |_| true);
    let share = ("share %", "share");
    let (heading, columns) = match key {
        OwnerKey::Process => (
            "Processes",
            vec![
                share,
                ("process", "name"),
                ("pid", "number"),
                ("service", "name"),
                ("container", "name"),
            ],
        ),
        OwnerKey::Container => (
            "Containers",
            vec![
                share,
                ("container", "name"),
                ("service", "name"),
                ("processes", "name"),
            ],
        ),
        OwnerKey::Service => (
            "Services",
            vec![share, ("service", "name"), ("processes", "name")],
        ),
    };
    let rows = owners.iter().take(ROWS).map(|row| {
        let mut cells = vec![percent(row.value as f64, profile.total as f64)];
        match key {
            OwnerKey::Process => cells.extend([
                row.name.clone(),
                row.pids_text(),
                row.services_text(),
                row.container_text(),
            ]),
            OwnerKey::Container => cells.extend([
                short_container(&row.name),
                row.services_text(),
                row.processes_text(),
            ]),
            OwnerKey::Service => cells.extend([or_dash(&row.name), row.processes_text()]),
        }
        cells
    });
    table(heading, &columns, rows, owners.len(), out)
}
