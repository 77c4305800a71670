//! What stands above every report: the host, how busy it was, what was measured and what was lost.

use std::collections::BTreeMap;

use evenkeel_semconv::{
    MetricDescriptor,
    attribute::{self, value},
    metric,
};

use super::units::{grouped, saturated};
use crate::summary::{
    Amount, Attributes, Distribution, Number, Overflow, Reduced, SeriesKey, Summary,
};

/// The head of a report.
#[derive(Debug)]
pub(super) struct Overview {
    /// Attributes of the host, or what several hosts have in common.
    pub(super) resource: Attributes,
    /// Number of hosts.
    pub(super) hosts: usize,
    /// Logical CPUs of all hosts; `None` when no metric tells.
    pub(super) cpus: Option<i64>,
    /// Shares of CPU time by mode, largest first; empty when it was not measured.
    pub(super) cpu_modes: Vec<(String, f64)>,
    /// Share of CPU time that was sampled at work; `None` where CPUs or samples are not known.
    pub(super) sampled_busy: Option<f64>,
    /// Shares of time that tasks were stalled.
    pub(super) pressure: Vec<Pressure>,
    /// Run-queue waits, all reasons together, then by reason.
    pub(super) waits: Vec<Waits>,
    /// State of each signal, by name.
    pub(super) signals: Vec<Signal>,
    /// Ends of walks of user stacks, by kind.
    pub(super) walks: Vec<(String, i64)>,
    overflow: Overflow,
    /// Files that end within a window, with the bytes left out.
    unfinished: Vec<(String, u64)>,
}

/// Share of the time that tasks were stalled for a resource.
#[derive(Debug)]
pub(super) struct Pressure {
    /// `cpu`, `memory`, `io`, `irq`.
    pub(super) resource: String,
    /// `some` or `full`.
    pub(super) scope: String,
    /// 0 to 1.
    pub(super) share: f64,
}

/// Run-queue waits.
#[derive(Debug)]
pub(super) struct Waits {
    /// Why the tasks were put on the queue; `None` for all.
    pub(super) reason: Option<String>,
    /// Seconds.
    pub(super) distribution: Distribution,
}

/// State of a signal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Signal {
    /// Its name.
    pub(super) name: String,
    /// `attached`, `partial`, `off` or `failed`.
    pub(super) state: String,
    /// Why it is not attached.
    pub(super) reason: Option<String>,
    /// Events seen; `None` when not counted.
    pub(super) events: Option<i64>,
    /// Events lost by reason, zeros left out.
    pub(super) losses: BTreeMap<String, i64>,
    /// All events lost; `None` when not counted.
    pub(super) lost: Option<i64>,
    /// When the state was reported (Unix nanoseconds).
    seen: u64,
}

impl Overview {
    pub(super) fn new(summary: &Summary) -> Self {
        let cpu_series = series(summary, &metric::SYSTEM_CPU_TIME);
        let cpus = cpus(summary, &cpu_series);
        Self {
            resource: summary.resource(),
            hosts: hosts(summary),
            cpus,
            sampled_busy: cpus.and_then(|cpus| sampled_busy(summary, cpus)),
            cpu_modes: cpu_modes(&cpu_series),
            pressure: pressure(summary),
            waits: waits(summary),
            signals: signals(summary),
            walks: by_attribute(
                &series(summary, &metric::EVENKEEL_STACK_WALKS),
                attribute::EVENKEEL_STACK_END,
            ),
            overflow: summary.overflow(),
            unfinished: summary
                .unfinished()
                .iter()
                .map(|(path, bytes)| (path.display().to_string(), *bytes))
                .collect(),
        }
    }

    /// Share of CPU time in which the CPUs worked for this host: not idle, not waiting for I/O, not
    /// stolen. `None` when not measured.
    pub(super) fn busy(&self) -> Option<f64> {
        let idle = [
            value::cpu_mode::IDLE,
            value::cpu_mode::IOWAIT,
            value::cpu_mode::STEAL,
        ];
        (!self.cpu_modes.is_empty()).then(|| {
            self.cpu_modes
                .iter()
                .filter(|(mode, _)| !idle.contains(&mode.as_str()))
                .map(|(_, share)| share)
                .sum()
        })
    }

    /// Text of a host attribute.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.resource.text(key)
    }

    /// The signals, what needs attention first.
    pub(super) fn ordered_signals(&self) -> Vec<&Signal> {
        let rank = |signal: &Signal| match signal.state.as_str() {
            value::evenkeel_signal_state::FAILED => 0,
            value::evenkeel_signal_state::PARTIAL => 1,
            value::evenkeel_signal_state::ATTACHED => 2,
            _ => 3,
        };
        let mut signals = self.signals.iter().collect::<Vec<_>>();
        signals.sort_by_key(|signal| rank(signal));
        signals
    }

    /// Whether losses were counted at all.
    pub(super) fn counts_losses(&self) -> bool {
        self.signals.iter().any(|signal| signal.lost.is_some())
    }

    /// Everything that is missing from the numbers of the report, in words; empty when nothing is.
    pub(super) fn missing(&self) -> Vec<String> {
        let lost = self.signals.iter().flat_map(|signal| {
            signal.losses.iter().map(|(reason, lost)| {
                let of = match signal.events {
                    Some(events) if events > 0 => format!(" of {}", grouped(events)),
                    _ => String::new(),
                };
                format!("{} {}{of} ({reason})", signal.name, grouped(*lost))
            })
        });
        let Overflow {
            samples,
            owners,
            points,
            malformed,
            repeated,
        } = self.overflow;
        let overflow = [
            (
                samples,
                "samples with shortened stacks (more than a report holds)",
            ),
            (owners, "samples of processes beyond what a report holds"),
            (points, "metric points beyond what a report holds"),
            (malformed, "malformed entries in the file"),
            (repeated, "repeated metric points ignored"),
        ];
        let overflow = overflow
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", grouped(saturated(count))));
        let unfinished = self.unfinished.iter().map(|(path, bytes)| {
            format!(
                "{} bytes of an unfinished window in {path}",
                grouped(saturated(*bytes))
            )
        });
        lost.chain(overflow).chain(unfinished).collect()
    }

    /// Name of the host, or how many there are.
    pub(super) fn title(&self) -> String {
        match self.hosts {
            0 | 1 => self
                .text(attribute::HOST_NAME)
                .or_else(|| self.text(attribute::HOST_ID))
                .unwrap_or_else(|| "unknown host".to_owned()),
            hosts => format!("{hosts} hosts"),
        }
    }

    /// Facts about the platform, in reading order: a word for people, and the value.
    pub(super) fn platform(&self) -> Vec<(&'static str, String)> {
        const FACTS: [(&str, &str); 12] = [
            ("kernel", attribute::EVENKEEL_KERNEL_RELEASE),
            ("arch", attribute::HOST_ARCH),
            ("hypervisor", attribute::EVENKEEL_HOST_HYPERVISOR_NAME),
            ("os", attribute::OS_DESCRIPTION),
            ("cloud", attribute::CLOUD_PROVIDER),
            ("region", attribute::CLOUD_REGION),
            ("zone", attribute::CLOUD_AVAILABILITY_ZONE),
            ("type", attribute::HOST_TYPE),
            ("instance", attribute::HOST_ID),
            ("command", attribute::EVENKEEL_RECORDING_COMMAND),
            ("method", attribute::EVENKEEL_METHOD_FINGERPRINT),
            ("object", attribute::EVENKEEL_BPF_OBJECT_HASH),
        ];
        FACTS
            .into_iter()
            .filter_map(|(word, key)| Some((word, self.text(key)?)))
            .collect()
    }
}

type Series<'a> = Vec<(&'a SeriesKey, Reduced)>;

fn series<'a>(summary: &'a Summary, descriptor: &MetricDescriptor) -> Series<'a> {
    summary
        .metrics()
        .get(descriptor.name)
        .map(|metric| metric.series(summary.begin()).collect())
        .unwrap_or_default()
}

fn number(reduced: &Reduced) -> Option<f64> {
    match &reduced.amount {
        Amount::Number(number) => Some(number.as_f64()),
        Amount::Distribution(_) => None,
    }
}

fn integer(reduced: &Reduced) -> Option<i64> {
    match &reduced.amount {
        Amount::Number(Number::Int(number)) => Some(*number),
        Amount::Number(Number::Double(number)) => Some(*number as i64),
        Amount::Distribution(_) => None,
    }
}

fn hosts(summary: &Summary) -> usize {
    let mut names = summary
        .hosts()
        .into_iter()
        .map(|host| {
            host.text(attribute::HOST_ID)
                .or_else(|| host.text(attribute::HOST_NAME))
        })
        .collect::<Vec<_>>();
    names.sort();
    names.dedup();
    names.len()
}

fn cpus(summary: &Summary, cpu_series: &Series<'_>) -> Option<i64> {
    let counted = series(summary, &metric::SYSTEM_CPU_LOGICAL_COUNT);
    if !counted.is_empty() {
        return Some(
            counted
                .iter()
                .filter_map(|(_, reduced)| integer(reduced))
                .sum(),
        );
    }
    let mut numbers = cpu_series
        .iter()
        .filter_map(|(key, _)| {
            let number = key.attributes.text(attribute::CPU_LOGICAL_NUMBER)?;
            Some((key.resource, number))
        })
        .collect::<Vec<_>>();
    numbers.sort();
    numbers.dedup();
    i64::try_from(numbers.len()).ok().filter(|count| *count > 0)
}

fn cpu_modes(cpu_series: &Series<'_>) -> Vec<(String, f64)> {
    let mut modes = BTreeMap::<String, f64>::new();
    for (key, reduced) in cpu_series {
        if let (Some(mode), Some(seconds)) =
            (key.attributes.text(attribute::CPU_MODE), number(reduced))
        {
            *modes.entry(mode).or_insert(0.0) += seconds;
        }
    }
    let whole = modes.values().sum::<f64>();
    if whole <= 0.0 {
        return Vec::new();
    }
    let mut shares = modes
        .into_iter()
        .map(|(mode, seconds)| (mode, seconds / whole))
        .collect::<Vec<_>>();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}

/// What a recording of one window says about CPU time: counters since boot need two.
fn sampled_busy(summary: &Summary, cpus: i64) -> Option<f64> {
    let profile = summary
        .profiles()
        .get(value::evenkeel_signal_name::ON_CPU)?;
    let whole = summary.duration() as f64 / 1e9 * cpus as f64;
    let seconds = profile.seconds(profile.total)?;
    (whole > 0.0 && !summary.is_filtered()).then(|| seconds / whole)
}

fn pressure(summary: &Summary) -> Vec<Pressure> {
    let mut stalls = BTreeMap::<(String, String), (f64, f64)>::new();
    for (key, reduced) in series(summary, &metric::EVENKEEL_PRESSURE_STALL_TIME) {
        let resource = key.attributes.text(attribute::EVENKEEL_PRESSURE_RESOURCE);
        let scope = key.attributes.text(attribute::EVENKEEL_PRESSURE_SCOPE);
        if let (Some(resource), Some(scope), Some(seconds)) = (resource, scope, number(&reduced)) {
            let entry = stalls.entry((resource, scope)).or_insert((0.0, 0.0));
            entry.0 += seconds;
            entry.1 += reduced.covered as f64 / 1e9;
        }
    }
    stalls
        .into_iter()
        .filter(|(_, (_, covered))| *covered > 0.0)
        .map(|((resource, scope), (seconds, covered))| Pressure {
            resource,
            scope,
            share: seconds / covered,
        })
        .collect()
}

fn waits(summary: &Summary) -> Vec<Waits> {
    let mut reasons = BTreeMap::<Option<String>, Distribution>::new();
    for (key, reduced) in series(summary, &metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION) {
        let Amount::Distribution(distribution) = reduced.amount else {
            continue;
        };
        let reason = key
            .attributes
            .text(attribute::EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON);
        for key in [None, reason] {
            match reasons.get_mut(&key) {
                // Hosts that send different bounds cannot be added: the first one's are shown.
                Some(sum) => {
                    let _ = sum.add(&distribution);
                }
                None => {
                    reasons.insert(key, distribution.clone());
                }
            }
        }
    }
    reasons
        .into_iter()
        .filter(|(_, distribution)| distribution.count() > 0)
        .map(|(reason, distribution)| Waits {
            reason,
            distribution,
        })
        .collect()
}

fn signals(summary: &Summary) -> Vec<Signal> {
    let mut signals = BTreeMap::<String, Signal>::new();
    for (key, reduced) in series(summary, &metric::EVENKEEL_SIGNAL_STATUS) {
        let name = key.attributes.text(attribute::EVENKEEL_SIGNAL_NAME);
        let state = key.attributes.text(attribute::EVENKEEL_SIGNAL_STATE);
        let (Some(name), Some(state), Some(1)) = (name, state, integer(&reduced)) else {
            continue;
        };
        let signal = signals.entry(name.clone()).or_default();
        if reduced.last_time < signal.seen {
            continue;
        }
        *signal = Signal {
            name,
            state,
            reason: key.attributes.text(attribute::EVENKEEL_SIGNAL_REASON),
            seen: reduced.last_time,
            ..Signal::default()
        };
    }
    for (key, reduced) in series(summary, &metric::EVENKEEL_SIGNAL_EVENTS) {
        let name = key.attributes.text(attribute::EVENKEEL_SIGNAL_NAME);
        if let (Some(signal), Some(events)) = (
            name.and_then(|name| signals.get_mut(&name)),
            integer(&reduced),
        ) {
            signal.events = Some(signal.events.unwrap_or(0).saturating_add(events));
        }
    }
    for (key, reduced) in series(summary, &metric::EVENKEEL_SIGNAL_LOSSES) {
        let name = key.attributes.text(attribute::EVENKEEL_SIGNAL_NAME);
        let reason = key.attributes.text(attribute::EVENKEEL_LOSS_REASON);
        if let (Some(signal), Some(lost)) = (
            name.and_then(|name| signals.get_mut(&name)),
            integer(&reduced),
        ) {
            signal.lost = Some(signal.lost.unwrap_or(0).saturating_add(lost));
            if lost > 0 {
                let reason = reason.unwrap_or_else(|| "unknown".to_owned());
                *signal.losses.entry(reason).or_insert(0) += lost;
            }
        }
    }
    signals.into_values().collect()
}

/// Growth of a counter by the value of one attribute, zeros left out.
fn by_attribute(series: &Series<'_>, key: &str) -> Vec<(String, i64)> {
    let mut sums = BTreeMap::<String, i64>::new();
    for (series_key, reduced) in series {
        if let (Some(name), Some(count)) = (series_key.attributes.text(key), integer(reduced))
            && count > 0
        {
            *sums.entry(name).or_insert(0) += count;
        }
    }
    sums.into_iter().collect()
}
