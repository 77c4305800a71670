//! The head of the text: host, time, how busy it was, what was lost.

use std::io;

use evenkeel_semconv::attribute::{self, value::evenkeel_stack_end};

use super::{
    super::{
        overview::Overview,
        printable::printable,
        units::{grouped, percent, utc},
    },
    Page, Tone,
};
use crate::summary::Summary;

/// Host, time, how busy, what was lost.
pub(super) fn write(page: &mut Page<'_>, summary: &Summary, overview: &Overview) -> io::Result<()> {
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
    } else if let Some(busy) = overview.sampled_busy {
        let busy = page.tone(Tone::Bold, &format!("busy {} %", percent(busy, 1.0)));
        page.items("CPU time", &[busy, "(by samples)".to_owned()])?;
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
    losses(page, overview)
}

/// Everything that is missing from the numbers below.
fn losses(page: &mut Page<'_>, overview: &Overview) -> io::Result<()> {
    let mut items = overview
        .missing()
        .iter()
        .map(|line| page.tone(Tone::Bad, &printable(line)))
        .collect::<Vec<_>>();
    if items.is_empty() {
        items.push(if overview.counts_losses() {
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
        page.items("walks", &items)?;
    }
    Ok(())
}
