//! How the kernel programs find the caller of a user frame.
//!
//! User space turns the call frame information of an executable (`.eh_frame`, `.debug_frame`, Go's
//! pclntab) into rows: "from this address on, this rule". Addresses are ELF virtual addresses, cut
//! into pages of 64 KiB so that a row takes four bytes: the low half of its address and the number
//! of its rule, of which a whole node has few.

/// Bits of an address within a page of rows.
pub const UNWIND_PAGE_BITS: u32 = 16;

/// Rules that there can be on a node: what the upper half of a row can say.
pub const UNWIND_RULES: usize = 1 << 16;

/// Processes whose mappings the kernel programs know at one time.
pub const UNWIND_PROCESSES: usize = 4096;

/// Executable mappings of all of them: eight each on average, 1 MiB.
pub const UNWIND_MAPPINGS: usize = 1 << 15;

/// Mappings of one process: what 13 steps of a binary search find.
pub const UNWIND_PROCESS_MAPPINGS: usize = 1 << 13;

/// Executables that can have rows at one time.
pub const UNWIND_EXECUTABLES: usize = 1 << 12;

/// Pages of rows: 4 GiB of code, 512 KiB.
pub const UNWIND_PAGES: usize = 1 << 16;

/// Number of the rule that knows nothing, which is always there.
pub const NO_RULE: u16 = 0;

/// How the canonical frame address is found: the stack pointer of the caller, after the return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CfaKind {
    /// Nobody says anything about this code.
    None = 0,
    /// Stack pointer + offset.
    StackPointer,
    /// Frame pointer + offset.
    FramePointer,
    /// Another register + offset; its value is known only where the code was interrupted.
    Register,
    /// The word at stack pointer + offset, + addend.
    StackPointerWord,
    /// The word at frame pointer + offset, + addend.
    FramePointerWord,
    /// An entry of a procedure linkage table: stack pointer + 8, and 8 more once the instruction
    /// pointer is `addend` bytes or more into its 16.
    LinkageTable,
    /// The return from a signal handler: all registers are on the stack, at stack pointer + offset
    /// the `ucontext`.
    Signal,
    /// The outermost function of a thread: it has no caller.
    Outermost,
    /// The code says how, but in a way that is not understood.
    Unknown,
    /// Frame pointer + offset, on another stack than the callee's: anywhere in memory.
    OtherStack,
}

/// How the caller's frame pointer is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FramePointerKind {
    /// It is the callee's.
    Same = 0,
    /// The word at CFA + offset.
    AtCfa,
    /// The word at the callee's frame pointer + offset.
    AtFramePointer,
    /// It is lost.
    Lost,
}

/// How the return address is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReturnKind {
    /// The word at CFA - 8: x86-64, always.
    BelowCfa = 0,
    /// The word at CFA + offset.
    AtCfa,
    /// In the link register (arm64), whose value is known only where the code was interrupted.
    LinkRegister,
}

/// A rule, in one word:
///
/// | bits | |
/// |---|---|
/// | 0–3 | [`CfaKind`] |
/// | 4–7 | addend of the CFA, in words; of a linkage table, in bytes |
/// | 8–9 | [`FramePointerKind`] |
/// | 10–11 | [`ReturnKind`] |
/// | 12–15 | DWARF number of the register of [`CfaKind::Register`] |
/// | 16–23 | offset of the return address, in words, signed |
/// | 24–39 | offset of the frame pointer, in words, signed |
/// | 40–63 | offset of the CFA, in bytes, signed |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct UnwindRule(pub u64);

impl UnwindRule {
    /// The number of the [`CfaKind`].
    #[must_use]
    pub const fn cfa_kind(self) -> u8 {
        (self.0 & 15) as u8
    }

    /// Addend of the CFA: words, or bytes of a linkage table.
    #[must_use]
    pub const fn addend(self) -> u64 {
        self.0 >> 4 & 15
    }

    /// The number of the [`FramePointerKind`].
    #[must_use]
    pub const fn frame_pointer_kind(self) -> u8 {
        (self.0 >> 8 & 3) as u8
    }

    /// The number of the [`ReturnKind`].
    #[must_use]
    pub const fn return_kind(self) -> u8 {
        (self.0 >> 10 & 3) as u8
    }

    /// DWARF number of the register of [`CfaKind::Register`].
    #[must_use]
    pub const fn register(self) -> u32 {
        (self.0 >> 12 & 15) as u32
    }

    /// Offset of the return address from the CFA, bytes.
    #[must_use]
    pub const fn return_offset(self) -> i64 {
        (self.0 << 40).cast_signed() >> 56 << 3
    }

    /// Offset of the saved frame pointer, bytes.
    #[must_use]
    pub const fn frame_pointer_offset(self) -> i64 {
        (self.0 << 24).cast_signed() >> 48 << 3
    }

    /// Offset of the CFA, bytes.
    #[must_use]
    pub const fn cfa_offset(self) -> i64 {
        self.0.cast_signed() >> 40
    }

    /// A rule of only a kind.
    #[must_use]
    pub const fn of_kind(kind: CfaKind) -> Self {
        Self(kind as u64)
    }

    /// A rule whose CFA is found by `kind` with an offset in bytes; `None` when the offset does not
    /// fit in 24 bits. The frame pointer is the callee's, the return address below the CFA.
    #[must_use]
    pub const fn with_cfa(kind: CfaKind, offset: i64) -> Option<Self> {
        if offset < -(1 << 23) || offset >= 1 << 23 {
            return None;
        }
        Some(Self(kind as u64 | (offset.cast_unsigned() << 40)))
    }

    /// The same with an addend; `None` when it does not fit in 4 bits.
    #[must_use]
    pub const fn with_addend(self, addend: u64) -> Option<Self> {
        if addend > 15 {
            return None;
        }
        Some(Self(self.0 & !(15 << 4) | addend << 4))
    }

    /// The same with a register; `None` when its number does not fit in 4 bits.
    #[must_use]
    pub const fn with_register(self, register: u16) -> Option<Self> {
        if register > 15 {
            return None;
        }
        Some(Self(self.0 & !(15 << 12) | (register as u64) << 12))
    }

    /// The same with a rule for the frame pointer; `None` when the offset, in bytes, is not of
    /// whole words or does not fit in 16 bits of them.
    #[must_use]
    pub const fn with_frame_pointer(self, kind: FramePointerKind, offset: i64) -> Option<Self> {
        let words = offset >> 3;
        if offset & 7 != 0 || words < -(1 << 15) || words >= 1 << 15 {
            return None;
        }
        let cleared = self.0 & !(3 << 8) & !(0xffff << 24);
        Some(Self(
            cleared | (kind as u64) << 8 | (words.cast_unsigned() & 0xffff) << 24,
        ))
    }

    /// The same with a rule for the return address; `None` when the offset, in bytes, is not of
    /// whole words or does not fit in 8 bits of them.
    #[must_use]
    pub const fn with_return(self, kind: ReturnKind, offset: i64) -> Option<Self> {
        let words = offset >> 3;
        if offset & 7 != 0 || words < -(1 << 7) || words >= 1 << 7 {
            return None;
        }
        let cleared = self.0 & !(3 << 10) & !(0xff << 16);
        Some(Self(
            cleared | (kind as u64) << 10 | (words.cast_unsigned() & 0xff) << 16,
        ))
    }
}

/// An executable mapping of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct UnwindMapping {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// What is taken from an address in memory to get the ELF virtual address.
    pub bias: u64,
    /// Slot of the executable in `UNWIND_EXECUTABLES`; [`NO_EXECUTABLE`] for code without a file.
    pub executable: u32,
    /// Padding.
    pub reserved: u32,
}

/// Code made at run time: its frames have frame pointers or nothing.
pub const NO_EXECUTABLE: u32 = u32::MAX;

/// The mappings of a process in `UNWIND_MAPPINGS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct UnwindProcess {
    /// Start time of the process, nanoseconds since boot: a process id comes back, this does not.
    pub start_time: u64,
    /// First mapping.
    pub first: u32,
    /// Number of mappings, in order of address.
    pub count: u32,
}

/// Where the pages of an executable are in `UNWIND_PAGES`; no pages while nothing is known of it. Rows are
/// two to a word of `UNWIND_ROWS`, the first one in the low half; in a row, the low half of its
/// address is the low half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct UnwindExecutable {
    /// Place of its first page. A page is the place of its first row in `UNWIND_ROWS`; the page
    /// after the last one says where the rows end.
    pub pages: u32,
    /// Number of pages.
    pub page_count: u32,
    /// ELF virtual address of the first page.
    pub first_address: u64,
}

impl UnwindExecutable {
    /// Of an executable that says nothing of how callers are found: no address is in its one page.
    pub const WITHOUT_ROWS: Self = Self {
        pages: 0,
        page_count: 1,
        first_address: 1 << 63,
    };
}

const _: () = assert!(size_of::<UnwindMapping>() == 32);
const _: () = assert!(size_of::<UnwindProcess>() == 16);
const _: () = assert!(size_of::<UnwindExecutable>() == 16);

#[cfg(test)]
mod tests {
    use super::*;

    /// What is put into a rule comes out again, at both ends of each range.
    #[test]
    fn rules_keep_their_parts() {
        for cfa in [-(1 << 23), -8, 0, 16, (1 << 23) - 1] {
            for frame_pointer in [-(1 << 18), -16, 0, (1 << 18) - 8] {
                for back in [-1024, -8, 0, 1016] {
                    let rule = UnwindRule::with_cfa(CfaKind::Register, cfa)
                        .and_then(|rule| rule.with_addend(15))
                        .and_then(|rule| rule.with_register(10))
                        .and_then(|rule| {
                            rule.with_frame_pointer(FramePointerKind::AtCfa, frame_pointer)
                        })
                        .and_then(|rule| rule.with_return(ReturnKind::AtCfa, back))
                        .expect("in range");
                    assert_eq!(rule.cfa_kind(), CfaKind::Register as u8);
                    assert_eq!(rule.cfa_offset(), cfa);
                    assert_eq!((rule.addend(), rule.register()), (15, 10));
                    assert_eq!(rule.frame_pointer_kind(), FramePointerKind::AtCfa as u8);
                    assert_eq!(rule.frame_pointer_offset(), frame_pointer);
                    assert_eq!(rule.return_kind(), ReturnKind::AtCfa as u8);
                    assert_eq!(rule.return_offset(), back);
                }
            }
        }
    }

    /// What does not fit is refused, never cut.
    #[test]
    fn what_does_not_fit_is_refused() {
        let rule = UnwindRule::of_kind(CfaKind::StackPointer);
        assert_eq!(
            UnwindRule::with_cfa(CfaKind::StackPointer, 1 << 23),
            None,
            "24 bits"
        );
        assert_eq!(rule.with_frame_pointer(FramePointerKind::AtCfa, -12), None);
        assert_eq!(
            rule.with_frame_pointer(FramePointerKind::AtCfa, 1 << 18),
            None
        );
        assert_eq!(rule.with_return(ReturnKind::AtCfa, 1 << 10), None);
        assert_eq!((rule.with_addend(16), rule.with_register(16)), (None, None));
    }
}
