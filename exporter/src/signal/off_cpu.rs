//! Blocked time by what it was waited for: `evenkeel.off_cpu.time`, the sum of the profile `off_cpu`.
//!
//! Sampled in the kernel (`exporter-ebpf/src/switch.rs`, `wait_sampling.rs`).

use std::collections::BTreeMap;

use evenkeel_abi::Counter;
use evenkeel_otlp::model::{Attribute, Metric, PointValue};
use evenkeel_semconv::{
    attribute::{self, value::evenkeel_loss_reason as loss},
    metric,
};

use super::{KernelSignal, NANOS, Signal, SignalAccount, metric, point};
use crate::kernel::Kernel;

/// The profile of blocked time.
#[derive(Debug, Default)]
pub(super) struct OffCpu;

impl KernelSignal for OffCpu {
    fn signal(&self) -> Signal {
        Signal::OffCpu
    }

    fn metrics(&mut self, _kernel: &Kernel, _attached_unix_nanos: u64) -> Vec<Metric> {
        Vec::new()
    }

    fn account(&self, kernel: &Kernel) -> SignalAccount {
        SignalAccount {
            events: kernel.counter(Counter::SwitchesVoluntary),
            losses: wait_losses(kernel),
        }
    }
}

/// What the programs that measure waits lost.
pub(super) fn wait_losses(kernel: &Kernel) -> Vec<(&'static str, u64)> {
    [
        (loss::RING_BUFFER_FULL, Counter::WaitsLost),
        (loss::STORAGE_FULL, Counter::TaskStorageFull),
        (loss::UNMATCHED, Counter::WaitsUnmatched),
        (loss::NEGATIVE_INTERVAL, Counter::WaitsNegative),
    ]
    .map(|(reason, counter)| (reason, kernel.counter(counter)))
    .into()
}

/// Blocked time since the start, by reason.
#[derive(Clone, Debug, Default)]
pub struct BlockedTime {
    nanos: BTreeMap<&'static str, u64>,
}

impl BlockedTime {
    /// Adds a window.
    pub fn add(&mut self, window: &BTreeMap<&'static str, u64>) {
        for (reason, nanos) in window {
            *self.nanos.entry(reason).or_default() += nanos;
        }
    }

    /// The metric; absent before anything was blocked.
    pub fn metric(&self, attached_unix_nanos: u64) -> Option<Metric> {
        let points = self.nanos.iter().map(|(reason, nanos)| {
            point(
                vec![Attribute::new(attribute::EVENKEEL_OFF_CPU_REASON, *reason)],
                attached_unix_nanos,
                PointValue::Double(*nanos as f64 / NANOS),
            )
        });
        metric(&metric::EVENKEEL_OFF_CPU_TIME, points.collect())
    }
}
