//! Metrics requests. Exemplars and summaries, which nothing of ours has, are left out.

use opentelemetry_proto::tonic::{
    collector::metrics::v1::ExportMetricsServiceRequest,
    metrics::v1::{
        AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge,
        Histogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
        exponential_histogram_data_point::Buckets, metric::Data, number_data_point,
    },
};
use serde_json::Value;

use super::{
    JsonError,
    common::{key_value, resource, scope},
    object::Object,
};

pub(super) fn request(object: Object<'_>) -> Result<ExportMetricsServiceRequest, JsonError> {
    Ok(ExportMetricsServiceRequest {
        resource_metrics: object.messages("resourceMetrics", |object| {
            Ok(ResourceMetrics {
                resource: object.message("resource", resource)?,
                scope_metrics: object.messages("scopeMetrics", |object| {
                    Ok(ScopeMetrics {
                        scope: object.message("scope", scope)?,
                        metrics: object.messages("metrics", metric)?,
                        schema_url: object.string("schemaUrl")?,
                    })
                })?,
                schema_url: object.string("schemaUrl")?,
            })
        })?,
    })
}

fn metric(object: Object<'_>) -> Result<Metric, JsonError> {
    let data = if let Some(gauge) = object.message("gauge", gauge)? {
        Some(Data::Gauge(gauge))
    } else if let Some(sum) = object.message("sum", sum)? {
        Some(Data::Sum(sum))
    } else if let Some(histogram) = object.message("histogram", histogram)? {
        Some(Data::Histogram(histogram))
    } else {
        object
            .message("exponentialHistogram", exponential_histogram)?
            .map(Data::ExponentialHistogram)
    };
    Ok(Metric {
        name: object.string("name")?,
        description: object.string("description")?,
        unit: object.string("unit")?,
        metadata: object.messages("metadata", key_value)?,
        data,
    })
}

fn gauge(object: Object<'_>) -> Result<Gauge, JsonError> {
    Ok(Gauge {
        data_points: object.messages("dataPoints", number)?,
    })
}

fn sum(object: Object<'_>) -> Result<Sum, JsonError> {
    Ok(Sum {
        data_points: object.messages("dataPoints", number)?,
        aggregation_temporality: temporality(object)?,
        is_monotonic: object.bool("isMonotonic")?,
    })
}

fn histogram(object: Object<'_>) -> Result<Histogram, JsonError> {
    Ok(Histogram {
        data_points: object.messages("dataPoints", explicit)?,
        aggregation_temporality: temporality(object)?,
    })
}

fn exponential_histogram(object: Object<'_>) -> Result<ExponentialHistogram, JsonError> {
    Ok(ExponentialHistogram {
        data_points: object.messages("dataPoints", exponential)?,
        aggregation_temporality: temporality(object)?,
    })
}

/// An integer, or the name that protobuf's own mapping writes.
fn temporality(object: Object<'_>) -> Result<i32, JsonError> {
    const FIELD: &str = "aggregationTemporality";
    if let Some(Value::String(name)) = object.get(FIELD)
        && let Some(temporality) = AggregationTemporality::from_str_name(name)
    {
        return Ok(temporality.into());
    }
    object.integer(FIELD)
}

fn number(object: Object<'_>) -> Result<NumberDataPoint, JsonError> {
    let value = if object.get("asInt").is_some() {
        Some(number_data_point::Value::AsInt(object.integer("asInt")?))
    } else {
        object
            .optional_float("asDouble")?
            .map(number_data_point::Value::AsDouble)
    };
    Ok(NumberDataPoint {
        attributes: object.messages("attributes", key_value)?,
        start_time_unix_nano: object.integer("startTimeUnixNano")?,
        time_unix_nano: object.integer("timeUnixNano")?,
        exemplars: Vec::new(),
        flags: object.integer("flags")?,
        value,
    })
}

fn explicit(object: Object<'_>) -> Result<HistogramDataPoint, JsonError> {
    Ok(HistogramDataPoint {
        attributes: object.messages("attributes", key_value)?,
        start_time_unix_nano: object.integer("startTimeUnixNano")?,
        time_unix_nano: object.integer("timeUnixNano")?,
        count: object.integer("count")?,
        sum: object.optional_float("sum")?,
        bucket_counts: object.integers("bucketCounts")?,
        explicit_bounds: object.floats("explicitBounds")?,
        exemplars: Vec::new(),
        flags: object.integer("flags")?,
        min: object.optional_float("min")?,
        max: object.optional_float("max")?,
    })
}

fn exponential(object: Object<'_>) -> Result<ExponentialHistogramDataPoint, JsonError> {
    let buckets = |object: Object<'_>| {
        Ok(Buckets {
            offset: object.integer("offset")?,
            bucket_counts: object.integers("bucketCounts")?,
        })
    };
    Ok(ExponentialHistogramDataPoint {
        attributes: object.messages("attributes", key_value)?,
        start_time_unix_nano: object.integer("startTimeUnixNano")?,
        time_unix_nano: object.integer("timeUnixNano")?,
        count: object.integer("count")?,
        sum: object.optional_float("sum")?,
        scale: object.integer("scale")?,
        zero_count: object.integer("zeroCount")?,
        positive: object.message("positive", buckets)?,
        negative: object.message("negative", buckets)?,
        flags: object.integer("flags")?,
        exemplars: Vec::new(),
        min: object.optional_float("min")?,
        max: object.optional_float("max")?,
        zero_threshold: object.optional_float("zeroThreshold")?.unwrap_or(0.0),
    })
}
