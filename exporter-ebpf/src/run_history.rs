//! Who had a CPU lately, so that a wait can be laid to somebody's door.
//!
//! Cost: 8 ns a switch. Read only for waits that are sampled.

use aya_ebpf::{btf_maps::PerCpuArray, macros::btf_map};
use evenkeel_abi::{NEIGHBOURS, WaitDetail};

use crate::task::Task;

/// Intervals remembered: at the shortest slices (0.7 ms) 22 ms, at the usual ones (3 ms) 100 ms.
const INTERVALS: usize = 32;

/// A task had the CPU until `end`, since the end of the interval before.
#[derive(Clone, Copy)]
#[repr(C)]
struct Interval {
    end: u64,
    /// Start of its process; with the pid it names the process for good.
    start_time: u64,
    /// `Task::group`, or 0 for the idle task.
    group: u64,
    pid: u32,
    kind: u32,
}

const IDLE: u32 = 1;
const KERNEL: u32 = 2;
const USER: u32 = 3;

#[repr(C)]
struct History {
    next: u64,
    intervals: [Interval; INTERVALS],
}

#[btf_map]
static RUN_HISTORY: PerCpuArray<History, 1> = PerCpuArray::new();

/// The task gives up the CPU.
#[inline(always)]
pub fn push(task: Task, now: u64) {
    let Some(history) = RUN_HISTORY.get_ptr_mut(0) else {
        return;
    };
    let is_idle = task.tid() == 0;
    // SAFETY: a map value that only this CPU writes, with interrupts off.
    unsafe {
        let next = (*history).next as usize & (INTERVALS - 1);
        (*history).next = (next + 1) as u64;
        let interval = (&raw mut (*history).intervals).cast::<Interval>().add(next);
        (*interval).end = now;
        (*interval).pid = task.pid();
        (*interval).start_time = task.process_start_time();
        (*interval).group = if is_idle { 0 } else { task.group() };
        (*interval).kind = if is_idle {
            IDLE
        } else if task.is_kernel_thread() {
            KERNEL
        } else {
            USER
        };
    }
}

/// Says who had this CPU between `since` and `now`, while `task` waited for it. Which of its neighbours
/// belong to the same container or service, user space knows.
#[inline(always)]
pub fn blame(detail: &mut WaitDetail, task: Task, since: u64, now: u64) {
    let Some(history) = RUN_HISTORY.get_ptr_mut(0) else {
        return;
    };
    let pid = task.pid();
    let group = task.group();
    // SAFETY: as in `push`.
    let next = unsafe { (*history).next } as usize;
    let mut end = now;
    for back in 1..INTERVALS {
        let index = next.wrapping_sub(back) & (INTERVALS - 1);
        let before = next.wrapping_sub(back + 1) & (INTERVALS - 1);
        // SAFETY: both indices are masked.
        let (interval, start) = unsafe {
            let intervals = (&raw const (*history).intervals).cast::<Interval>();
            (intervals.add(index).read(), (*intervals.add(before)).end)
        };
        if interval.kind == 0 || start == 0 || end <= since {
            break;
        }
        let begin = if start < since { since } else { start };
        let nanos = end.saturating_sub(begin);
        end = begin;
        if interval.kind == IDLE {
            detail.idle_nanos += nanos;
        } else if interval.kind == KERNEL {
            detail.kernel_nanos += nanos;
        } else if interval.pid == pid {
            detail.own_nanos += nanos;
        } else if name(detail, &interval, nanos) || group <= 1 || interval.group != group {
            detail.other_nanos += nanos;
        } else {
            // User space cannot say whose process that was. In one group it is more likely the same
            // container than not; the root group is everybody's.
            detail.own_nanos += nanos;
        }
    }
}

/// Adds to the time of a neighbour; false when there is no room for its name.
#[inline(always)]
fn name(detail: &mut WaitDetail, interval: &Interval, nanos: u64) -> bool {
    for place in 0..NEIGHBOURS {
        // SAFETY: the index is below the length.
        let neighbour = unsafe { &mut *detail.others.as_mut_ptr().add(place) };
        if neighbour.pid == 0 {
            neighbour.pid = interval.pid;
            neighbour.start_time = interval.start_time;
        }
        if neighbour.pid == interval.pid {
            neighbour.nanos += nanos;
            return true;
        }
    }
    false
}
