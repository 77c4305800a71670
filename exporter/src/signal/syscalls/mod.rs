//! How long system calls take.

use evenkeel_otlp::model::Metric;

use super::{KernelSignal, Signal, SignalAccount};
use crate::kernel::Kernel;

/// How long system calls take.
#[derive(Debug, Default)]
pub(super) struct Syscalls;

impl KernelSignal for Syscalls {
    fn signal(&self) -> Signal {
        Signal::Syscalls
    }

    fn metrics(&mut self, _kernel: &Kernel, _attached_unix_nanos: u64) -> Vec<Metric> {
        Vec::new()
    }

    fn account(&self, _kernel: &Kernel) -> SignalAccount {
        SignalAccount::default()
    }
}
