//! Distributions of the services and containers in focus (`--focus`): beside the host's own, so that
//! one application can be compared across hosts.

use evenkeel_abi::{FocusDistribution, focus_histogram};
use evenkeel_otlp::model::{Attribute, Metric, PointValue};
use evenkeel_semconv::{MetricDescriptor, attribute, metric};

use super::{Signal, metric, point};
use crate::{
    capture::FocusTarget,
    kernel::{Kernel, account::histogram, part::focus::FOCUS_HISTOGRAMS},
};

/// What is measured, the signal that measures it, and the metric.
const DISTRIBUTIONS: [(FocusDistribution, &[Signal], &MetricDescriptor); 4] = [
    (
        FocusDistribution::RunQueue,
        &[Signal::Scheduler, Signal::RunQueue, Signal::OffCpu],
        &metric::EVENKEEL_FOCUS_RUN_QUEUE_WAIT_DURATION,
    ),
    (
        FocusDistribution::OffCpu,
        &[Signal::OffCpu, Signal::RunQueue, Signal::Scheduler],
        &metric::EVENKEEL_FOCUS_OFF_CPU_DURATION,
    ),
    (
        FocusDistribution::SystemCall,
        &[Signal::Syscalls],
        &metric::EVENKEEL_FOCUS_SYSCALL_DURATION,
    ),
    (
        FocusDistribution::BlockIo,
        &[Signal::BlockIo],
        &metric::EVENKEEL_FOCUS_BLOCK_IO_DURATION,
    ),
];

/// The distributions since the programs were attached, of what is measured.
pub fn metrics(
    kernel: &Kernel,
    targets: &[FocusTarget],
    is_measured: &dyn Fn(Signal) -> bool,
    attached_unix_nanos: u64,
) -> Vec<Metric> {
    DISTRIBUTIONS
        .into_iter()
        .filter(|(_, signals, _)| signals.iter().any(|signal| is_measured(*signal)))
        .filter_map(|(distribution, _, descriptor)| {
            let points = targets.iter().zip(1..).map(|(target, group)| {
                let entry = focus_histogram(group, distribution) as usize;
                let values = histogram(kernel.array(FOCUS_HISTOGRAMS), [entry].into_iter());
                point(
                    vec![Attribute::new(
                        attribute::EVENKEEL_FOCUS_TARGET,
                        target.to_string(),
                    )],
                    attached_unix_nanos,
                    PointValue::Histogram(values),
                )
            });
            metric(descriptor, points.collect())
        })
        .collect()
}
