//! Rules of metrics requests.

use std::collections::HashSet;

use evenkeel_semconv::{
    MetricDescriptor,
    conformity::{self, Shape},
};
use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    metrics::v1::{AggregationTemporality, Metric, metric::Data},
};
use prost::Message;

use super::{Findings, Origin, Rule, Violation, points, profiles::MAX_REQUEST, resource};
use crate::view::Dictionary;

/// Every rule that a metrics request breaks, in the order they are met; empty when it is valid.
pub fn check_metrics(request: &ExportMetricsServiceRequest) -> Vec<Violation> {
    let mut findings = Findings::default();
    let bytes = request.encoded_len();
    findings.require(bytes < MAX_REQUEST, Rule::RequestSize, "request", bytes);
    let groups = &request.resource_metrics;
    findings.require(!groups.is_empty(), Rule::NotEmpty, "request", "nothing");
    // Metrics have no dictionary to refer to, whoever wrote them.
    let (dictionary, origin) = (Dictionary::default(), Origin::Evenkeel);
    for (i, group) in groups.iter().enumerate() {
        let at = format!("resource[{i}]");
        let holder = group.resource.as_ref();
        let schema_url = &group.schema_url;
        resource::resource(&mut findings, &at, holder, schema_url, dictionary, origin);
        let filled = !group.scope_metrics.is_empty();
        findings.require(filled, Rule::NotEmpty, &at, "nothing");
        for (j, scoped) in group.scope_metrics.iter().enumerate() {
            let at = format!("{at}.scope[{j}]");
            let (scope, schema_url) = (scoped.scope.as_ref(), &scoped.schema_url);
            resource::scope(&mut findings, &at, scope, schema_url, dictionary, origin);
            let filled = !scoped.metrics.is_empty();
            findings.require(filled, Rule::NotEmpty, &at, "nothing");
            let mut names = HashSet::new();
            for metric in &scoped.metrics {
                let at = format!("{at}.metric[{}]", metric.name);
                let fresh = names.insert(&metric.name);
                findings.require(fresh, Rule::MetricOnce, &at, "a second one");
                check_metric(&mut findings, &at, metric);
            }
        }
    }
    findings.0
}

fn check_metric(findings: &mut Findings, at: &str, metric: &Metric) {
    let shape = shape(metric.data.as_ref());
    let descriptor = match conformity::metric(&metric.name, &metric.unit, shape) {
        Ok((descriptor, violations)) => {
            for violation in violations {
                findings.add(Rule::Registry, at, violation);
            }
            Some(descriptor)
        }
        Err(violation) => {
            findings.add(Rule::Registry, at, violation);
            None
        }
    };
    let points = check_points(findings, at, metric, descriptor);
    findings.require(points > 0, Rule::MetricPoints, at, "none");
}

/// Checks the points and gives their number.
fn check_points(
    findings: &mut Findings,
    at: &str,
    metric: &Metric,
    descriptor: Option<&'static MetricDescriptor>,
) -> usize {
    let mut series = HashSet::new();
    let mut point = |findings: &mut Findings, i: usize, head: points::Head<'_>| {
        points::head(findings, &format!("{at}.point[{i}]"), descriptor, &head);
        let fresh = series.insert(head.series());
        let at = format!("{at}.point[{i}]");
        findings.require(fresh, Rule::SeriesOnce, &at, "a second one");
        at
    };
    match &metric.data {
        None | Some(Data::Summary(_)) => 0,
        Some(Data::Gauge(gauge)) => {
            for (i, data) in gauge.data_points.iter().enumerate() {
                let at = point(findings, i, points::Head::number(data, false));
                points::number(findings, &at, data, false);
            }
            gauge.data_points.len()
        }
        Some(Data::Sum(sum)) => {
            for (i, data) in sum.data_points.iter().enumerate() {
                let at = point(findings, i, points::Head::number(data, true));
                points::number(findings, &at, data, sum.is_monotonic);
            }
            sum.data_points.len()
        }
        Some(Data::Histogram(histogram)) => {
            for (i, data) in histogram.data_points.iter().enumerate() {
                let at = point(findings, i, points::Head::explicit(data));
                points::explicit(findings, &at, data);
            }
            histogram.data_points.len()
        }
        Some(Data::ExponentialHistogram(histogram)) => {
            for (i, data) in histogram.data_points.iter().enumerate() {
                let at = point(findings, i, points::Head::exponential(data));
                points::exponential(findings, &at, data);
            }
            histogram.data_points.len()
        }
    }
}

fn shape(data: Option<&Data>) -> Shape {
    let temporality = |code: i32| match AggregationTemporality::try_from(code) {
        Ok(AggregationTemporality::Cumulative) => Some(conformity::Temporality::Cumulative),
        Ok(AggregationTemporality::Delta) => Some(conformity::Temporality::Delta),
        _ => None,
    };
    match data {
        Some(Data::Gauge(_)) => Shape::Gauge,
        Some(Data::Sum(sum)) => Shape::Sum {
            monotonic: sum.is_monotonic,
            temporality: temporality(sum.aggregation_temporality),
        },
        Some(Data::Histogram(histogram)) => Shape::Histogram {
            temporality: temporality(histogram.aggregation_temporality),
        },
        Some(Data::ExponentialHistogram(histogram)) => Shape::Histogram {
            temporality: temporality(histogram.aggregation_temporality),
        },
        Some(Data::Summary(_)) | None => Shape::Other,
    }
}
