//! `evenkeel agent`: capture and export until told to stop.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use evenkeel_otlp::{
    encode,
    model::{Resource, Window},
    temporality::DeltaStage,
};
use prost::Message as _;

use super::{
    capture_loop::{self, Sink},
    host_check,
    inspect::host,
    outcome::{Failure, Outcome},
    stop, variable,
};
use crate::{
    capture::{Capture, WindowSummary},
    deliver::{self, Delivery, Export, Options, Settings, Signal},
    identity::Roots,
    settings::{CaptureArguments, Detail, Problems, capture_options},
    telemetry::{self, OwnResource, Telemetry, TelemetryOptions},
};

/// How long a stop may take to deliver what is left. Kubernetes kills after 30 s.
const STOP_DEADLINE: Duration = Duration::from_secs(10);

/// Series of which a previous point is remembered for deltas; there are about 100.
const SERIES: usize = 10_000;

/// Arguments of `evenkeel agent`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The destination is set by the standard variables:\n  OTEL_EXPORTER_OTLP_ENDPOINT      http://localhost:4318 (HTTP), http://localhost:4317 (gRPC)\n  OTEL_EXPORTER_OTLP_PROTOCOL      http/protobuf (default) or grpc\n  OTEL_EXPORTER_OTLP_HEADERS, _COMPRESSION, _TIMEOUT, _CERTIFICATE, _CLIENT_KEY,\n  _CLIENT_CERTIFICATE, and the same with _METRICS_ or _PROFILES_ after OTLP for one signal\n  OTEL_METRIC_EXPORT_INTERVAL      milliseconds; unset, metrics go with each window\n  OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME, OTEL_SDK_DISABLED\n  EVENKEEL_REPEAT_RESOURCE         false: samples do not repeat what names their resource\n\nExample:\n  OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4317 OTEL_EXPORTER_OTLP_PROTOCOL=grpc evenkeel agent --window 15s"
)]
pub(super) struct AgentArguments {
    #[command(flatten)]
    capture: CaptureArguments,
}

pub(super) fn run(arguments: &AgentArguments, mut problems: Problems) -> Outcome {
    let roots = Roots::from_environment(|name| std::env::var_os(name));
    let options = capture_options(
        &arguments.capture,
        Detail::Aggregated,
        &variable,
        &mut problems,
    );
    let settings = Settings::from_environment();
    for error in settings.as_ref().err().into_iter().flatten() {
        problems.push(error.to_string());
    }
    let host = host(&roots, &mut problems);
    let settings = match settings {
        Ok(settings) if problems.0.is_empty() => settings,
        _ => return Err(Failure::Usage(problems)),
    };
    for advice in settings.advice() {
        tracing::warn!("{advice}");
    }

    let window = options.window;
    let requirements = host_check::check(&roots)?;
    let (_sender, messages) = stop::listen()?;
    let mut capture = match Capture::start(options, &roots, host) {
        Ok(capture) => capture,
        Err(error) => return Err(Failure::capture(error, requirements)),
    };
    let delivery = Delivery::start(&settings, Options::default())?;
    let telemetry = start_telemetry(&settings, window, &capture, &delivery);
    let mut exporter = Exporter::new(&settings, &delivery);
    exporter.own = telemetry
        .as_ref()
        .map(|telemetry| (telemetry.own_resource(), capture.resource().clone()));
    for (signal, state) in capture.signals() {
        tracing::info!(%signal, state = state.name(), reason = state.reason(), "Signal.");
    }
    tracing::info!(
        profiles = %settings.profiles.endpoint,
        metrics = %settings.metrics.endpoint,
        "Capturing and exporting; SIGTERM or SIGINT stops."
    );
    let interval = settings.export_interval;
    let end = capture_loop::run(&mut capture, &messages, None, interval, &mut exporter)?;
    tracing::info!(?end, "Stopping.");
    capture_loop::flush(&mut capture, &mut exporter)?;
    if interval.is_some() {
        exporter.reading(capture.reading())?;
    }
    // The capture ends first: what it counted last is in the last export about the agent.
    drop(capture);
    drop(telemetry);
    let accounts = delivery.stop(STOP_DEADLINE);
    for signal in [Signal::Profiles, Signal::Metrics] {
        let account = accounts.signal(signal);
        tracing::info!(
            signal = signal.name(),
            made = account.made,
            sent = account.sent,
            dropped = account.dropped_in_all(),
            rejected = account.rejected_items,
            retries = account.retries,
            "Windows delivered."
        );
    }
    Ok(0)
}

/// The agent's metrics about itself; without them it runs on.
fn start_telemetry(
    settings: &Settings,
    window: Duration,
    capture: &Capture,
    delivery: &Delivery,
) -> Option<Telemetry> {
    if settings.disabled {
        return None;
    }
    let outbox = delivery.outbox();
    telemetry::start(
        capture.resource(),
        TelemetryOptions::new(settings, window),
        move || outbox.accounts(),
        telemetry::sink_to(delivery.outbox()),
    )
    .inspect_err(|error| tracing::warn!(%error, "The agent's own metrics are missing."))
    .ok()
}

/// Encodes windows and hands them to delivery.
struct Exporter {
    delivery: deliver::Outbox,
    encoding: encode::Settings,
    temporality: DeltaStage,
    metrics_with_windows: bool,
    disabled: bool,
    sequence: u64,
    /// Of the metrics about the agent, and the resource that they have now.
    own: Option<(OwnResource, Arc<Resource>)>,
}

impl Exporter {
    fn new(settings: &Settings, delivery: &Delivery) -> Self {
        let mut encoding = encode::Settings::new(env!("CARGO_PKG_VERSION"));
        encoding.temporality = settings.temporality;
        if settings.histogram_aggregation == deliver::HistogramAggregation::ExplicitBucket {
            encoding.histograms = encode::HistogramForm::Explicit;
        }
        if settings.repeat_resource {
            encoding.repeated = encode::NAMING_ATTRIBUTES;
        }
        Self {
            delivery: delivery.outbox(),
            temporality: DeltaStage::new(settings.temporality, SERIES),
            encoding,
            metrics_with_windows: settings.export_interval.is_none(),
            disabled: settings.disabled,
            sequence: 0,
            own: None,
        }
    }

    fn push(&self, signal: Signal, requests: Vec<Bytes>) {
        if !self.disabled {
            self.delivery.push(Export {
                signal,
                window: self.sequence,
                requests,
            });
        }
    }

    /// Gives the metrics about the agent the resource of the window's metrics about the host.
    fn follow_resource(&mut self, window: &Window) {
        if let (Some((own, known)), Some(host)) = (&mut self.own, window.metrics.first())
            && !Arc::ptr_eq(known, &host.resource)
        {
            own.set(&host.resource);
            known.clone_from(&host.resource);
        }
    }

    fn push_metrics(&mut self, window: &mut Window) {
        self.temporality.apply(window);
        let encoded = encode::encode_metrics(window, &self.encoding);
        let requests = encoded
            .requests
            .iter()
            .map(|request| request.encode_to_vec().into());
        self.push(Signal::Metrics, requests.collect());
    }
}

impl Sink for Exporter {
    fn window(&mut self, mut window: Window, summary: WindowSummary) -> Result<(), Failure> {
        self.sequence += 1;
        self.follow_resource(&window);
        let encoded = encode::encode_profiles(&window, &self.encoding);
        let requests = encoded
            .requests
            .iter()
            .map(|request| request.encode_to_vec().into());
        self.push(Signal::Profiles, requests.collect());
        if self.metrics_with_windows {
            self.push_metrics(&mut window);
        }
        tracing::debug!(
            window = self.sequence,
            samples = summary.samples,
            stolen_seconds = summary.stolen_seconds,
            lost = summary.lost + encoded.dropped_samples,
            "Window."
        );
        Ok(())
    }

    fn reading(&mut self, mut reading: Window) -> Result<(), Failure> {
        self.push_metrics(&mut reading);
        Ok(())
    }

    fn windows(&self) -> u64 {
        self.sequence
    }
}
