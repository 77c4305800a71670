//! How long ready tasks waited for a CPU: `evenkeel.cpu.run_queue.wait.duration`.
//!
//! Recorded in the kernel (`exporter-ebpf/src/run_queue.rs`); checked against field 2 of
//! `/proc/PID/schedstat`.

use evenkeel_abi::{Counter, HISTOGRAM_SCALE, RunQueueReason};
use evenkeel_otlp::{
    histogram::ExponentialHistogram,
    model::{Attribute, Metric, PointValue},
    scale_table::ScaleTables,
};
use evenkeel_semconv::{
    attribute::{self, value::evenkeel_cpu_run_queue_enqueue_reason as reason},
    metric,
};

use super::{NANOS, metric, point};
use crate::kernel::Kernel;

/// Why tasks became ready, the sum of their waits, the program that sees them become ready, the name.
type Distribution = (RunQueueReason, Counter, &'static str, &'static str);

const DISTRIBUTIONS: [Distribution; 3] = [
    (
        RunQueueReason::Wakeup,
        Counter::RunQueueWakeupNanos,
        "sched_wakeup",
        reason::WAKEUP,
    ),
    (
        RunQueueReason::New,
        Counter::RunQueueNewNanos,
        "sched_wakeup_new",
        reason::NEW,
    ),
    (
        RunQueueReason::Preempted,
        Counter::RunQueuePreemptedNanos,
        "sched_switch",
        reason::PREEMPTED,
    ),
];

/// The distributions since the programs were attached, one a reason; none whose program is missing.
pub fn metrics(kernel: &Kernel, attached_unix_nanos: u64) -> Option<Metric> {
    let points = DISTRIBUTIONS
        .into_iter()
        .filter(|(_, _, program, _)| kernel.runs(program))
        .map(|(reason, nanos, _, name)| {
            let histogram = ExponentialHistogram::from_slots(
                HISTOGRAM_SCALE as i32,
                ScaleTables::NANOSECONDS_IN_SECONDS.slot_zero_index,
                &kernel.run_queue_slots(reason),
                kernel.counter(nanos) as f64 / NANOS,
            );
            point(
                vec![Attribute::new(
                    attribute::EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON,
                    name,
                )],
                attached_unix_nanos,
                PointValue::Histogram(histogram),
            )
        })
        .collect();
    metric(&metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION, points)
}
