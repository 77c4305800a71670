//! Each rule of metrics is named when it alone is broken, and a valid request breaks none.

use std::sync::Arc;

use evenkeel_semconv::{Instrument, MetricDescriptor, Requirement, attribute, metric};
use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value::Value},
    metrics::v1::{
        ExponentialHistogramDataPoint, HistogramDataPoint, Metric, NumberDataPoint, Sum,
        metric::Data, number_data_point,
    },
};

use super::super::{Rule, check_metrics};
use crate::{
    encode::{HistogramForm, Settings, encode_metrics},
    histogram::ExponentialHistogram,
    model::{Attribute, MetricGroup, Point, PointValue, Resource},
    testing::window,
};

fn metrics(histograms: HistogramForm) -> ExportMetricsServiceRequest {
    let mut waits = ExponentialHistogram::new(5);
    [0.0, 0.1, 0.2].iter().for_each(|&wait| waits.record(wait));
    let point = |value| Point {
        attributes: Vec::new(),
        start_unix_nanos: 1,
        value,
    };
    let mut window = window(Vec::new());
    window.metrics = vec![MetricGroup {
        resource: Arc::new(Resource {
            attributes: vec![Attribute::new(attribute::SERVICE_NAME, "evenkeel")],
        }),
        metrics: vec![
            crate::model::Metric {
                descriptor: &metric::SYSTEM_UPTIME,
                points: vec![point(PointValue::Double(5.0))],
            },
            crate::model::Metric {
                descriptor: &metric::SYSTEM_CPU_TIME,
                points: vec![point(PointValue::Double(7.0))],
            },
            crate::model::Metric {
                descriptor: histogram_without_attributes(),
                points: vec![point(PointValue::Histogram(waits))],
            },
        ],
    }];
    let settings = Settings {
        histograms,
        ..Settings::new("1")
    };
    encode_metrics(&window, &settings).requests.remove(0)
}

fn histogram_without_attributes() -> &'static MetricDescriptor {
    let required = Requirement::Required;
    metric::ALL
        .iter()
        .find(|m| {
            m.instrument == Instrument::Histogram
                && m.attributes.iter().all(|a| a.requirement != required)
        })
        .unwrap()
}

/// The rules broken once the `i`th metric (gauge, counter, exponential histogram) was changed.
fn broken_metric(i: usize, change: impl FnOnce(&mut Metric)) -> Vec<Rule> {
    let mut request = metrics(HistogramForm::default());
    change(&mut request.resource_metrics[0].scope_metrics[0].metrics[i]);
    check_metrics(&request).iter().map(|v| v.rule).collect()
}

/// What we encode breaks no rule, in either form of histograms.
#[test]
fn valid_metrics_break_nothing() {
    assert_eq!(check_metrics(&metrics(HistogramForm::default())), []);
    assert_eq!(check_metrics(&metrics(HistogramForm::Explicit)), []);
}

/// Nothing empty, no metric twice, resource and scope as for profiles.
#[test]
fn metric_groups() {
    let broken = |change: fn(&mut ExportMetricsServiceRequest)| {
        let mut request = metrics(HistogramForm::default());
        change(&mut request);
        check_metrics(&request)
            .iter()
            .map(|v| v.rule)
            .collect::<Vec<_>>()
    };
    assert_eq!(broken(|r| r.resource_metrics.clear()), [Rule::NotEmpty]);
    assert_eq!(
        broken(|r| r.resource_metrics[0].scope_metrics.clear()),
        [Rule::NotEmpty]
    );
    let scope = |r: &mut ExportMetricsServiceRequest| {
        r.resource_metrics[0].scope_metrics[0].metrics.clear();
    };
    assert_eq!(broken(scope), [Rule::NotEmpty]);
    let twice = |r: &mut ExportMetricsServiceRequest| {
        let metrics = &mut r.resource_metrics[0].scope_metrics[0].metrics;
        metrics.push(metrics[0].clone());
    };
    assert_eq!(broken(twice), [Rule::MetricOnce]);
    assert_eq!(
        broken(|r| r.resource_metrics[0].schema_url.clear()),
        [Rule::SchemaUrl]
    );
    assert_eq!(
        broken(|r| r.resource_metrics[0].resource = None),
        [Rule::ResourceAndScope]
    );
    let large = |r: &mut ExportMetricsServiceRequest| {
        r.resource_metrics[0].scope_metrics[0].metrics[0].description = "x".repeat(4 << 20);
    };
    assert_eq!(broken(large), [Rule::RequestSize]);
}

/// Names, units, shapes and attributes are the registry's.
#[test]
fn metrics_are_registered() {
    assert_eq!(broken_metric(0, |m| m.name.push('x')), [Rule::Registry]);
    assert_eq!(
        broken_metric(0, |m| m.unit = "ms".to_owned()),
        [Rule::Registry]
    );
    let falling = broken_metric(1, |m| sum(m).is_monotonic = false);
    assert_eq!(falling, [Rule::Registry]);
    let unspecified = broken_metric(1, |m| sum(m).aggregation_temporality = 0);
    assert_eq!(unspecified, [Rule::Registry]);
    let foreign = KeyValue {
        key: "made.up".to_owned(),
        value: Some(AnyValue {
            value: Some(Value::IntValue(1)),
        }),
        key_strindex: 0,
    };
    let rules = broken_metric(1, |m| sum(m).data_points[0].attributes.push(foreign));
    assert_eq!(rules, [Rule::Registry]);
    let integer = number_data_point::Value::AsInt(1);
    let rules = broken_metric(1, |m| sum(m).data_points[0].value = Some(integer));
    assert_eq!(rules, [Rule::Registry]);
}

fn sum(metric: &mut Metric) -> &mut Sum {
    match &mut metric.data {
        Some(Data::Sum(sum)) => sum,
        other => panic!("{other:?}"),
    }
}

/// Points have a time not before their start, a finite value, and a series of their own.
#[test]
fn points() {
    let point =
        |change: fn(&mut NumberDataPoint)| broken_metric(1, |m| change(&mut sum(m).data_points[0]));
    assert_eq!(point(|p| p.time_unix_nano = 0), [Rule::PointTime]);
    assert_eq!(point(|p| p.start_time_unix_nano = 0), [Rule::PointTime]);
    assert_eq!(
        point(|p| p.start_time_unix_nano = p.time_unix_nano + 1),
        [Rule::PointTime]
    );
    let value = |p: &mut NumberDataPoint, value| {
        p.value = Some(number_data_point::Value::AsDouble(value));
    };
    let with = |number: f64| broken_metric(1, |m| value(&mut sum(m).data_points[0], number));
    assert_eq!(with(f64::NAN), [Rule::PointValue]);
    assert_eq!(with(-1.0), [Rule::PointValue]);
    assert_eq!(with(0.0), []);
    assert_eq!(point(|p| p.value = None), [Rule::PointValue]);
    assert_eq!(
        broken_metric(1, |m| sum(m).data_points.clear()),
        [Rule::MetricPoints]
    );
    let twice = broken_metric(1, |m| {
        let again = sum(m).data_points[0].clone();
        sum(m).data_points.push(again);
    });
    assert_eq!(twice, [Rule::SeriesOnce]);
    // A gauge may fall below zero and needs no start.
    let gauge = broken_metric(0, |m| match &mut m.data {
        Some(Data::Gauge(gauge)) => value(&mut gauge.data_points[0], -1.0),
        other => panic!("{other:?}"),
    });
    assert_eq!(gauge, []);
}

/// Buckets add up to the count, bounds ascend.
#[test]
fn histograms() {
    let exponential = |change: fn(&mut ExponentialHistogramDataPoint)| {
        broken_metric(2, |m| match &mut m.data {
            Some(Data::ExponentialHistogram(h)) => change(&mut h.data_points[0]),
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(exponential(|p| p.count += 1), [Rule::HistogramCount]);
    assert_eq!(exponential(|p| p.zero_count += 1), [Rule::HistogramCount]);
    assert_eq!(
        exponential(|p| p.sum = Some(f64::INFINITY)),
        [Rule::PointValue]
    );
    assert_eq!(exponential(|p| p.scale = 21), [Rule::HistogramBounds]);
    let explicit = |change: fn(&mut HistogramDataPoint)| {
        let mut request = metrics(HistogramForm::Explicit);
        match &mut request.resource_metrics[0].scope_metrics[0].metrics[2].data {
            Some(Data::Histogram(h)) => change(&mut h.data_points[0]),
            other => panic!("{other:?}"),
        }
        check_metrics(&request)
            .iter()
            .map(|v| v.rule)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        explicit(|p| p.bucket_counts[0] += 1),
        [Rule::HistogramCount]
    );
    assert_eq!(
        explicit(|p| p.explicit_bounds.swap(0, 1)),
        [Rule::HistogramBounds]
    );
    assert_eq!(
        explicit(|p| p.explicit_bounds.truncate(1)),
        [Rule::HistogramBounds]
    );
}
