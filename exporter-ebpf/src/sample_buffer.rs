//! Where a sample is put together: too large for the stack of a program, so one buffer for each
//! CPU and each kind of program that can interrupt another one.

use aya_ebpf::{btf_maps::PerCpuArray, macros::btf_map};
use evenkeel_abi::{FRAME_SLOTS, SampleHeader, WaitDetail};

use crate::user_stack::Walk;

/// A record being built, with the state of the walk behind it.
#[repr(C)]
pub struct SampleBuffer {
    /// Head of the record of a wait; a sample of running code begins after it.
    pub detail: WaitDetail,
    /// What was sampled.
    pub header: SampleHeader,
    /// Kernel frames, then user frames; the record ends after the last one used.
    pub frames: [u64; FRAME_SLOTS],
    /// Where the walk of the user stack is.
    pub walk: Walk,
    /// 1 while the record waits for its user stack.
    pub is_pending: u64,
}

/// Buffers of a CPU. Programs that share one cannot interrupt each other.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Use {
    /// `on_cpu`, in the timer interrupt.
    Running = 0,
    /// A wait, from the switch to the interrupt that takes its user stack.
    Wait = 1,
    /// The walk over all tasks, which everything can interrupt.
    Walk = 2,
    /// A waker, under a lock that is taken with interrupts off.
    Waker = 3,
}

const BUFFERS: usize = 4;

#[btf_map]
static SAMPLE_BUFFERS: PerCpuArray<SampleBuffer, BUFFERS> = PerCpuArray::new();

/// A buffer of this CPU.
#[inline(always)]
pub fn sample_buffer(number: u32) -> Option<&'static mut SampleBuffer> {
    let buffer = SAMPLE_BUFFERS.get_ptr_mut(number)?;
    // SAFETY: by the enumeration above there is one user at a time.
    Some(unsafe { &mut *buffer })
}
