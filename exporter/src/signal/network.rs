//! What packets cost and where they wait.

use evenkeel_otlp::model::Metric;

use super::{KernelSignal, Signal, SignalAccount};
use crate::kernel::Kernel;

/// What packets cost and where they wait.
#[derive(Debug, Default)]
pub(super) struct Network;

impl KernelSignal for Network {
    fn signal(&self) -> Signal {
        Signal::Network
    }

    fn metrics(&mut self, _kernel: &Kernel, _attached_unix_nanos: u64) -> Vec<Metric> {
        Vec::new()
    }

    fn account(&self, _kernel: &Kernel) -> SignalAccount {
        SignalAccount::default()
    }
}
