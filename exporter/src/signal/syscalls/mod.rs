//! How long system calls take, by family and for listed ones one by one, and how they fail.
//!
//! The kernel's half is `exporter-ebpf/src/syscalls.rs`. Being attached costs every call of the host
//! something, so that a thread of its own attaches the programs in bursts (`sampler`), as often
//! and as long as the budget allows (`budget`), and what they saw is scaled to all calls
//! (`estimate`).

mod budget;
mod calibration;
mod error_class;
mod estimate;
mod family;
mod findings;
mod growth;
mod hooks;
mod in_flight;
mod layout;
mod sampler;
mod settings;
mod slowdown;
mod spread;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use evenkeel_abi::{Counter, ERROR_CLASSES, LISTED_SYSCALLS, SYSCALL_FAMILIES, SyscallFamily};
use evenkeel_otlp::model::{Attribute, Metric, PointValue};
use evenkeel_semconv::{
    MetricDescriptor,
    attribute::{self, value::evenkeel_loss_reason as loss},
    metric,
};

pub use self::settings::Settings;
pub(crate) use self::{error_class::table as error_classes, family::rows};
use self::{
    estimate::distribution,
    family::FAMILIES,
    findings::{Findings, Sums},
    in_flight::{AGES, InFlight},
    layout::Layout,
    sampler::Sampler,
};
use super::{KernelSignal, Signal, SignalAccount, int, metric, point};
use crate::{
    identity::Roots,
    kernel::{Kernel, State, cpus},
};

/// The iterator over tasks.
const IN_FLIGHT: &str = "calls_in_flight";

/// System calls.
#[derive(Debug)]
pub(super) struct Syscalls {
    settings: Settings,
    sys_root: PathBuf,
    sampler: Option<Sampler>,
    /// The largest value of each word that was told: nothing cumulative goes back.
    told: Vec<f64>,
    in_flight: Option<InFlight>,
    /// Families and ages that calls in flight were once told of.
    told_in_flight: [[bool; AGES.len()]; SYSCALL_FAMILIES],
    walks_failed: u64,
}

impl Syscalls {
    /// Nothing is started yet.
    pub(super) fn new(settings: &Settings, roots: &Roots) -> Self {
        let mut settings = settings.clone();
        settings.listed.truncate(LISTED_SYSCALLS);
        Self {
            settings,
            sys_root: roots.sys.clone(),
            sampler: None,
            told: Vec::new(),
            in_flight: None,
            told_in_flight: Default::default(),
            walks_failed: 0,
        }
    }

    fn layout(&self) -> Layout {
        let listed = self.settings.listed.iter();
        Layout::new(listed.map(|call| family::family(call.name())))
    }

    /// Raises `words` to what was told before, and remembers them.
    fn tell(&mut self, words: &mut [f64]) {
        self.told.resize(words.len(), 0.0);
        for (word, told) in words.iter_mut().zip(&mut self.told) {
            *told = told.max(*word);
            *word = *told;
        }
    }

    fn in_flight_metric(&mut self, start: u64) -> Option<Metric> {
        let in_flight = self.in_flight.take()?;
        let mut points = Vec::new();
        for (family, age, count) in in_flight.iter() {
            let told = &mut self.told_in_flight[family][age];
            *told |= count > 0;
            if *told {
                let attributes = vec![
                    family_attribute(family),
                    Attribute::new(attribute::EVENKEEL_SYSCALL_AGE, AGES[age].1),
                ];
                points.push(point(attributes, start, int(count)));
            }
        }
        metric(&metric::EVENKEEL_SYSCALL_IN_FLIGHT_COUNT, points)
    }
}

fn family_attribute(family: usize) -> Attribute {
    Attribute::new(attribute::EVENKEEL_SYSCALL_FAMILY, FAMILIES[family].1)
}

impl KernelSignal for Syscalls {
    fn signal(&self) -> Signal {
        Signal::Syscalls
    }

    fn start(&mut self, kernel: &mut Kernel) {
        if !kernel.runs("sys_enter") || !kernel.runs("sys_exit") {
            return;
        }
        let cpus = cpus::online(&self.sys_root).map_or(1, |online| online.len());
        let budget = self.settings.budget;
        match Sampler::start(kernel, self.layout(), budget, cpus) {
            Ok(sampler) => self.sampler = Some(sampler),
            Err(error) => {
                tracing::warn!(%error, "System calls are not measured.");
                kernel.report("sys_enter", State::Failed(error.to_string()));
            }
        }
    }

    fn tick(&mut self, kernel: &mut Kernel) {
        let Some(sampler) = &self.sampler else {
            return;
        };
        let findings = sampler.findings();
        if let Some(reason) = &findings.failure {
            kernel.report("sys_enter", State::Failed(reason.clone()));
        } else if !findings.has_errors {
            let reason = "failing calls are not seen as what they are";
            kernel.report("sys_exit", State::Partial(reason.into()));
        }
    }

    fn end_window(&mut self, kernel: &mut Kernel) {
        if !kernel.runs(IN_FLIGHT) {
            return;
        }
        match kernel.iterate(IN_FLIGHT) {
            Ok(written) => self.in_flight = Some(InFlight::count(&written)),
            Err(error) => {
                self.walks_failed += 1;
                tracing::debug!(%error, "Calls that are under way were not seen.");
            }
        }
    }

    fn metrics(&mut self, _kernel: &Kernel, attached_unix_nanos: u64) -> Vec<Metric> {
        let mut metrics = Vec::new();
        metrics.extend(self.in_flight_metric(attached_unix_nanos));
        let Some(sampler) = &self.sampler else {
            return metrics;
        };
        let findings = sampler.findings();
        // Nothing is known before the first burst.
        if findings.plan.is_none() {
            return metrics;
        }
        let mut sums = findings.sums();
        let told = sampling(&findings, &sums, self.layout(), attached_unix_nanos);
        let has_errors = findings.has_errors;
        drop(findings);
        self.tell(&mut sums.words);
        let words = Words {
            layout: self.layout(),
            words: &sums.words,
            start: attached_unix_nanos,
        };
        metrics.extend(words.families());
        metrics.extend(words.listed(&self.settings));
        if has_errors {
            metrics.extend(words.errors());
        }
        metrics.extend(told);
        metrics
    }

    fn account(&self, kernel: &Kernel) -> SignalAccount {
        let sums = self.sampler.as_ref().map(|sampler| {
            let findings = sampler.findings();
            findings.sums()
        });
        let (events, too_long) = sums.map_or((0, 0.0), |sums| (sums.looks.watched, sums.too_long));
        SignalAccount {
            events,
            losses: vec![
                (
                    loss::STORAGE_FULL,
                    kernel.counter(Counter::SyscallStorageFull),
                ),
                (loss::UNMATCHED, kernel.counter(Counter::SyscallsUnmatched)),
                (
                    loss::NEGATIVE_INTERVAL,
                    kernel.counter(Counter::SyscallsNegative),
                ),
                (loss::OUT_OF_RANGE, too_long as u64),
                (loss::READ_FAILED, self.walks_failed),
            ],
        }
    }
}

/// The words of an estimate as metrics.
struct Words<'a> {
    layout: Layout,
    words: &'a [f64],
    start: u64,
}

impl Words<'_> {
    fn count(&self, word: usize) -> PointValue {
        int(self.words[word] as u64)
    }

    fn histogram(&self, histogram: usize) -> PointValue {
        PointValue::Histogram(distribution(self.layout, self.words, histogram))
    }

    /// Calls and durations of each family that was seen.
    fn families(&self) -> Vec<Metric> {
        let (mut calls, mut durations) = (Vec::new(), Vec::new());
        for family in 0..SYSCALL_FAMILIES {
            let word = self.layout.calls(family);
            if self.words[word] < 1.0 {
                continue;
            }
            let attributes = vec![family_attribute(family)];
            calls.push(point(attributes.clone(), self.start, self.count(word)));
            durations.push(point(attributes, self.start, self.histogram(family)));
        }
        let calls = metric(&metric::EVENKEEL_SYSCALL_CALLS, calls);
        let durations = metric(&metric::EVENKEEL_SYSCALL_DURATION, durations);
        calls.into_iter().chain(durations).collect()
    }

    /// The same of each listed call: that it was not made is an answer too.
    fn listed(&self, settings: &Settings) -> Vec<Metric> {
        let (mut calls, mut durations) = (Vec::new(), Vec::new());
        for (place, call) in settings.listed.iter().enumerate() {
            let attributes = vec![Attribute::new(
                attribute::EVENKEEL_SYSCALL_NAME,
                call.name(),
            )];
            let word = self.layout.listed_calls(place);
            let histogram = self.layout.listed_histogram(place);
            calls.push(point(attributes.clone(), self.start, self.count(word)));
            durations.push(point(attributes, self.start, self.histogram(histogram)));
        }
        let calls = metric(&metric::EVENKEEL_SYSCALL_LISTED_CALLS, calls);
        let durations = metric(&metric::EVENKEEL_SYSCALL_LISTED_DURATION, durations);
        calls.into_iter().chain(durations).collect()
    }

    fn errors(&self) -> Option<Metric> {
        let mut points = Vec::new();
        for family in 0..SYSCALL_FAMILIES {
            for class in 0..ERROR_CLASSES {
                let word = self.layout.errors(family, class);
                let Some((name, _)) = error_class::CLASSES.get(class) else {
                    continue;
                };
                if self.words[word] >= 1.0 {
                    let attributes = vec![
                        family_attribute(family),
                        Attribute::new(attribute::EVENKEEL_SYSCALL_ERROR_CLASS, *name),
                    ];
                    points.push(point(attributes, self.start, self.count(word)));
                }
            }
        }
        metric(&metric::EVENKEEL_SYSCALL_ERRORS, points)
    }
}

/// How calls were sampled.
fn sampling(findings: &Findings, sums: &Sums, layout: Layout, start: u64) -> Vec<Metric> {
    let mut metrics = Vec::new();
    let mut single = |descriptor: &'static MetricDescriptor, value: PointValue| {
        metrics.extend(metric(descriptor, vec![point(Vec::new(), start, value)]));
    };
    single(
        &metric::EVENKEEL_SYSCALL_SAMPLING_ATTACHED_TIME,
        PointValue::Double(sums.watched),
    );
    single(
        &metric::EVENKEEL_SYSCALL_SAMPLING_BURSTS,
        int(findings.bursts),
    );
    single(
        &metric::EVENKEEL_SYSCALL_SAMPLING_COST_TIME,
        PointValue::Double(findings.cost),
    );
    if let Some(plan) = &findings.plan {
        single(
            &metric::EVENKEEL_SYSCALL_SAMPLING_DUTY,
            PointValue::Double(plan.duty()),
        );
        single(
            &metric::EVENKEEL_SYSCALL_SAMPLING_RATE,
            PointValue::Double(1.0 / f64::from(plan.skip)),
        );
    }
    single(
        &metric::EVENKEEL_SYSCALL_SAMPLING_LONGEST,
        PointValue::Double(findings.longest),
    );
    if let Some(error) = findings.spread.relative_error() {
        single(
            &metric::EVENKEEL_SYSCALL_SAMPLING_ERROR,
            PointValue::Double(error),
        );
    }
    let calls: f64 = (0..SYSCALL_FAMILIES)
        .map(|family| sums.words[layout.calls(family)])
        .sum();
    single(
        &metric::EVENKEEL_SYSCALL_SAMPLING_SKIPPED,
        int((calls - sums.looks.sampled as f64).max(0.0) as u64),
    );
    let costs = findings.costs;
    let points = [(false, costs.call), (true, costs.call + costs.sample)];
    let points = points.map(|(is_sampled, cost)| {
        let attributes = vec![Attribute::new(
            attribute::EVENKEEL_SYSCALL_SAMPLED,
            is_sampled,
        )];
        point(attributes, start, PointValue::Double(cost))
    });
    metrics.extend(metric(
        &metric::EVENKEEL_SYSCALL_SAMPLING_CALL_COST,
        points.into(),
    ));
    metrics
}

const _: () = assert!(FAMILIES.len() == SYSCALL_FAMILIES);
const _: () = assert!(SyscallFamily::Compat as usize + 1 == SYSCALL_FAMILIES);
