//! The walk of a user stack.
//!
//! One step finds the caller of one frame: by the rule for its code where user space has made one
//! (`unwind_tables`), else by the frame pointer. `bpf_loop` repeats it, so that the step can grow
//! (interpreters) without a limit from the verifier: 200 frames by an inlined loop cost it 180,000
//! instructions, by `bpf_loop` 6,000. State is in the per-CPU sample, since the callback of
//! `bpf_loop` cannot keep a map value in its context on all kernels.
//!
//! Cost: 80 ns a frame by rules, 110 ns by frame pointers, nearly all of it
//! `bpf_probe_read_user` and the search of a row.

use core::ffi::{c_long, c_void};

use aya_ebpf::helpers::{
    bpf_loop, bpf_task_pt_regs,
    generated::{bpf_probe_read_kernel, bpf_probe_read_user},
};
use evenkeel_abi::{
    CfaKind, EXACT_FRAME, FLAG_UNVERIFIED, FRAME_SLOTS, FramePointerKind, MAX_USER_FRAMES,
    ReturnKind, UnwindRule, WalkEnd,
};

use crate::{
    globals::{self, REGISTERS_BY_NUMBER},
    sample_buffer::{SampleBuffer, sample_buffer},
    task::{Task, field},
    unwind_tables::Place,
};

/// Lowest address that can be code: the first page is never mapped.
const LOWEST_CODE: u64 = 4096;

/// A frame pointer that is not known: not aligned, so that nothing is found by it.
const LOST: u64 = 1;

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

/// The state of a walk.
#[repr(C)]
pub struct Walk {
    /// Frame that was reached.
    registers: Registers,
    /// 1 when its instruction was interrupted: it is not a return address.
    is_exact: u64,
    /// Where the registers are with which the task entered the kernel: as a number, since a typed pointer
    /// cannot be added to.
    saved: u64,
    place: Place,
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
    buffer.walk.registers = registers;
    buffer.walk.is_exact = 1;
    // SAFETY: the helper takes a trusted task.
    buffer.walk.saved = unsafe { bpf_task_pt_regs(task.as_ptr().cast_mut().cast()) } as u64;
    buffer
        .walk
        .place
        .begin(buffer.header.pid, buffer.header.start_time);
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
    let is_first = buffer.header.user_frames == 1;
    let walk = &mut buffer.walk;
    // A return address can be the first one after the code of the call.
    let address = walk.registers.ip - (walk.is_exact ^ 1);
    let rule = walk.place.rule(address);
    if walk.place.is_sure == 0 {
        buffer.header.flags |= FLAG_UNVERIFIED;
    }
    let mut is_exact = 0;
    let caller = if rule.cfa_kind() == CfaKind::None as u8 {
        by_frame_pointer(&walk.registers, walk.is_exact, is_first)
    } else if rule.cfa_kind() == CfaKind::Signal as u8 {
        is_exact = 1;
        interrupted(&walk.registers, rule)
    } else {
        by_rule(walk, rule, is_first)
    };
    match caller {
        Ok(mut caller) => {
            caller.ip &= globals::RETURN_ADDRESS_MASK.load();
            if caller.ip < LOWEST_CODE || caller.ip >= globals::USER_ADDRESS_LIMIT.load() {
                buffer.header.walk_end = if caller.ip == 0 {
                    complete(walk)
                } else {
                    WalkEnd::BadReturnAddress
                } as u32;
                return STOP;
            }
            walk.registers = caller;
            walk.is_exact = is_exact;
            let mark = if is_exact != 0 { EXACT_FRAME } else { 0 };
            push(buffer, caller.ip | mark);
            CONTINUE
        }
        Err(WalkEnd::Complete) => {
            buffer.header.walk_end = complete(walk) as u32;
            STOP
        }
        Err(end) => {
            buffer.header.walk_end = end as u32;
            STOP
        }
    }
}

/// How a walk ended that came to an outermost frame.
#[inline(always)]
fn complete(walk: &Walk) -> WalkEnd {
    if walk.place.is_sure == 0 {
        WalkEnd::Unverified
    } else {
        WalkEnd::Complete
    }
}

/// The word at an address of the current task.
#[inline(always)]
fn word(address: u64) -> Result<u64, WalkEnd> {
    let mut word = 0_u64;
    // SAFETY: the helper writes at most 8 bytes and fails on what it cannot read.
    let failed =
        unsafe { bpf_probe_read_user((&raw mut word).cast(), 8, address as *const c_void) };
    if failed != 0 {
        return Err(WalkEnd::ReadFault);
    }
    Ok(word)
}

/// Two words at an address of the current task.
#[inline(always)]
fn pair(address: u64) -> Result<[u64; 2], WalkEnd> {
    let mut pair = [0_u64; 2];
    // SAFETY: the helper writes at most 16 bytes and fails on what it cannot read.
    let failed =
        unsafe { bpf_probe_read_user((&raw mut pair).cast(), 16, address as *const c_void) };
    if failed != 0 {
        return Err(WalkEnd::ReadFault);
    }
    Ok(pair)
}

/// The register of a DWARF number, 0 to 15, in which the current task was interrupted.
#[inline(always)]
fn register(walk: &Walk, number: u32) -> Result<u64, WalkEnd> {
    // SAFETY: the mask keeps the index below the length of the table.
    let offset = unsafe {
        (&raw const REGISTERS_BY_NUMBER)
            .cast::<u64>()
            .add(number as usize & 15)
            .read_volatile()
    };
    saved(walk, offset)
}

/// The word at an offset in the registers with which the current task entered the kernel.
#[inline(always)]
fn saved(walk: &Walk, offset: u64) -> Result<u64, WalkEnd> {
    let mut word = 0_u64;
    // SAFETY: the helper writes at most 8 bytes and fails on what it cannot read.
    let failed = unsafe {
        bpf_probe_read_kernel(
            (&raw mut word).cast(),
            8,
            walk.saved.wrapping_add(offset) as *const c_void,
        )
    };
    if failed != 0 {
        return Err(WalkEnd::NotUnderstood);
    }
    Ok(word)
}

/// The caller's registers by a rule. `is_first`: the callee is what ran, so that all its registers are
/// known.
#[inline(always)]
fn by_rule(walk: &Walk, rule: UnwindRule, is_first: bool) -> Result<Registers, WalkEnd> {
    let callee = &walk.registers;
    const STACK_POINTER: u8 = CfaKind::StackPointer as u8;
    const FRAME_POINTER: u8 = CfaKind::FramePointer as u8;
    const OTHER_STACK: u8 = CfaKind::OtherStack as u8;
    const REGISTER: u8 = CfaKind::Register as u8;
    const STACK_POINTER_WORD: u8 = CfaKind::StackPointerWord as u8;
    const FRAME_POINTER_WORD: u8 = CfaKind::FramePointerWord as u8;
    const LINKAGE_TABLE: u8 = CfaKind::LinkageTable as u8;
    const OUTERMOST: u8 = CfaKind::Outermost as u8;

    let offset = rule.cfa_offset() as u64;
    let cfa = match rule.cfa_kind() {
        STACK_POINTER => callee.sp.wrapping_add(offset),
        FRAME_POINTER | OTHER_STACK => callee.fp.wrapping_add(offset),
        STACK_POINTER_WORD => word(callee.sp.wrapping_add(offset))?.wrapping_add(rule.addend() * 8),
        FRAME_POINTER_WORD => word(callee.fp.wrapping_add(offset))?.wrapping_add(rule.addend() * 8),
        REGISTER if is_first => register(walk, rule.register())?.wrapping_add(offset),
        LINKAGE_TABLE if callee.ip & 15 >= rule.addend() => callee.sp.wrapping_add(16),
        LINKAGE_TABLE => callee.sp.wrapping_add(8),
        OUTERMOST => return Err(WalkEnd::Complete),
        _ => return Err(WalkEnd::NotUnderstood),
    };
    let in_register = rule.return_kind() == ReturnKind::LinkRegister as u8;
    // The stack grows downwards: a caller's frame lies above its callee's, and a return address that
    // is on the stack between them. Only code that changes stacks is called from anywhere.
    let is_above = cfa > callee.sp || cfa == callee.sp && in_register;
    if cfa & 7 != 0 || !is_above && rule.cfa_kind() != OTHER_STACK {
        return Err(WalkEnd::BadFrame);
    }
    let return_offset = if rule.return_kind() == ReturnKind::BelowCfa as u8 {
        -8
    } else {
        rule.return_offset()
    };
    let kind = rule.frame_pointer_kind();
    let fp_offset = rule.frame_pointer_offset();
    // Mostly they lie side by side: one reading instead of two.
    if kind == FramePointerKind::AtCfa as u8 && fp_offset + 8 == return_offset && !in_register {
        let [fp, ip] = pair(cfa.wrapping_add(fp_offset as u64))?;
        return Ok(Registers { ip, sp: cfa, fp });
    }
    let ip = if in_register {
        if !is_first || globals::REGS_LINK.load() == 0 {
            return Err(WalkEnd::NotUnderstood);
        }
        saved(walk, globals::REGS_LINK.load())?
    } else {
        word(cfa.wrapping_add(return_offset as u64))?
    };
    let fp = if kind == FramePointerKind::Same as u8 {
        callee.fp
    } else if kind == FramePointerKind::AtCfa as u8 {
        word(cfa.wrapping_add(fp_offset as u64))?
    } else if kind == FramePointerKind::AtFramePointer as u8 {
        word(callee.fp.wrapping_add(fp_offset as u64))?
    } else {
        LOST
    };
    Ok(Registers { ip, sp: cfa, fp })
}

/// What a signal interrupted: the kernel left its registers on the stack, in a `ucontext`.
#[inline(always)]
fn interrupted(handler: &Registers, rule: UnwindRule) -> Result<Registers, WalkEnd> {
    let context = handler.sp.wrapping_add(rule.cfa_offset() as u64);
    Ok(Registers {
        ip: word(context.wrapping_add(globals::CONTEXT_IP.load()))?,
        sp: word(context.wrapping_add(globals::CONTEXT_SP.load()))?,
        fp: word(context.wrapping_add(globals::CONTEXT_FP.load()))?,
    })
}

/// The caller's registers by the frame pointer: the word at it is the caller's frame pointer, the
/// next one the return address (x86-64 and arm64 alike).
#[inline(always)]
fn by_frame_pointer(
    callee: &Registers,
    is_exact: u64,
    is_first: bool,
) -> Result<Registers, WalkEnd> {
    if is_exact != 0 && globals::HAS_X86_CODE.load() != 0 {
        // Where the frame is not yet made, or no longer there, the return address is on top.
        const FIRST_INSTRUCTION: u64 = 0x55;
        const SECOND_INSTRUCTION: u64 = 0xe5_8948;
        const RETURN: u64 = 0xc3;
        let code = word(callee.ip)?;
        if code & 0xff == FIRST_INSTRUCTION || code & 0xff == RETURN {
            return Ok(Registers {
                ip: word(callee.sp)?,
                sp: callee.sp.wrapping_add(8),
                fp: callee.fp,
            });
        }
        if code & 0xff_ffff == SECOND_INSTRUCTION {
            let [fp, ip] = pair(callee.sp)?;
            return Ok(Registers {
                ip,
                sp: callee.sp.wrapping_add(16),
                fp,
            });
        }
    }
    if callee.fp == 0 && !is_first {
        return Err(WalkEnd::Complete);
    }
    // The stack grows downwards: a caller's frame lies above its callee's stack pointer.
    if callee.fp < callee.sp || callee.fp & 7 != 0 {
        return Err(WalkEnd::BadFramePointer);
    }
    let [fp, ip] = pair(callee.fp)?;
    Ok(Registers {
        ip,
        sp: callee.fp.wrapping_add(16),
        fp,
    })
}
