//! A real Prometheus on loopback that takes OTLP.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustix::process::Signal;
use serde_json::Value;

use crate::{
    child::{Running, run, wait_until},
    collector::free_ports,
    workload::repository,
};

/// Longest build with empty caches: 1 min 33 s on two cores; several times that for a busy machine.
const BUILD_LIMIT: Duration = Duration::from_secs(900);

/// It is ready within a second on an idle machine.
const START_LIMIT: Duration = Duration::from_secs(30);

const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Resource attributes that become labels, as people set them who compare hosts.
const CONFIGURATION: &str = "otlp:
  promote_resource_attributes: [host.name, host.type, cloud.provider, cloud.region]
";

/// A Prometheus with a database of its own. Stopped when dropped.
#[derive(Debug)]
pub struct Prometheus {
    port: u16,
    process: Running,
    /// Goes last.
    _folder: tempfile::TempDir,
}

/// A row of the answer to a query.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its labels, an object.
    pub labels: Value,
    /// Its value.
    pub value: f64,
}

impl Row {
    /// A label, empty where it has none.
    pub fn label(&self, name: &str) -> &str {
        self.labels[name].as_str().unwrap_or_default()
    }
}

impl Prometheus {
    /// Starts one on a free port, built first if it is not there.
    pub fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let configuration = folder.path().join("prometheus.yaml");
        fs::write(&configuration, CONFIGURATION)?;
        let [port] = free_ports()?;
        let mut command = Command::new(binary()?);
        command
            .arg(format!("--config.file={}", configuration.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--web.enable-otlp-receiver");
        let mut prometheus = Self {
            port,
            process: Running::start(&mut command)?,
            _folder: folder,
        };
        wait_until("Prometheus is ready", START_LIMIT, || {
            if !prometheus.process.is_running()? {
                bail!("it ended: {}", prometheus.process.stderr_so_far()?);
            }
            Ok(prometheus.get("/-/ready").is_ok())
        })?;
        Ok(prometheus)
    }

    /// Where it takes metrics over OTLP/HTTP.
    pub fn metrics_endpoint(&self) -> String {
        format!("http://127.0.0.1:{}/api/v1/otlp/v1/metrics", self.port)
    }

    /// An instant query, now.
    pub fn query(&self, query: &str) -> Result<Vec<Row>> {
        let encoded = utf8_percent_encode(query, NON_ALPHANUMERIC);
        let body = self.get(&format!("/api/v1/query?query={encoded}"))?;
        let answer: Value = serde_json::from_str(&body).context("the answer of Prometheus")?;
        ensure!(answer["status"] == "success", "{query}: {answer}");
        let rows = answer["data"]["result"].as_array().context("rows")?;
        rows.iter()
            .map(|row| {
                let value = row["value"][1].as_str().context("a value")?;
                Ok(Row {
                    labels: row["metric"].clone(),
                    value: value.parse()?,
                })
            })
            .collect()
    }

    /// The value of a query that has one row.
    pub fn value(&self, query: &str) -> Result<f64> {
        match &self.query(query)?[..] {
            [row] => Ok(row.value),
            rows => bail!("{query}: {} rows: {rows:?}", rows.len()),
        }
    }

    /// The body of an answer with status 200. Version 1.0 of HTTP ends it with the connection.
    fn get(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(START_LIMIT))?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("a head")?;
        let status = head.split(' ').nth(1).unwrap_or_default();
        ensure!(status == "200", "{path}: {head}: {body}");
        Ok(body.to_owned())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // What is left is killed by `Running`; its database goes with the folder.
        let _ = self.process.signal(Signal::TERM);
        let _ = wait_until("Prometheus has ended", STOP_LIMIT, || {
            Ok(!self.process.is_running()?)
        });
    }
}

/// The binary: `EVENKEEL_TEST_PROMETHEUS`, or `tests/.cache/prometheus`, built if it is not there.
fn binary() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("EVENKEEL_TEST_PROMETHEUS") {
        return Ok(path.into());
    }
    let tests = repository().join("tests");
    let output = tests.join(".cache/prometheus");
    if !output.is_file() {
        let mut command = Command::new(tests.join("prometheus/build"));
        run(&mut command, BUILD_LIMIT)?
            .succeeded()
            .context("building Prometheus")?;
    }
    Ok(output)
}
