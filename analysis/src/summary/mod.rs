//! Everything a recording says, summed over its windows.

mod attributes;
mod cause;
mod decode;
mod distribution;
mod filter;
mod limits;
mod load;
mod metrics;
mod naming;
mod profile;
mod series;
mod stacks;

use std::{collections::BTreeMap, path::PathBuf};

use indexmap::IndexSet;

pub use self::{
    attributes::{Attributes, Value},
    cause::{CauseKind, Causes},
    distribution::{Bar, Distribution, Explicit},
    filter::{BadCondition, Condition, Filter, Verdict},
    limits::Limits,
    load::LoadError,
    metrics::{Instrument, Metric, SeriesKey},
    naming::Naming,
    profile::{Owner, OwnerId, Profile, ValueType, WindowTotal},
    series::{Amount, Number, Reduced},
    stacks::{Frame, FrameId, FrameKind, Function, Line, Mapping, NodeId, Stacks, TextId},
};

/// What did not fit or could not be read, by kind. All zero for an ordinary recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// Samples whose stack was shortened or replaced by `[other]`.
    pub samples: u64,
    /// Samples whose owner is only known by `[other]`.
    pub owners: u64,
    /// Points of series beyond the bound.
    pub points: u64,
    /// Samples, profiles and points that broke the rules of OTLP (indices out of range, negative
    /// values, kinds that change).
    pub malformed: u64,
    /// Points that came twice or out of order.
    pub repeated: u64,
}

/// A window shorter than this is a reading of metrics: `record` writes one before the first window,
/// so that what the kernel counts since boot has a point to count from.
const SHORTEST_WINDOW_NANOS: u64 = 1_000_000;

/// Everything that recordings say, summed over their windows.
///
/// Add OTLP requests with [`Summary::add_profiles`] and [`Summary::add_metrics`], in the order of
/// time; then read.
#[derive(Debug)]
pub struct Summary {
    limits: Limits,
    filter: Filter,
    stacks: Stacks,
    owners: IndexSet<Owner>,
    resources: IndexSet<Attributes>,
    /// Positions in `resources` of what carried metrics; profiles' owners have resources of
    /// their own.
    metric_resources: IndexSet<usize>,
    profiles: BTreeMap<String, Profile>,
    metrics: BTreeMap<String, Metric>,
    series_count: usize,
    windows: BTreeMap<u64, u64>,
    overflow: Overflow,
    unfiltered_samples: u64,
    unfinished: Vec<(PathBuf, u64)>,
}

impl Summary {
    /// An empty summary that takes only samples that `filter` admits.
    pub fn new(filter: Filter, limits: Limits) -> Self {
        Self {
            stacks: Stacks::new(&limits),
            limits,
            filter,
            owners: IndexSet::new(),
            resources: IndexSet::new(),
            metric_resources: IndexSet::new(),
            profiles: BTreeMap::new(),
            metrics: BTreeMap::new(),
            series_count: 0,
            windows: BTreeMap::new(),
            overflow: Overflow::default(),
            unfiltered_samples: 0,
            unfinished: Vec::new(),
        }
    }

    /// Notes a window that was recorded, `[start, start + duration)` in Unix nanoseconds; windows
    /// without any profile are known by nothing else.
    pub fn add_window(&mut self, start: u64, duration: u64) {
        if duration < SHORTEST_WINDOW_NANOS {
            return;
        }
        if self.windows.len() < self.limits.windows {
            let known = self.windows.entry(start).or_insert(0);
            *known = duration.max(*known);
        }
    }

    /// Frames and stacks.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    /// The owner of samples.
    pub fn owner(&self, id: OwnerId) -> Option<&Owner> {
        self.owners.get_index(id.0 as usize)
    }

    /// Profiles by name: `on_cpu` for `samples`/`count`, otherwise the sample type.
    pub fn profiles(&self) -> &BTreeMap<String, Profile> {
        &self.profiles
    }

    /// Metrics by name.
    pub fn metrics(&self) -> &BTreeMap<String, Metric> {
        &self.metrics
    }

    /// Samples before the filter, all profiles together.
    pub fn unfiltered_samples(&self) -> u64 {
        self.unfiltered_samples
    }

    /// Files that end within a window, with the bytes that were left out.
    pub fn unfinished(&self) -> &[(PathBuf, u64)] {
        &self.unfinished
    }

    /// True when samples were left out by the filter.
    pub fn is_filtered(&self) -> bool {
        !self.filter.is_empty()
    }

    /// What did not fit or could not be read.
    pub fn overflow(&self) -> Overflow {
        self.overflow
    }

    /// Windows by their start, with their length (nanoseconds).
    pub fn windows(&self) -> &BTreeMap<u64, u64> {
        &self.windows
    }

    /// Start of the first window (Unix nanoseconds); 0 without windows.
    pub fn start(&self) -> u64 {
        self.windows.keys().next().copied().unwrap_or(0)
    }

    /// Time that the windows cover (nanoseconds); windows of several hosts count once.
    pub fn duration(&self) -> u64 {
        let mut covered = 0_u64;
        let mut end = 0_u64;
        for (&start, &duration) in &self.windows {
            let window_end = start.saturating_add(duration);
            covered = covered.saturating_add(window_end.saturating_sub(start.max(end)));
            end = end.max(window_end);
        }
        covered
    }

    /// When cumulative streams must have begun to count as begun within the recording: the start
    /// of the first window, less half a window, as probes are attached shortly before it.
    pub fn begin(&self) -> u64 {
        self.windows
            .iter()
            .next()
            .map_or(0, |(start, duration)| start.saturating_sub(duration / 2))
    }

    /// The hosts, as the resources that carried metrics describe them; without metrics, all
    /// resources of profiles.
    pub fn hosts(&self) -> Vec<&Attributes> {
        use evenkeel_semconv::attribute::{HOST_ID, HOST_NAME};
        let all = (0..self.resources.len()).collect::<Vec<_>>();
        let with_metrics = self.metric_resources.iter().copied().collect::<Vec<_>>();
        let pick = |indices: Vec<usize>| {
            let resources = indices
                .into_iter()
                .filter_map(|index| self.resources.get_index(index))
                .collect::<Vec<_>>();
            let named = resources
                .iter()
                .copied()
                .filter(|r| r.get(HOST_ID).is_some() || r.get(HOST_NAME).is_some())
                .collect::<Vec<_>>();
            if named.is_empty() { resources } else { named }
        };
        let hosts = pick(with_metrics);
        if hosts.is_empty() { pick(all) } else { hosts }
    }

    /// Attributes of the host: what all of [`Self::hosts`] have in common.
    pub fn resource(&self) -> Attributes {
        let mut hosts = self.hosts().into_iter();
        let first = hosts.next().cloned().unwrap_or_default();
        hosts.fold(first, |common, next| common.common(next))
    }
}
