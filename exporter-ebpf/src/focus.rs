//! Distributions of the services and containers in focus, beside the host's.
//!
//! Hooks: called by the programs that measure; `sched_process_fork` hands a group on. Maps: `FOCUS`,
//! `FOCUS_GENERATION`, `FOCUS_HISTOGRAMS`. Cost where something is in focus: 7 ns an event of any task,
//! 20 ns more for one in focus, 45 ns once for each task after the processes in focus have changed.
//! Where nothing is in focus: nothing, the verifier removes it.
//!
//! The histograms are shared by all CPUs: at 20 groups a copy for each of 64 CPUs would take 56 MB.

use aya_ebpf::{
    btf_maps::{Array, HashMap},
    macros::btf_map,
};
use evenkeel_abi::{FOCUS_PROCESSES, FocusDistribution, Histogram, focus_histogram};

use crate::{counters::MMAPABLE, globals, histogram, task::Task, wait_state::TaskState};

/// Group by process. User space writes it; children have their parent's from the start.
#[btf_map]
static FOCUS: HashMap<u32, u32, { FOCUS_PROCESSES as usize }> = HashMap::new();

/// Grows whenever `FOCUS` changes.
#[btf_map]
static FOCUS_GENERATION: Array<u64, 1> = Array::new();

#[btf_map]
static FOCUS_HISTOGRAMS: Array<Histogram, 1, MMAPABLE> = Array::new();

/// Whether anything is in focus.
#[inline(always)]
pub fn is_used() -> bool {
    globals::FOCUS_USED.load() != 0
}

/// The group of a process; 0 for none.
#[inline(always)]
pub fn of_process(pid: u32) -> u32 {
    if !is_used() {
        return 0;
    }
    match FOCUS.get_ptr(pid) {
        // SAFETY: a value of the map.
        Some(group) => unsafe { *group },
        None => 0,
    }
}

/// The group of a task, remembered in its state; 0 for none.
#[inline(always)]
pub fn of_task(task: Task, state: *mut TaskState) -> u32 {
    if !is_used() {
        return 0;
    }
    let Some(generation) = FOCUS_GENERATION.get_ptr(0) else {
        return 0;
    };
    // SAFETY: a value of the map, and the task's storage.
    unsafe {
        // The first generation is 1: a new state has looked nothing up.
        let generation = *generation as u32;
        if (*state).focus_generation != generation {
            (*state).focus_generation = generation;
            (*state).focus_group = of_process(task.pid());
        }
        (*state).focus_group
    }
}

/// Records a value of a group.
#[inline(always)]
pub fn record(group: u32, distribution: FocusDistribution, nanos: u64) {
    record_weighted(group, distribution, nanos, 1);
}

/// Records a value of a group that stands for several.
#[inline(always)]
pub fn record_weighted(group: u32, distribution: FocusDistribution, nanos: u64, weight: u64) {
    if !is_used() || group == 0 {
        return;
    }
    if let Some(histogram) = FOCUS_HISTOGRAMS.get_ptr_mut(focus_histogram(group, distribution)) {
        // SAFETY: it comes from the look-up.
        unsafe { histogram::record_weighted_in(histogram, nanos, weight) }
    }
}

/// A process was born: it is in its parent's group until user space says otherwise.
#[inline(always)]
pub fn inherit(parent: u32, child: u32) {
    let group = of_process(parent);
    if group != 0 {
        // When the map is full the child is not in focus; user space counts the ones that it cannot
        // add itself.
        let _ = FOCUS.insert(child, group, 0);
    }
}
