//! Metrics of a recording, read from OTLP.

use evenkeel_otlp::view::{MetricView, MetricsView, PointValueView, PointView, Temporality};
use indexmap::IndexMap;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;

use super::{
    Attributes, Distribution, Explicit, Reduced, Summary,
    series::{Amount, Number, Point, Reading, Series},
};

/// What kind of metric it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instrument {
    /// Sum that only grows: its growth over the recording counts.
    Counter,
    /// Last value, or a sum that grows and shrinks.
    Gauge,
    /// Distribution.
    Distribution,
}

/// A series: which resource, which attributes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SeriesKey {
    /// Position of the resource among those of the summary.
    pub resource: usize,
    /// Attributes of the points.
    pub attributes: Attributes,
}

/// One metric of a recording.
#[derive(Debug)]
pub struct Metric {
    /// UCUM unit.
    pub unit: String,
    /// What kind.
    pub instrument: Instrument,
    series: IndexMap<SeriesKey, Series>,
}

impl Metric {
    /// What each series says about a recording that began at `begin` (Unix nanoseconds). Series
    /// that say nothing are left out.
    pub fn series(&self, begin: u64) -> impl Iterator<Item = (&SeriesKey, Reduced)> {
        self.series
            .iter()
            .filter_map(move |(key, series)| Some((key, series.reduce(begin)?)))
    }
}

impl Summary {
    /// Adds a request of metrics. Requests come in the order of time; a point that is not later
    /// than its predecessor is ignored and counted.
    pub fn add_metrics(&mut self, request: &ExportMetricsServiceRequest) {
        for metric in MetricsView::new(request).metrics() {
            let points = metric.points();
            match self.resource_index(metric.resource().into()) {
                Some(resource) => {
                    self.metric_resources.insert(resource);
                    self.add_points(resource, metric, &points);
                }
                None => self.overflow.points += points.len() as u64,
            }
        }
    }

    /// Position of a resource; `None` beyond the bound.
    pub(super) fn resource_index(&mut self, attributes: Attributes) -> Option<usize> {
        if self.resources.len() >= self.limits.resources {
            return self.resources.get_index_of(&attributes);
        }
        Some(self.resources.insert_full(attributes).0)
    }

    /// The attributes of a resource by its position.
    pub fn resource_at(&self, index: usize) -> Option<&Attributes> {
        self.resources.get_index(index)
    }

    fn add_points(&mut self, resource: usize, view: MetricView<'_>, points: &[PointView<'_>]) {
        // A name costs at least one series: the bound on series bounds the names.
        if self.series_count >= self.limits.series && !self.metrics.contains_key(view.name()) {
            self.overflow.points += points.len() as u64;
            return;
        }
        let Some(first) = points.first() else {
            return;
        };
        let Some((instrument, reading)) = kind_of(view, &first.value) else {
            self.overflow.malformed += points.len() as u64;
            return;
        };
        let metric = self
            .metrics
            .entry(view.name().to_owned())
            .or_insert_with(|| Metric {
                unit: view.unit().to_owned(),
                instrument,
                series: IndexMap::new(),
            });
        if metric.instrument != instrument {
            self.overflow.malformed += points.len() as u64;
            return;
        }
        for view in points {
            let Some(amount) = amount_of(&view.value) else {
                self.overflow.malformed += 1;
                continue;
            };
            let point = Point {
                start: view.start_unix_nanos,
                time: view.time_unix_nanos,
                amount,
            };
            let key = SeriesKey {
                resource,
                attributes: view.attributes().into(),
            };
            match metric.series.get_mut(&key) {
                Some(series) if series.reading() != reading => self.overflow.malformed += 1,
                Some(series) => {
                    if !series.push(point) {
                        self.overflow.repeated += 1;
                    }
                }
                None if self.series_count >= self.limits.series => self.overflow.points += 1,
                None => {
                    self.series_count += 1;
                    metric.series.insert(key, Series::new(reading, point));
                }
            }
        }
    }
}

/// How a metric is to be read; `None` where its temporality is not known.
fn kind_of(view: MetricView<'_>, value: &PointValueView<'_>) -> Option<(Instrument, Reading)> {
    let reading = match view.temporality() {
        Temporality::Gauge => Reading::Last,
        Temporality::Cumulative => Reading::Cumulative,
        Temporality::Delta => Reading::Delta,
        Temporality::Unspecified => return None,
    };
    Some(match value {
        PointValueView::Exponential(_) | PointValueView::Explicit(_) => {
            (Instrument::Distribution, reading)
        }
        PointValueView::Int(_) | PointValueView::Double(_) => match reading {
            Reading::Last => (Instrument::Gauge, Reading::Last),
            _ if view.is_monotonic() => (Instrument::Counter, reading),
            // What shrinks and grows (a queue's length) is told by where it stands.
            Reading::Cumulative => (Instrument::Gauge, Reading::Last),
            Reading::Delta => (Instrument::Gauge, Reading::Delta),
        },
    })
}

/// The value of a point; `None` where it is no finite number or its buckets do not fit its bounds.
fn amount_of(value: &PointValueView<'_>) -> Option<Amount> {
    match value {
        PointValueView::Int(number) => Some(Amount::Number(Number::Int(*number))),
        PointValueView::Double(number) => number
            .is_finite()
            .then_some(Amount::Number(Number::Double(*number))),
        PointValueView::Exponential(histogram) => histogram
            .sum
            .is_finite()
            .then(|| Amount::Distribution(Distribution::Exponential(histogram.clone()))),
        PointValueView::Explicit(explicit) => {
            let ascending = explicit
                .bounds
                .windows(2)
                .all(|pair| matches!(pair, [a, b] if a < b));
            let finite = explicit.bounds.iter().all(|bound| bound.is_finite());
            let fits = explicit.counts.len() == explicit.bounds.len() + 1;
            (ascending && finite && fits).then(|| {
                Amount::Distribution(Distribution::Explicit(Explicit {
                    bounds: explicit.bounds.to_vec(),
                    counts: explicit.counts.to_vec(),
                    sum: explicit.sum.filter(|sum| sum.is_finite()),
                }))
            })
        }
    }
}
