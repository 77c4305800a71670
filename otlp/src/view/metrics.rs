//! Metrics as a flat list of points.

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::KeyValue,
    metrics::v1::{self as proto, metric, number_data_point},
};

use super::{Attributes, Dictionary};
use crate::histogram::{ExponentialHistogram, SCALES};

/// A metrics request.
#[derive(Clone, Copy, Debug)]
pub struct MetricsView<'a> {
    request: &'a ExportMetricsServiceRequest,
}

impl<'a> MetricsView<'a> {
    /// Looks at a request.
    pub fn new(request: &'a ExportMetricsServiceRequest) -> Self {
        Self { request }
    }

    /// Every metric of every resource and scope, in the order they are stored.
    pub fn metrics(self) -> impl Iterator<Item = MetricView<'a>> {
        self.request.resource_metrics.iter().flat_map(|group| {
            let resource = group.resource.as_ref().map_or(&[][..], |r| &r.attributes);
            group
                .scope_metrics
                .iter()
                .flat_map(|scoped| &scoped.metrics)
                .map(move |metric| MetricView { resource, metric })
        })
    }
}

/// How the points of a metric relate to each other in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Temporality {
    /// Values at an instant.
    Gauge,
    /// Since a fixed start.
    Cumulative,
    /// Since the last point.
    Delta,
    /// The sender did not say.
    Unspecified,
}

/// One metric of one resource.
#[derive(Clone, Copy, Debug)]
pub struct MetricView<'a> {
    resource: &'a [KeyValue],
    metric: &'a proto::Metric,
}

impl<'a> MetricView<'a> {
    /// The resource's attributes.
    pub fn resource(self) -> Attributes<'a> {
        Attributes::key_values(self.resource, Dictionary::default())
    }

    /// Its name.
    pub fn name(self) -> &'a str {
        &self.metric.name
    }

    /// Its UCUM unit.
    pub fn unit(self) -> &'a str {
        &self.metric.unit
    }

    /// Its description.
    pub fn description(self) -> &'a str {
        &self.metric.description
    }

    /// How its points relate to each other; summaries count as gauges.
    pub fn temporality(self) -> Temporality {
        let code = match &self.metric.data {
            Some(metric::Data::Sum(sum)) => sum.aggregation_temporality,
            Some(metric::Data::Histogram(data)) => data.aggregation_temporality,
            Some(metric::Data::ExponentialHistogram(data)) => data.aggregation_temporality,
            _ => return Temporality::Gauge,
        };
        match proto::AggregationTemporality::try_from(code) {
            Ok(proto::AggregationTemporality::Cumulative) => Temporality::Cumulative,
            Ok(proto::AggregationTemporality::Delta) => Temporality::Delta,
            _ => Temporality::Unspecified,
        }
    }

    /// Whether it is a sum that only grows.
    pub fn is_monotonic(self) -> bool {
        matches!(&self.metric.data, Some(metric::Data::Sum(sum)) if sum.is_monotonic)
    }

    /// Its points. Those without a value, exponential ones of an impossible scale and summaries
    /// are left out.
    pub fn points(self) -> Vec<PointView<'a>> {
        match &self.metric.data {
            Some(metric::Data::Gauge(data)) => numbers(&data.data_points),
            Some(metric::Data::Sum(data)) => numbers(&data.data_points),
            Some(metric::Data::Histogram(data)) => data.data_points.iter().map(explicit).collect(),
            Some(metric::Data::ExponentialHistogram(data)) => {
                data.data_points.iter().filter_map(exponential).collect()
            }
            Some(metric::Data::Summary(_)) | None => Vec::new(),
        }
    }
}

/// One point of a series.
#[derive(Clone, Debug)]
pub struct PointView<'a> {
    attributes: &'a [KeyValue],
    /// When the stream began (Unix nanoseconds); 0 when unset.
    pub start_unix_nanos: u64,
    /// When the value was true (Unix nanoseconds).
    pub time_unix_nanos: u64,
    /// The value.
    pub value: PointValueView<'a>,
}

impl<'a> PointView<'a> {
    /// The point's attributes.
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes::key_values(self.attributes, Dictionary::default())
    }
}

/// The value of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum PointValueView<'a> {
    /// A count.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// A distribution on the exponential scale (its positive half; nothing of ours is negative).
    Exponential(ExponentialHistogram),
    /// A distribution over given bounds.
    Explicit(ExplicitHistogram<'a>),
}

/// A distribution over given bounds: `counts[i]` values in `(bounds[i - 1], bounds[i]]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExplicitHistogram<'a> {
    /// Ascending upper bounds; the last bucket has none.
    pub bounds: &'a [f64],
    /// One more than `bounds`, or empty when only count and sum are known.
    pub counts: &'a [u64],
    /// Number of values.
    pub count: u64,
    /// Sum of values, if known.
    pub sum: Option<f64>,
}

fn numbers(points: &[proto::NumberDataPoint]) -> Vec<PointView<'_>> {
    points
        .iter()
        .filter_map(|point| {
            Some(PointView {
                attributes: &point.attributes,
                start_unix_nanos: point.start_time_unix_nano,
                time_unix_nanos: point.time_unix_nano,
                value: match point.value? {
                    number_data_point::Value::AsInt(number) => PointValueView::Int(number),
                    number_data_point::Value::AsDouble(number) => PointValueView::Double(number),
                },
            })
        })
        .collect()
}

fn explicit(point: &proto::HistogramDataPoint) -> PointView<'_> {
    PointView {
        attributes: &point.attributes,
        start_unix_nanos: point.start_time_unix_nano,
        time_unix_nanos: point.time_unix_nano,
        value: PointValueView::Explicit(ExplicitHistogram {
            bounds: &point.explicit_bounds,
            counts: &point.bucket_counts,
            count: point.count,
            sum: point.sum,
        }),
    }
}

fn exponential(point: &proto::ExponentialHistogramDataPoint) -> Option<PointView<'_>> {
    if !SCALES.contains(&point.scale) {
        return None;
    }
    let positive = point.positive.as_ref();
    let mut histogram = ExponentialHistogram {
        scale: point.scale,
        zero_count: point.zero_count,
        sum: point.sum.unwrap_or(0.0),
        offset: positive.map_or(0, |buckets| buckets.offset),
        counts: positive.map_or_else(Vec::new, |buckets| buckets.bucket_counts.clone()),
    };
    histogram.trim();
    Some(PointView {
        attributes: &point.attributes,
        start_unix_nanos: point.start_time_unix_nano,
        time_unix_nanos: point.time_unix_nano,
        value: PointValueView::Exponential(histogram),
    })
}

#[cfg(test)]
mod tests {
    use proto::{ExponentialHistogramDataPoint, Metric, exponential_histogram_data_point::Buckets};

    use super::*;

    /// Points of impossible scales and points without a value are left out, the others stay.
    #[test]
    fn impossible_points_are_left_out() {
        let exponential = |scale| ExponentialHistogramDataPoint {
            scale,
            positive: Some(Buckets {
                offset: i32::MAX,
                bucket_counts: vec![0, 1],
            }),
            ..ExponentialHistogramDataPoint::default()
        };
        let metric = Metric {
            data: Some(metric::Data::ExponentialHistogram(
                proto::ExponentialHistogram {
                    data_points: [i32::MIN, -12, 5, 21].map(exponential).to_vec(),
                    aggregation_temporality: 99,
                },
            )),
            ..Metric::default()
        };
        let view = MetricView {
            resource: &[],
            metric: &metric,
        };
        assert_eq!(view.points().len(), 1);
        assert_eq!(view.temporality(), Temporality::Unspecified);
        let empty = Metric {
            data: Some(metric::Data::Gauge(proto::Gauge {
                data_points: vec![proto::NumberDataPoint::default()],
            })),
            ..Metric::default()
        };
        let view = MetricView {
            resource: &[],
            metric: &empty,
        };
        assert!(view.points().is_empty());
    }
}
