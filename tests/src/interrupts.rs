//! The kernel's own counts of interrupts.

use std::fs;

use anyhow::{Context as _, Result};
use evenkeel_semconv::attribute::value::evenkeel_interrupt_kind as kind;

/// One count of the kernel and the series of ours that sum to it.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// What the kernel calls it.
    pub kernel: &'static str,
    /// `evenkeel.interrupt.kind` of the series.
    pub kind: &'static str,
    /// `evenkeel.interrupt.name` of the series; empty for all of the kind.
    pub names: &'static [&'static str],
}

const fn soft(kernel: &'static str, names: &'static [&'static str]) -> Counted {
    Counted {
        kernel,
        kind: kind::SOFT,
        names,
    }
}

const fn vector(kernel: &'static str, names: &'static [&'static str]) -> Counted {
    Counted {
        kernel,
        kind: kind::VECTOR,
        names,
    }
}

/// What is compared. `CAL` is all function calls; `TLB` is how many of them flushed a TLB
/// (`arch/x86/kernel/irq.c`, `arch_show_interrupts`).
pub const COUNTED: [Counted; 16] = [
    soft("HI", &["hi"]),
    soft("TIMER", &["timer"]),
    soft("NET_TX", &["net_tx"]),
    soft("NET_RX", &["net_rx"]),
    soft("BLOCK", &["block"]),
    soft("IRQ_POLL", &["irq_poll"]),
    soft("TASKLET", &["tasklet"]),
    soft("SCHED", &["sched"]),
    soft("HRTIMER", &["hrtimer"]),
    soft("RCU", &["rcu"]),
    vector("LOC", &["local_timer"]),
    vector("RES", &["reschedule"]),
    vector("CAL", &["call_function", "call_function_single"]),
    vector("IWI", &["irq_work"]),
    vector("TRM", &["thermal"]),
    Counted {
        kernel: DEVICES,
        kind: kind::DEVICE,
        names: &[],
    },
];

/// The sum of the lines with a number.
const DEVICES: &str = "devices";

/// The counts of `/proc/softirqs` and `/proc/interrupts`, summed over CPUs, in the order of [`COUNTED`].
pub fn read() -> Result<[f64; COUNTED.len()]> {
    let softirqs = fs::read_to_string("/proc/softirqs").context("/proc/softirqs")?;
    let interrupts = fs::read_to_string("/proc/interrupts").context("/proc/interrupts")?;
    Ok(parse(&softirqs, &interrupts))
}

fn parse(softirqs: &str, interrupts: &str) -> [f64; COUNTED.len()] {
    let mut counts = [0.0; COUNTED.len()];
    for (text, of_devices) in [(softirqs, false), (interrupts, true)] {
        let mut lines = text.lines();
        let cpus = lines
            .next()
            .map_or(0, |header| header.split_whitespace().count());
        for line in lines {
            let Some((label, rest)) = line.split_once(':') else {
                continue;
            };
            let label = match label.trim() {
                number if of_devices && number.parse::<u32>().is_ok() => DEVICES,
                name => name,
            };
            let sum: f64 = rest
                .split_whitespace()
                .take(cpus)
                .map_while(|word| word.parse::<f64>().ok())
                .sum();
            for (count, counted) in counts.iter_mut().zip(COUNTED) {
                if counted.kernel == label {
                    *count += sum;
                }
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines are summed over CPUs and found by label; what follows the counts is none.
    #[test]
    fn lines_are_summed() {
        let softirqs = "      CPU0  CPU1\n HI: 1 2\n NET_RX: 10 20\n";
        let interrupts = "     CPU0   CPU1\n 1: 9 0  IO-APIC   1-edge  i8042\n 36: 0 5  4-pin-chip 7 x\n\
                          LOC:  100 200   Local timer interrupts\nCAL: 3 4   Function call interrupts\n\
                          TLB: 1 1   TLB shootdowns\nERR: 7\n";
        let counts = parse(softirqs, interrupts);
        let of = |label| {
            let index = COUNTED.iter().position(|counted| counted.kernel == label);
            counts[index.unwrap()]
        };
        assert_eq!(
            ["HI", "NET_RX", "LOC", "CAL", "devices", "RCU"].map(of),
            [3.0, 30.0, 300.0, 7.0, 14.0, 0.0]
        );
    }
}
