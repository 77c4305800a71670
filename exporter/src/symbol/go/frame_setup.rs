//! How the code of a function saves the frame pointer of its caller: x86-64.
//!
//! The tables say how deep the stack is, not what is on it. The linker writes one of two
//! sequences at the start of every function that has a frame; code in assembly without one
//! (`NOFRAME`) leaves the frame pointer alone, as Go's calling convention wants.

use super::bytes::u32_at;

/// Bytes of code that tell: one before the stack gets deeper, and two instructions after it.
pub(super) const CODE_BYTES: usize = 1 + 2 * 8;

/// What a function does with the frame pointer; offsets are from the start of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameSetup {
    /// From here on, the caller's frame pointer is below the return address.
    pub(super) saved: u64,
    /// From here on, the frame pointer points at it.
    pub(super) set: Option<u64>,
}

impl FrameSetup {
    /// Reads the code around the place, `offset`, where the stack first gets deeper: by `depth`
    /// bytes, in the instruction before it. `code` starts one byte before. `None` where the frame
    /// pointer isn't saved.
    pub(super) fn read(code: &[u8], offset: u64, depth: u64) -> Option<Self> {
        let (before, code) = code.split_first()?;
        // Since Go 1.21: push %rbp; mov %rsp,%rbp.
        if *before == 0x55 && depth == 8 {
            return Some(Self {
                saved: offset,
                set: code.starts_with(&[0x48, 0x89, 0xe5]).then_some(offset + 3),
            });
        }
        // Before: mov %rbp,DEPTH-8(%rsp); lea DEPTH-8(%rsp),%rbp.
        let stored = stack_operand(code, 0x89, depth)?;
        let saved = offset + stored as u64;
        Some(Self {
            saved,
            set: code
                .get(stored..)
                .and_then(|code| stack_operand(code, 0x8d, depth))
                .map(|length| saved + length as u64),
        })
    }
}

/// Length of the instruction at the start of `code` if it is `opcode` with %rbp and the word
/// below the return address.
fn stack_operand(code: &[u8], opcode: u8, depth: u64) -> Option<usize> {
    let place = depth.checked_sub(8)?;
    // REX.W, opcode, ModRM and SIB: %rbp with 8 or 32 bits of displacement from %rsp, or none.
    let (displacement, length) = match code.get(..4)? {
        [0x48, found, 0x2c, 0x24] if *found == opcode => (0, 4),
        [0x48, found, 0x6c, 0x24] if *found == opcode => (u64::from(*code.get(4)?), 5),
        [0x48, found, 0xac, 0x24] if *found == opcode => (u64::from(u32_at(code, 4)?), 8),
        _ => return None,
    };
    (displacement == place).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(code: &[u8]) -> Vec<u8> {
        let mut code = code.to_vec();
        code.resize(CODE_BYTES, 0x90);
        code
    }

    /// The sequences of Go 1.21 and later, and of earlier ones with small, middling and large
    /// frames (from `go tool objdump`).
    #[test]
    fn sequences() {
        let pushed = padded(&[0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10]);
        let at = |saved, set| Some(FrameSetup { saved, set });
        assert_eq!(FrameSetup::read(&pushed, 7, 8), at(7, Some(10)));
        let none = padded(&[0x08, 0x48, 0x89, 0x2c, 0x24, 0x48, 0x8d, 0x2c, 0x24]);
        assert_eq!(FrameSetup::read(&none, 4, 8), at(8, Some(12)));
        let byte = padded(&[
            0x18, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x48, 0x8d, 0x6c, 0x24, 0x10,
        ]);
        assert_eq!(FrameSetup::read(&byte, 4, 24), at(9, Some(14)));
        let word = padded(&[
            0, 0x48, 0x89, 0xac, 0x24, 0x90, 0, 0, 0, 0x48, 0x8d, 0xac, 0x24, 0x90, 0, 0, 0,
        ]);
        assert_eq!(FrameSetup::read(&word, 7, 0x98), at(15, Some(23)));
    }

    /// Other code saves nothing: another register, another place, bytes that end.
    #[test]
    fn no_frame_pointer() {
        let flags = padded(&[0x9c, 0xfc, 0x48]);
        assert_eq!(FrameSetup::read(&flags, 1, 8), None);
        let elsewhere = padded(&[0x18, 0x48, 0x89, 0x6c, 0x24, 0x08]);
        assert_eq!(FrameSetup::read(&elsewhere, 4, 24), None);
        for length in 0..5 {
            assert_eq!(FrameSetup::read(&elsewhere[..length], 4, 16), None);
        }
    }
}
