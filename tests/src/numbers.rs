//! Numeric metrics over time.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use evenkeel_otlp::view::{Attributes, MetricsView, PointValueView};
use evenkeel_semconv::MetricDescriptor;

use crate::received::Received;

impl Received {
    /// The sum, at each instant that has one, of the points of a metric whose attributes or resources have
    /// all of `attributes`. Empty if there is none.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of a test are far below 2^53"
    )]
    pub fn numbers(
        &self,
        descriptor: &MetricDescriptor,
        attributes: &[(&str, &str)],
    ) -> Result<BTreeMap<u64, f64>> {
        let mut numbers = BTreeMap::new();
        for request in &self.metrics {
            for metric in MetricsView::new(request).metrics() {
                if metric.name() != descriptor.name {
                    continue;
                }
                for point in metric.points() {
                    let has = |(name, value): &(&str, &str)| {
                        let text = |of: Attributes<'_>| of.text(name) == Some(*value);
                        text(point.attributes()) || text(metric.resource())
                    };
                    if attributes.iter().all(has) {
                        *numbers.entry(point.time_unix_nanos).or_insert(0.0) += match point.value {
                            PointValueView::Int(number) => number as f64,
                            PointValueView::Double(number) => number,
                            _ => bail!("{} is a histogram", descriptor.name),
                        };
                    }
                }
            }
        }
        Ok(numbers)
    }

    /// What such a sum grew by from each instant to the next: one number a window.
    pub fn increments(
        &self,
        descriptor: &MetricDescriptor,
        attributes: &[(&str, &str)],
    ) -> Result<Vec<f64>> {
        let numbers: Vec<f64> = self
            .numbers(descriptor, attributes)?
            .into_values()
            .collect();
        ensure!(
            numbers.len() > 1,
            "{} has points at {} instants only",
            descriptor.name,
            numbers.len()
        );
        Ok(numbers.windows(2).map(|pair| pair[1] - pair[0]).collect())
    }

    /// Such a sum at the last instant.
    pub fn latest(
        &self,
        descriptor: &MetricDescriptor,
        attributes: &[(&str, &str)],
    ) -> Result<f64> {
        self.numbers(descriptor, attributes)?
            .into_values()
            .next_back()
            .with_context(|| format!("no {} with {attributes:?}", descriptor.name))
    }

    /// The largest of such sums.
    pub fn largest(&self, descriptor: &MetricDescriptor) -> Result<f64> {
        self.numbers(descriptor, &[])?
            .into_values()
            .max_by(f64::total_cmp)
            .with_context(|| format!("no {}", descriptor.name))
    }
}
