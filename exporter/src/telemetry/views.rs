//! What the registry says of a metric, and the facade cannot.

use crate::deliver::HistogramAggregation;
use evenkeel_semconv::{Instrument as Kind, MetricDescriptor, metric};
use opentelemetry_sdk::metrics::{Aggregation, Instrument, Stream};

/// The SDK's default bounds are meant for milliseconds; our durations are in seconds. From 1 ms,
/// below which no request over a network ends, to the default timeout and a step beyond.
const SECONDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

/// A view that gives each metric of the registry its unit, its description and, for
/// distributions, the aggregation wanted.
pub(super) fn from_registry(
    histogram: HistogramAggregation,
) -> impl Fn(&Instrument) -> Option<Stream> + Send + Sync + 'static {
    move |instrument| {
        let descriptor = find(instrument.name())?;
        let stream = Stream::builder()
            .with_unit(descriptor.unit)
            .with_description(descriptor.description);
        let stream = match descriptor.instrument {
            Kind::Histogram => stream.with_aggregation(aggregation(histogram)),
            Kind::Counter | Kind::UpDownCounter | Kind::Gauge => stream,
        };
        stream.build().ok()
    }
}

fn find(name: &str) -> Option<&'static MetricDescriptor> {
    metric::ALL
        .iter()
        .copied()
        .find(|descriptor| descriptor.name == name)
}

fn aggregation(histogram: HistogramAggregation) -> Aggregation {
    match histogram {
        // The defaults of the specification: 160 buckets, the finest scale that they allow.
        HistogramAggregation::Exponential => Aggregation::Base2ExponentialHistogram {
            max_size: 160,
            max_scale: 20,
            record_min_max: true,
        },
        HistogramAggregation::ExplicitBucket => Aggregation::ExplicitBucketHistogram {
            boundaries: SECONDS.to_vec(),
            record_min_max: true,
        },
    }
}
