//! How long ready tasks waited for a CPU: `evenkeel.cpu.run_queue.wait.duration`.
//!
//! Recorded in the kernel (`exporter-ebpf/src/run_queue.rs`); checked against field 2 of
//! `/proc/PID/schedstat`.

use evenkeel_abi::{Counter, RunQueueReason};
use evenkeel_otlp::model::{Attribute, Metric, PointValue};
use evenkeel_semconv::{
    attribute::{
        self,
        value::{evenkeel_cpu_run_queue_enqueue_reason as reason, evenkeel_loss_reason as loss},
    },
    metric,
};

use super::{KernelSignal, Signal, SignalAccount, metric, point};
use crate::kernel::Kernel;

/// Why tasks became ready, the program that sees them become ready, the name.
type Distribution = (RunQueueReason, &'static str, &'static str);

const DISTRIBUTIONS: [Distribution; 3] = [
    (RunQueueReason::Wakeup, "sched_wakeup", reason::WAKEUP),
    (RunQueueReason::New, "sched_wakeup_new", reason::NEW),
    (RunQueueReason::Preempted, "sched_switch", reason::PREEMPTED),
];

/// Run-queue waits.
#[derive(Debug, Default)]
pub(super) struct Scheduler;

impl KernelSignal for Scheduler {
    fn signal(&self) -> Signal {
        Signal::Scheduler
    }

    /// The distributions since the programs were attached, one a reason; none whose program is
    /// missing.
    fn metrics(&mut self, kernel: &Kernel, attached_unix_nanos: u64) -> Vec<Metric> {
        let points = DISTRIBUTIONS
            .into_iter()
            .filter(|(_, program, _)| kernel.runs(program))
            .map(|(reason, _, name)| {
                point(
                    vec![Attribute::new(
                        attribute::EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON,
                        name,
                    )],
                    attached_unix_nanos,
                    PointValue::Histogram(kernel.run_queue_histogram(reason)),
                )
            })
            .collect();
        metric(&metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION, points)
            .into_iter()
            .collect()
    }

    fn account(&self, kernel: &Kernel) -> SignalAccount {
        SignalAccount {
            events: kernel.counter(Counter::Switches),
            losses: vec![
                (loss::STORAGE_FULL, kernel.counter(Counter::TaskStorageFull)),
                (loss::UNMATCHED, kernel.counter(Counter::RunQueueUnmatched)),
                (
                    loss::NEGATIVE_INTERVAL,
                    kernel.counter(Counter::RunQueueNegative),
                ),
            ],
        }
    }
}
