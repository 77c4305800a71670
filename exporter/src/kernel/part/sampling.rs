//! The samples of what runs.

use super::{Part, task::TASK};
use crate::{
    kernel::probe::{Hook, Program},
    signal::Signal,
};

pub(super) const PART: Part = Part {
    programs: &[Program {
        name: "on_cpu",
        hook: Hook::CpuClock,
        needs: TASK,
        serves: &[Signal::OnCpu, Signal::Stolen, Signal::Scheduler],
        essential_to: &[Signal::OnCpu, Signal::Stolen],
        loss: "the lengths of run queues are not sampled",
    }],
    fields: &[],
    arrays: &[],
};
