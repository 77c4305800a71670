//! Run queues: how long ready tasks waited, how many there were, and how often tasks were switched.
//!
//! Counted in the kernel (`exporter-ebpf/src/switch.rs`, lengths in `on_cpu.rs`); checked against
//! `/proc/PID/schedstat`, `/proc/PID/status` and `ctxt` in `/proc/stat`.

use evenkeel_abi::{Counter, RUN_QUEUE_LENGTHS, RunQueueReason};
use evenkeel_otlp::{
    histogram::ExponentialHistogram,
    model::{Attribute, Metric, PointValue},
};
use evenkeel_semconv::{
    attribute::{
        self,
        value::{
            evenkeel_context_switch_type as switch,
            evenkeel_cpu_run_queue_enqueue_reason as reason, evenkeel_loss_reason as loss,
        },
    },
    metric,
};

use super::{KernelSignal, Signal, SignalAccount, int, metric, off_cpu::wait_losses, point};
use crate::kernel::Kernel;

/// Why tasks became ready, and the name.
const DISTRIBUTIONS: [(RunQueueReason, &str); 3] = [
    (RunQueueReason::Wakeup, reason::WAKEUP),
    (RunQueueReason::New, reason::NEW),
    (RunQueueReason::Preempted, reason::PREEMPTED),
];

/// Why tasks left a CPU.
const SWITCHES: [(Counter, &str); 3] = [
    (Counter::SwitchesVoluntary, switch::VOLUNTARY),
    (Counter::SwitchesInvoluntary, switch::INVOLUNTARY),
    (Counter::SwitchesIdle, switch::IDLE),
];

/// Scale at which lengths are exact: whole numbers up to 64 have buckets of their own.
const LENGTH_SCALE: i32 = 6;

/// Run queues.
#[derive(Debug)]
pub(super) struct Scheduler {
    /// Waiting for which one wait is sampled, before any stretching.
    pub(super) wait_period_seconds: f64,
}

impl Scheduler {
    /// The longest period that is in effect on a CPU.
    fn wait_period(&self, kernel: &Kernel) -> f64 {
        let shift = (0..kernel.cpu_limit())
            .map(|cpu| kernel.counter_of(cpu, Counter::PeriodShift as usize))
            .max()
            .unwrap_or(0);
        self.wait_period_seconds * (1_u64 << shift.min(63)) as f64
    }
}

/// Runnable tasks on a CPU, over the ticks of all CPUs.
fn lengths(kernel: &Kernel) -> ExponentialHistogram {
    let mut histogram = ExponentialHistogram::new(LENGTH_SCALE);
    for length in 0..RUN_QUEUE_LENGTHS as usize {
        let ticks = (0..kernel.cpu_limit())
            .map(|cpu| kernel.counter_of(cpu, Counter::RunQueueLengths as usize + length))
            .sum();
        histogram.record_many(length as f64, ticks);
    }
    histogram
}

impl KernelSignal for Scheduler {
    fn signal(&self) -> Signal {
        Signal::Scheduler
    }

    /// Since the programs were attached.
    fn metrics(&mut self, kernel: &Kernel, attached_unix_nanos: u64) -> Vec<Metric> {
        let start = attached_unix_nanos;
        let waits = DISTRIBUTIONS.map(|(reason, name)| {
            let attributes = vec![Attribute::new(
                attribute::EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON,
                name,
            )];
            let histogram = kernel.run_queue_histogram(reason);
            point(attributes, start, PointValue::Histogram(histogram))
        });
        let switches = SWITCHES.map(|(counter, name)| {
            let attributes = vec![Attribute::new(
                attribute::EVENKEEL_CONTEXT_SWITCH_TYPE,
                name,
            )];
            point(attributes, start, int(kernel.counter(counter)))
        });
        let mut metrics = Vec::new();
        metrics.extend(metric(
            &metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION,
            waits.into(),
        ));
        metrics.extend(metric(&metric::EVENKEEL_CPU_SWITCHES, switches.into()));
        let single = |value| vec![point(Vec::new(), start, value)];
        if kernel.runs("on_cpu") {
            metrics.extend(metric(
                &metric::EVENKEEL_CPU_RUN_QUEUE_LENGTH,
                single(PointValue::Histogram(lengths(kernel))),
            ));
        }
        metrics.extend(metric(
            &metric::EVENKEEL_WAIT_PERIOD,
            single(PointValue::Double(self.wait_period(kernel))),
        ));
        metrics.extend(metric(
            &metric::EVENKEEL_WAIT_SAMPLES,
            single(int(kernel.counter(Counter::WaitsSampled))),
        ));
        metrics
    }

    fn account(&self, kernel: &Kernel) -> SignalAccount {
        let mut losses = wait_losses(kernel);
        losses.push((
            loss::RING_BUFFER_FULL,
            kernel.counter(Counter::AccountsLost),
        ));
        SignalAccount {
            events: kernel.counter(Counter::Switches),
            losses,
        }
    }
}
