//! Delivery against real servers on loopback, and against a scripted one in paused time.

mod grpc;
mod http;
mod lane;
mod outage;
mod server;
mod tls;

use super::*;
use bytes::Bytes;
use opentelemetry_proto::tonic::{
    collector::{
        metrics::v1::ExportMetricsServiceRequest,
        profiles::v1development::ExportProfilesServiceRequest,
    },
    metrics::v1::ResourceMetrics,
    profiles::v1development::ResourceProfiles,
};
use prost::Message;
use std::{collections::HashMap, net::SocketAddr, time::Duration};

/// A request that can be told from others: `mark` is its schema URL.
fn request(signal: Signal, mark: &str) -> Bytes {
    let schema_url = mark.to_owned();
    match signal {
        Signal::Profiles => ExportProfilesServiceRequest {
            resource_profiles: vec![ResourceProfiles {
                schema_url,
                ..ResourceProfiles::default()
            }],
            dictionary: None,
        }
        .encode_to_vec(),
        Signal::Metrics | Signal::AgentMetrics => ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                schema_url,
                ..ResourceMetrics::default()
            }],
        }
        .encode_to_vec(),
    }
    .into()
}

/// A window of one request, marked with its number.
fn window(signal: Signal, number: u64) -> Export {
    Export {
        signal,
        window: number,
        requests: vec![request(signal, &number.to_string())],
    }
}

fn settings(variables: &[(&str, &str)]) -> Settings {
    let map: HashMap<_, _> = variables.iter().copied().collect();
    Settings::from_variables(&|name| map.get(name).map(|value| (*value).to_owned())).unwrap()
}

/// Settings for a server on loopback.
fn settings_for(protocol: &str, address: SocketAddr) -> Settings {
    settings(&[
        ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{address}")),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "5000"),
    ])
}

/// Waits in hundredths instead of seconds, so that tests in real time are short.
fn fast() -> Options {
    let mut options = Options::default();
    options.retry = RetryPolicy {
        initial: Duration::from_millis(20),
        maximum: Duration::from_millis(100),
        server_maximum: Duration::from_secs(5),
    };
    options
}

/// Waits until `done` holds of the accounts; they must balance all the while.
fn wait_until(delivery: &Delivery, signal: Signal, done: impl Fn(&SignalAccounts) -> bool) {
    let start = std::time::Instant::now();
    loop {
        let accounts = delivery.accounts();
        assert!(accounts.balanced(), "{accounts:?}");
        if done(accounts.signal(signal)) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{accounts:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
