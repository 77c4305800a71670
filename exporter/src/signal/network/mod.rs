//! What packets cost and where they wait.
//!
//! Measured in the kernel (`exporter-ebpf/src/network.rs` and, for the time of `net_rx`,
//! `interrupts.rs`) and read from `/proc/net`; checked against `/proc/net/snmp` and `TCP_INFO`.

mod drop_reasons;
mod queue_drops;

use std::path::PathBuf;

use evenkeel_abi::{
    Counter, DROP_REASONS, NET_RX_SOFTIRQ, NET_TX_SOFTIRQ, NETWORK_ROWS, NETWORK_STATE_WORDS,
    NetworkRow, NetworkWord, ROUND_TRIP_INTERVAL,
};
use evenkeel_otlp::model::{Attribute, Metric, Point, PointValue};
use evenkeel_semconv::{
    MetricDescriptor,
    attribute::{
        self,
        value::{
            evenkeel_loss_reason as loss, evenkeel_network_poll_context as context,
            evenkeel_network_poll_outcome as outcome,
            evenkeel_network_tcp_retransmission_kind as kind,
        },
    },
    metric,
};

use self::{drop_reasons::DropReasons, queue_drops::QueueDrops};
use super::{
    KernelSignal, NANOS, Signal, SignalAccount, int,
    interrupts::{SOFT_PROGRAMS, soft_name, soft_nanos},
    metric, point,
};
use crate::{
    identity::Roots,
    kernel::{Kernel, account::histogram, part},
};

/// What packets cost and where they wait.
#[derive(Debug)]
pub(super) struct Network {
    sys_root: PathBuf,
    /// Looked up when there are drops to name.
    reasons: Option<DropReasons>,
    queues: QueueDrops,
    events: u64,
}

/// The metrics of one reading.
struct Reading<'a> {
    kernel: &'a Kernel,
    attached_unix_nanos: u64,
    metrics: Vec<Metric>,
}

impl Network {
    pub(super) fn new(roots: &Roots) -> Self {
        Self {
            sys_root: roots.sys.clone(),
            reasons: None,
            queues: QueueDrops::new(&roots.proc),
            events: 0,
        }
    }
}

impl KernelSignal for Network {
    fn signal(&self) -> Signal {
        Signal::Network
    }

    /// Since the programs were attached; what has no program is absent.
    fn metrics(&mut self, kernel: &Kernel, attached_unix_nanos: u64) -> Vec<Metric> {
        self.queues.read();
        let mut reading = Reading {
            kernel,
            attached_unix_nanos,
            metrics: Vec::new(),
        };
        self.events = reading.receive() + reading.connections();
        let reasons = self
            .reasons
            .get_or_insert_with(|| DropReasons::of_kernel(&self.sys_root));
        self.events += reading.drops(reasons);
        reading.queues(&self.queues);
        reading.metrics
    }

    fn account(&self, _kernel: &Kernel) -> SignalAccount {
        SignalAccount {
            events: self.events,
            losses: vec![(loss::READ_FAILED, self.queues.unreadable())],
        }
    }
}

impl Reading<'_> {
    fn runs(&self, program: &str) -> bool {
        self.kernel.runs(program)
    }

    /// A word of the state of every CPU, summed.
    fn state(&self, word: NetworkWord) -> u64 {
        let cpus = 0..self.kernel.cpu_limit();
        self.kernel.array("NETWORK_STATES").map_or(0, |states| {
            cpus.map(|cpu| states.load(cpu * NETWORK_STATE_WORDS as usize + word as usize))
                .sum()
        })
    }

    fn point(&self, attributes: Vec<Attribute>, value: PointValue) -> Point {
        point(attributes, self.attached_unix_nanos, value)
    }

    fn add(&mut self, descriptor: &'static MetricDescriptor, points: Vec<Point>) {
        self.metrics.extend(metric(descriptor, points));
    }

    /// A counter by the values of one attribute.
    fn add_counts<'a>(
        &mut self,
        descriptor: &'static MetricDescriptor,
        key: &'static str,
        counts: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        let points = counts
            .into_iter()
            .map(|(value, count)| self.point(vec![Attribute::new(key, value)], int(count)))
            .collect();
        self.add(descriptor, points);
    }

    /// A distribution that has values.
    fn add_histogram(&mut self, descriptor: &'static MetricDescriptor, row: NetworkRow) {
        let banks = part::banks(self.kernel.cpu_limit());
        let values = histogram(
            self.kernel.array("NETWORK_HISTOGRAMS"),
            (0..banks).map(|bank| (bank * NETWORK_ROWS + row as u32) as usize),
        );
        if values.count() > 0 {
            let points = vec![self.point(Vec::new(), PointValue::Histogram(values))];
            self.add(descriptor, points);
        }
    }

    /// Polls and what receiving costs; the number of polls.
    fn receive(&mut self) -> u64 {
        let soft = SOFT_PROGRAMS.into_iter().all(|program| self.runs(program));
        if soft {
            let times = [NET_TX_SOFTIRQ, NET_RX_SOFTIRQ].map(|vector| {
                let name = Attribute::new(attribute::EVENKEEL_INTERRUPT_NAME, soft_name(vector));
                let seconds = soft_nanos(self.kernel, vector) as f64 / NANOS;
                self.point(vec![name], PointValue::Double(seconds))
            });
            self.add(&metric::EVENKEEL_NETWORK_SOFTIRQ_TIME, times.into());
        }
        if !self.runs("napi_poll") {
            return 0;
        }
        // Without the programs of soft interrupts, none is known to be in one.
        if soft {
            let packets = [
                (
                    context::SOFT_INTERRUPT,
                    self.state(NetworkWord::SoftPackets),
                ),
                (context::TASK, self.state(NetworkWord::TaskPackets)),
            ];
            self.add_counts(
                &metric::EVENKEEL_NETWORK_PACKETS_POLLED,
                attribute::EVENKEEL_NETWORK_POLL_CONTEXT,
                packets,
            );
            self.add_histogram(
                &metric::EVENKEEL_NETWORK_PACKET_RECEIVE_DURATION,
                NetworkRow::Receive,
            );
        }
        let polls = [
            (outcome::DONE, self.state(NetworkWord::PollsDone)),
            (outcome::EXHAUSTED, self.state(NetworkWord::PollsExhausted)),
        ];
        self.add_counts(
            &metric::EVENKEEL_NETWORK_POLLS,
            attribute::EVENKEEL_NETWORK_POLL_OUTCOME,
            polls,
        );
        polls.map(|(_, count)| count).iter().sum()
    }

    /// Round trips and retransmissions; the number of segments.
    fn connections(&mut self) -> u64 {
        let mut events = 0;
        if self.runs("tcp_probe") {
            events += self.state(NetworkWord::Segments);
            let points = vec![self.point(Vec::new(), int(events))];
            self.add(&metric::EVENKEEL_NETWORK_TCP_RECEIVED_SEGMENTS, points);
            self.add_histogram(
                &metric::EVENKEEL_NETWORK_TCP_ROUND_TRIP_DURATION,
                NetworkRow::RoundTrip,
            );
            let ratio = PointValue::Double(1.0 / f64::from(ROUND_TRIP_INTERVAL));
            let points = vec![self.point(Vec::new(), ratio)];
            self.add(
                &metric::EVENKEEL_NETWORK_TCP_ROUND_TRIP_SAMPLING_RATIO,
                points,
            );
        }
        let counts: Vec<_> = [
            ("tcp_retransmit_skb", kind::DATA, Counter::RetransmittedData),
            ("tcp_retransmit_skb", kind::SYN, Counter::RetransmittedSyn),
            (
                "tcp_retransmit_synack",
                kind::SYN_ACK,
                Counter::RetransmittedSynAck,
            ),
        ]
        .into_iter()
        .filter(|(program, ..)| self.runs(program))
        .map(|(_, kind, counter)| (kind, self.kernel.counter(counter)))
        .collect();
        events += counts.iter().map(|(_, count)| count).sum::<u64>();
        self.add_counts(
            &metric::EVENKEEL_NETWORK_TCP_RETRANSMISSIONS,
            attribute::EVENKEEL_NETWORK_TCP_RETRANSMISSION_KIND,
            counts,
        );
        events
    }

    /// Drops by reason; their number. A reason for which nothing was dropped has no series.
    fn drops(&mut self, reasons: &DropReasons) -> u64 {
        if !self.runs("kfree_skb") {
            return 0;
        }
        let banks = part::banks(self.kernel.cpu_limit());
        let counts: Vec<_> = (0..DROP_REASONS)
            .map(|reason| {
                let count = self.kernel.array("DROPS").map_or(0, |drops| {
                    (0..banks)
                        .map(|bank| drops.load((bank * DROP_REASONS + reason) as usize))
                        .sum()
                });
                (reasons.name(reason as usize), count)
            })
            .filter(|(_, count)| *count > 0)
            .collect();
        self.add_counts(
            &metric::EVENKEEL_NETWORK_DROPS,
            attribute::EVENKEEL_NETWORK_DROP_REASON,
            counts.iter().map(|(name, count)| (name.as_str(), *count)),
        );
        counts.iter().map(|(_, count)| count).sum()
    }

    fn queues(&mut self, queues: &QueueDrops) {
        self.add_counts(
            &metric::EVENKEEL_NETWORK_QUEUE_DROPS,
            attribute::EVENKEEL_NETWORK_QUEUE_DROP_REASON,
            queues.by_reason(),
        );
        if let Some(squeezes) = queues.squeezes() {
            let points = vec![self.point(Vec::new(), int(squeezes))];
            self.add(&metric::EVENKEEL_NETWORK_SOFTIRQ_SQUEEZES, points);
        }
    }
}
