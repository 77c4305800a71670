//! What is known of the tasks of a container or service: switches, and whose fault their waits for
//! a CPU are.
//!
//! Switches and time on run queues are exact: the kernel programs add them up for each task, and a
//! walk over all tasks reads them at the end of each window. Who had the CPU is known of the
//! waits that are sampled.

use std::{
    collections::{BTreeMap, HashMap},
    hash::{Hash, Hasher},
    sync::Arc,
};

use evenkeel_otlp::model::{Attribute, Metric, MetricGroup, PointValue};
use evenkeel_semconv::{
    attribute::{
        self,
        value::{evenkeel_context_switch_type as switch, evenkeel_run_queue_behind as behind},
    },
    metric,
};

use super::{NANOS, int, metric, point};
use crate::{identity::Owner, profile::Ahead};

/// Workloads that are remembered. A node has some hundreds; each has up to 12 series.
const CAPACITY: usize = 2048;

/// Windows that a workload is remembered without doing anything.
const WINDOWS_KEPT: u64 = 60;

/// Neighbours that are told apart for a workload; the rest is one.
const NEIGHBOURS_KEPT: usize = 64;

/// Neighbours that are named.
const NEIGHBOURS_NAMED: usize = 3;

/// Name of the others.
const REST: &str = "[rest]";

/// What the tasks of a workload did in a window, or since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deeds {
    /// Switches away because a task blocked.
    pub voluntary: u64,
    /// Switches away while it could have gone on.
    pub involuntary: u64,
    /// Time on run queues, nanoseconds.
    pub queued_nanos: u64,
    /// Of that, by who had the CPU (`Ahead::ALL`), from samples.
    pub ahead_nanos: [u64; 4],
    /// Of that which others had, by the others' service name.
    pub neighbours: HashMap<Arc<str>, u64>,
    /// Stolen time, nanoseconds.
    pub stolen_nanos: u64,
}

impl Deeds {
    /// Adds time to a neighbour's account, while there is room for its name.
    pub fn blame(&mut self, neighbour: &Arc<str>, nanos: u64) {
        if let Some(known) = self.neighbours.get_mut(neighbour) {
            *known += nanos;
        } else if self.neighbours.len() < NEIGHBOURS_KEPT {
            self.neighbours.insert(neighbour.clone(), nanos);
        } else {
            *self.neighbours.entry(REST.into()).or_default() += nanos;
        }
    }

    /// Adds.
    pub fn add(&mut self, other: &Self) {
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.queued_nanos += other.queued_nanos;
        self.stolen_nanos += other.stolen_nanos;
        for (sum, nanos) in self.ahead_nanos.iter_mut().zip(other.ahead_nanos) {
            *sum += nanos;
        }
        for (neighbour, nanos) in &other.neighbours {
            self.blame(neighbour, *nanos);
        }
    }
}

/// A container or service. Equal owners are one `Arc`, so its address tells them apart.
#[derive(Clone, Debug)]
pub struct WorkloadKey(pub Arc<Owner>);

impl PartialEq for WorkloadKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for WorkloadKey {}

impl Hash for WorkloadKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

/// What each workload did in a window.
pub type WorkloadDeeds = HashMap<WorkloadKey, Deeds>;

/// A series of a neighbour: since when, and nanoseconds.
type NeighbourSeries = (u64, u64);

#[derive(Debug)]
struct Workload {
    since_start: Deeds,
    /// The series of the worst neighbours and of the rest. A neighbour that becomes one of the
    /// worst begins a series then: the rest must not fall.
    neighbours: BTreeMap<Arc<str>, NeighbourSeries>,
    last_window: u64,
    start_unix_nanos: u64,
}

/// All workloads since the start.
#[derive(Debug, Default)]
pub struct Workloads {
    known: HashMap<WorkloadKey, Workload>,
    window: u64,
    refused: u64,
}

impl Workloads {
    /// Adds a window.
    pub fn end_window(&mut self, deeds: &WorkloadDeeds, window_start_unix_nanos: u64) {
        self.window += 1;
        for (key, deeds) in deeds {
            if self.known.len() >= CAPACITY && !self.known.contains_key(key) {
                self.refused += 1;
                continue;
            }
            let workload = self.known.entry(key.clone()).or_insert_with(|| Workload {
                since_start: Deeds::default(),
                neighbours: BTreeMap::new(),
                last_window: 0,
                start_unix_nanos: window_start_unix_nanos,
            });
            workload.since_start.add(deeds);
            workload.add_neighbours(deeds, window_start_unix_nanos);
            workload.last_window = self.window;
        }
        let window = self.window;
        self.known
            .retain(|_, workload| workload.last_window + WINDOWS_KEPT > window);
    }

    /// Forgets all series: their owners have other resources from now on, under which they begin
    /// again.
    pub fn restart(&mut self) {
        self.known.clear();
    }

    /// Workloads that found no room, since the start.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The metrics, one group a workload. `parts` says which signals are measured.
    pub fn metrics(&self, parts: Parts) -> Vec<MetricGroup> {
        self.known
            .iter()
            .filter_map(|(key, workload)| {
                let metrics = workload.metrics(parts);
                (!metrics.is_empty()).then(|| MetricGroup {
                    resource: key.0.resource.clone(),
                    metrics,
                })
            })
            .collect()
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// Switches and time on run queues.
    pub scheduler: bool,
    /// Who had the CPU.
    pub run_queue: bool,
    /// Stolen time.
    pub stolen: bool,
}

impl Workload {
    fn metrics(&self, parts: Parts) -> Vec<Metric> {
        let start = self.start_unix_nanos;
        let seconds = |nanos: u64| PointValue::Double(nanos as f64 / NANOS);
        let mut metrics = Vec::new();
        let deeds = &self.since_start;
        if parts.scheduler {
            let switches = [
                (switch::VOLUNTARY, deeds.voluntary),
                (switch::INVOLUNTARY, deeds.involuntary),
            ]
            .map(|(name, count)| {
                let attributes = vec![Attribute::new(
                    attribute::EVENKEEL_CONTEXT_SWITCH_TYPE,
                    name,
                )];
                point(attributes, start, int(count))
            });
            metrics.extend(metric(&metric::EVENKEEL_WORKLOAD_SWITCHES, switches.into()));
            let queued = point(Vec::new(), start, seconds(deeds.queued_nanos));
            metrics.extend(metric(
                &metric::EVENKEEL_WORKLOAD_RUN_QUEUE_TIME,
                vec![queued],
            ));
        }
        if parts.stolen && deeds.stolen_nanos > 0 {
            let stolen = point(Vec::new(), start, seconds(deeds.stolen_nanos));
            metrics.extend(metric(&metric::EVENKEEL_WORKLOAD_STOLEN_TIME, vec![stolen]));
        }
        if parts.run_queue && deeds.ahead_nanos.iter().any(|nanos| *nanos > 0) {
            let points = Ahead::ALL
                .into_iter()
                .zip(deeds.ahead_nanos)
                .map(|(ahead, nanos)| {
                    let attributes = vec![Attribute::new(
                        attribute::EVENKEEL_RUN_QUEUE_BEHIND,
                        ahead_name(ahead),
                    )];
                    point(attributes, start, seconds(nanos))
                });
            metrics.extend(metric(
                &metric::EVENKEEL_WORKLOAD_RUN_QUEUE_BEHIND_TIME,
                points.collect(),
            ));
            let neighbours = self.neighbours.iter().map(|(name, (since, nanos))| {
                let attributes = vec![Attribute::new(
                    attribute::EVENKEEL_RUN_QUEUE_NEIGHBOUR,
                    name.clone(),
                )];
                point(attributes, *since, seconds(*nanos))
            });
            metrics.extend(metric(
                &metric::EVENKEEL_WORKLOAD_RUN_QUEUE_NEIGHBOUR_TIME,
                neighbours.collect(),
            ));
        }
        metrics
    }

    /// Adds a window's neighbours to their series: the worst have one each, as long as there are at
    /// most twice as many as are wanted.
    fn add_neighbours(&mut self, window: &Deeds, window_start_unix_nanos: u64) {
        let mut worst: Vec<_> = self.since_start.neighbours.iter().collect();
        worst.sort_by(|left, right| right.1.cmp(left.1).then_with(|| left.0.cmp(right.0)));
        worst.truncate(NEIGHBOURS_NAMED);
        for (name, nanos) in &window.neighbours {
            let is_named = self.neighbours.contains_key(name)
                || self.neighbours.len() < 2 * NEIGHBOURS_NAMED
                    && worst.iter().any(|(worst, _)| *worst == name);
            let name = if is_named { name.clone() } else { REST.into() };
            let series = self
                .neighbours
                .entry(name)
                .or_insert((window_start_unix_nanos, 0));
            series.1 += nanos;
        }
    }
}

/// The value of `evenkeel.run_queue.behind`.
pub fn ahead_name(ahead: Ahead) -> &'static str {
    match ahead {
        Ahead::Throttled => behind::THROTTLED,
        Ahead::Own => behind::OWN,
        Ahead::Other => behind::OTHER,
        Ahead::Kernel => behind::KERNEL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{HostIdentity, ProcessKey, ProcessTable, Roots};

    fn owner() -> WorkloadKey {
        let roots = Roots::from_environment(|_| None);
        let mut table = ProcessTable::new(&roots, &HostIdentity::default(), 8);
        let key = ProcessKey {
            pid: u32::MAX,
            start_time_nanos: 1,
        };
        WorkloadKey(table.observe(key, b"gone").owner.clone())
    }

    fn blamed(nanos: &[(&str, u64)]) -> Deeds {
        let mut deeds = Deeds {
            ahead_nanos: [0, 0, 1, 0],
            ..Deeds::default()
        };
        for (name, nanos) in nanos {
            deeds.blame(&(*name).into(), *nanos);
        }
        deeds
    }

    fn series(workloads: &Workloads) -> BTreeMap<String, f64> {
        let parts = Parts {
            scheduler: true,
            run_queue: true,
            stolen: true,
        };
        let groups = workloads.metrics(parts);
        let metric = groups[0]
            .metrics
            .iter()
            .find(|metric| {
                metric.descriptor.name == metric::EVENKEEL_WORKLOAD_RUN_QUEUE_NEIGHBOUR_TIME.name
            })
            .unwrap();
        let value = |value: &PointValue| match value {
            PointValue::Double(seconds) => *seconds * NANOS,
            _ => panic!("not a number of seconds"),
        };
        metric
            .points
            .iter()
            .map(|point| {
                (
                    format!("{:?}", point.attributes[0].value),
                    value(&point.value),
                )
            })
            .collect()
    }

    /// The worst three have names, the sum is right, and no series ever falls, also when another
    /// neighbour becomes one of the worst.
    #[test]
    fn neighbours_are_named_and_never_fall() {
        let key = owner();
        let mut workloads = Workloads::default();
        let first = blamed(&[("a", 50), ("b", 40), ("c", 30), ("d", 20), ("e", 10)]);
        workloads.end_window(&HashMap::from([(key.clone(), first)]), 1);
        let before = series(&workloads);
        assert_eq!(before.len(), 4);
        let second = blamed(&[("e", 1000), ("d", 1)]);
        workloads.end_window(&HashMap::from([(key, second)]), 2);
        let after = series(&workloads);
        assert_eq!(after.len(), 5, "{after:?}");
        assert!((after.values().sum::<f64>() - 1151.0).abs() < 1e-6);
        for (name, value) in before {
            assert!(after[&name] >= value, "{name}");
        }
    }

    /// A workload that does nothing for long is forgotten.
    #[test]
    fn silent_workloads_are_forgotten() {
        let mut workloads = Workloads::default();
        workloads.end_window(&HashMap::from([(owner(), blamed(&[("a", 1)]))]), 1);
        for window in 2..=WINDOWS_KEPT {
            workloads.end_window(&HashMap::new(), window);
            assert_eq!(workloads.known.len(), 1);
        }
        workloads.end_window(&HashMap::new(), WINDOWS_KEPT + 1);
        assert!(workloads.known.is_empty());
    }

    /// Names beyond the bound are one.
    #[test]
    fn neighbours_are_bounded() {
        let mut deeds = Deeds::default();
        for number in 0..10 * NEIGHBOURS_KEPT {
            deeds.blame(&format!("{number}").into(), 1);
        }
        assert_eq!(deeds.neighbours.len(), NEIGHBOURS_KEPT + 1);
        let sum: u64 = deeds.neighbours.values().sum();
        assert_eq!(sum, 10 * NEIGHBOURS_KEPT as u64);
    }
}
