//! Interrupts.

use super::{ArrayMap, Entries, Part};
use crate::{
    kernel::probe::{Hook, Program},
    signal::Signal,
};
use evenkeel_abi::{HISTOGRAM_WORDS, INTERRUPT_ROWS, INTERRUPT_STATE_WORDS};

/// Soft interrupts also say what receiving packets costs.
const SOFT: &[Signal] = &[Signal::Interrupts, Signal::Network];

const DEVICES_LOSS: &str = "interrupts of devices are not measured";
const SOFT_LOSS: &str = "soft interrupts are not measured";
/// arm64 has no tracepoints of that kind, and its timer and what CPUs send each other are among the
/// interrupts of devices.
const VECTORS_LOSS: &str = "the CPU's own vectors are not told apart";

const fn program(name: &'static str, serves: &'static [Signal], loss: &'static str) -> Program {
    Program {
        name,
        hook: Hook::Tracepoint(name),
        needs: &[],
        serves,
        essential_to: &[],
        loss,
    }
}

const fn device(name: &'static str) -> Program {
    program(name, &[Signal::Interrupts], DEVICES_LOSS)
}

const fn vector(name: &'static str) -> Program {
    program(name, &[Signal::Interrupts], VECTORS_LOSS)
}

/// All entries before all exits: what ends has then begun after every hook of its kind was there.
pub(super) const PART: Part = Part {
    programs: &[
        device("irq_handler_entry"),
        vector("local_timer_entry"),
        vector("reschedule_entry"),
        vector("call_function_entry"),
        vector("call_function_single_entry"),
        vector("irq_work_entry"),
        vector("thermal_apic_entry"),
        program("softirq_entry", SOFT, SOFT_LOSS),
        device("irq_handler_exit"),
        vector("local_timer_exit"),
        vector("reschedule_exit"),
        vector("call_function_exit"),
        vector("call_function_single_exit"),
        vector("irq_work_exit"),
        vector("thermal_apic_exit"),
        program("softirq_exit", SOFT, SOFT_LOSS),
    ],
    fields: &[],
    arrays: &[
        ArrayMap {
            name: "INTERRUPT_STATES",
            entries: Entries::PerCpu(1),
            words: INTERRUPT_STATE_WORDS,
            serves: SOFT,
        },
        ArrayMap {
            name: "INTERRUPT_HISTOGRAMS",
            entries: Entries::Banks(INTERRUPT_ROWS),
            words: HISTOGRAM_WORDS,
            serves: &[Signal::Interrupts],
        },
    ],
};
