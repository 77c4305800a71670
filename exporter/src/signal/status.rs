//! What became of each signal, and what it lost: a missing probe is never a zero.

use std::collections::BTreeMap;

use evenkeel_abi::{Counter, WalkEnd};
use evenkeel_otlp::model::{Attribute, Metric, PointValue};
use evenkeel_semconv::{
    attribute::{
        self,
        value::{
            evenkeel_loss_reason as loss, evenkeel_signal_state as state, evenkeel_stack_end as end,
        },
    },
    metric,
};

use super::{NANOS, Signal, SignalAccount, host::Losses, int, metric, point, unwind};
use crate::{
    capture::ReaderWindow,
    kernel::{Kernel, State, account::RunTime},
    profile::SampleTotals,
    symbol::SymbolizerCounters,
};

const STATES: [&str; 4] = [state::ATTACHED, state::PARTIAL, state::OFF, state::FAILED];

/// The ways in which walks end, with their names.
pub const WALK_ENDS: [(WalkEnd, &str); 10] = [
    (WalkEnd::Complete, end::COMPLETE),
    (WalkEnd::Truncated, end::TRUNCATED),
    (WalkEnd::BadFramePointer, end::BAD_FRAME_POINTER),
    (WalkEnd::ReadFault, end::READ_FAULT),
    (WalkEnd::BadReturnAddress, end::BAD_RETURN_ADDRESS),
    (WalkEnd::NoUserStack, end::NO_USER_STACK),
    (WalkEnd::NotCurrent, end::NOT_CURRENT),
    (WalkEnd::BadFrame, end::BAD_FRAME),
    (WalkEnd::NotUnderstood, end::NOT_UNDERSTOOD),
    (WalkEnd::Unverified, end::UNVERIFIED),
];

/// Longest reason sent: the end of a verifier's log fits.
const REASON_BYTES: usize = 512;

/// Everything the metrics of this module are made from.
#[derive(Debug)]
pub struct Account<'a> {
    /// The kernel's side; `None` when only `host` is on.
    pub kernel: Option<&'a Kernel>,
    /// What the signals of the kernel's side saw and lost.
    pub accounts: Vec<(Signal, SignalAccount)>,
    /// The states of all signals.
    pub signals: &'a [(Signal, State)],
    /// What the reader counted.
    pub reader: Option<&'a ReaderWindow>,
    /// What the symbolizer did and holds.
    pub symbols: Option<SymbolizerCounters>,
    /// What the sample tables had no room for, since the start.
    pub aggregation_lost: SampleTotals,
    /// Samples of waits among that.
    pub waits_lost: u64,
    /// Workloads that found no room, since the start.
    pub workloads_refused: u64,
    /// Walks over all tasks that failed.
    pub walks_failed: u64,
    /// Metrics made from procfs, since the start.
    pub host_readings: u64,
    /// What the host signal refused.
    pub host_losses: Losses,
    /// What the distribution of stolen time refused.
    pub ticker_losses: Losses,
    /// Run times of the programs, as far as the kernel keeps them.
    pub run_times: &'a [RunTime],
    /// Bytes of each kernel map.
    pub map_bytes: &'a [(String, u64)],
    /// When the programs were attached.
    pub attached_unix_nanos: u64,
}

impl Account<'_> {
    /// Status, events, losses, walks, costs.
    pub fn metrics(&self) -> Vec<Metric> {
        let start = self.attached_unix_nanos;
        let mut metrics = Vec::new();
        metrics.extend(self.status());
        metrics.extend(self.events());
        metrics.extend(self.losses());
        if let Some(kernel) = self.kernel.filter(|kernel| kernel.runs("on_cpu")) {
            let walks = WALK_ENDS.map(|(walk_end, name)| {
                let attributes = vec![Attribute::new(attribute::EVENKEEL_STACK_END, name)];
                point(attributes, start, int(kernel.walks(walk_end)))
            });
            metrics.extend(metric(&metric::EVENKEEL_STACK_WALKS, walks.into()));
        }
        metrics.extend(self.kernel.and_then(helper_costs));
        metrics.extend(self.run_times(&metric::EVENKEEL_PROGRAM_RUN_TIME, |run| {
            PointValue::Double(run.time.as_secs_f64())
        }));
        metrics.extend(self.run_times(&metric::EVENKEEL_PROGRAM_RUNS, |run| int(run.runs)));
        let maps = self.map_bytes.iter().map(|(name, bytes)| {
            let attributes = vec![Attribute::new(attribute::EVENKEEL_MAP_NAME, name.as_str())];
            point(attributes, start, int(*bytes))
        });
        metrics.extend(metric(&metric::EVENKEEL_MAP_MEMORY_USAGE, maps.collect()));
        let mut single = |descriptor, value| {
            metrics.extend(metric(
                descriptor,
                vec![point(Vec::new(), start, int(value))],
            ));
        };
        if let Some(reader) = self.reader {
            single(
                &metric::EVENKEEL_PROCESS_TABLE_SIZE,
                reader.process_count as u64,
            );
            single(
                &metric::EVENKEEL_PROCESS_TABLE_EVICTIONS,
                reader.processes.evicted_alive,
            );
            single(
                &metric::EVENKEEL_STACK_REFUSED_FRAMES,
                reader.frames_refused,
            );
            single(
                &metric::EVENKEEL_EXECUTABLE_TABLE_EVICTIONS,
                reader.executables.evicted,
            );
        }
        if let Some(symbols) = self.symbols {
            single(&metric::EVENKEEL_SYMBOL_CACHE_SIZE, symbols.frames);
            single(
                &metric::EVENKEEL_SYMBOL_CACHE_EVICTIONS,
                symbols.frames_evicted,
            );
            single(
                &metric::EVENKEEL_CODE_MAP_REFUSALS,
                symbols.code_maps_refused,
            );
            single(
                &metric::EVENKEEL_CODE_MAP_DROPPED_LINES,
                symbols.code_map_lines_dropped,
            );
        }
        if let Some(account) = self.reader.and_then(|reader| reader.unwind) {
            metrics.extend(unwind::metrics(&account, start));
        }
        metrics
    }

    fn status(&self) -> Option<Metric> {
        let mut points = Vec::new();
        for (signal, current) in self.signals {
            for name in STATES {
                let mut attributes = vec![
                    Attribute::new(attribute::EVENKEEL_SIGNAL_NAME, signal.name()),
                    Attribute::new(attribute::EVENKEEL_SIGNAL_STATE, name),
                ];
                let is_current = current.name() == name;
                if is_current && let Some(reason) = current.reason() {
                    let end = reason.floor_char_boundary(REASON_BYTES);
                    attributes.push(Attribute::new(
                        attribute::EVENKEEL_SIGNAL_REASON,
                        &reason[..end],
                    ));
                }
                points.push(point(
                    attributes,
                    self.attached_unix_nanos,
                    int(u64::from(is_current)),
                ));
            }
        }
        metric(&metric::EVENKEEL_SIGNAL_STATUS, points)
    }

    fn is_on(&self, signal: Signal) -> bool {
        self.signals
            .iter()
            .any(|(name, state)| *name == signal && state.is_on())
    }

    fn events(&self) -> Option<Metric> {
        let mut points = Vec::new();
        let mut add = |signal: Signal, events: u64| {
            if self.is_on(signal) {
                let attributes = vec![Attribute::new(
                    attribute::EVENKEEL_SIGNAL_NAME,
                    signal.name(),
                )];
                points.push(point(attributes, self.attached_unix_nanos, int(events)));
            }
        };
        if let Some(kernel) = self.kernel {
            add(Signal::OnCpu, kernel.counter(Counter::Samples));
            add(
                Signal::Stolen,
                kernel.counter(Counter::Samples) + kernel.counter(Counter::Switches),
            );
        }
        for (signal, account) in &self.accounts {
            add(*signal, account.events);
        }
        add(Signal::Host, self.host_readings);
        metric(&metric::EVENKEEL_SIGNAL_EVENTS, points)
    }

    fn losses(&self) -> Option<Metric> {
        // Sources that lose for the same reason are one series.
        let mut losses = BTreeMap::new();
        let mut add = |signal: Signal, reason: &'static str, lost: u64| {
            if self.is_on(signal) {
                *losses.entry((signal, reason)).or_insert(0_u64) += lost;
            }
        };
        if let Some(kernel) = self.kernel {
            let count = |counter| kernel.counter(counter);
            let samples = count(Counter::SamplesLost) + count(Counter::ProcessEventsLost);
            add(Signal::OnCpu, loss::RING_BUFFER_FULL, samples);
            // A lost sample may have carried stolen time.
            add(
                Signal::Stolen,
                loss::RING_BUFFER_FULL,
                count(Counter::StolenLost) + count(Counter::SamplesLost),
            );
        }
        for (signal, account) in &self.accounts {
            for (reason, lost) in &account.losses {
                add(*signal, reason, *lost);
            }
        }
        if let Some(reader) = self.reader {
            let ticks = self.aggregation_lost.ticks;
            add(Signal::OnCpu, loss::AGGREGATION_FULL, ticks);
            let stolen = u64::from(self.aggregation_lost.stolen_nanos > 0);
            add(Signal::Stolen, loss::AGGREGATION_FULL, stolen);
            for signal in [Signal::OffCpu, Signal::RunQueue] {
                add(signal, loss::AGGREGATION_FULL, self.waits_lost);
            }
            for signal in [Signal::OffCpu, Signal::RunQueue, Signal::Scheduler] {
                add(signal, loss::READ_FAILED, self.walks_failed);
            }
            let refused = self.workloads_refused + reader.focus_refused;
            add(Signal::Scheduler, loss::SERIES_FULL, refused);
            let processes = &reader.processes;
            for signal in [
                Signal::OnCpu,
                Signal::OffCpu,
                Signal::RunQueue,
                Signal::Stolen,
                Signal::Scheduler,
            ] {
                add(signal, loss::INVALID, reader.malformed);
                add(signal, loss::PROCESS_UNKNOWN, processes.unidentified);
                add(signal, loss::SERIES_FULL, processes.owners_refused);
            }
        }
        for (reason, lost) in self.ticker_losses.by_reason() {
            add(Signal::Stolen, reason, lost);
        }
        for (reason, lost) in self.host_losses.by_reason() {
            add(Signal::Host, reason, lost);
        }
        let points = losses.into_iter().map(|((signal, reason), lost)| {
            let attributes = vec![
                Attribute::new(attribute::EVENKEEL_SIGNAL_NAME, signal.name()),
                Attribute::new(attribute::EVENKEEL_LOSS_REASON, reason),
            ];
            point(attributes, self.attached_unix_nanos, int(lost))
        });
        metric(&metric::EVENKEEL_SIGNAL_LOSSES, points.collect())
    }

    fn run_times(
        &self,
        descriptor: &'static evenkeel_semconv::MetricDescriptor,
        value: impl Fn(&RunTime) -> PointValue,
    ) -> Option<Metric> {
        let points = self.run_times.iter().map(|run| {
            let attributes = vec![Attribute::new(
                attribute::EVENKEEL_PROGRAM_NAME,
                run.program,
            )];
            point(attributes, self.attached_unix_nanos, value(run))
        });
        metric(descriptor, points.collect())
    }
}

/// What the helpers cost on this host: kernels and CPUs differ in it.
fn helper_costs(kernel: &Kernel) -> Option<Metric> {
    let costs = kernel.method().costs?;
    let points = [
        ("bpf_ktime_get_ns", costs.clock),
        ("bpf_task_storage_get", costs.task_storage),
        ("counter", costs.counter),
    ]
    .map(|(helper, nanos)| {
        point(
            vec![Attribute::new(attribute::EVENKEEL_HELPER_NAME, helper)],
            0,
            PointValue::Double(nanos / NANOS),
        )
    });
    metric(&metric::EVENKEEL_HELPER_COST, points.into())
}
