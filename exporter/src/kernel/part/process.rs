//! Birth, exec and death of processes.

use super::{Field, Part, Shape, task::TASK};
use crate::{
    kernel::probe::{Hook, Program},
    signal::Signal,
};

/// All that tell processes apart: profiles, workloads, and what may be in focus.
const SERVED: &[Signal] = &[
    Signal::OnCpu,
    Signal::OffCpu,
    Signal::RunQueue,
    Signal::Stolen,
    Signal::Scheduler,
    Signal::Syscalls,
    Signal::BlockIo,
];

pub(super) const PART: Part = Part {
    programs: &[
        Program {
            name: "sched_process_fork",
            hook: Hook::Tracepoint("sched_process_fork"),
            needs: TASK,
            serves: SERVED,
            essential_to: &[],
            loss: "short-lived processes may lack their owner",
        },
        Program {
            name: "sched_process_exec",
            hook: Hook::Tracepoint("sched_process_exec"),
            needs: &[
                "TASK_TGID",
                "TASK_GROUP_LEADER",
                "TASK_START_BOOTTIME",
                "BINPRM_FILENAME",
            ],
            serves: SERVED,
            essential_to: &[],
            loss: "short-lived processes may lack their name",
        },
        Program {
            name: "sched_process_exit",
            hook: Hook::Tracepoint("sched_process_exit"),
            needs: TASK,
            serves: SERVED,
            essential_to: &[],
            loss: "processes that are gone are forgotten late, and threads that end have no last account",
        },
    ],
    fields: &[Field {
        global: "BINPRM_FILENAME",
        places: &[("linux_binprm", "filename")],
        shape: Shape::Pointer,
    }],
    arrays: &[],
};
