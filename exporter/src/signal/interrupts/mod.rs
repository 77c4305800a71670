//! Interrupts of devices, the CPU's own vectors and soft interrupts: how often, how long, and how
//! much of each CPU.
//!
//! Measured in the kernel (`exporter-ebpf/src/interrupts.rs`); checked against `/proc/softirqs` and
//! `/proc/interrupts`.

mod device_rows;
mod proc_interrupts;
mod queue_name;

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use aya::maps::Array;
use evenkeel_abi::{
    Counter, DEVICE_NANOS_WORD, DEVICE_ROW, INTERRUPT_ROWS, INTERRUPT_STATE_WORDS, LocalVector,
    SOFT_NANOS_WORD, SOFTIRQS, VECTOR_NANOS_WORD, VECTOR_ROW,
};
use evenkeel_otlp::{
    histogram::ExponentialHistogram,
    model::{Attribute, Metric, Point, PointValue},
};
use evenkeel_semconv::{
    attribute::{
        self,
        value::{evenkeel_interrupt_kind as kind, evenkeel_loss_reason as loss},
    },
    metric,
};

use self::device_rows::DeviceRows;
use super::{KernelSignal, NANOS, Signal, SignalAccount, metric, point};
use crate::{
    identity::Roots,
    kernel::{Kernel, account::histogram, part},
};

/// Names of the soft interrupts, by vector: those of `/proc/softirqs` in lower case.
const SOFT_NAMES: [&str; SOFTIRQS as usize] = [
    "hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu",
];

/// Each vector, its two programs, its name.
const VECTORS: [(LocalVector, [&str; 2], &str); 6] = [
    (
        LocalVector::Timer,
        ["local_timer_entry", "local_timer_exit"],
        "local_timer",
    ),
    (
        LocalVector::Reschedule,
        ["reschedule_entry", "reschedule_exit"],
        "reschedule",
    ),
    (
        LocalVector::CallFunction,
        ["call_function_entry", "call_function_exit"],
        "call_function",
    ),
    (
        LocalVector::CallFunctionSingle,
        ["call_function_single_entry", "call_function_single_exit"],
        "call_function_single",
    ),
    (
        LocalVector::IrqWork,
        ["irq_work_entry", "irq_work_exit"],
        "irq_work",
    ),
    (
        LocalVector::Thermal,
        ["thermal_apic_entry", "thermal_apic_exit"],
        "thermal",
    ),
];

const DEVICE_PROGRAMS: [&str; 2] = ["irq_handler_entry", "irq_handler_exit"];
pub(super) const SOFT_PROGRAMS: [&str; 2] = ["softirq_entry", "softirq_exit"];

/// How often names are read again although nothing asks for it: a number may have been given to
/// another device. On a host with 256 CPUs the file is a megabyte.
const REFRESH: Duration = Duration::from_secs(60);

/// Longest time between readings that brought nothing, while interrupts without a name go on.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(64);

/// Interrupts.
#[derive(Debug)]
pub(super) struct Interrupts {
    file: PathBuf,
    rows: DeviceRows,
    /// Interrupts without a name when names were read last.
    unnamed: u64,
    back_off: Duration,
    last_reading: Option<Instant>,
    events: u64,
}

impl Interrupts {
    pub(super) fn new(roots: &Roots) -> Self {
        Self {
            file: roots.proc.join("interrupts"),
            rows: DeviceRows::default(),
            unnamed: 0,
            back_off: Duration::ZERO,
            last_reading: None,
            events: 0,
        }
    }

    /// Whether the names have to be read: at first, when an interrupt came that has none, now and
    /// then.
    fn names_are_due(&self, unnamed: u64) -> bool {
        self.last_reading.is_none_or(|last| {
            let age = last.elapsed();
            age >= REFRESH || (unnamed != self.unnamed && age >= self.back_off)
        })
    }

    fn read_names(&mut self, kernel: &mut Kernel) {
        let text = match fs::read(&self.file) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => {
                tracing::debug!(%error, file = %self.file.display(), "Interrupts have no names.");
                return;
            }
        };
        let changes = self.rows.assign(&proc_interrupts::parse(&text));
        self.back_off = if changes.is_empty() {
            (self.back_off * 2).clamp(Duration::from_secs(1), LONGEST_BACK_OFF)
        } else {
            Duration::ZERO
        };
        let Some(mut rows) = kernel
            .map_mut("IRQ_ROWS")
            .and_then(|map| Array::<_, u32>::try_from(map).ok())
        else {
            tracing::warn!("The kernel object has no table of interrupts.");
            return;
        };
        for (irq, word) in changes {
            if let Err(error) = rows.set(irq, word, 0) {
                tracing::debug!(%error, irq, "A name could not be given to an interrupt.");
            }
        }
    }

    /// Kind, name and number in the bank of every distribution whose programs run.
    fn measured(&self, kernel: &Kernel) -> Vec<(&'static str, String, u32)> {
        let runs = |programs: [&str; 2]| programs.into_iter().all(|name| kernel.runs(name));
        let mut rows = Vec::new();
        if runs(SOFT_PROGRAMS) {
            rows.extend(
                (0..)
                    .zip(SOFT_NAMES)
                    .map(|(row, name)| (kind::SOFT, name.to_owned(), row)),
            );
        }
        for (vector, programs, name) in VECTORS {
            if runs(programs) {
                rows.push((kind::VECTOR, name.to_owned(), VECTOR_ROW + vector as u32));
            }
        }
        if runs(DEVICE_PROGRAMS) {
            rows.extend(
                (DEVICE_ROW..)
                    .zip(0..self.rows.len())
                    .map(|(row, index)| (kind::DEVICE, self.rows.name(index).to_owned(), row)),
            );
        }
        rows
    }
}

impl KernelSignal for Interrupts {
    fn signal(&self) -> Signal {
        Signal::Interrupts
    }

    fn tick(&mut self, kernel: &mut Kernel) {
        let unnamed = kernel.counter(Counter::InterruptsUnnamed);
        if self.names_are_due(unnamed) {
            self.read_names(kernel);
            self.unnamed = unnamed;
            self.last_reading = Some(Instant::now());
        }
    }

    /// Since the programs were attached. An interrupt that never came has no series.
    fn metrics(&mut self, kernel: &Kernel, attached_unix_nanos: u64) -> Vec<Metric> {
        let mut durations = Vec::new();
        let mut times = Vec::new();
        self.events = 0;
        for (kind, name, row) in self.measured(kernel) {
            let values = distribution(kernel, row);
            let count = values.count();
            if count == 0 {
                continue;
            }
            self.events += count;
            let attributes = vec![
                Attribute::new(attribute::EVENKEEL_INTERRUPT_KIND, kind),
                Attribute::new(attribute::EVENKEEL_INTERRUPT_NAME, name.as_str()),
            ];
            // Nothing that is measured comes in between during a hard interrupt.
            let own = if kind == kind::SOFT {
                soft_nanos(kernel, row) as f64 / NANOS
            } else {
                values.sum
            };
            times.push(point(
                attributes.clone(),
                attached_unix_nanos,
                PointValue::Double(own),
            ));
            durations.push(point(
                attributes,
                attached_unix_nanos,
                PointValue::Histogram(values),
            ));
        }
        let by_cpu = by_cpu(kernel, attached_unix_nanos);
        [
            metric(&metric::EVENKEEL_INTERRUPT_DURATION, durations),
            metric(&metric::EVENKEEL_INTERRUPT_TIME, times),
            metric(&metric::EVENKEEL_CPU_INTERRUPT_TIME, by_cpu),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn account(&self, kernel: &Kernel) -> SignalAccount {
        SignalAccount {
            events: self.events,
            losses: vec![
                (
                    loss::UNMATCHED,
                    kernel.counter(Counter::InterruptsUnmatched),
                ),
                (
                    loss::NEGATIVE_INTERVAL,
                    kernel.counter(Counter::InterruptsNegative),
                ),
                (loss::SERIES_FULL, kernel.counter(Counter::InterruptsOther)),
            ],
        }
    }
}

/// The name of a soft interrupt.
pub(super) fn soft_name(vector: u32) -> &'static str {
    SOFT_NAMES.get(vector as usize).copied().unwrap_or_default()
}

fn distribution(kernel: &Kernel, row: u32) -> ExponentialHistogram {
    let banks = part::banks(kernel.cpu_limit());
    histogram(
        kernel.array("INTERRUPT_HISTOGRAMS"),
        (0..banks).map(|bank| (bank * INTERRUPT_ROWS + row) as usize),
    )
}

/// A word of the state of one CPU.
fn word_of(kernel: &Kernel, cpu: usize, word: u32) -> u64 {
    kernel.array("INTERRUPT_STATES").map_or(0, |states| {
        states.load(cpu * INTERRUPT_STATE_WORDS as usize + word as usize)
    })
}

/// Own nanoseconds of a soft interrupt on all CPUs.
pub(super) fn soft_nanos(kernel: &Kernel, vector: u32) -> u64 {
    (0..kernel.cpu_limit())
        .map(|cpu| word_of(kernel, cpu, SOFT_NANOS_WORD + vector))
        .sum()
}

/// Own time by CPU and kind. A CPU that never ran has no series.
fn by_cpu(kernel: &Kernel, attached_unix_nanos: u64) -> Vec<Point> {
    let mut points = Vec::new();
    for (cpu, number) in (0..kernel.cpu_limit()).zip(0_i64..) {
        let soft = (0..SOFTIRQS).map(|vector| word_of(kernel, cpu, SOFT_NANOS_WORD + vector));
        let kinds = [
            (kind::DEVICE, word_of(kernel, cpu, DEVICE_NANOS_WORD)),
            (kind::VECTOR, word_of(kernel, cpu, VECTOR_NANOS_WORD)),
            (kind::SOFT, soft.sum()),
        ];
        for (kind, nanos) in kinds {
            if nanos > 0 {
                points.push(point(
                    vec![
                        Attribute::new(attribute::CPU_LOGICAL_NUMBER, number),
                        Attribute::new(attribute::EVENKEEL_INTERRUPT_KIND, kind),
                    ],
                    attached_unix_nanos,
                    PointValue::Double(nanos as f64 / NANOS),
                ));
            }
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names are read at first, again when an interrupt came that has none, and less and less often when
    /// that brings nothing.
    #[test]
    fn names_are_read_when_needed() {
        let mut interrupts = Interrupts::new(&Roots::default());
        assert!(interrupts.names_are_due(0));
        interrupts.last_reading = Some(Instant::now());
        interrupts.unnamed = 7;
        assert!(!interrupts.names_are_due(7));
        assert!(interrupts.names_are_due(8));
        interrupts.back_off = LONGEST_BACK_OFF;
        assert!(!interrupts.names_are_due(8));
        interrupts.last_reading = Instant::now().checked_sub(REFRESH);
        assert!(interrupts.names_are_due(7));
    }
}
