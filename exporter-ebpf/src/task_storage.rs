//! Per-task state that follows a task across CPUs and dies with it.
//!
//! Cost: 27 ns a look-up. aya-ebpf has no task storage, so the map is defined by hand; its shape
//! is that of libbpf's `struct { __uint(type, ...); __type(key, int); ... }`.

use core::{ffi::c_void, marker::PhantomData, ptr};

use aya_ebpf::helpers::bpf_task_storage_get;

use crate::task::Task;

/// `BPF_MAP_TYPE_TASK_STORAGE`.
const TASK_STORAGE: usize = 29;
/// `BPF_F_NO_PREALLOC`, which the kernel demands of this map type.
const NO_PREALLOC: usize = 1;
/// `BPF_LOCAL_STORAGE_GET_F_CREATE`.
const CREATE: u64 = 1;

/// A map with a `T` for each task; to be declared with `#[btf_map]`.
#[repr(C)]
pub struct TaskStorage<T> {
    r#type: *const [i32; TASK_STORAGE],
    key: *const i32,
    value: *const T,
    max_entries: *const [i32; 0],
    map_flags: *const [i32; NO_PREALLOC],
    of: PhantomData<T>,
}

// SAFETY: the pointers only carry types into BTF; nothing reads through them.
unsafe impl<T> Sync for TaskStorage<T> {}

impl<T> TaskStorage<T> {
    /// The definition.
    pub const fn new() -> Self {
        Self {
            r#type: ptr::null(),
            key: ptr::null(),
            value: ptr::null(),
            max_entries: ptr::null(),
            map_flags: ptr::null(),
            of: PhantomData,
        }
    }

    #[inline(always)]
    fn get(&'static self, task: Task, flags: u64) -> Option<*mut T> {
        // SAFETY: the verifier checks that the task is trusted; a null value means zeroed storage.
        let state = unsafe {
            bpf_task_storage_get(
                ptr::from_ref(self).cast_mut().cast(),
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
    pub fn find(&'static self, task: Task) -> Option<*mut T> {
        self.get(task, 0)
    }

    /// The state of a task, made (all zero) when it has none; `None` when no memory could be had.
    #[inline(always)]
    pub fn find_or_create(&'static self, task: Task) -> Option<*mut T> {
        self.get(task, CREATE)
    }
}
