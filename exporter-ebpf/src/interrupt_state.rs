//! Whether this CPU is in an interrupt.

/// True between entry and exit of an interrupt or softirq on this CPU.
#[inline(always)]
pub fn in_interrupt() -> bool {
    false
}
