//! Block I/O by request.

use evenkeel_otlp::model::Metric;

use super::{KernelSignal, Signal, SignalAccount};
use crate::kernel::Kernel;

/// Block I/O by request.
#[derive(Debug, Default)]
pub(super) struct BlockIo;

impl KernelSignal for BlockIo {
    fn signal(&self) -> Signal {
        Signal::BlockIo
    }

    fn metrics(&mut self, _kernel: &Kernel, _attached_unix_nanos: u64) -> Vec<Metric> {
        Vec::new()
    }

    fn account(&self, _kernel: &Kernel) -> SignalAccount {
        SignalAccount::default()
    }
}
