//! Per-task state that follows a task across CPUs and dies with it.
//!
//! Cost: 27 ns a look-up. aya-ebpf has no task storage, so the map is defined by hand; its shape
//! is that of libbpf's `struct { __uint(type, ...); __type(key, int); ... }`.

use core::{ffi::c_void, ptr};

use aya_ebpf::{helpers::bpf_task_storage_get, macros::btf_map};

use crate::task::Task;

/// `BPF_MAP_TYPE_TASK_STORAGE`.
const TASK_STORAGE: usize = 29;
/// `BPF_F_NO_PREALLOC`, which the kernel demands of this map type.
const NO_PREALLOC: usize = 1;
/// `BPF_LOCAL_STORAGE_GET_F_CREATE`.
const CREATE: u64 = 1;

/// What is remembered of a task.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TaskState {
    /// When it was put on a run queue (`bpf_ktime_get_ns`); 0 when it is not waiting for a CPU.
    pub enqueued: u64,
    /// `RunQueueReason`.
    pub reason: u32,
    /// Padding.
    pub reserved: u32,
}

#[repr(C)]
pub struct TaskStorage {
    r#type: *const [i32; TASK_STORAGE],
    key: *const i32,
    value: *const TaskState,
    max_entries: *const [i32; 0],
    map_flags: *const [i32; NO_PREALLOC],
}

// SAFETY: the pointers only carry types into BTF; nothing reads through them.
unsafe impl Sync for TaskStorage {}

#[btf_map]
static TASKS: TaskStorage = TaskStorage {
    r#type: ptr::null(),
    key: ptr::null(),
    value: ptr::null(),
    max_entries: ptr::null(),
    map_flags: ptr::null(),
};

#[inline(always)]
fn get(task: Task, flags: u64) -> Option<*mut TaskState> {
    // SAFETY: the verifier checks that the task is trusted; a null value means zeroed storage.
    let state = unsafe {
        bpf_task_storage_get(
            (&raw const TASKS).cast_mut().cast(),
            task.as_ptr().cast_mut().cast(),
            ptr::null_mut::<c_void>(),
            flags,
        )
    };
    if state.is_null() {
        None
    } else {
        Some(state.cast())
    }
}

/// The state of a task if it has one.
#[inline(always)]
pub fn find(task: Task) -> Option<*mut TaskState> {
    get(task, 0)
}

/// The state of a task, made when it has none; `None` when no memory could be had.
#[inline(always)]
pub fn find_or_create(task: Task) -> Option<*mut TaskState> {
    get(task, CREATE)
}
