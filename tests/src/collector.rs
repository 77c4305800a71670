//! A real OpenTelemetry Collector on loopback, and what its file exporter wrote.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use rustix::process::Signal;

use crate::{
    child::{Running, run, wait_until},
    workload::repository,
};

/// Longest build of the Collector with an empty build cache: 4 min 55 s on two busy cores, for 4 min 38 s of
/// CPU time; three times that for busier ones.
const BUILD_LIMIT: Duration = Duration::from_secs(900);

/// It is ready within a second on an idle machine.
const START_LIMIT: Duration = Duration::from_secs(30);

/// It flushes its exporters on SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// The Collector's binary: `EVENKEEL_TEST_COLLECTOR`, or `tests/.cache/otelcol`, built if its sources are
/// newer.
pub fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("EVENKEEL_TEST_COLLECTOR") {
        return Ok(path.into());
    }
    let tests = repository().join("tests");
    let output = tests.join(".cache/otelcol");
    if !is_current(&output, &tests.join("collector")) {
        let mut command = Command::new(tests.join("collector/build"));
        run(&mut command, BUILD_LIMIT)?
            .succeeded()
            .context("building the Collector")?;
    }
    Ok(output)
}

fn is_current(output: &Path, sources: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
    let Ok(built) = changed(output) else {
        return false;
    };
    ["main.go", "go.mod", "go.sum", "build"]
        .iter()
        .all(|name| changed(&sources.join(name)).is_ok_and(|time| time <= built))
}

/// How an agent talks to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over gRPC.
    Grpc,
    /// OTLP over HTTP in protobuf.
    Http,
}

impl Protocol {
    /// The value of `OTEL_EXPORTER_OTLP_PROTOCOL`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http/protobuf",
        }
    }
}

/// A Collector with fixed ports and files, running or not. Stopped when dropped.
#[derive(Debug)]
pub struct Collector {
    folder: tempfile::TempDir,
    grpc: u16,
    http: u16,
    /// Where metrics go besides the file.
    metrics_to: Option<String>,
    process: Option<Running>,
}

impl Collector {
    /// Starts one on free ports.
    pub fn start() -> Result<Self> {
        Self::start_with(None)
    }

    /// Starts one that also sends metrics on, to the URL of an OTLP/HTTP receiver of metrics, in their order:
    /// Prometheus refuses what is older than what it has.
    pub fn start_sending_metrics_to(url: String) -> Result<Self> {
        Self::start_with(Some(url))
    }

    fn start_with(metrics_to: Option<String>) -> Result<Self> {
        let [grpc, http] = free_ports()?;
        let mut collector = Self {
            folder: tempfile::tempdir()?,
            grpc,
            http,
            metrics_to,
            process: None,
        };
        fs::write(collector.configuration_path(), collector.configuration())?;
        collector.restart()?;
        Ok(collector)
    }

    /// Starts it again after [`kill`](Self::kill) or [`stop`](Self::stop), on the same ports; the files
    /// grow on.
    pub fn restart(&mut self) -> Result<()> {
        ensure!(self.process.is_none(), "the Collector runs already");
        let mut command = Command::new(binary()?);
        command.arg("--feature-gates=service.profilesSupport");
        command.arg("--config").arg(self.configuration_path());
        let mut process = Running::start(&mut command)?;
        let ports = [self.grpc, self.http];
        wait_until("the Collector's ports are open", START_LIMIT, || {
            if !process.is_running()? {
                anyhow::bail!("the Collector ended: {}", process.stderr_so_far()?);
            }
            Ok(ports
                .iter()
                .all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok()))
        })?;
        // It installs its signal handlers just behind the line that says it is ready: asked to stop before
        // that, it dies instead.
        wait_until("the Collector is ready", START_LIMIT, || {
            Ok(process.stderr_so_far()?.contains("Everything is ready"))
        })?;
        thread::sleep(Duration::from_millis(200));
        self.process = Some(process);
        Ok(())
    }

    /// Kills it as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        let process = self.process.take().context("the Collector doesn't run")?;
        process.signal(Signal::KILL)?;
        process.finish(STOP_LIMIT)?;
        Ok(())
    }

    /// Stops it in good order, so that its files are whole.
    pub fn stop(&mut self) -> Result<()> {
        let process = self.process.take().context("the Collector doesn't run")?;
        process.signal(Signal::TERM)?;
        process.finish(STOP_LIMIT)?.succeeded()?;
        Ok(())
    }

    /// The value of `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub fn endpoint(&self, protocol: Protocol) -> String {
        let port = match protocol {
            Protocol::Grpc => self.grpc,
            Protocol::Http => self.http,
        };
        format!("http://127.0.0.1:{port}")
    }

    /// Points `command` at it.
    pub fn configure(&self, command: &mut Command, protocol: Protocol) {
        command
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", self.endpoint(protocol))
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol.name());
    }

    /// What the file exporter wrote, profiles and metrics, one JSON document a line.
    pub fn json_file(&self) -> PathBuf {
        self.folder.path().join("received.json")
    }

    fn configuration_path(&self) -> PathBuf {
        self.folder.path().join("collector.yaml")
    }

    /// `append` keeps what came before a restart; the receiver's limit is the default of many servers, so
    /// that a request above it fails here too.
    fn configuration(&self) -> String {
        let file = self.json_file();
        let (forward, to_forward) = match &self.metrics_to {
            Some(url) => (
                format!(
                    "\n  otlp_http/forward: {{metrics_endpoint: '{url}', sending_queue: {{num_consumers: 1}}}}"
                ),
                ", otlp_http/forward",
            ),
            None => (String::new(), ""),
        };
        format!(
            "receivers:
  otlp:
    protocols:
      grpc: {{endpoint: '127.0.0.1:{grpc}', max_recv_msg_size_mib: 4}}
      http: {{endpoint: '127.0.0.1:{http}'}}
exporters:
  file: {{path: '{file}', append: true, flush_interval: 100ms}}
  debug: {{}}{forward}
service:
  telemetry:
    metrics: {{level: none}}
  pipelines:
    profiles: {{receivers: [otlp], exporters: [file, debug]}}
    metrics: {{receivers: [otlp], exporters: [file, debug{to_forward}]}}
",
            grpc = self.grpc,
            http = self.http,
            file = file.display(),
        )
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // A failed stop leaves the kill of `Running`.
        let _ = self.stop();
    }
}

/// Two ports that were free a moment ago; both are held until both are known, so they differ.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let mut ports = [0; N];
    // All are held until the last one is found, so that none is given twice.
    let mut listeners = Vec::with_capacity(N);
    for port in &mut ports {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}
