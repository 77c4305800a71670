//! Switches and waits.

use super::{ArrayMap, Entries, Part, task::TASK};
use crate::{
    kernel::probe::{Hook, Program},
    signal::Signal,
};
use evenkeel_abi::{BANK_HISTOGRAMS, HISTOGRAM_WORDS};

pub(super) const PART: Part = Part {
    programs: &[
        Program {
            name: "sched_switch",
            hook: Hook::Tracepoint("sched_switch"),
            needs: TASK,
            serves: &[Signal::Scheduler, Signal::Stolen],
            essential_to: &[Signal::Scheduler],
            loss: "time stolen shortly before a switch can fall to the next task",
        },
        Program {
            name: "sched_wakeup",
            hook: Hook::Tracepoint("sched_wakeup"),
            needs: &[],
            serves: &[Signal::Scheduler],
            essential_to: &[],
            loss: "waits after a wake-up are not measured",
        },
        Program {
            name: "sched_wakeup_new",
            hook: Hook::Tracepoint("sched_wakeup_new"),
            needs: &[],
            serves: &[Signal::Scheduler],
            essential_to: &[],
            loss: "first waits of new tasks are not measured",
        },
    ],
    fields: &[],
    arrays: &[ArrayMap {
        name: "HISTOGRAMS",
        entries: Entries::PerCpu(BANK_HISTOGRAMS),
        words: HISTOGRAM_WORDS,
        serves: &[Signal::Scheduler],
    }],
};
