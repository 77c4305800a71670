//! Fields of tasks and registers, which every part reads.

use super::{ArrayMap, Entries, Field, Part, Shape};
use evenkeel_abi::BANK_COUNTERS;

/// Globals without which no program can tell whose event it sees.
pub(super) const TASK: &[&str] = &[
    "TASK_PID",
    "TASK_TGID",
    "TASK_FLAGS",
    "TASK_GROUP_LEADER",
    "TASK_START_BOOTTIME",
];

pub(super) const PART: Part = Part {
    programs: &[],
    fields: &[
        Field {
            global: "TASK_PID",
            places: &[("task_struct", "pid")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "TASK_TGID",
            places: &[("task_struct", "tgid")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "TASK_THREAD_PID",
            places: &[("task_struct", "thread_pid")],
            shape: Shape::Pointer,
        },
        Field {
            global: "PID_LEVEL",
            places: &[("pid", "level")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "UPID_NAMESPACE",
            places: &[("upid", "ns")],
            shape: Shape::Pointer,
        },
        Field {
            global: "UPID_NUMBER",
            places: &[("upid", "nr")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "NAMESPACE_NUMBER",
            places: &[("pid_namespace", "ns.inum")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "TASK_FLAGS",
            places: &[("task_struct", "flags")],
            shape: Shape::Scalar(4),
        },
        // `state` was 8 bytes before 5.14; its low half is read, as on every little-endian machine.
        Field {
            global: "TASK_STATE",
            places: &[("task_struct", "__state")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "TASK_GROUP_LEADER",
            places: &[("task_struct", "group_leader")],
            shape: Shape::Pointer,
        },
        // Called `real_start_time` before 5.5.
        Field {
            global: "TASK_START_BOOTTIME",
            places: &[
                ("task_struct", "start_boottime"),
                ("task_struct", "real_start_time"),
            ],
            shape: Shape::Scalar(8),
        },
        Field {
            global: "TASK_CFS_RQ",
            places: &[("task_struct", "se.cfs_rq")],
            shape: Shape::Pointer,
        },
        Field {
            global: "CFS_RQ_RQ",
            places: &[("cfs_rq", "rq")],
            shape: Shape::Pointer,
        },
        Field {
            global: "RQ_PREV_STEAL_TIME",
            places: &[("rq", "prev_steal_time")],
            shape: Shape::Scalar(8),
        },
        // x86-64, then arm64.
        Field {
            global: "REGS_IP",
            places: &[("pt_regs", "ip"), ("pt_regs", "pc")],
            shape: Shape::Scalar(8),
        },
        Field {
            global: "REGS_SP",
            places: &[("pt_regs", "sp")],
            shape: Shape::Scalar(8),
        },
    ],
    arrays: &[ArrayMap {
        name: "COUNTERS",
        entries: Entries::PerCpu(1),
        words: BANK_COUNTERS,
        serves: &[],
    }],
};
