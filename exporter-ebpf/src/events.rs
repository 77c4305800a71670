//! The ring buffer, in the order in which things happened on a CPU.

use core::ffi::c_void;

use aya_ebpf::{btf_maps::RingBuf, helpers::bpf_ringbuf_output, macros::btf_map};

/// `BPF_RB_NO_WAKEUP`: user space looks ten times a second by itself.
pub const NO_WAKEUP: u64 = 1;
/// `BPF_RB_FORCE_WAKEUP`: look now.
pub const FORCE_WAKEUP: u64 = 2;

/// Records; user space sets the size by the number of CPUs at load.
#[btf_map]
static EVENTS: RingBuf<u64, { 1 << 20 }> = RingBuf::new();

/// Copies a record into the ring buffer; false when it is full.
///
/// # Safety
///
/// `data` points to `size` initialized bytes in a map value or on the stack.
#[inline(always)]
pub unsafe fn output(data: *const c_void, size: u64, flags: u64) -> bool {
    // SAFETY: by the caller's promise.
    let result = unsafe {
        bpf_ringbuf_output(
            (&raw const EVENTS).cast_mut().cast(),
            data.cast_mut(),
            size,
            flags,
        )
    };
    result == 0
}
