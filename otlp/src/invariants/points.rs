//! Rules of single data points.

use evenkeel_semconv::{MetricDescriptor, Number, conformity};
use opentelemetry_proto::tonic::{
    common::v1::KeyValue,
    metrics::v1::{
        ExponentialHistogramDataPoint, HistogramDataPoint, NumberDataPoint, number_data_point,
    },
};

use super::{Findings, Origin, Rule, resource};
use crate::{
    histogram::SCALES,
    view::{Attributes, Dictionary},
};

/// What all kinds of points have.
pub(super) struct Head<'a> {
    attributes: &'a [KeyValue],
    start: u64,
    time: u64,
    /// Whether the point belongs to a stream that began some time.
    has_start: bool,
    number: Option<Number>,
}

impl<'a> Head<'a> {
    pub(super) fn number(point: &'a NumberDataPoint, has_start: bool) -> Self {
        Self {
            attributes: &point.attributes,
            start: point.start_time_unix_nano,
            time: point.time_unix_nano,
            has_start,
            number: point.value.map(|value| match value {
                number_data_point::Value::AsInt(_) => Number::Int,
                number_data_point::Value::AsDouble(_) => Number::Double,
            }),
        }
    }

    pub(super) fn explicit(point: &'a HistogramDataPoint) -> Self {
        Self {
            attributes: &point.attributes,
            start: point.start_time_unix_nano,
            time: point.time_unix_nano,
            has_start: true,
            number: None,
        }
    }

    pub(super) fn exponential(point: &'a ExponentialHistogramDataPoint) -> Self {
        Self {
            attributes: &point.attributes,
            start: point.start_time_unix_nano,
            time: point.time_unix_nano,
            has_start: true,
            number: None,
        }
    }

    /// The series that the point belongs to within its metric.
    pub(super) fn series(&self) -> Vec<String> {
        let list = Attributes::key_values(self.attributes, Dictionary::default());
        let mut series: Vec<String> = list.iter().map(|(k, v)| format!("{k}={v:?}")).collect();
        series.sort_unstable();
        series
    }
}

/// Times and attributes.
pub(super) fn head(
    findings: &mut Findings,
    at: &str,
    descriptor: Option<&'static MetricDescriptor>,
    head: &Head<'_>,
) {
    let Head {
        attributes,
        start,
        time,
        has_start,
        number,
    } = *head;
    let valid = time > 0 && start <= time && (start > 0 || !has_start);
    findings.require(valid, Rule::PointTime, at, format!("{start}..{time}"));
    resource::inline(findings, at, attributes, Origin::Evenkeel);
    let list = Attributes::key_values(attributes, Dictionary::default());
    match descriptor {
        Some(descriptor) => {
            let pairs: Vec<_> = list
                .iter()
                .map(|(key, value)| (key, resource::registry_value(value)))
                .collect();
            for violation in conformity::point(descriptor, number, &pairs) {
                let rule = match violation {
                    conformity::Violation::Twice(_) => Rule::UniqueKeys,
                    _ => Rule::Registry,
                };
                findings.add(rule, at, violation);
            }
        }
        None => resource::attributes(findings, at, resource::Owner::Telemetry, list),
    }
}

/// The value of a gauge or a sum.
pub(super) fn number(
    findings: &mut Findings,
    at: &str,
    point: &NumberDataPoint,
    is_monotonic: bool,
) {
    let (valid, found) = match point.value {
        None => (false, "none".to_owned()),
        Some(number_data_point::Value::AsInt(value)) => {
            (!is_monotonic || value >= 0, value.to_string())
        }
        Some(number_data_point::Value::AsDouble(value)) => (
            value.is_finite() && (!is_monotonic || value >= 0.0),
            value.to_string(),
        ),
    };
    findings.require(valid, Rule::PointValue, at, found);
}

/// Buckets with given bounds.
pub(super) fn explicit(findings: &mut Findings, at: &str, point: &HistogramDataPoint) {
    let (bounds, counts) = (&point.explicit_bounds, &point.bucket_counts);
    let ascending = bounds.windows(2).all(|pair| pair[0] < pair[1]);
    let finite = bounds.iter().all(|bound| bound.is_finite());
    let fits = counts.len() == bounds.len() + 1;
    let found = format!("{} counts, bounds {bounds:?}", counts.len());
    findings.require(
        ascending && finite && fits,
        Rule::HistogramBounds,
        at,
        found,
    );
    let buckets = counts.iter().map(|&count| u128::from(count)).sum();
    count(findings, at, point.count, buckets, point.sum);
}

/// Buckets on the exponential scale.
pub(super) fn exponential(
    findings: &mut Findings,
    at: &str,
    point: &ExponentialHistogramDataPoint,
) {
    let scale = point.scale;
    findings.require(SCALES.contains(&scale), Rule::HistogramBounds, at, scale);
    let buckets = [&point.positive, &point.negative]
        .into_iter()
        .flatten()
        .flat_map(|buckets| &buckets.bucket_counts)
        .map(|&count| u128::from(count))
        .sum::<u128>()
        + u128::from(point.zero_count);
    count(findings, at, point.count, buckets, point.sum);
}

fn count(findings: &mut Findings, at: &str, count: u64, buckets: u128, sum: Option<f64>) {
    let found = format!("{count} for {buckets} in buckets, sum {sum:?}");
    let valid = u128::from(count) == buckets && (count > 0 || sum.unwrap_or(0.0) == 0.0);
    findings.require(valid, Rule::HistogramCount, at, found);
    let valid = sum.is_none_or(f64::is_finite);
    findings.require(valid, Rule::PointValue, at, "an infinite sum");
}
