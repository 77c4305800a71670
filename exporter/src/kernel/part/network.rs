//! Network.

use super::{ArrayMap, Entries, Field, Part, Shape};
use crate::{
    kernel::probe::{Hook, Program},
    signal::Signal,
};
use evenkeel_abi::{DROP_REASONS, HISTOGRAM_WORDS, NETWORK_ROWS, NETWORK_STATE_WORDS};

const NETWORK: &[Signal] = &[Signal::Network];

pub(super) const PART: Part = Part {
    programs: &[
        Program {
            name: "napi_poll",
            hook: Hook::Tracepoint("napi_poll"),
            needs: &[],
            serves: NETWORK,
            essential_to: &[],
            loss: "what a packet costs is not measured",
        },
        Program {
            name: "tcp_probe",
            hook: Hook::Tracepoint("tcp_probe"),
            needs: &["TCP_SRTT_US", "TCP_SND_UNA", "SKB_CB", "TCP_SKB_CB_ACK_SEQ"],
            serves: NETWORK,
            essential_to: &[],
            loss: "round-trip times are not measured",
        },
        Program {
            name: "tcp_retransmit_skb",
            hook: Hook::Tracepoint("tcp_retransmit_skb"),
            needs: &["SOCK_STATE", "SKB_CB", "TCP_SKB_CB_GSO_SEGS"],
            serves: NETWORK,
            essential_to: &[],
            loss: "retransmissions are not counted",
        },
        Program {
            name: "tcp_retransmit_synack",
            hook: Hook::Tracepoint("tcp_retransmit_synack"),
            needs: &[],
            serves: NETWORK,
            essential_to: &[],
            loss: "retransmissions of SYN-ACKs are not counted",
        },
        Program {
            name: "kfree_skb",
            hook: Hook::Tracepoint("kfree_skb"),
            needs: &[DROP_REASON_FACT],
            serves: NETWORK,
            essential_to: &[],
            loss: "dropped packets are not counted",
        },
    ],
    fields: &[
        Field {
            global: "SOCK_STATE",
            places: &[("sock", "__sk_common.skc_state")],
            shape: Shape::Scalar(1),
        },
        Field {
            global: "TCP_SRTT_US",
            places: &[("tcp_sock", "srtt_us")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "TCP_SND_UNA",
            places: &[("tcp_sock", "snd_una")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "SKB_CB",
            places: &[("sk_buff", "cb")],
            shape: Shape::Bytes(48),
        },
        Field {
            global: "TCP_SKB_CB_ACK_SEQ",
            places: &[("tcp_skb_cb", "ack_seq")],
            shape: Shape::Scalar(4),
        },
        Field {
            global: "TCP_SKB_CB_GSO_SEGS",
            places: &[("tcp_skb_cb", "tcp_gso_segs")],
            shape: Shape::Scalar(2),
        },
    ],
    arrays: &[
        ArrayMap {
            name: "NETWORK_STATES",
            entries: Entries::PerCpu(1),
            words: NETWORK_STATE_WORDS,
            serves: NETWORK,
        },
        ArrayMap {
            name: "NETWORK_HISTOGRAMS",
            entries: Entries::Banks(NETWORK_ROWS),
            words: HISTOGRAM_WORDS,
            serves: NETWORK,
        },
        ArrayMap {
            name: "DROPS",
            entries: Entries::Banks(DROP_REASONS),
            words: 1,
            serves: NETWORK,
        },
    ],
};

/// Not a global: known to be missing where `kfree_skb` gives no reason (before 5.17).
pub(in crate::kernel) const DROP_REASON_FACT: &str = "kfree_skb: reason";
