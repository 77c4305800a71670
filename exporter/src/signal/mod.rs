//! What is measured. One module a signal; the kernel's half is in `kernel/`.

mod block_io;
pub mod focus;
pub mod host;
mod interrupts;
mod kind;
mod network;
mod off_cpu;
mod run_queue;
mod scheduler;
pub mod status;
pub mod stolen;
pub mod syscalls;
mod unwind;
pub mod workload;

use std::fmt::Debug;

use evenkeel_otlp::model::{Attribute, Metric, Point, PointValue};
use evenkeel_semconv::MetricDescriptor;

pub use self::kind::{Signal, UnknownSignal};
pub use self::off_cpu::BlockedTime;
use crate::{capture::CaptureOptions, identity::Roots, kernel::Kernel};

const NANOS: f64 = 1e9;

/// A signal whose metrics are made from what kernel programs counted.
pub trait KernelSignal: Debug + Send {
    /// Which one it is.
    fn signal(&self) -> Signal;

    /// What has to be started once the programs are attached.
    fn start(&mut self, _kernel: &mut Kernel) {}

    /// What has to be read at the end of a window, before [`Self::metrics`].
    fn end_window(&mut self, _kernel: &mut Kernel) {}

    /// What has to be done every second.
    fn tick(&mut self, _kernel: &mut Kernel) {}

    /// Its metrics since the programs were attached.
    fn metrics(&mut self, kernel: &Kernel, attached_unix_nanos: u64) -> Vec<Metric>;

    /// What it saw and lost since the programs were attached.
    fn account(&self, kernel: &Kernel) -> SignalAccount;
}

/// Events of a signal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignalAccount {
    /// Events seen.
    pub events: u64,
    /// Events that could not be accounted for, by reason (`evenkeel.loss.reason`).
    pub losses: Vec<(&'static str, u64)>,
}

/// The signals of that kind that are on.
pub fn kernel_signals(options: &CaptureOptions, roots: &Roots) -> Vec<Box<dyn KernelSignal>> {
    let all: [Box<dyn KernelSignal>; 7] = [
        Box::new(off_cpu::OffCpu),
        Box::new(run_queue::RunQueue),
        Box::new(scheduler::Scheduler {
            wait_period_seconds: options.wait_period.as_secs_f64(),
        }),
        Box::new(interrupts::Interrupts::new(roots)),
        Box::new(network::Network::new(roots)),
        Box::new(syscalls::Syscalls::new(&options.syscalls, roots)),
        Box::new(block_io::BlockIo::new(roots)),
    ];
    all.into_iter()
        .filter(|signal| options.signals.contains(&signal.signal()))
        .collect()
}

/// A point with sorted attributes.
fn point(
    mut attributes: Vec<Attribute>,
    start_unix_nanos: u64,
    value: impl Into<PointValue>,
) -> Point {
    attributes.sort();
    Point {
        attributes,
        start_unix_nanos,
        value: value.into(),
    }
}

/// A count as a point's value.
fn int(count: u64) -> PointValue {
    PointValue::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// A metric, unless there are no points: what was not measured is absent.
fn metric(descriptor: &'static MetricDescriptor, points: Vec<Point>) -> Option<Metric> {
    (!points.is_empty()).then_some(Metric { descriptor, points })
}
