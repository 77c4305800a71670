//! The profile of time on run queues.
//!
//! Sampled in the kernel (`exporter-ebpf/src/switch.rs`, `run_history.rs`). Its sums by workload are in
//! [`workload`](super::workload).

use evenkeel_abi::Counter;
use evenkeel_otlp::model::Metric;

use super::{KernelSignal, Signal, SignalAccount, off_cpu::wait_losses};
use crate::kernel::Kernel;

/// The profile of time on run queues.
#[derive(Debug, Default)]
pub(super) struct RunQueue;

impl KernelSignal for RunQueue {
    fn signal(&self) -> Signal {
        Signal::RunQueue
    }

    fn metrics(&mut self, _kernel: &Kernel, _attached_unix_nanos: u64) -> Vec<Metric> {
        Vec::new()
    }

    fn account(&self, kernel: &Kernel) -> SignalAccount {
        SignalAccount {
            events: kernel.counter(Counter::Switches),
            losses: wait_losses(kernel),
        }
    }
}
