//! The agent's metrics, from the facade to the message and to a server.

use super::*;
use crate::deliver::{Delivery, DropReason, Options};
use evenkeel_otlp::model::Attribute;
use evenkeel_semconv::{attribute, metric};
use opentelemetry_proto::tonic::{
    common::v1::any_value::Value as Any,
    metrics::v1::{Metric, metric::Data, number_data_point::Value as Number},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

const OPTIONS: TelemetryOptions = TelemetryOptions {
    interval: Duration::from_secs(3600),
    temporality: TemporalityPreference::Cumulative,
    histogram_aggregation: HistogramAggregation::Exponential,
};

type Received = Arc<Mutex<Vec<ExportMetricsServiceRequest>>>;

fn collector() -> (Received, impl Fn(ExportMetricsServiceRequest) + Send + Sync) {
    let received = Received::default();
    let sink = {
        let received = Arc::clone(&received);
        move |request| received.lock().unwrap().push(request)
    };
    (received, sink)
}

fn by_name(request: &ExportMetricsServiceRequest) -> HashMap<String, Metric> {
    let scope = &request.resource_metrics[0].scope_metrics[0];
    scope
        .metrics
        .iter()
        .map(|metric| (metric.name.clone(), metric.clone()))
        .collect()
}

/// Settings of a destination where nobody listens.
fn nowhere() -> Settings {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    Settings::from_variables(&|name| {
        (name == "OTEL_EXPORTER_OTLP_ENDPOINT").then(|| endpoint.clone())
    })
    .unwrap()
}

/// What the facade is told arrives with the registry's unit and description and one series per
/// label set, under the agent's resource; what is observed has the registry's kind and a value.
#[test]
fn from_facade_to_message() {
    let resource = Resource {
        attributes: vec![Attribute::new(attribute::SERVICE_NAME, "evenkeel")],
    };
    let (received, sink) = collector();
    let (telemetry, recorder) = build(&resource, OPTIONS, Accounts::default, sink);
    metrics::with_local_recorder(&recorder, || {
        for (outcome, count) in [("sent", 2), ("made", 5)] {
            metrics::counter!(
                metric::EVENKEEL_EXPORT_WINDOWS.name,
                attribute::EVENKEEL_EXPORT_SIGNAL => "profiles",
                attribute::EVENKEEL_EXPORT_OUTCOME => outcome,
            )
            .increment(count);
        }
        let name = metric::EVENKEEL_EXPORT_REQUEST_DURATION.name;
        metrics::histogram!(name, attribute::EVENKEEL_EXPORT_SIGNAL => "profiles").record(0.25);
    });
    telemetry.flush();
    let request = received.lock().unwrap().remove(0);

    let owner = &request.resource_metrics[0];
    let attributes = &owner.resource.as_ref().unwrap().attributes;
    assert_eq!(attributes.len(), 1);
    let value = attributes[0].value.as_ref().unwrap().value.as_ref();
    assert_eq!(value, Some(&Any::StringValue("evenkeel".to_owned())));
    assert_eq!(owner.schema_url, evenkeel_semconv::UPSTREAM_SCHEMA_URL);
    assert_eq!(owner.scope_metrics.len(), 1);
    assert_eq!(
        owner.scope_metrics[0].schema_url,
        evenkeel_semconv::SCHEMA_URL
    );

    let moved = Resource {
        attributes: vec![Attribute::new(attribute::HOST_ID, "i-1")],
    };
    telemetry.own_resource().set(&moved);
    telemetry.flush();
    let later = received.lock().unwrap().remove(0);
    let attributes = &later.resource_metrics[0]
        .resource
        .as_ref()
        .unwrap()
        .attributes;
    let keys: Vec<_> = attributes.iter().map(|found| &*found.key).collect();
    assert_eq!(keys, [attribute::HOST_ID]);

    let metrics = by_name(&request);
    for descriptor in [
        &metric::EVENKEEL_EXPORT_WINDOWS,
        &metric::EVENKEEL_EXPORT_REQUEST_DURATION,
        &metric::EVENKEEL_EXPORT_QUEUE_LENGTH,
        &metric::EVENKEEL_EXPORT_QUEUE_SIZE,
        &metric::PROCESS_CPU_TIME,
        &metric::PROCESS_MEMORY_USAGE,
    ] {
        let metric = &metrics[descriptor.name];
        assert_eq!(metric.unit, descriptor.unit, "{}", metric.name);
        assert_eq!(metric.description, descriptor.description);
    }
    let sum = |name: &str| match metrics[name].data.as_ref() {
        Some(Data::Sum(sum)) => sum.clone(),
        other => panic!("{name}: {other:?}"),
    };
    let windows = sum(metric::EVENKEEL_EXPORT_WINDOWS.name);
    assert!(windows.is_monotonic && windows.aggregation_temporality == 2);
    let mut values: Vec<_> = windows
        .data_points
        .iter()
        .map(|point| point.value)
        .collect();
    values.sort_by_key(|value| format!("{value:?}"));
    assert_eq!(values, [Some(Number::AsInt(2)), Some(Number::AsInt(5))]);
    assert_eq!(
        sum(metric::EVENKEEL_EXPORT_QUEUE_LENGTH.name)
            .data_points
            .len(),
        2
    );
    assert!(sum(metric::PROCESS_CPU_TIME.name).is_monotonic);
    let memory = sum(metric::PROCESS_MEMORY_USAGE.name);
    assert!(!memory.is_monotonic);
    let resident = memory.data_points[0].value;
    assert!(
        matches!(resident, Some(Number::AsInt(bytes)) if bytes > 1 << 20),
        "{resident:?}"
    );
    let duration = &metrics[metric::EVENKEEL_EXPORT_REQUEST_DURATION.name];
    assert!(matches!(duration.data, Some(Data::ExponentialHistogram(_))));
}

/// Delta and explicit buckets are there for those who ask, with bounds in seconds.
#[test]
fn preferences() {
    let options = TelemetryOptions {
        temporality: TemporalityPreference::Delta,
        histogram_aggregation: HistogramAggregation::ExplicitBucket,
        ..OPTIONS
    };
    let (received, sink) = collector();
    let (telemetry, recorder) = build(&Resource::default(), options, Accounts::default, sink);
    for expected in [3, 4] {
        metrics::with_local_recorder(&recorder, || {
            metrics::counter!(metric::EVENKEEL_EXPORT_RETRIES.name).increment(expected);
            metrics::histogram!(metric::EVENKEEL_EXPORT_REQUEST_DURATION.name).record(0.3);
        });
        telemetry.flush();
        let request = received.lock().unwrap().pop().unwrap();
        let metrics = by_name(&request);
        let Some(Data::Sum(sum)) = &metrics[metric::EVENKEEL_EXPORT_RETRIES.name].data else {
            panic!("{metrics:?}");
        };
        assert_eq!(sum.aggregation_temporality, 1);
        let expected = i64::try_from(expected).unwrap();
        assert_eq!(sum.data_points[0].value, Some(Number::AsInt(expected)));
        let duration = &metrics[metric::EVENKEEL_EXPORT_REQUEST_DURATION.name];
        let Some(Data::Histogram(histogram)) = &duration.data else {
            panic!("{duration:?}");
        };
        assert!(histogram.data_points[0].explicit_bounds.contains(&0.25));
    }
}

/// The last collection happens when the guard is dropped, reaches delivery, and is not counted
/// among the windows of the other signals; what delivery holds is what is told.
#[test]
fn with_delivery() {
    let delivery = Delivery::start(&nowhere(), Options::default()).unwrap();
    for number in 0..3 {
        delivery.push(Export {
            signal: Signal::Profiles,
            window: number,
            requests: vec![Bytes::from_static(b"123")],
        });
    }
    let outbox = delivery.outbox();
    let accounts = {
        let outbox = outbox.clone();
        move || outbox.accounts()
    };
    let (received, tee) = collector();
    let deliver = sink_to(outbox);
    let sink = move |request: ExportMetricsServiceRequest| {
        tee(request.clone());
        deliver(request);
    };
    let (telemetry, _recorder) = build(&Resource::default(), OPTIONS, accounts, sink);
    drop(telemetry);
    let request = received.lock().unwrap().remove(0);
    let metrics = by_name(&request);
    for (descriptor, expected) in [
        (&metric::EVENKEEL_EXPORT_QUEUE_LENGTH, 3),
        (&metric::EVENKEEL_EXPORT_QUEUE_SIZE, 9),
    ] {
        let Some(Data::Sum(sum)) = &metrics[descriptor.name].data else {
            panic!("{metrics:?}");
        };
        let total: i64 = sum
            .data_points
            .iter()
            .map(|point| match point.value {
                Some(Number::AsInt(value)) => value,
                _ => panic!("{point:?}"),
            })
            .sum();
        assert_eq!(total, expected);
    }
    let accounts = delivery.stop(Duration::ZERO);
    assert_eq!(
        accounts
            .signal(Signal::Profiles)
            .dropped(DropReason::Shutdown),
        3
    );
    assert_eq!(accounts.signal(Signal::AgentMetrics).made, 1);
    assert_eq!(accounts.signal(Signal::Metrics).made, 0);
}

/// A process has one recorder: a second start is an error and not a panic.
#[test]
fn started_once() {
    let first = start(&Resource::default(), OPTIONS, Accounts::default, |_| {});
    let second = start(&Resource::default(), OPTIONS, Accounts::default, |_| {});
    assert!(first.is_ok());
    assert!(matches!(second, Err(TelemetryError::AlreadyStarted)));
}
