//! Metrics of a window as requests.

use evenkeel_semconv::{Instrument, MetricDescriptor, SCHEMA_URL, UPSTREAM_SCHEMA_URL};
use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    metrics::v1::{self as proto, metric::Data, number_data_point},
};
use prost::Message;

use super::{
    HistogramForm, Settings,
    attributes::{key_values, resource, scope},
    explicit_bounds, size,
};
use crate::{
    histogram::{ExponentialHistogram, SCALES},
    model::{Metric, MetricGroup, Point, PointValue, Window},
    temporality::Temporality,
};

/// The metrics of a window.
#[derive(Clone, Debug, Default)]
pub struct EncodedMetrics {
    /// Requests within the limits, none empty.
    pub requests: Vec<ExportMetricsServiceRequest>,
    /// Points that are in none of them: alone larger than a request, no number (`NaN`, infinite,
    /// a counter below zero), or of a type that the metric's instrument does not have.
    pub dropped_points: u64,
}

/// Encodes the metrics of a window. A window without points gives no request.
pub fn encode_metrics(window: &Window, settings: &Settings) -> EncodedMetrics {
    let mut writer = Writer {
        settings,
        limit: settings.limits.request(),
        encoded: EncodedMetrics::default(),
        request: ExportMetricsServiceRequest::default(),
        bytes: 0,
    };
    let span = window.span;
    let time = span.start_unix_nanos.saturating_add(span.duration_nanos);
    for group in &window.metrics {
        writer.group(group, time);
    }
    writer.flush();
    writer.encoded
}

/// A point ready for the list that its metric keeps.
enum DataPoint {
    Number(proto::NumberDataPoint),
    Explicit(proto::HistogramDataPoint),
    Exponential(proto::ExponentialHistogramDataPoint),
}

struct Writer<'s> {
    settings: &'s Settings,
    limit: usize,
    encoded: EncodedMetrics,
    request: ExportMetricsServiceRequest,
    /// Bytes of `request`, at most.
    bytes: usize,
}

impl Writer<'_> {
    fn flush(&mut self) {
        self.bytes = 0;
        let request = std::mem::take(&mut self.request);
        if !request.resource_metrics.is_empty() {
            self.encoded.requests.push(request);
        }
    }

    fn group(&mut self, group: &MetricGroup, time: u64) {
        let head = proto::ResourceMetrics {
            resource: Some(resource(&group.resource)),
            scope_metrics: vec![proto::ScopeMetrics {
                scope: Some(scope(&self.settings.scope_version)),
                metrics: Vec::new(),
                schema_url: SCHEMA_URL.to_owned(),
            }],
            schema_url: UPSTREAM_SCHEMA_URL.to_owned(),
        };
        let head_bytes = head.encoded_len() + 2 * size::OPEN_FIELD;
        let mut group_is_open = false;
        for metric in &group.metrics {
            let empty = self.empty_metric(metric.descriptor);
            let metric_bytes = empty.encoded_len() + 2 * size::OPEN_FIELD;
            let mut metric_is_open = false;
            for point in &metric.points {
                let Some((data, point_bytes)) = self.data_point(metric, point, time) else {
                    self.encoded.dropped_points += 1;
                    continue;
                };
                if head_bytes + metric_bytes + point_bytes >= self.limit {
                    self.encoded.dropped_points += 1;
                    continue;
                }
                let opening = if metric_is_open { 0 } else { metric_bytes }
                    + if group_is_open { 0 } else { head_bytes };
                if self.bytes + opening + point_bytes >= self.limit {
                    self.flush();
                    (group_is_open, metric_is_open) = (false, false);
                }
                if !group_is_open {
                    self.request.resource_metrics.push(head.clone());
                    self.bytes += head_bytes;
                    group_is_open = true;
                }
                let scope = self
                    .request
                    .resource_metrics
                    .last_mut()
                    .and_then(|group| group.scope_metrics.last_mut());
                let Some(scope) = scope else { continue };
                if !metric_is_open {
                    scope.metrics.push(empty.clone());
                    self.bytes += metric_bytes;
                    metric_is_open = true;
                }
                self.bytes += point_bytes;
                if let Some(metric) = scope.metrics.last_mut() {
                    push(metric, data);
                }
            }
        }
    }

    fn empty_metric(&self, descriptor: &MetricDescriptor) -> proto::Metric {
        let temporality = match self.settings.temporality.of(descriptor.instrument) {
            Temporality::Cumulative => proto::AggregationTemporality::Cumulative,
            Temporality::Delta => proto::AggregationTemporality::Delta,
        };
        let aggregation_temporality = temporality.into();
        let sum = |is_monotonic| {
            Data::Sum(proto::Sum {
                data_points: Vec::new(),
                aggregation_temporality,
                is_monotonic,
            })
        };
        proto::Metric {
            name: descriptor.name.to_owned(),
            description: descriptor.description.to_owned(),
            unit: descriptor.unit.to_owned(),
            metadata: Vec::new(),
            data: Some(match (descriptor.instrument, self.settings.histograms) {
                (Instrument::Counter, _) => sum(true),
                (Instrument::UpDownCounter, _) => sum(false),
                (Instrument::Gauge, _) => Data::Gauge(proto::Gauge::default()),
                (Instrument::Histogram, HistogramForm::Exponential { .. }) => {
                    Data::ExponentialHistogram(proto::ExponentialHistogram {
                        data_points: Vec::new(),
                        aggregation_temporality,
                    })
                }
                (Instrument::Histogram, HistogramForm::Explicit) => {
                    Data::Histogram(proto::Histogram {
                        data_points: Vec::new(),
                        aggregation_temporality,
                    })
                }
            }),
        }
    }

    /// The point and its bytes as a field; `None` when it cannot be one of that metric.
    fn data_point(&self, metric: &Metric, point: &Point, time: u64) -> Option<(DataPoint, usize)> {
        let instrument = metric.descriptor.instrument;
        let start = match instrument {
            Instrument::Gauge => 0,
            _ => point.start_unix_nanos.min(time),
        };
        let value = match (&point.value, instrument) {
            (PointValue::Histogram(histogram), Instrument::Histogram) => {
                return Some(self.distribution(metric, point, histogram, start, time));
            }
            (PointValue::Histogram(_), _) | (_, Instrument::Histogram) => return None,
            (PointValue::Int(number), Instrument::Counter) if *number < 0 => return None,
            (PointValue::Double(number), Instrument::Counter) if *number < 0.0 => return None,
            (PointValue::Double(number), _) if !number.is_finite() => return None,
            (PointValue::Int(number), _) => number_data_point::Value::AsInt(*number),
            (PointValue::Double(number), _) => number_data_point::Value::AsDouble(*number),
        };
        let data = proto::NumberDataPoint {
            attributes: key_values(&point.attributes),
            start_time_unix_nano: start,
            time_unix_nano: time,
            value: Some(value),
            ..proto::NumberDataPoint::default()
        };
        let bytes = size::message(&data);
        Some((DataPoint::Number(data), bytes))
    }

    fn distribution(
        &self,
        metric: &Metric,
        point: &Point,
        histogram: &ExponentialHistogram,
        start: u64,
        time: u64,
    ) -> (DataPoint, usize) {
        match self.settings.histograms {
            HistogramForm::Explicit => {
                let bounds = explicit_bounds(metric.descriptor.unit);
                let bucket_counts = histogram.to_explicit(bounds);
                let data = proto::HistogramDataPoint {
                    attributes: key_values(&point.attributes),
                    start_time_unix_nano: start,
                    time_unix_nano: time,
                    count: histogram.count(),
                    sum: Some(histogram.sum),
                    bucket_counts,
                    explicit_bounds: bounds.to_vec(),
                    ..proto::HistogramDataPoint::default()
                };
                let bytes = size::message(&data);
                (DataPoint::Explicit(data), bytes)
            }
            HistogramForm::Exponential { max_buckets } => {
                let mut histogram = histogram.clone();
                histogram.trim();
                while histogram.counts.len() > max_buckets.max(2)
                    && histogram.scale > *SCALES.start()
                {
                    histogram.downscale(histogram.scale - 1);
                }
                let data = proto::ExponentialHistogramDataPoint {
                    attributes: key_values(&point.attributes),
                    start_time_unix_nano: start,
                    time_unix_nano: time,
                    count: histogram.count(),
                    sum: Some(histogram.sum),
                    scale: histogram.scale,
                    zero_count: histogram.zero_count,
                    positive: Some(proto::exponential_histogram_data_point::Buckets {
                        offset: histogram.offset,
                        bucket_counts: histogram.counts,
                    }),
                    ..proto::ExponentialHistogramDataPoint::default()
                };
                let bytes = size::message(&data);
                (DataPoint::Exponential(data), bytes)
            }
        }
    }
}

fn push(metric: &mut proto::Metric, point: DataPoint) {
    match (&mut metric.data, point) {
        (Some(Data::Gauge(data)), DataPoint::Number(point)) => data.data_points.push(point),
        (Some(Data::Sum(data)), DataPoint::Number(point)) => data.data_points.push(point),
        (Some(Data::Histogram(data)), DataPoint::Explicit(point)) => data.data_points.push(point),
        (Some(Data::ExponentialHistogram(data)), DataPoint::Exponential(point)) => {
            data.data_points.push(point);
        }
        // `data_point` gives no other pair.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evenkeel_semconv::{attribute, metric};

    use super::*;
    use crate::{
        encode::Limits,
        invariants::check_metrics,
        model::{Attribute, Resource, Span},
        temporality::TemporalityPreference,
        view::{self, MetricsView, PointValueView},
    };

    fn window(metrics: Vec<Metric>) -> Window {
        Window {
            span: Span {
                start_unix_nanos: 1_000,
                duration_nanos: 500,
            },
            profiles: Vec::new(),
            metrics: vec![MetricGroup {
                resource: Arc::new(Resource {
                    attributes: vec![Attribute::new(attribute::SERVICE_NAME, "evenkeel")],
                }),
                metrics,
            }],
        }
    }

    fn metric(descriptor: &'static MetricDescriptor, value: PointValue) -> Metric {
        let attributes: Vec<Attribute> = descriptor
            .attributes
            .iter()
            .filter(|a| a.requirement == evenkeel_semconv::Requirement::Required)
            .map(|a| {
                let kind = attribute::ALL
                    .iter()
                    .find(|known| known.name == a.name)
                    .unwrap()
                    .kind;
                Attribute::new(
                    a.name,
                    match kind {
                        evenkeel_semconv::AttributeKind::Enum(members) => members[0].into(),
                        evenkeel_semconv::AttributeKind::Int => 1_i64.into(),
                        evenkeel_semconv::AttributeKind::Boolean => true.into(),
                        _ => crate::model::Value::from("x"),
                    },
                )
            })
            .collect();
        Metric {
            descriptor,
            points: vec![Point {
                attributes,
                start_unix_nanos: 300,
                value,
            }],
        }
    }

    fn waits(values: &[f64]) -> PointValue {
        let mut histogram = ExponentialHistogram::new(5);
        values.iter().for_each(|&value| histogram.record(value));
        PointValue::Histogram(histogram)
    }

    fn settings() -> Settings {
        Settings::new("1.2.3")
    }

    /// Every metric of the registry becomes the shape that its instrument asks for and passes the
    /// checker, in both forms of histograms and all temporalities.
    #[test]
    fn every_metric_of_the_registry_is_valid() {
        let metrics: Vec<_> = metric::ALL
            .iter()
            .map(|&descriptor| {
                let value = match (descriptor.instrument, descriptor.number) {
                    (Instrument::Histogram, _) => waits(&[0.0, 0.25, 3.0]),
                    (_, evenkeel_semconv::Number::Int) => PointValue::Int(3),
                    (_, evenkeel_semconv::Number::Double) => PointValue::Double(0.5),
                };
                metric(descriptor, value)
            })
            .collect();
        let window = window(metrics);
        for histograms in [HistogramForm::default(), HistogramForm::Explicit] {
            for temporality in [
                TemporalityPreference::Cumulative,
                TemporalityPreference::Delta,
                TemporalityPreference::LowMemory,
            ] {
                let settings = Settings {
                    histograms,
                    temporality,
                    ..settings()
                };
                let encoded = encode_metrics(&window, &settings);
                assert_eq!((encoded.requests.len(), encoded.dropped_points), (1, 0));
                assert_eq!(check_metrics(&encoded.requests[0]), []);
                let view = MetricsView::new(&encoded.requests[0]);
                assert_eq!(view.metrics().count(), metric::ALL.len());
            }
        }
    }

    /// A counter is a monotonic sum from its start to the window's end; a gauge has no start; a
    /// histogram keeps every bucket.
    #[test]
    fn points_carry_their_times_and_values() {
        let list = vec![
            metric(&metric::SYSTEM_CPU_TIME, PointValue::Double(2.5)),
            metric(&metric::SYSTEM_UPTIME, PointValue::Double(9.0)),
            metric(
                &metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION,
                waits(&[0.0, 0.25, 0.25]),
            ),
        ];
        let encoded = encode_metrics(&window(list), &settings());
        let metrics: Vec<_> = MetricsView::new(&encoded.requests[0]).metrics().collect();
        assert!(metrics[0].is_monotonic());
        assert_eq!(metrics[0].temporality(), view::Temporality::Cumulative);
        let point = &metrics[0].points()[0];
        assert_eq!(
            (point.start_unix_nanos, point.time_unix_nanos),
            (300, 1_500)
        );
        assert_eq!(point.value, PointValueView::Double(2.5));
        assert_eq!(metrics[1].temporality(), view::Temporality::Gauge);
        assert_eq!(metrics[1].points()[0].start_unix_nanos, 0);
        let PointValue::Histogram(exact) = waits(&[0.0, 0.25, 0.25]) else {
            unreachable!()
        };
        let histogram = &metrics[2].points()[0].value;
        assert_eq!(*histogram, PointValueView::Exponential(exact));
    }

    /// Explicit buckets hold the same values, and the resolution of exponential ones obeys its
    /// bound without losing a count.
    #[test]
    fn histogram_forms() {
        let values: Vec<f64> = (1..500).map(|i| f64::from(i) * 1e-5).collect();
        let descriptor = &metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION;
        let window = window(vec![metric(descriptor, waits(&values))]);
        let with = |histograms| {
            let settings = Settings {
                histograms,
                ..settings()
            };
            encode_metrics(&window, &settings).requests.remove(0)
        };
        let request = with(HistogramForm::Explicit);
        let point = MetricsView::new(&request)
            .metrics()
            .next()
            .unwrap()
            .points();
        let PointValueView::Explicit(explicit) = &point[0].value else {
            unreachable!()
        };
        assert_eq!(explicit.count, 499);
        assert_eq!(explicit.counts.iter().sum::<u64>(), 499);
        let below_a_millisecond = explicit.bounds.iter().position(|&b| b == 1e-3).unwrap();
        let below: u64 = explicit.counts[..=below_a_millisecond].iter().sum();
        assert!(below.abs_diff(100) <= 2, "{below}");
        let request = with(HistogramForm::Exponential { max_buckets: 20 });
        let point = MetricsView::new(&request)
            .metrics()
            .next()
            .unwrap()
            .points();
        let PointValueView::Exponential(exponential) = &point[0].value else {
            unreachable!()
        };
        assert!(exponential.counts.len() <= 20);
        assert_eq!(exponential.count(), 499);
    }

    /// Requests stay below their limit and every point is in exactly one of them.
    #[test]
    fn split_requests_lose_nothing() {
        let mut metrics = Vec::new();
        for descriptor in [&metric::SYSTEM_CPU_TIME, &metric::PROCESS_CPU_TIME] {
            let mut many = metric(descriptor, PointValue::Double(1.0));
            many.points = (0..2_000)
                .map(|cpu| Point {
                    attributes: vec![Attribute::new("cpu.logical_number", cpu)],
                    ..many.points[0].clone()
                })
                .collect();
            metrics.push(many);
        }
        let limits = Limits {
            request_bytes: 20_000,
            ..Limits::default()
        };
        let settings = Settings {
            limits,
            ..settings()
        };
        let encoded = encode_metrics(&window(metrics), &settings);
        assert_eq!(encoded.dropped_points, 0);
        let mut points = 0;
        for request in &encoded.requests {
            assert!(request.encoded_len() < 20_000);
            let view = MetricsView::new(request);
            points += view.metrics().map(|m| m.points().len()).sum::<usize>();
        }
        assert_eq!(points, 4_000);
    }

    /// What is no number, or of another type than the instrument's, is counted and not sent.
    #[test]
    fn impossible_points_are_counted() {
        let encoded = encode_metrics(
            &window(vec![
                metric(&metric::SYSTEM_CPU_TIME, PointValue::Double(f64::NAN)),
                metric(&metric::PROCESS_CPU_TIME, PointValue::Double(-1.0)),
                metric(&metric::SYSTEM_UPTIME, waits(&[1.0])),
                metric(
                    &metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION,
                    PointValue::Int(1),
                ),
            ]),
            &settings(),
        );
        assert_eq!((encoded.requests.len(), encoded.dropped_points), (0, 4));
    }
}
