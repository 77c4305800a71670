//! One profile, summed over the windows of a recording.

use std::collections::{BTreeMap, HashMap};

use super::{Causes, Limits, NodeId, TextId};

/// Whose samples these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Executable name, or `[unknown]`.
    pub process: TextId,
    /// `service.name`; empty when unknown.
    pub service: TextId,
    /// `container.id`; empty outside containers.
    pub container: TextId,
    /// Whether it belongs to the command that was recorded.
    pub command: bool,
}

/// Index of an [`Owner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnerId(pub(super) u32);

/// Type and unit in pprof's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueType {
    /// What is counted.
    pub name: String,
    /// Unit: `count`, `nanoseconds`, `bytes`.
    pub unit: String,
}

/// Value and length of one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowTotal {
    /// Length in nanoseconds.
    pub duration: u64,
    /// Sum of values in the profile's unit.
    pub value: i64,
}

/// The samples of one kind over the whole recording.
#[derive(Debug)]
pub struct Profile {
    /// What the values count.
    pub sample_type: ValueType,
    /// What the sampling distance is counted in.
    pub period_type: ValueType,
    /// Distance between samples; that of the first profile seen with one.
    pub period: i64,
    /// Sum of all values.
    pub total: i64,
    /// Values by stack and owner.
    pub samples: HashMap<(NodeId, OwnerId), i64>,
    /// Totals by process name and process id.
    pub processes: HashMap<(TextId, Option<i64>), i64>,
    /// Totals by what was waited for; empty where nothing was.
    pub causes: Causes,
    /// Totals by the start of the window (Unix nanoseconds).
    pub windows: BTreeMap<u64, WindowTotal>,
    /// Sum of value x period, for recordings that mix periods.
    weighted: i128,
}

impl Profile {
    pub(super) fn new(sample_type: ValueType, period_type: ValueType) -> Self {
        Self {
            sample_type,
            period_type,
            period: 0,
            total: 0,
            samples: HashMap::new(),
            processes: HashMap::new(),
            causes: Causes::default(),
            windows: BTreeMap::new(),
            weighted: 0,
        }
    }

    /// Adds a value. `fallback` is the stack that takes what no longer fits.
    /// Returns false when the bound on samples sent it there.
    pub(super) fn add(
        &mut self,
        limits: &Limits,
        key: (NodeId, OwnerId),
        fallback: NodeId,
        value: i64,
        period: i64,
    ) -> bool {
        let fits = self.samples.len() < limits.samples || self.samples.contains_key(&key);
        let key = if fits { key } else { (fallback, key.1) };
        let entry = self.samples.entry(key).or_insert(0);
        *entry = entry.saturating_add(value);
        self.total = self.total.saturating_add(value);
        self.weighted += i128::from(value) * i128::from(period);
        fits
    }

    /// Adds a value to its process; beyond the bound, process ids are no longer told apart.
    pub(super) fn add_process(
        &mut self,
        limits: &Limits,
        process: TextId,
        pid: Option<i64>,
        value: i64,
    ) {
        let full = self.processes.len() >= limits.processes;
        let key = if full && !self.processes.contains_key(&(process, pid)) {
            (process, None)
        } else {
            (process, pid)
        };
        let entry = self.processes.entry(key).or_insert(0);
        *entry = entry.saturating_add(value);
    }

    /// Seconds of time that a value stands for: samples times their distance, or nanoseconds.
    /// `None` where the profile does not measure time.
    pub fn seconds(&self, value: i64) -> Option<f64> {
        let nanos = if self.sample_type.unit == "nanoseconds" {
            1.0
        } else if self.period_type.unit == "nanoseconds" && self.weighted > 0 && self.total > 0 {
            self.weighted as f64 / self.total as f64
        } else {
            return None;
        };
        Some(value as f64 * nanos / 1e9)
    }
}
