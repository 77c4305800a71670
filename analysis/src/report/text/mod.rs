//! The report for people, on a terminal of 100 columns.

mod table;

use std::io::{self, Write};

use evenkeel_semconv::attribute::{
    self,
    value::{evenkeel_signal_state, evenkeel_stack_end},
};

use self::table::{Column, Table};
use super::{
    Grouping, Options, ReportError,
    label::{Detail, Labels},
    one,
    overview::{Overview, Signal},
    printable::printable,
    ranking::{self, OwnerKey, OwnerRow, Ranked},
    units::{grouped, percent, seconds, utc},
};
use crate::summary::{Owner, Profile, Summary};

/// Rows of the table that was asked for.
const MAIN_ROWS: usize = 25;

/// Rows of the tables beside it.
const SIDE_ROWS: usize = 10;

/// Columns when the width of the terminal is not known.
const DEFAULT_WIDTH: usize = 100;

/// Writes text, with ANSI colours where asked for.
struct Page<'a> {
    out: &'a mut dyn Write,
    colour: bool,
    width: usize,
}

/// ANSI "select graphic rendition" codes (ECMA-48, 8.3.117).
#[derive(Clone, Copy)]
enum Tone {
    Bold,
    Good,
    Bad,
}

impl Page<'_> {
    fn tone(&self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Bold => 1,
            Tone::Good => 32,
            Tone::Bad => 31,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        let heading = self.tone(Tone::Bold, &printable(text));
        writeln!(self.out, "\n{heading}")
    }

    fn table(&mut self, table: &Table) -> io::Result<()> {
        let style = if self.colour {
            |head: &str| format!("\x1b[2m{head}\x1b[0m")
        } else {
            |head: &str| head.to_owned()
        };
        table.write(self.out, self.width, style)
    }

    /// A word, then items as many as fit a line, the rest on lines below.
    fn items(&mut self, word: &str, items: &[String]) -> io::Result<()> {
        const INDENT: usize = 12;
        let mut line = format!("  {word:<width$}", width = INDENT - 2);
        let mut used = INDENT;
        for (index, item) in items.iter().enumerate() {
            let length = item.chars().count();
            if index > 0 && used + 2 + length > self.width {
                writeln!(self.out, "{}", line.trim_end())?;
                line = " ".repeat(INDENT);
                used = INDENT;
            } else if index > 0 {
                line.push_str("  ");
                used += 2;
            }
            line.push_str(item);
            used += length;
        }
        writeln!(self.out, "{}", line.trim_end())
    }
}

/// Writes the report of one profile.
pub(super) fn write(
    summary: &Summary,
    options: &Options,
    detail: Detail,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let mut page = Page {
        out,
        colour: options.colour,
        width: options.width.unwrap_or(DEFAULT_WIDTH).clamp(60, 200),
    };
    let overview = Overview::new(summary);
    head(&mut page, summary, &overview)?;
    if summary.profiles().is_empty() && options.profile.is_none() {
        writeln!(
            page.out,
            "\nNo samples: nothing ran while this was recorded."
        )?;
    } else {
        let (name, profile) = one(summary, options)?;
        profile_section(&mut page, summary, options, detail, name, profile)?;
        let others = summary
            .profiles()
            .keys()
            .filter(|other| *other != name)
            .map(|other| printable(other).into_owned())
            .collect::<Vec<_>>();
        if !others.is_empty() {
            writeln!(
                page.out,
                "\nAlso in this recording (--profile): {}",
                others.join(", ")
            )?;
        }
    }
    waits(&mut page, &overview)?;
    signals(&mut page, &overview)?;
    Ok(())
}

fn head(page: &mut Page<'_>, summary: &Summary, overview: &Overview) -> io::Result<()> {
    let title = page.tone(Tone::Bold, &printable(&overview.title()));
    let facts = [
        overview
            .text(attribute::EVENKEEL_KERNEL_RELEASE)
            .map(|r| format!("Linux {r}")),
        overview.text(attribute::HOST_ARCH),
        overview
            .cpus
            .map(|count| format!("{} CPUs", grouped(count))),
        overview
            .text(attribute::EVENKEEL_HOST_HYPERVISOR_NAME)
            .map(|name| format!("hypervisor {name}")),
        overview.text(attribute::HOST_TYPE),
        overview.text(attribute::CLOUD_AVAILABILITY_ZONE),
    ];
    let facts = facts
        .into_iter()
        .flatten()
        .map(|fact| printable(&fact).into_owned())
        .collect::<Vec<_>>()
        .join(", ");
    writeln!(page.out, "{title}  {facts}")?;
    let windows = summary.windows().len();
    page.items(
        "recorded",
        &[format!(
            "{}, {:.1} s in {windows} {}",
            utc(summary.start()),
            summary.duration() as f64 / 1e9,
            if windows == 1 { "window" } else { "windows" },
        )],
    )?;
    if let Some(command) = overview.text(attribute::EVENKEEL_RECORDING_COMMAND) {
        page.items("command", &[printable(&command).into_owned()])?;
    }
    if let Some(busy) = overview.busy() {
        let mut items = vec![page.tone(Tone::Bold, &format!("busy {} %", percent(busy, 1.0)))];
        items.extend(overview.cpu_modes.iter().map(|(mode, share)| {
            let text = format!("{} {} %", printable(mode), percent(*share, 1.0));
            // From a few percent on, steal is felt.
            if mode == attribute::value::cpu_mode::STEAL && *share >= 0.03 {
                page.tone(Tone::Bad, &text)
            } else {
                text
            }
        }));
        page.items("CPU time", &items)?;
    }
    if !overview.pressure.is_empty() {
        let items = overview
            .pressure
            .iter()
            .map(|p| {
                let name = format!("{} {}", printable(&p.resource), printable(&p.scope));
                format!("{name} {} %", percent(p.share, 1.0))
            })
            .collect::<Vec<_>>();
        page.items("pressure", &items)?;
    }
    losses(page, summary, overview)
}

/// Everything that is missing from the numbers below.
fn losses(page: &mut Page<'_>, summary: &Summary, overview: &Overview) -> io::Result<()> {
    let mut items = overview
        .losses()
        .map(|(signal, reason, lost)| {
            let share = signal
                .events
                .filter(|events| *events > 0)
                .map(|events| format!(" of {}", grouped(events)))
                .unwrap_or_default();
            let text = format!(
                "{} {}{share} ({})",
                printable(&signal.name),
                grouped(lost),
                printable(reason)
            );
            page.tone(Tone::Bad, &text)
        })
        .collect::<Vec<_>>();
    let overflow = summary.overflow();
    for (count, what) in [
        (
            overflow.samples,
            "samples with shortened stacks (too many for this report)",
        ),
        (overflow.owners, "samples of processes beyond the bound"),
        (overflow.points, "metric points beyond the bound"),
        (overflow.malformed, "malformed entries in the file"),
        (overflow.repeated, "repeated metric points ignored"),
    ] {
        if count > 0 {
            items.push(format!(
                "{} {what}",
                grouped(i64::try_from(count).unwrap_or(i64::MAX))
            ));
        }
    }
    let counted = overview.signals.iter().any(|signal| signal.lost.is_some());
    if items.is_empty() {
        items.push(if counted {
            page.tone(Tone::Good, "nothing")
        } else {
            "not counted in this recording".to_owned()
        });
    }
    page.items("lost", &items)?;
    let walks = overview.walks.iter().map(|(_, count)| count).sum::<i64>();
    if walks > 0 {
        let mut items = vec![grouped(walks)];
        items.extend(
            overview
                .walks
                .iter()
                .filter(|(end, _)| end != evenkeel_stack_end::COMPLETE)
                .map(|(end, count)| {
                    let share = percent(*count as f64, walks as f64);
                    format!("{} {} ({share} %)", printable(end), grouped(*count))
                }),
        );
        page.items("user stacks", &items)?;
    }
    Ok(())
}

fn profile_section(
    page: &mut Page<'_>,
    summary: &Summary,
    options: &Options,
    detail: Detail,
    name: &str,
    profile: &Profile,
) -> io::Result<()> {
    let labels = Labels::new(summary.stacks(), detail);
    let heading = format!("{name}: {}", amount(profile, profile.total));
    page.heading(&heading)?;
    let has_command = profile
        .samples
        .keys()
        .any(|(_, owner)| summary.owner(*owner).is_some_and(|owner| owner.command));
    let all = |_: &Owner| true;
    if has_command {
        let within = |owner: &Owner| owner.command;
        let own = ranking::owners(summary, profile, OwnerKey::Process, within);
        let total = own.iter().map(|row| row.value).sum::<i64>();
        page.heading(&format!(
            "The command and its children: {} ({} % of all)",
            amount(profile, total),
            percent(total as f64, profile.total as f64)
        ))?;
        main_table(page, summary, options, profile, &labels, total, &within)?;
        page.heading("The whole node")?;
    }
    main_table(
        page,
        summary,
        options,
        profile,
        &labels,
        profile.total,
        &all,
    )?;
    if options.by != Grouping::Process {
        page.heading("By process")?;
        let rows = ranking::owners(summary, profile, OwnerKey::Process, all);
        owner_table(
            page,
            profile,
            OwnerKey::Process,
            &rows,
            profile.total,
            SIDE_ROWS,
        )?;
    }
    Ok(())
}

fn main_table(
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
            return label_table(page, profile, labels, &ranked, whole);
        }
        Grouping::Process => OwnerKey::Process,
        Grouping::Container => OwnerKey::Container,
        Grouping::Service => OwnerKey::Service,
    };
    let rows = ranking::owners(summary, profile, key, wanted);
    owner_table(page, profile, key, &rows, whole, MAIN_ROWS)
}

fn label_table(
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

fn owner_table(
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
                cells.push(pids(row));
                cells.push(few(&row.services));
                cells.push(few_containers(&row.containers));
            }
            OwnerKey::Container => {
                cells.push(short_container(&row.name));
                cells.push(few(&row.services));
                cells.push(few(&row.processes));
            }
            OwnerKey::Service => {
                cells.push(or_none(&row.name));
                cells.push(few(&row.processes));
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

fn pids(row: &OwnerRow) -> String {
    match row.pids.as_slice() {
        [] => "-".to_owned(),
        [(pid, _)] => pid.to_string(),
        several => format!("{} pids", several.len()),
    }
}

fn few(names: &std::collections::BTreeSet<String>) -> String {
    let mut shown = names.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
    if names.len() > 3 {
        shown.push_str(&format!(" +{}", names.len() - 3));
    }
    or_none(&shown)
}

fn few_containers(names: &std::collections::BTreeSet<String>) -> String {
    let mut names = names.iter();
    match (names.next(), names.next()) {
        (None, _) => "-".to_owned(),
        (Some(only), None) => short_container(only),
        _ => "(several)".to_owned(),
    }
}

/// The first twelve digits, as container tools print them.
fn short_container(id: &str) -> String {
    if id.is_empty() {
        "(none)".to_owned()
    } else {
        id.chars().take(12).collect()
    }
}

fn or_none(text: &str) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        text.to_owned()
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

/// A value with its unit in words: `5,994 samples, 60.5 CPU seconds`.
pub(super) fn amount(profile: &Profile, value: i64) -> String {
    let is_count = profile.sample_type.unit == "count";
    match (profile.seconds(value), is_count) {
        (Some(time), true) => {
            format!(
                "{} {}, {time:.2} CPU seconds",
                grouped(value),
                profile.sample_type.name
            )
        }
        (Some(time), false) => seconds(time),
        (None, true) => format!("{} {}", grouped(value), profile.sample_type.name),
        (None, false) => format!("{} {}", grouped(value), profile.sample_type.unit),
    }
}

fn waits(page: &mut Page<'_>, overview: &Overview) -> io::Result<()> {
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
            grouped(i64::try_from(d.count()).unwrap_or(i64::MAX)),
            time(d.sum()),
            time(d.quantile(0.5)),
            time(d.quantile(0.9)),
            time(d.quantile(0.99)),
            time(d.quantile(0.999)),
        ]);
    }
    page.table(&table)
}

fn signals(page: &mut Page<'_>, overview: &Overview) -> io::Result<()> {
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
    for signal in ordered(&overview.signals) {
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

/// What needs attention first.
pub(super) fn ordered(signals: &[Signal]) -> Vec<&Signal> {
    let rank = |signal: &Signal| match signal.state.as_str() {
        evenkeel_signal_state::FAILED => 0,
        evenkeel_signal_state::PARTIAL => 1,
        evenkeel_signal_state::ATTACHED => 2,
        _ => 3,
    };
    let mut signals = signals.iter().collect::<Vec<_>>();
    signals.sort_by_key(|signal| rank(signal));
    signals
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Options, write},
        *,
    };
    use crate::{fixture, summary::Filter};

    fn text(options: &Options) -> String {
        let mut out = Vec::new();
        write(&fixture::summary(Filter::default()), options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The whole report, by hand.
    #[test]
    fn golden() {
        assert_eq!(text(&Options::default()), include_str!("golden.txt"));
    }

    /// Every grouping fits 100 columns, and nothing of a hostile name reaches the terminal.
    #[test]
    fn fits_and_is_harmless() {
        for word in Grouping::WORDS {
            let options = Options {
                by: word.parse().unwrap(),
                ..Options::default()
            };
            let text = text(&options);
            assert!(
                text.lines().all(|line| line.chars().count() <= 100),
                "{text}"
            );
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
        }
    }

    /// Colours appear when asked for and only change the colours.
    #[test]
    fn colours() {
        let coloured = text(&Options {
            colour: true,
            ..Options::default()
        });
        let plain = coloured
            .split('\x1b')
            .enumerate()
            .map(|(i, part)| match (i, part.split_once('m')) {
                (0, _) | (_, None) => part,
                (_, Some((_, rest))) => rest,
            })
            .collect::<String>();
        assert!(
            coloured.contains("\x1b[31msteal 10.0 %\x1b[0m"),
            "{coloured}"
        );
        assert_eq!(plain, text(&Options::default()));
    }
}
