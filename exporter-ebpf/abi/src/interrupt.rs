//! Interrupts: which distribution each has, and what is kept of each CPU.

/// Soft interrupts, in the order of `/proc/softirqs`. Tools rely on the numbers, so the kernel keeps
/// them even where a vector is no longer used (include/linux/interrupt.h).
pub const SOFTIRQS: u32 = 10;

/// `NET_TX_SOFTIRQ`.
pub const NET_TX_SOFTIRQ: u32 = 2;

/// `NET_RX_SOFTIRQ`.
pub const NET_RX_SOFTIRQ: u32 = 3;

/// A vector of the CPU itself, by its pair of tracepoints (`irq_vectors`, x86 only).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LocalVector {
    /// `local_timer`; `LOC` in `/proc/interrupts`.
    Timer = 0,
    /// `reschedule`; `RES`.
    Reschedule,
    /// `call_function`: sent to several CPUs. Together with the next one `CAL`; `TLB` says how many
    /// of these flushed a TLB.
    CallFunction,
    /// `call_function_single`: sent to one CPU.
    CallFunctionSingle,
    /// `irq_work`; `IWI`.
    IrqWork,
    /// `thermal_apic`; `TRM`.
    Thermal,
}

/// Number of `LocalVector`s.
pub const LOCAL_VECTORS: u32 = 6;

/// Rows for devices; the first is shared by those that have none of their own.
pub const DEVICE_ROWS: u32 = 32;

/// First distribution of the vectors in a bank; soft interrupts come before them.
pub const VECTOR_ROW: u32 = SOFTIRQS;

/// First distribution of the devices in a bank.
pub const DEVICE_ROW: u32 = VECTOR_ROW + LOCAL_VECTORS;

/// Distributions in a bank of `INTERRUPT_HISTOGRAMS`.
pub const INTERRUPT_ROWS: u32 = DEVICE_ROW + DEVICE_ROWS;

/// Interrupt numbers that can have a row (`IRQ_ROWS`). The kernel gives out the lowest free number,
/// so that only hosts with more device interrupts than this have higher ones.
pub const IRQ_NUMBERS: u32 = 8192;

/// What `IRQ_ROWS` holds of a number that user space has not seen yet; others are a row plus one.
pub const IRQ_UNNAMED: u32 = 0;

/// The interrupts of one CPU. Only programs on that CPU write it: the fields of hard interrupts with
/// interrupts off, those of soft ones in the one soft interrupt that a CPU can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct InterruptState {
    /// When the hard interrupt began that the CPU is in (`bpf_ktime_get_ns`); 0 when in none.
    pub hard_since: u64,
    /// When the soft interrupt began that the CPU is in; 0 when in none.
    pub soft_since: u64,
    /// Which hard interrupt: its number, or a vector with `VECTOR_KEY`.
    pub hard_key: u32,
    /// Which soft interrupt.
    pub soft_vector: u32,
    /// Hard interrupts' nanoseconds on this CPU when the soft interrupt began.
    pub hard_before_soft: u64,
    /// Nanoseconds in handlers of devices.
    pub device_nanos: u64,
    /// Nanoseconds in vectors.
    pub vector_nanos: u64,
    /// Nanoseconds in each soft interrupt, without the hard interrupts that came in between.
    pub soft_nanos: [u64; SOFT_SLOTS as usize],
    /// Padding to a cache line.
    pub reserved: [u64; 2],
}

/// Slots for soft interrupts in `InterruptState`: a power of two, so that a masked index is in
/// bounds for the verifier.
pub const SOFT_SLOTS: u32 = 16;

/// Tells a vector from the number of a device's interrupt in `InterruptState::hard_key`.
pub const VECTOR_KEY: u32 = 1 << 31;

/// Words of an `InterruptState`.
pub const INTERRUPT_STATE_WORDS: u32 = 24;

/// Word of `InterruptState::device_nanos`.
pub const DEVICE_NANOS_WORD: u32 = 4;

/// Word of `InterruptState::vector_nanos`.
pub const VECTOR_NANOS_WORD: u32 = 5;

/// First word of `InterruptState::soft_nanos`.
pub const SOFT_NANOS_WORD: u32 = 6;

const _: () = {
    use core::mem::offset_of;
    assert!(LocalVector::Thermal as u32 + 1 == LOCAL_VECTORS);
    assert!(size_of::<InterruptState>() == INTERRUPT_STATE_WORDS as usize * 8);
    assert!(offset_of!(InterruptState, device_nanos) == DEVICE_NANOS_WORD as usize * 8);
    assert!(offset_of!(InterruptState, vector_nanos) == VECTOR_NANOS_WORD as usize * 8);
    assert!(offset_of!(InterruptState, soft_nanos) == SOFT_NANOS_WORD as usize * 8);
};
