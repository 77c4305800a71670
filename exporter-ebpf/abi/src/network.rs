//! Network: distributions and what is kept of each CPU.

/// A distribution in a bank of `NETWORK_HISTOGRAMS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NetworkRow {
    /// Time in `NET_RX` for a packet.
    Receive = 0,
    /// Smoothed round-trip time of TCP.
    RoundTrip,
}

/// Distributions in a bank of `NETWORK_HISTOGRAMS`.
pub const NETWORK_ROWS: u32 = 2;

/// Reasons of dropped packets in a bank of `DROPS`. The kernel has 128; the last slot takes what is
/// beyond, such as the reasons of subsystems (above 2^16).
pub const DROP_REASONS: u32 = 256;

/// One segment in this many has its connection's round-trip time recorded.
pub const ROUND_TRIP_INTERVAL: u32 = 16;

/// What is counted of a CPU's network. Only programs on that CPU write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct NetworkState {
    /// Packets received in the running `NET_RX`.
    pub run_packets: u64,
    /// Packets received by polls in soft interrupts.
    pub soft_packets: u64,
    /// Packets received by polls in tasks (busy polling, threaded NAPI).
    pub task_packets: u64,
    /// Polls that left the device or queue empty.
    pub polls_done: u64,
    /// Polls that used up their budget, so that packets wait for the next one.
    pub polls_exhausted: u64,
    /// Segments that arrived on established TCP connections.
    pub segments: u64,
    /// Segments to let pass before the next round-trip time is taken.
    pub skip: u64,
    /// Padding to a cache line.
    pub reserved: u64,
}

/// Words of a `NetworkState`.
pub const NETWORK_STATE_WORDS: u32 = 8;

/// Words of `NetworkState` that are read by user space, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NetworkWord {
    /// `NetworkState::soft_packets`.
    SoftPackets = 1,
    /// `NetworkState::task_packets`.
    TaskPackets,
    /// `NetworkState::polls_done`.
    PollsDone,
    /// `NetworkState::polls_exhausted`.
    PollsExhausted,
    /// `NetworkState::segments`.
    Segments,
}

const _: () = {
    use core::mem::offset_of;
    assert!(NetworkRow::RoundTrip as u32 + 1 == NETWORK_ROWS);
    assert!(size_of::<NetworkState>() == NETWORK_STATE_WORDS as usize * 8);
    assert!(offset_of!(NetworkState, soft_packets) == NetworkWord::SoftPackets as usize * 8);
    assert!(offset_of!(NetworkState, segments) == NetworkWord::Segments as usize * 8);
};
