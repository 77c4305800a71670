//! From a row of call frame information to a rule.

use evenkeel_abi::{CfaKind, FramePointerKind, ReturnKind, UnwindRule};
use gimli::{
    CfaRule, Encoding, EndianSlice, Format, LittleEndian, Operation, Register, RegisterRule,
    UnwindExpression, UnwindSection, UnwindTableRow, Vendor,
};

/// Bytes of a section.
pub(super) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Expressions are read to this many operations; the longest that is understood has nine.
const OPERATIONS: usize = 10;

/// DWARF numbers of the registers that a walk follows, and where signals leave them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Architecture {
    stack_pointer: Register,
    frame_pointer: Register,
    return_address: Register,
    /// Offset of the stack pointer in the `ucontext`.
    context_stack_pointer: i64,
    /// Offset of the `ucontext` from the stack pointer at the return of a signal handler, where the code
    /// does not say it.
    context: Option<i64>,
    /// A function that saves no return address has it in a register.
    has_link_register: bool,
}

impl Architecture {
    /// System V ABI, AMD64 Architecture Processor Supplement, figure 3.36; `ucontext` of
    /// arch/x86/include/uapi/asm/ucontext.h.
    pub(super) const X86_64: Self = Self {
        stack_pointer: Register(7),
        frame_pointer: Register(6),
        return_address: Register(16),
        context_stack_pointer: 160,
        context: None,
        has_link_register: false,
    };

    /// DWARF for the Arm 64-bit Architecture, section 4.1; `rt_sigframe` of arch/arm64/kernel/signal.c:
    /// 128 bytes of `siginfo`, then the `ucontext`.
    pub(super) const AARCH64: Self = Self {
        stack_pointer: Register(31),
        frame_pointer: Register(29),
        return_address: Register(30),
        context_stack_pointer: 432,
        context: Some(128),
        has_link_register: true,
    };

    /// Whose instructions there may be: those of arm64 say whether a return address is signed.
    pub(super) fn vendor(&self) -> Vendor {
        if self.has_link_register {
            Vendor::AArch64
        } else {
            Vendor::Default
        }
    }
}

/// The rule that a row states; `Unknown` for one that cannot be said in a rule.
pub(super) fn rule<'a, S: UnwindSection<Bytes<'a>>>(
    row: &UnwindTableRow<usize>,
    section: &S,
    architecture: &Architecture,
    is_signal_frame: bool,
) -> UnwindRule {
    let stated = if is_signal_frame {
        signal_rule(row, section, architecture)
    } else {
        call_rule(row, section, architecture)
    };
    stated.unwrap_or(UnwindRule::of_kind(CfaKind::Unknown))
}

/// The kernel made this frame: all registers of what was interrupted are in it.
fn signal_rule<'a, S: UnwindSection<Bytes<'a>>>(
    row: &UnwindTableRow<usize>,
    section: &S,
    architecture: &Architecture,
) -> Option<UnwindRule> {
    let offset = match (row.cfa(), architecture.context) {
        (CfaRule::Expression(expression), _) => match operations(expression, section)?.as_slice() {
            [
                Operation::RegisterOffset {
                    register, offset, ..
                },
                Operation::Deref { .. },
            ] if *register == architecture.stack_pointer => {
                offset.checked_sub(architecture.context_stack_pointer)?
            }
            _ => return None,
        },
        (_, Some(offset)) => offset,
        (_, None) => return None,
    };
    UnwindRule::with_cfa(CfaKind::Signal, offset)
}

fn call_rule<'a, S: UnwindSection<Bytes<'a>>>(
    row: &UnwindTableRow<usize>,
    section: &S,
    architecture: &Architecture,
) -> Option<UnwindRule> {
    let return_rule = row.register(architecture.return_address);
    if return_rule == Some(RegisterRule::Undefined) {
        return Some(UnwindRule::of_kind(CfaKind::Outermost));
    }
    let rule = cfa(row.cfa(), section, architecture)?;
    let rule = match return_rule {
        Some(RegisterRule::Offset(-8)) if !architecture.has_link_register => rule,
        Some(RegisterRule::Offset(offset)) => rule.with_return(ReturnKind::AtCfa, offset)?,
        None | Some(RegisterRule::SameValue) if architecture.has_link_register => {
            rule.with_return(ReturnKind::LinkRegister, 0)?
        }
        _ => return None,
    };
    let lost = rule.with_frame_pointer(FramePointerKind::Lost, 0);
    match row.register(architecture.frame_pointer) {
        None | Some(RegisterRule::SameValue) => Some(rule),
        Some(RegisterRule::Offset(offset)) => rule
            .with_frame_pointer(FramePointerKind::AtCfa, offset)
            .or(lost),
        Some(RegisterRule::Expression(expression)) => {
            let operations = operations(&expression, section).unwrap_or_default();
            let [
                Operation::RegisterOffset {
                    register, offset, ..
                },
            ] = operations.as_slice()
            else {
                return lost;
            };
            if *register != architecture.frame_pointer {
                return lost;
            }
            rule.with_frame_pointer(FramePointerKind::AtFramePointer, *offset)
                .or(lost)
        }
        Some(_) => lost,
    }
}

fn cfa<'a, S: UnwindSection<Bytes<'a>>>(
    cfa: &CfaRule<usize>,
    section: &S,
    architecture: &Architecture,
) -> Option<UnwindRule> {
    match cfa {
        CfaRule::RegisterAndOffset { register, offset } => {
            if *register == architecture.stack_pointer {
                UnwindRule::with_cfa(CfaKind::StackPointer, *offset)
            } else if *register == architecture.frame_pointer {
                UnwindRule::with_cfa(CfaKind::FramePointer, *offset)
            } else {
                UnwindRule::with_cfa(CfaKind::Register, *offset)?.with_register(register.0)
            }
        }
        CfaRule::Expression(expression) => cfa_of(&operations(expression, section)?, architecture),
    }
}

/// The forms of expressions that compilers and linkers write: where a stack is realigned, the word at an
/// offset of the frame pointer; in a procedure linkage table, whether the instruction pointer is
/// behind the push.
fn cfa_of(operations: &[Operation<Bytes<'_>>], architecture: &Architecture) -> Option<UnwindRule> {
    let (register, offset, rest) = match operations {
        [
            Operation::RegisterOffset {
                register, offset, ..
            },
            rest @ ..,
        ] => (*register, *offset, rest),
        _ => return None,
    };
    match rest {
        [Operation::Deref { size: 8, .. }, rest @ ..] => {
            let kind = if register == architecture.stack_pointer {
                CfaKind::StackPointerWord
            } else if register == architecture.frame_pointer {
                CfaKind::FramePointerWord
            } else {
                return None;
            };
            let addend = match rest {
                [] => 0,
                [Operation::PlusConstant { value }] if value % 8 == 0 => value / 8,
                _ => return None,
            };
            UnwindRule::with_cfa(kind, offset)?.with_addend(addend)
        }
        [
            Operation::RegisterOffset {
                register: instruction_pointer,
                offset: 0,
                ..
            },
            Operation::UnsignedConstant { value: 15 },
            Operation::And,
            Operation::UnsignedConstant { value },
            Operation::Ge,
            Operation::UnsignedConstant { value: 3 },
            Operation::Shl,
            Operation::Plus,
        ] if register == architecture.stack_pointer
            && offset == 8
            && *instruction_pointer == architecture.return_address
            && !architecture.has_link_register =>
        {
            UnwindRule::with_cfa(CfaKind::LinkageTable, 8)?.with_addend(*value)
        }
        _ => None,
    }
}

fn operations<'a, S: UnwindSection<Bytes<'a>>>(
    expression: &UnwindExpression<usize>,
    section: &S,
) -> Option<Vec<Operation<Bytes<'a>>>> {
    let encoding = Encoding {
        address_size: 8,
        format: Format::Dwarf32,
        version: 4,
    };
    let mut iterator = expression.get(section).ok()?.operations(encoding);
    let mut operations = Vec::new();
    while let Some(operation) = iterator.next().ok()? {
        if operations.len() >= OPERATIONS {
            return None;
        }
        operations.push(operation);
    }
    Some(operations)
}
