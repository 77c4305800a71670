//! From the kernel through a Collector to a real Prometheus, and asked back.

use std::{fs, process::Command, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::{
    MetricDescriptor,
    attribute::{
        EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON, value::evenkeel_cpu_run_queue_enqueue_reason::WAKEUP,
    },
    metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION,
};
use evenkeel_tests::{
    child::{Running, wait_until},
    collector::{Collector, Protocol},
    evenkeel::{self, report as report_of},
    needs::Need,
    prometheus::Prometheus,
    suite::Test,
    workload::{Workload, repository, target_folder},
};
use rustix::process::Signal;
use serde_json::Value;

pub(crate) const TESTS: &[Test] = &[Test::new(
    "prometheus::quantiles_agree_and_hosts_stay_apart",
    &[Need::Root, Need::Bpf, Need::Program("go")],
    two_hosts,
)];

const LIMIT: Duration = Duration::from_secs(30);

/// The two agents take the place of two hosts of different clouds.
const HOSTS: [(&str, &str); 2] = [("ek-one", "aws"), ("ek-two", "gcp")];

/// The name that Prometheus makes of one of a histogram in seconds.
fn promql(metric: &MetricDescriptor) -> String {
    format!("{}_seconds", metric.name.replace('.', "_"))
}

/// Distributions arrive as native histograms whose quantiles are those of `report`, and two agents with different identities never
/// write one series.
fn two_hosts() -> Result<()> {
    let prometheus = Prometheus::start()?;
    let mut collector = Collector::start_sending_metrics_to(prometheus.metrics_endpoint())?;
    let _load = Workload::Spinner.start(&["60"])?;
    // Each panel has something to show: the disk too.
    let folder = tempfile::tempdir_in(target_folder()?)?;
    let writes = format!(
        "for _ in $(seq 120); do dd if=/dev/zero of={}/f bs=4096 count=4 oflag=direct conv=notrunc status=none; sleep 0.3; done",
        folder.path().display()
    );
    let _writes = Running::start(Command::new("sh").args(["-c", &writes]))?;
    let mut agents = Vec::new();
    for (host, cloud) in HOSTS {
        let mut command = evenkeel::command(&["agent", "--window", "2s"])?;
        collector.configure(&mut command, Protocol::Grpc);
        command.env(
            "OTEL_RESOURCE_ATTRIBUTES",
            format!(
                "host.name={host},host.id={host},host.type={host}.large,cloud.provider={cloud}"
            ),
        );
        agents.push(Running::start(&mut command)?);
    }
    thread::sleep(Duration::from_secs(9));
    for agent in &agents {
        agent.signal(Signal::TERM)?;
    }
    for agent in agents {
        agent.finish(LIMIT)?.succeeded()?;
    }
    // What it sends on may be on its way yet.
    let mut report = Value::Null;
    let all_there = wait_until("Prometheus has what the file has", LIMIT, || {
        let finished = report_of(&collector.json_file(), &["--format", "json"])?;
        report = serde_json::from_str(&finished.stdout)?;
        let all = HOSTS.map(|(host, _)| same_count(&prometheus, &report, host));
        Ok(all.into_iter().all(|same| same.unwrap_or(false)))
    });
    collector.stop()?;
    all_there?;

    let wait = promql(&EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION);
    for (host, cloud) in HOSTS {
        let series = prometheus.query(&format!(
            "count by (cloud_provider) ({wait}{{host_name=\"{host}\"}})"
        ))?;
        ensure!(
            series.len() == 1 && series[0].label("cloud_provider") == cloud,
            "{series:?}"
        );
        agrees(&prometheus, &report, host)?;
    }
    let instances = prometheus.query("count by (instance) (target_info{job=\"evenkeel\"})")?;
    ensure!(instances.len() == HOSTS.len(), "{instances:?}");
    dashboards(&prometheus)
}

/// Every query of the dashboards has an answer.
fn dashboards(prometheus: &Prometheus) -> Result<()> {
    let folder = repository().join("examples/dashboards");
    let mut queries = 0;
    for name in ["node.json", "compare.json"] {
        let text = fs::read_to_string(folder.join(name))?;
        let dashboard: Value = serde_json::from_str(&text)?;
        for panel in dashboard["panels"].as_array().context("panels")? {
            for target in panel["targets"].as_array().context("targets")? {
                let query = target["expr"].as_str().context("a query")?;
                let query = query
                    .replace("$__rate_interval", "30s")
                    .replace("$host", ".*");
                let rows = prometheus.query(&query)?;
                ensure!(!rows.is_empty(), "{name}, {}: {query}", panel["title"]);
                queries += 1;
            }
        }
    }
    println!("{queries} queries of the dashboards have answers");
    ensure!(queries > 15);
    Ok(())
}

/// The waits for a CPU after a wake-up of a host, as a report has them.
fn waits<'a>(report: &'a Value, host: &str) -> Result<&'a Value> {
    let rows = report["metrics"].as_array().context("metrics")?;
    rows.iter()
        .find(|row| {
            let attributes = &row["attributes"];
            row["name"] == EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION.name
                && attributes["host.name"] == host
                && attributes[EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON] == WAKEUP
        })
        .with_context(|| format!("no waits of {host}"))
}

/// The same series in PromQL.
fn series(host: &str) -> String {
    let name = promql(&EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION);
    let label = EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON.replace('.', "_");
    format!("{name}{{host_name=\"{host}\",{label}=\"{WAKEUP}\"}}")
}

fn same_count(prometheus: &Prometheus, report: &Value, host: &str) -> Result<bool> {
    let own = waits(report, host)?["count"].as_f64();
    let theirs = prometheus.value(&format!("sum(histogram_count({}))", series(host)))?;
    Ok(own == Some(theirs))
}

/// The quantiles of the waits that `report` tells are those that PromQL tells.
fn agrees(prometheus: &Prometheus, report: &Value, host: &str) -> Result<()> {
    let own = waits(report, host)?;
    for (quantile, key) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")] {
        let theirs = prometheus.value(&format!(
            "histogram_quantile({quantile}, sum({}))",
            series(host)
        ))?;
        let ours = own[key].as_f64().context(key)?;
        println!("{host} {key}: {ours:.9} by report, {theirs:.9} by PromQL");
        // A bucket of scale 5 is 2.2 % wide.
        ensure!(
            (theirs / ours - 1.0).abs() < 0.025,
            "{key}: {ours} by report, {theirs} by PromQL"
        );
    }
    Ok(())
}
