//! Proof of the offsets, and the cost of the helpers on this host.
//!
//! Hook: tp_btf `sched_process_fork`, attached only while the agent starts; it looks at the
//! agent's own thread while that creates another one, and user space compares with `/proc/self`.

use aya_ebpf::{
    bindings::bpf_pidns_info,
    btf_maps::Array,
    helpers::{bpf_get_current_pid_tgid, bpf_ktime_get_ns, generated::bpf_get_ns_current_pid_tgid},
    macros::{btf_map, btf_tracepoint},
    programs::BtfTracePointContext,
};
use evenkeel_abi::{SelfTest, SelfTestState};

use crate::{
    counters::{self, MMAPABLE, add_to},
    globals,
    task::Task,
    user_stack,
    wait_state::TASKS,
};

/// Repetitions of each helper: 64 make the clock's own cost small beside what is measured.
const REPETITIONS: u32 = 64;

#[btf_map]
static SELF_TEST: Array<SelfTest, 1, MMAPABLE> = Array::new();

#[inline(always)]
fn clock() -> u64 {
    // SAFETY: the helper takes nothing.
    unsafe { bpf_ktime_get_ns() }
}

/// The running process by the helpers and not by the fields, which are among what is to be proved.
#[inline(always)]
fn own_process() -> u64 {
    if globals::PID_NAMESPACE.load() == 0 {
        return bpf_get_current_pid_tgid() >> 32;
    }
    let mut ids = bpf_pidns_info { pid: 0, tgid: 0 };
    // SAFETY: the helper writes the two numbers.
    unsafe {
        bpf_get_ns_current_pid_tgid(
            globals::PID_NAMESPACE_DEVICE.load(),
            globals::PID_NAMESPACE.load(),
            &raw mut ids,
            size_of::<bpf_pidns_info>() as u32,
        );
    }
    u64::from(ids.tgid)
}

/// Reads everything once and times the helpers.
#[btf_tracepoint(function = "sched_process_fork")]
pub fn self_test(_context: BtfTracePointContext) -> i32 {
    if own_process() != globals::SELF_PID.load() {
        return 0;
    }
    let Some(test) = SELF_TEST.get_ptr_mut(0) else {
        return 0;
    };
    let current = Task::current();
    let registers = user_stack::user_registers(current);
    let start = clock();
    for _ in 0..REPETITIONS {
        clock();
    }
    let clock_nanos = clock() - start;

    TASKS.find_or_create(current);
    let start = clock();
    for _ in 0..REPETITIONS {
        TASKS.find(current);
    }
    let task_storage_nanos = clock() - start;

    let start = clock();
    for _ in 0..REPETITIONS {
        // SAFETY: a word of a map value; it is set below.
        unsafe { add_to(&raw mut (*test).counter_nanos, 1) };
    }
    let counter_nanos = clock() - start;

    // SAFETY: one writer, the loading thread.
    unsafe {
        (*test).cpu = counters::current_cpu();
        (*test).tid = current.tid();
        (*test).pid = current.pid();
        (*test).flags = current.flags();
        (*test).task_state = current.state();
        (*test).start_time = current.process_start_time();
        if globals::HAS_STEAL.load() != 0 {
            (*test).steal = current.accounted_steal();
        }
        if globals::HAS_WAIT_FIELDS.load() != 0 {
            (*test).run_delay = current.run_delay();
            (*test).times_run = current.times_run();
            (*test).last_queued = current.last_queued();
            (*test).run_queue_clock = current.run_queue_clock();
            (*test).on_cpu = current.is_on_cpu() as u32;
            (*test).system_call = user_stack::system_call(current) as u32;
            current.comm(&mut (*test).comm);
        }
        (*test).instruction_pointer = registers.ip;
        (*test).stack_pointer = registers.sp;
        (*test).frame_pointer = registers.fp;
        (*test).clock_nanos = clock_nanos;
        (*test).task_storage_nanos = task_storage_nanos;
        (*test).counter_nanos = counter_nanos;
        (*test).state = SelfTestState::Done as u32;
    }
    0
}
