//! Cumulative points or deltas (`OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE`).

use std::{collections::HashMap, sync::Arc};

use evenkeel_semconv::Instrument;

use crate::model::{Attribute, Point, PointValue, Resource, Window};

/// What a point's value is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temporality {
    /// The start of the stream.
    Cumulative,
    /// The previous point.
    Delta,
}

/// What the receiver wants (metrics exporter specification, "OTLP").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TemporalityPreference {
    /// Everything since its start. What Prometheus and its kin need.
    #[default]
    Cumulative,
    /// Counters and histograms since the point before; up-down counters since their start.
    Delta,
    /// As [`Self::Delta`]: our counters count events as they happen, and what is kept in memory for
    /// them is one point per series.
    LowMemory,
}

impl TemporalityPreference {
    /// The temporality of an instrument's points; gauges have none and count as cumulative.
    pub fn of(self, instrument: Instrument) -> Temporality {
        match (self, instrument) {
            (Self::Delta | Self::LowMemory, Instrument::Counter | Instrument::Histogram) => {
                Temporality::Delta
            }
            _ => Temporality::Cumulative,
        }
    }
}

/// Series that [`DeltaStage`] remembers unless told otherwise: about 10 MiB of histograms of two
/// hundred buckets.
pub const DEFAULT_MAX_SERIES: usize = 4096;

/// Windows after which a series that gave no point makes room for others (5 minutes of 10 s).
const STALE_WINDOWS: u64 = 30;

/// Turns cumulative points into deltas where that is preferred, by remembering the point before.
#[derive(Debug)]
pub struct DeltaStage {
    preference: TemporalityPreference,
    max_series: usize,
    resources: HashMap<Arc<Resource>, u64>,
    next_resource: u64,
    series: HashMap<SeriesKey, Previous>,
    windows: u64,
    /// End of the last window in which series were forgotten.
    forgot_at: Option<u64>,
    dropped_points: u64,
}

/// Resource, metric name, attributes.
type SeriesKey = (u64, &'static str, Vec<Attribute>);

#[derive(Debug)]
struct Previous {
    start_unix_nanos: u64,
    time_unix_nanos: u64,
    value: PointValue,
    window: u64,
}

impl DeltaStage {
    /// A stage that has seen nothing and remembers up to `max_series` series.
    pub fn new(preference: TemporalityPreference, max_series: usize) -> Self {
        Self {
            preference,
            max_series,
            resources: HashMap::new(),
            next_resource: 0,
            series: HashMap::new(),
            windows: 0,
            forgot_at: None,
            dropped_points: 0,
        }
    }

    /// Points taken out so far: the table of series was full, or the series began before others
    /// were forgotten and may have been among them, so that its whole value is no delta.
    pub fn dropped_points(&self) -> u64 {
        self.dropped_points
    }

    /// Series remembered.
    pub fn series(&self) -> usize {
        self.series.len()
    }

    /// Replaces the cumulative points of a window by deltas where those are preferred. Windows come
    /// in the order of time, each once.
    pub fn apply(&mut self, window: &mut Window) {
        if self.preference == TemporalityPreference::Cumulative {
            return;
        }
        self.windows += 1;
        let span = window.span;
        let time = span.start_unix_nanos.saturating_add(span.duration_nanos);
        for group in &mut window.metrics {
            let resource = self.resource(&group.resource);
            for metric in &mut group.metrics {
                let descriptor = metric.descriptor;
                if self.preference.of(descriptor.instrument) == Temporality::Delta {
                    metric
                        .points
                        .retain_mut(|point| self.point(resource, descriptor.name, point, time));
                }
            }
            group.metrics.retain(|metric| !metric.points.is_empty());
        }
        window.metrics.retain(|group| !group.metrics.is_empty());
    }

    fn resource(&mut self, resource: &Arc<Resource>) -> u64 {
        if let Some(&number) = self.resources.get(resource) {
            return number;
        }
        let number = self.next_resource;
        self.next_resource += 1;
        if self.resources.len() < self.max_series {
            self.resources.insert(Arc::clone(resource), number);
        }
        number
    }

    /// Makes a delta of the point; `false` when there is none to give.
    fn point(&mut self, resource: u64, name: &'static str, point: &mut Point, time: u64) -> bool {
        let key = (resource, name, point.attributes.clone());
        let mut current = Previous {
            start_unix_nanos: point.start_unix_nanos,
            time_unix_nanos: time,
            value: point.value.clone(),
            window: self.windows,
        };
        if let Some(previous) = self.series.get_mut(&key) {
            std::mem::swap(previous, &mut current);
            let before = current;
            if before.start_unix_nanos != point.start_unix_nanos {
                // A new stream, whole.
                return true;
            }
            point.start_unix_nanos = before.time_unix_nanos.min(time);
            if let Some(delta) = subtract(&point.value, &before.value) {
                point.value = delta;
            }
            // Otherwise the value fell without a new start: it counts from the point before.
            return true;
        }
        if self.series.len() >= self.max_series {
            self.forget_stale(time);
        }
        if self.series.len() >= self.max_series {
            self.dropped_points += 1;
            return false;
        }
        let may_be_forgotten = self
            .forgot_at
            .is_some_and(|forgot_at| point.start_unix_nanos < forgot_at);
        self.series.insert(key, current);
        if may_be_forgotten {
            self.dropped_points += 1;
        }
        !may_be_forgotten
    }

    fn forget_stale(&mut self, time: u64) {
        let oldest = self.windows.saturating_sub(STALE_WINDOWS);
        let before = self.series.len();
        self.series.retain(|_, previous| previous.window >= oldest);
        if self.series.len() < before {
            self.forgot_at = Some(time);
            let used: std::collections::HashSet<u64> =
                self.series.keys().map(|(resource, ..)| *resource).collect();
            self.resources.retain(|_, number| used.contains(number));
        }
    }
}

/// `None` when the value fell, or is of another type than before.
fn subtract(current: &PointValue, earlier: &PointValue) -> Option<PointValue> {
    match (current, earlier) {
        (PointValue::Int(current), PointValue::Int(earlier)) if current >= earlier => {
            current.checked_sub(*earlier).map(PointValue::Int)
        }
        (PointValue::Double(current), PointValue::Double(earlier)) if current >= earlier => {
            Some(PointValue::Double(current - earlier))
        }
        (PointValue::Histogram(current), PointValue::Histogram(earlier)) => {
            current.subtract(earlier).map(PointValue::Histogram)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_semconv::metric;

    use super::*;
    use crate::{
        histogram::ExponentialHistogram,
        model::{Metric, MetricGroup, Span},
    };

    const SECOND: u64 = 1_000_000_000;

    fn point(mode: &'static str, start: u64, value: PointValue) -> Point {
        Point {
            attributes: vec![Attribute::new("cpu.mode", mode)],
            start_unix_nanos: start * SECOND,
            value,
        }
    }

    /// Window number `n` covers the seconds `[10 n, 10 n + 10)` after 1000.
    fn window(n: u64, metrics: Vec<Metric>) -> Window {
        Window {
            span: Span {
                start_unix_nanos: (1000 + 10 * n) * SECOND,
                duration_nanos: 10 * SECOND,
            },
            profiles: Vec::new(),
            metrics: vec![MetricGroup {
                resource: Arc::default(),
                metrics,
            }],
        }
    }

    fn cpu_time(points: Vec<Point>) -> Metric {
        Metric {
            descriptor: &metric::SYSTEM_CPU_TIME,
            points,
        }
    }

    /// Start (seconds) and value of the points of the first metric after the stage.
    fn applied(stage: &mut DeltaStage, mut window: Window) -> Vec<(u64, PointValue)> {
        stage.apply(&mut window);
        let metrics = window.metrics.into_iter().flat_map(|group| group.metrics);
        metrics
            .flat_map(|metric| metric.points)
            .map(|point| (point.start_unix_nanos / SECOND, point.value))
            .collect()
    }

    fn delta_stage(max_series: usize) -> DeltaStage {
        DeltaStage::new(TemporalityPreference::Delta, max_series)
    }

    /// The first delta is the whole value since its start, later ones begin where the point before
    /// ended, and their sum is the cumulative value.
    #[test]
    fn deltas_follow_each_other() {
        let mut stage = delta_stage(10);
        let mut at = |n, value| {
            let points = vec![point("user", 500, PointValue::Double(value))];
            applied(&mut stage, window(n, vec![cpu_time(points)]))
        };
        assert_eq!(at(0, 5.0), [(500, PointValue::Double(5.0))]);
        assert_eq!(at(1, 7.5), [(1010, PointValue::Double(2.5))]);
        assert_eq!(at(2, 7.5), [(1020, PointValue::Double(0.0))]);
        // Two windows later the delta covers both.
        assert_eq!(at(4, 8.5), [(1030, PointValue::Double(1.0))]);
    }

    /// A value that fell counts from the point before; a new start counts from that start.
    #[test]
    fn resets_begin_anew() {
        let mut stage = delta_stage(10);
        let mut at = |n, start, value| {
            let points = vec![point("user", start, PointValue::Int(value))];
            applied(&mut stage, window(n, vec![cpu_time(points)]))
        };
        at(0, 500, 100);
        assert_eq!(at(1, 500, 3), [(1010, PointValue::Int(3))]);
        assert_eq!(at(2, 1025, 200), [(1025, PointValue::Int(200))]);
        assert_eq!(at(3, 1025, 201), [(1030, PointValue::Int(1))]);
    }

    /// Histograms are subtracted bucket by bucket.
    #[test]
    fn histograms_are_subtracted() {
        let mut stage = delta_stage(10);
        let mut at = |n, values: &[f64]| {
            let mut histogram = ExponentialHistogram::new(5);
            values.iter().for_each(|&v| histogram.record(v));
            let points = vec![point("user", 500, PointValue::Histogram(histogram))];
            let metric = Metric {
                descriptor: &metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION,
                points,
            };
            applied(&mut stage, window(n, vec![metric]))
        };
        at(0, &[0.0, 0.25]);
        let second = at(1, &[0.0, 0.25, 0.25, 4.0]);
        let [(1010, PointValue::Histogram(delta))] = &second[..] else {
            panic!("{second:?}");
        };
        assert_eq!((delta.count(), delta.zero_count, delta.sum), (2, 0, 4.25));
    }

    /// Cumulative and up-down points pass untouched and cost no memory.
    #[test]
    fn cumulative_passes() {
        let mut cumulative = DeltaStage::new(TemporalityPreference::Cumulative, 10);
        let mut low_memory = DeltaStage::new(TemporalityPreference::LowMemory, 10);
        let up_down = |value| Metric {
            descriptor: &metric::PROCESS_MEMORY_USAGE,
            points: vec![point("user", 500, PointValue::Int(value))],
        };
        for n in 0..3 {
            let points = vec![point("user", 500, PointValue::Int(9))];
            let out = applied(&mut cumulative, window(n, vec![cpu_time(points)]));
            assert_eq!(out, [(500, PointValue::Int(9))]);
            let out = applied(&mut low_memory, window(n, vec![up_down(4)]));
            assert_eq!(out, [(500, PointValue::Int(4))]);
        }
        assert_eq!((cumulative.series(), low_memory.series()), (0, 0));
    }

    /// A full table drops new series and counts them; stale series make room, and one that may have
    /// been forgotten never repeats its whole value.
    #[test]
    fn series_are_bounded() {
        let mut stage = delta_stage(2);
        let modes = |n, names: &[&'static str]| {
            let points = names.iter().map(|&m| point(m, 500, PointValue::Int(7)));
            window(n, vec![cpu_time(points.collect())])
        };
        assert_eq!(applied(&mut stage, modes(0, &["a", "b", "c"])).len(), 2);
        assert_eq!((stage.series(), stage.dropped_points()), (2, 1));
        for n in 1..40 {
            assert_eq!(applied(&mut stage, modes(n, &["a"])).len(), 1);
        }
        // "b" is stale by now: "c" takes its place, but no one knows when it was seen last.
        assert_eq!(applied(&mut stage, modes(40, &["a", "c"])).len(), 1);
        assert_eq!((stage.series(), stage.dropped_points()), (2, 2));
        let last = applied(&mut stage, modes(41, &["a", "c"]));
        assert_eq!(last, vec![(1410, PointValue::Int(0)); 2]);
    }
}
