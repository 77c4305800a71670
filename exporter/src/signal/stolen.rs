//! Stolen time as the kernel accounts it: `evenkeel.cpu.stolen.time`.
//!
//! Counted by the kernel programs from `rq.prev_steal_time` (`exporter-ebpf/src/stolen.rs`), which
//! is what steal in `/proc/stat` is made of. The distribution over seconds is
//! [`StealTicker`](super::host::StealTicker)'s.

use evenkeel_abi::Counter;
use evenkeel_otlp::model::{Metric, PointValue};
use evenkeel_semconv::metric;

use super::{NANOS, host::StealClock, metric, point};
use crate::kernel::Kernel;

/// Stolen time since the programs were attached. Where it cannot be told whether anybody counts,
/// nothing counted is absent, not zero.
pub fn metrics(kernel: &Kernel, clock: StealClock, attached_unix_nanos: u64) -> Option<Metric> {
    let nanos = kernel.counter(Counter::StolenNanos);
    if !clock.believes(nanos) {
        return None;
    }
    metric(
        &metric::EVENKEEL_CPU_STOLEN_TIME,
        vec![point(
            Vec::new(),
            attached_unix_nanos,
            PointValue::Double(nanos as f64 / NANOS),
        )],
    )
}

/// Stolen nanoseconds since the programs were attached, while CPUs were idle.
pub fn idle_nanos(kernel: &Kernel) -> u64 {
    kernel.counter(Counter::StolenIdleNanos)
}
