//! What packets cost and where they wait.
//!
//! Hooks: tp_btf `napi_poll`, `tcp_probe`, `tcp_retransmit_skb`, `tcp_retransmit_synack`,
//! `kfree_skb`; the time of `NET_RX` comes from `interrupts.rs`. Maps: `NETWORK_STATES`,
//! `NETWORK_HISTOGRAMS`, `DROPS`, `COUNTERS`.
//!
//! Cost: `napi_poll` 16 ns, `tcp_probe` 19 ns on average, `kfree_skb` 14 ns, a retransmission 30 ns; none
//! reads the clock.

use core::ffi::c_void;

use aya_ebpf::{
    btf_maps::Array,
    helpers::{bpf_get_prandom_u32, generated::bpf_skc_to_tcp_sock},
    macros::{btf_map, btf_tracepoint},
    programs::BtfTracePointContext,
};
use evenkeel_abi::{
    Counter, DROP_REASONS, Histogram, NET_RX_SOFTIRQ, NETWORK_ROWS, NetworkRow, NetworkState,
    ROUND_TRIP_INTERVAL,
};

use crate::{
    counters::{self, MMAPABLE, add_to, current_cpu},
    globals, histogram, interrupts,
    task::field,
};

/// `TCP_SYN_SENT` (include/net/tcp_states.h).
const SYN_SENT: u8 = 2;

/// Nanoseconds for each unit of `srtt_us`, which is eighths of a microsecond.
const NANOS_OF_SRTT: u64 = 125;

/// One entry for each possible CPU; user space sets the size at load.
#[btf_map]
static NETWORK_STATES: Array<NetworkState, 1, MMAPABLE> = Array::new();

/// `NETWORK_ROWS` for each bank; user space sets the size at load.
#[btf_map]
static NETWORK_HISTOGRAMS: Array<Histogram, 1, MMAPABLE> = Array::new();

/// Dropped packets by reason, `DROP_REASONS` for each bank; user space sets the size at load.
#[btf_map]
static DROPS: Array<u64, 1, MMAPABLE> = Array::new();

#[inline(always)]
fn state() -> Option<*mut NetworkState> {
    NETWORK_STATES.get_ptr_mut(current_cpu())
}

#[inline(always)]
fn record(row: NetworkRow, nanos: u64, weight: u64) {
    if let Some(histogram) =
        NETWORK_HISTOGRAMS.get_ptr_mut(histogram::bank() * NETWORK_ROWS + row as u32)
    {
        // SAFETY: it comes from the look-up, and a row has one program, which the kernel does not run
        // within itself.
        unsafe { histogram::record_shares(histogram, nanos, weight) }
    }
}

/// `NET_RX` has ended after that much time of its own: each packet that it received cost its share.
#[inline(always)]
pub fn receive_has_ended(own_nanos: u64) {
    let Some(state) = state() else {
        return;
    };
    // SAFETY: `state` is this CPU's, in the soft interrupt that alone writes the field.
    let packets = unsafe { (*state).run_packets };
    if packets != 0 {
        // SAFETY: as above.
        unsafe { (*state).run_packets = 0 };
        record(NetworkRow::Receive, own_nanos, packets);
    }
}

/// A device or a CPU's backlog was polled for packets.
#[btf_tracepoint(function = "napi_poll")]
pub fn napi_poll(context: BtfTracePointContext) -> i32 {
    let work = context.arg::<u64>(1) as i32;
    let budget = context.arg::<u64>(2) as i32;
    let Some(state) = state() else {
        return 0;
    };
    let packets = if work > 0 { work as u64 } else { 0 };
    // SAFETY: `state` is this CPU's; polls run with soft interrupts off.
    unsafe {
        if interrupts::in_softirq(NET_RX_SOFTIRQ) {
            (*state).run_packets += packets;
            (*state).soft_packets += packets;
        } else {
            (*state).task_packets += packets;
        }
        if budget > 0 && work >= budget {
            (*state).polls_exhausted += 1;
        } else {
            (*state).polls_done += 1;
        }
    }
    0
}

/// A segment arrived on an established connection. One in `ROUND_TRIP_INTERVAL` is looked at, by
/// random skips, and if it acknowledges data its connection's round-trip time is recorded: other
/// segments say nothing new about it.
#[btf_tracepoint(function = "tcp_probe")]
pub fn tcp_probe(context: BtfTracePointContext) -> i32 {
    let Some(state) = state() else {
        return 0;
    };
    // SAFETY: `state` is this CPU's, and the kernel does not run a program within itself.
    let skip = unsafe { (*state).skip };
    // SAFETY: as above.
    unsafe {
        (*state).segments += 1;
        if skip != 0 {
            (*state).skip = skip - 1;
            return 0;
        }
        // From 0 to twice the mean.
        (*state).skip = u64::from(bpf_get_prandom_u32() % (2 * ROUND_TRIP_INTERVAL - 1));
    }
    let socket: *mut c_void = context.arg(0);
    let segment: *const c_void = context.arg(1);
    // SAFETY: the verifier knows the argument as a socket.
    let connection: *const c_void = unsafe { bpf_skc_to_tcp_sock(socket) }.cast();
    if connection.is_null() {
        return 0;
    }
    // SAFETY: typed by the helper.
    let unacknowledged: u32 = unsafe { field(connection, globals::TCP_SND_UNA.load()) };
    let control = globals::SKB_CB.load();
    // SAFETY: an argument of the tracepoint; TCP's own structure lies in `cb`.
    let acknowledged: u32 = unsafe { field(segment, control + globals::TCP_SKB_CB_ACK_SEQ.load()) };
    if (acknowledged.wrapping_sub(unacknowledged) as i32) <= 0 {
        return 0;
    }
    // SAFETY: typed by the helper.
    let smoothed: u32 = unsafe { field(connection, globals::TCP_SRTT_US.load()) };
    if smoothed != 0 {
        record(
            NetworkRow::RoundTrip,
            u64::from(smoothed) * NANOS_OF_SRTT,
            1,
        );
    }
    0
}

/// A segment was sent again.
#[btf_tracepoint(function = "tcp_retransmit_skb")]
pub fn tcp_retransmit_skb(context: BtfTracePointContext) -> i32 {
    let socket: *const c_void = context.arg(0);
    let segment: *const c_void = context.arg(1);
    // What could not be sent is not counted; older kernels do not come here with it.
    if globals::HAS_RETRANSMIT_ERROR_ARGUMENT.load() != 0 && context.arg::<u64>(2) as i32 != 0 {
        return 0;
    }
    let control = globals::SKB_CB.load();
    // SAFETY: an argument of the tracepoint; TCP's own structure lies in `cb`.
    let segments: u16 = unsafe { field(segment, control + globals::TCP_SKB_CB_GSO_SEGS.load()) };
    // SAFETY: an argument of the tracepoint.
    let state: u8 = unsafe { field(socket, globals::SOCK_STATE.load()) };
    let counter = if state == SYN_SENT {
        Counter::RetransmittedSyn
    } else {
        Counter::RetransmittedData
    };
    // As `tcp_skb_pcount`, which is what RetransSegs grows by.
    counters::add(counter as u32, u64::from(segments.max(1)));
    0
}

/// A SYN-ACK was sent again.
#[btf_tracepoint(function = "tcp_retransmit_synack")]
pub fn tcp_retransmit_synack(_context: BtfTracePointContext) -> i32 {
    counters::count(Counter::RetransmittedSynAck);
    0
}

/// A packet was dropped.
#[btf_tracepoint(function = "kfree_skb")]
pub fn kfree_skb(context: BtfTracePointContext) -> i32 {
    let reason = context.arg::<u64>(2) as u32;
    let reason = if reason < DROP_REASONS {
        reason
    } else {
        DROP_REASONS - 1
    };
    if let Some(word) = DROPS.get_ptr_mut(histogram::bank() * DROP_REASONS + reason) {
        // SAFETY: `word` comes from the look-up.
        unsafe { add_to(word, 1) }
    }
    0
}
