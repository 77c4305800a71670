//! The figures as Markdown.

use crate::{
    Measured, Results,
    cost::{Cost, Pair, added_nanos, loss},
    load::Load,
    statistics::Interval,
};

/// Sets whose programs are listed one by one.
const LISTED: &str = "all";

/// Prints everything.
pub(crate) fn print(results: &Results) {
    for (index, load) in results.loads.iter().enumerate() {
        println!("### {}\n", load.kind.title());
        for line in workload(results, load, index) {
            println!("{line}");
        }
        println!();
    }
    for line in memory(results) {
        println!("{line}");
    }
    for measured in &results.measured {
        if measured.set.name.starts_with(LISTED) {
            for (load, cost) in results.loads.iter().zip(&measured.costs) {
                println!(
                    "\nPrograms of `{}`, {}:\n",
                    measured.set.name,
                    load.kind.name()
                );
                for line in programs(results, cost) {
                    println!("{line}");
                }
            }
        }
    }
    println!();
    for line in notes(results) {
        println!("{line}");
    }
}

/// A table of one workload.
fn workload(results: &Results, load: &Load, index: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let operation = load.kind.operation();
    let mut head =
        "| signals | programs | agent | together, of the node | throughput lost |".to_owned();
    let mut rule = "|---|---|---|---|---|".to_owned();
    if let Some((one, several)) = operation {
        lines.push(format!(
            "{:.0} {several} a second without the agent.\n",
            load.operations_per_second()
        ));
        head.push_str(&format!(" ns per {one}: in programs | measured |"));
        rule.push_str("---|---|");
    }
    lines.extend([head, rule]);
    for measured in &results.measured {
        if let (Some(cost), Some(pairs)) = (measured.costs.get(index), measured.pairs.get(index)) {
            lines.push(row(results, measured, cost, pairs, operation.is_some()));
        }
    }
    lines
}

fn row(
    results: &Results,
    measured: &Measured,
    cost: &Cost,
    pairs: &[Pair],
    has_operations: bool,
) -> String {
    let share = |seconds: f64| cost.share_of_node(seconds, results.cpus);
    let programs = cost.program_seconds();
    let mut row = format!(
        "| {} | {:.3} % | {:.3} % | {:.3} % | {} |",
        measured.set.name,
        share(programs),
        share(cost.agent_seconds),
        share(programs + cost.agent_seconds),
        interval(pairs, loss, 1, " %"),
    );
    if has_operations {
        row.push_str(&format!(
            " {:.0} | {} |",
            cost.nanos_an_operation(cost.net_program_seconds(results.bias_nanos)),
            interval(pairs, added_nanos, 0, ""),
        ));
    }
    row
}

/// A mean with its interval, or nothing where there is none.
fn interval(pairs: &[Pair], of: fn(&[Pair]) -> Interval, digits: usize, unit: &str) -> String {
    match pairs.len() {
        0 => String::new(),
        1 => format!("{:+.digits$}{unit}", of(pairs).mean),
        _ => {
            let Interval { mean, low, high } = of(pairs);
            format!("{mean:+.digits$}{unit} ({low:+.digits$} to {high:+.digits$})")
        }
    }
}

fn programs(results: &Results, cost: &Cost) -> Vec<String> {
    let mut lines = vec![
        "| program | runs a second | mean run | less the empty program | of the node |".to_owned(),
        "|---|---|---|---|---|".to_owned(),
    ];
    for runs in cost.programs.iter().filter(|runs| runs.runs > 0) {
        lines.push(format!(
            "| `{}` | {:.0} | {:.0} ns | {:.0} ns | {:.4} % |",
            runs.name,
            runs.count() / cost.run.seconds,
            runs.mean_nanos(),
            (runs.mean_nanos() - results.bias_nanos).max(0.0),
            cost.share_of_node(runs.seconds(), results.cpus),
        ));
    }
    lines
}

fn memory(results: &Results) -> Vec<String> {
    let mut lines = vec![
        "### Memory\n".to_owned(),
        "| signals | kernel maps | agent, resident |".to_owned(),
        "|---|---|---|".to_owned(),
    ];
    for measured in &results.measured {
        if measured.failure.is_none() {
            lines.push(format!(
                "| {} | {:.2} MiB | {:.1} MiB |",
                measured.set.name,
                mebibytes(measured.maps),
                mebibytes(measured.resident),
            ));
        }
    }
    lines
}

/// How to read it.
fn notes(results: &Results) -> Vec<String> {
    let mut lines = vec![format!(
        "{} CPUs. *Programs* is the run time that the kernel's statistics count, *agent* the CPU time of its \
         threads, both while the workload ran and over all CPUs' time. An empty program counts {:.0} ns a run, \
         which is in *programs*, and not in *ns in programs*. *Measured* is the time that an operation takes \
         longer with the agent: runs of the same work, each set of signals between two runs without it, 95 % \
         interval of the mean.",
        results.cpus, results.bias_nanos
    )];
    if let Some(idle) = results.idle {
        lines.push(format!(
            "\nIdle: the agent takes {:.2} % of one CPU, its programs {:.3} %.",
            idle.agent_percent, idle.programs_percent
        ));
    }
    for measured in &results.measured {
        if let Some(failure) = &measured.failure {
            lines.push(format!(
                "\nNot measured: `{}`: {failure}",
                measured.set.name
            ));
        }
    }
    if results.noisy > 0 {
        lines.push(format!(
            "\n{} of {} passes began while the machine had other work to do.",
            results.noisy, results.passes
        ));
    }
    lines
}

#[expect(
    clippy::cast_precision_loss,
    reason = "memory sizes are far below 2^53"
)]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No pairs, no figure; one has no interval; two have.
    #[test]
    fn intervals_need_two() {
        let pair = |with| Pair {
            without: 1.0,
            with,
            operations: 1e9,
        };
        assert_eq!(interval(&[], added_nanos, 0, ""), "");
        assert_eq!(interval(&[pair(2.0)], added_nanos, 0, ""), "+1");
        assert_eq!(
            interval(&[pair(2.0), pair(2.0)], loss, 1, " %"),
            "+50.0 % (+50.0 to +50.0)"
        );
    }
}
