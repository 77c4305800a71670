//! The walk of a user stack.
//!
//! One step finds the caller of one frame; `bpf_loop` repeats it, so that the step can grow (rows
//! from .eh_frame, interpreters) without a limit from the verifier: 200 frames by an inlined loop
//! cost it 180,000 instructions, by `bpf_loop` 6,000. State is in the per-CPU sample, since the
//! callback of `bpf_loop` cannot keep a map value in its context on all kernels.
//!
//! Cost: 110 ns a frame, nearly all of it `bpf_probe_read_user`.

use core::ffi::{c_long, c_void};

use aya_ebpf::helpers::{bpf_loop, bpf_task_pt_regs, generated::bpf_probe_read_user};
use evenkeel_abi::{FRAME_SLOTS, MAX_USER_FRAMES, WalkEnd};

use crate::{
    globals,
    sample_buffer::{SampleBuffer, sample_buffer},
    task::{Task, field},
};

/// Lowest address that can be code: the first page is never mapped.
const LOWEST_CODE: u64 = 4096;

const CONTINUE: c_long = 0;
const STOP: c_long = 1;

/// Registers of a frame, as far as finding its caller needs them.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Registers {
    /// Instruction pointer.
    pub ip: u64,
    /// Stack pointer: lower bound of where the caller's frame can be.
    pub sp: u64,
    /// Frame pointer.
    pub fp: u64,
}

/// The registers with which a task entered the kernel; all zero for a kernel thread.
#[inline(always)]
pub fn user_registers(task: Task) -> Registers {
    // SAFETY: the helper takes a trusted task and gives a typed `pt_regs`.
    let regs = unsafe { bpf_task_pt_regs(task.as_ptr().cast_mut().cast()) } as *const c_void;
    // SAFETY: typed pointer, offsets from BTF.
    let ip = unsafe { field(regs, globals::REGS_IP.load()) };
    // SAFETY: as above.
    let sp = unsafe { field(regs, globals::REGS_SP.load()) };
    // SAFETY: as above.
    let fp = unsafe { field(regs, globals::REGS_FP.load()) };
    Registers { ip, sp, fp }
}

/// The system call that a task is in, `NO_SYSTEM_CALL` when it came to the kernel in another way.
#[inline(always)]
pub fn system_call(task: Task) -> i32 {
    // SAFETY: the helper takes a trusted task and gives a typed `pt_regs`.
    let regs = unsafe { bpf_task_pt_regs(task.as_ptr().cast_mut().cast()) } as *const c_void;
    // SAFETY: typed pointer, offset from BTF; x86-64 has the number in the low half of its word.
    unsafe { field(regs, globals::REGS_SYSTEM_CALL.load()) }
}

/// Second and third argument of the system call that a task is in.
#[inline(always)]
pub fn arguments(task: Task) -> [u64; 2] {
    // SAFETY: as in `system_call`.
    let regs = unsafe { bpf_task_pt_regs(task.as_ptr().cast_mut().cast()) } as *const c_void;
    // SAFETY: typed pointer, offset from BTF.
    let second = unsafe { field(regs, globals::REGS_ARGUMENT_2.load()) };
    // SAFETY: as above.
    let third = unsafe { field(regs, globals::REGS_ARGUMENT_3.load()) };
    [second, third]
}

/// Walks the user stack of the current task into a buffer of its CPU, whose number is `number`,
/// after the kernel frames that are there already.
#[inline(always)]
pub fn walk(buffer: &mut SampleBuffer, number: u32, task: Task) {
    let registers = user_registers(task);
    if registers.ip < LOWEST_CODE || registers.ip >= globals::USER_ADDRESS_LIMIT.load() {
        buffer.header.walk_end = WalkEnd::NoUserStack as u32;
        return;
    }
    push(buffer, registers.ip);
    buffer.registers = registers;
    buffer.header.walk_end = WalkEnd::Truncated as u32;
    let mut number = number;
    // SAFETY: `step` has the signature that the helper wants, and its context is on the stack.
    unsafe {
        bpf_loop(
            MAX_USER_FRAMES as u32 - 1,
            step as *mut c_void,
            (&raw mut number).cast(),
            0,
        );
    }
}

/// Adds the one user frame that can be had of a task that is not running: where it entered the
/// kernel.
#[inline(always)]
pub fn push_entry(buffer: &mut SampleBuffer, task: Task) {
    let ip = user_registers(task).ip;
    if (LOWEST_CODE..globals::USER_ADDRESS_LIMIT.load()).contains(&ip) {
        push(buffer, ip);
    }
}

#[inline(always)]
fn push(buffer: &mut SampleBuffer, address: u64) {
    let slot =
        (buffer.header.kernel_frames + buffer.header.user_frames) as usize & (FRAME_SLOTS - 1);
    // SAFETY: the mask keeps the index below the length.
    unsafe { *buffer.frames.as_mut_ptr().add(slot) = address };
    buffer.header.user_frames += 1;
}

/// Replaces the registers of a frame by its caller's and keeps the caller's address.
unsafe extern "C" fn step(_index: u32, context: *mut c_void) -> c_long {
    // SAFETY: the number that `walk` passes.
    let number = unsafe { context.cast::<u32>().read() };
    let Some(buffer) = sample_buffer(number) else {
        return STOP;
    };
    match caller_by_frame_pointer(&buffer.registers) {
        Ok(caller) => {
            push(buffer, caller.ip);
            buffer.registers = caller;
            CONTINUE
        }
        Err(end) => {
            buffer.header.walk_end = end as u32;
            STOP
        }
    }
}

/// The caller's registers by the frame pointer: the word at it is the caller's frame pointer, the
/// next one the return address (x86-64 and arm64 alike).
#[inline(always)]
fn caller_by_frame_pointer(callee: &Registers) -> Result<Registers, WalkEnd> {
    if callee.fp == 0 {
        return Err(WalkEnd::Complete);
    }
    // The stack grows downwards: a caller's frame lies above its callee's stack pointer.
    if callee.fp < callee.sp || callee.fp & 7 != 0 {
        return Err(WalkEnd::BadFramePointer);
    }
    let mut pair = [0u64; 2];
    // SAFETY: the helper writes at most 16 bytes and fails on what it cannot read.
    let failed =
        unsafe { bpf_probe_read_user((&raw mut pair).cast(), 16, callee.fp as *const c_void) };
    if failed != 0 {
        return Err(WalkEnd::ReadFault);
    }
    let ip = pair[1] & globals::RETURN_ADDRESS_MASK.load();
    if ip == 0 {
        return Err(WalkEnd::Complete);
    }
    if ip < LOWEST_CODE || ip >= globals::USER_ADDRESS_LIMIT.load() {
        return Err(WalkEnd::BadReturnAddress);
    }
    Ok(Registers {
        ip,
        sp: callee.fp + 16,
        fp: pair[0],
    })
}
