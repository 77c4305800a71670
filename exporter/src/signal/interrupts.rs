//! Interrupts.

use evenkeel_otlp::model::Metric;

use super::{KernelSignal, Signal, SignalAccount};
use crate::kernel::Kernel;

/// Interrupts.
#[derive(Debug, Default)]
pub(super) struct Interrupts;

impl KernelSignal for Interrupts {
    fn signal(&self) -> Signal {
        Signal::Interrupts
    }

    fn metrics(&mut self, _kernel: &Kernel, _attached_unix_nanos: u64) -> Vec<Metric> {
        Vec::new()
    }

    fn account(&self, _kernel: &Kernel) -> SignalAccount {
        SignalAccount::default()
    }
}
