//! Switches and waits.

use evenkeel_abi::{BANK_HISTOGRAMS, HISTOGRAM_WORDS};

use super::{ArrayMap, Entries, Field, Part, Shape, task::TASK};
use crate::{
    kernel::probe::{Hook, Program},
    signal::Signal,
};

/// Fields that waits are measured by; without them `sched_switch` serves `stolen` only.
pub const WAIT_FIELDS: &[&str] = &[
    "TASK_CFS_RQ",
    "CFS_RQ_RQ",
    "RQ_CLOCK",
    "RQ_RUNNABLE",
    "RQ_RT_RUNNING",
    "TASK_RUN_DELAY",
    "TASK_LAST_QUEUED",
    "TASK_PCOUNT",
    "TASK_ON_CPU",
    "TASK_COMM",
    "REGS_SYSTEM_CALL",
    "REGS_ARGUMENT_2",
    "REGS_ARGUMENT_3",
];

/// Fields that lead from a task to its cgroup.
pub const GROUP_FIELDS: &[&str] = &["TASK_GROUP", "GROUP_CGROUP", "CGROUP_NODE", "NODE_ID"];

/// Fields that tell of quotas.
pub const QUOTA_FIELDS: &[&str] = &["CFS_RQ_THROTTLE_COUNT", "CFS_RQ_RUNTIME_ENABLED"];

/// Fields that tell for how long a quota held tasks back.
pub const THROTTLED_TIME_FIELDS: &[&str] = &["CFS_RQ_THROTTLED_SINCE", "CFS_RQ_THROTTLED_TIME"];

/// Signals that measure waits.
pub const WAIT_SIGNALS: &[Signal] = &[Signal::OffCpu, Signal::RunQueue, Signal::Scheduler];

pub(super) const PART: Part = Part {
    // The walk comes first: its first turn makes all tasks known, and `sched_switch` only ends
    // waits that have begun.
    programs: &[
        Program {
            name: "task_walk",
            hook: Hook::Iterator("task"),
            needs: WAIT_FIELDS,
            serves: &[Signal::OffCpu, Signal::RunQueue, Signal::Scheduler],
            essential_to: &[],
            loss: "waits are reported when they end only, and nothing of single processes is counted",
        },
        Program {
            name: "sched_switch",
            hook: Hook::Tracepoint("sched_switch"),
            needs: TASK,
            serves: &[
                Signal::OffCpu,
                Signal::RunQueue,
                Signal::Scheduler,
                Signal::Stolen,
            ],
            essential_to: &[Signal::OffCpu, Signal::RunQueue, Signal::Scheduler],
            loss: "time stolen shortly before a switch can fall to the next task",
        },
        Program {
            name: "sched_waking",
            hook: Hook::Tracepoint("sched_waking"),
            needs: WAIT_FIELDS,
            serves: &[Signal::OffCpu],
            essential_to: &[],
            loss: "who woke a task is not known",
        },
        Program {
            name: "wait_interrupt",
            hook: Hook::Tracepoint("irq_work_entry"),
            needs: WAIT_FIELDS,
            serves: &[Signal::OffCpu, Signal::RunQueue],
            essential_to: &[],
            loss: "waits have no user stack",
        },
        Program {
            name: "sched_exit_tp",
            hook: Hook::Tracepoint("sched_exit_tp"),
            needs: WAIT_FIELDS,
            serves: &[Signal::OffCpu, Signal::RunQueue],
            essential_to: &[],
            loss: "waits have no user stack",
        },
    ],
    fields: &[
        Field {
            global: "RQ_CLOCK",
            places: &[("rq", "clock")],
            shape: Shape::Scalar(8),
        },
        // Before 6.12 no sleeper stays in `h_nr_running`.
        Field {
            global: "RQ_RUNNABLE",
            places: &[("rq", "cfs.h_nr_runnable"), ("rq", "cfs.h_nr_running")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "RQ_RT_RUNNING",
            places: &[("rq", "rt.rt_nr_running")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "TASK_RUN_DELAY",
            places: &[("task_struct", "sched_info.run_delay")],
            shape: Shape::Scalar(8),
        },
        Field {
            global: "TASK_LAST_QUEUED",
            places: &[("task_struct", "sched_info.last_queued")],
            shape: Shape::Scalar(8),
        },
        Field {
            global: "TASK_PCOUNT",
            places: &[("task_struct", "sched_info.pcount")],
            shape: Shape::Scalar(8),
        },
        Field {
            global: "TASK_ON_CPU",
            places: &[("task_struct", "on_cpu")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "TASK_GROUP",
            places: &[("task_struct", "sched_task_group")],
            shape: Shape::Pointer,
        },
        Field {
            global: "GROUP_CGROUP",
            places: &[("task_group", "css.cgroup")],
            shape: Shape::Pointer,
        },
        Field {
            global: "CGROUP_NODE",
            places: &[("cgroup", "kn")],
            shape: Shape::Pointer,
        },
        Field {
            global: "NODE_ID",
            places: &[("kernfs_node", "id")],
            shape: Shape::Scalar(8),
        },
        Field {
            global: "CFS_RQ_THROTTLE_COUNT",
            places: &[("cfs_rq", "throttle_count")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "CFS_RQ_THROTTLED_SINCE",
            places: &[("cfs_rq", "throttled_clock_self")],
            shape: Shape::Scalar(8),
        },
        Field {
            global: "CFS_RQ_THROTTLED_TIME",
            places: &[("cfs_rq", "throttled_clock_self_time")],
            shape: Shape::Scalar(8),
        },
        Field {
            global: "CFS_RQ_RUNTIME_ENABLED",
            places: &[("cfs_rq", "runtime_enabled")],
            shape: Shape::Scalar(4),
        },
    ],
    arrays: &[ArrayMap {
        name: "HISTOGRAMS",
        entries: Entries::PerCpu(BANK_HISTOGRAMS),
        words: HISTOGRAM_WORDS,
        serves: &[Signal::Scheduler],
    }],
};
