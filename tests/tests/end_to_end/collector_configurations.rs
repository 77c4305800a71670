//! The configurations of `otel-collector-config/` in a real Collector: all are valid, and what an agent
//! sends them arrives behind them, in a second Collector that stands for the backend.

use std::{collections::BTreeSet, fs, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::{attribute::SERVICE_NAME, metric::SYSTEM_CPU_TIME};
use evenkeel_tests::{
    child::{Running, wait_until},
    collector::{Collector, Protocol},
    evenkeel,
    needs::Need,
    received::Received,
    relay::{NOT_BUILT, Relay, configurations, original, text, validate},
    suite::Test,
    workload::Workload,
};
use rustix::process::Signal;

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "collector_configurations::all_are_valid",
        &[Need::Program("go")],
        all_are_valid,
    ),
    Test::new(
        "collector_configurations::what_cannot_be_built_is_known",
        &[Need::Program("go")],
        not_built_is_current,
    ),
    Test::new(
        "collector_configurations::the_gateway_passes_both_signals_on",
        NEEDS,
        gateway,
    ),
    Test::new(
        "collector_configurations::pyroscope_gets_profiles",
        NEEDS,
        pyroscope,
    ),
    Test::new(
        "collector_configurations::parca_gets_no_resource_attributes",
        NEEDS,
        parca,
    ),
    Test::new(
        "collector_configurations::prometheus_gets_metrics",
        NEEDS,
        prometheus,
    ),
];

const NEEDS: &[Need] = &[Need::Root, Need::Bpf, Need::Program("go")];

const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Those that are started by a test of this file, and the one that needs its server to start.
const STARTED: &[&str] = &[
    "gateway.yaml",
    "parca.yaml",
    "prometheus.yaml",
    "pyroscope.yaml",
];
const ONLY_VALIDATED: &[&str] = &["clickhouse.yaml"];

/// Every file, and no other, is in one of the two lists; each is valid, and a misspelled one isn't.
fn all_are_valid() -> Result<()> {
    let names = configurations()?;
    let found: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let known = STARTED.iter().chain(ONLY_VALIDATED).copied().collect();
    ensure!(found == known, "there are {found:?}, tested are {known:?}");
    for name in &names {
        let text = text(name)?;
        if let Some(problem) = validate(&text)? {
            anyhow::bail!("{name}: {problem}");
        }
        let misspelled = text.replace("check_interval:", "check_intervall:");
        ensure!(misspelled != text, "{name} has no memory_limiter");
        let problem = validate(&misspelled)?
            .with_context(|| format!("{name} is valid with a misspelled setting"))?;
        ensure!(problem.contains("check_intervall"), "{name}: {problem}");
    }
    Ok(())
}

/// What is left out is really what the Collector lacks, and all that it lacks.
fn not_built_is_current() -> Result<()> {
    for (name, component, why) in NOT_BUILT {
        let problem = validate(&original(name)?)?
            .with_context(|| format!("{component} can be built now: test it in {name} ({why})"))?;
        ensure!(
            problem.contains(&format!("unknown type: \"{component}\"")),
            "{name}: {problem}"
        );
        ensure!(
            original(name)?.contains(&format!("without {component}")),
            "{name} doesn't say that {component} isn't tested"
        );
    }
    Ok(())
}

/// What arrives behind a configuration of an agent that runs for some windows, beside a spinner that says
/// `attributes` of itself.
fn behind(relay: &Relay, sink: &mut Collector, attributes: &str) -> Result<Received> {
    let mut spinner = Workload::Spinner.command(&["60"])?;
    let _spinner = Running::start(spinner.env("OTEL_RESOURCE_ATTRIBUTES", attributes))?;
    let mut command = evenkeel::command(&["agent", "--window", "1s"])?;
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", relay.endpoint())
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let mut agent = Running::start(&mut command)?;
    let file = sink.json_file();
    wait_until(
        "something has arrived behind the relay",
        Duration::from_secs(40),
        || {
            ensure!(
                agent.is_running()?,
                "the agent ended: {}",
                agent.stderr_so_far()?
            );
            Ok(fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 0))
        },
    )?;
    thread::sleep(Duration::from_millis(3500));
    agent.signal(Signal::TERM)?;
    agent.finish(STOP_LIMIT)?.succeeded()?;
    // A relay's queue is emptied without delay.
    thread::sleep(Duration::from_secs(1));
    sink.stop()?;
    Received::from_file(&file)
}

fn ensure_both(received: &Received) -> Result<()> {
    let windows = received.windows("samples").len();
    ensure!(windows >= 2, "profiles of {windows} windows in 3 s");
    ensure!(
        received.last_sum(&SYSTEM_CPU_TIME, &[])? > 0.0,
        "no CPU time"
    );
    Ok(())
}

/// Both signals go through; those of a program in the namespace that the filter names don't.
fn gateway() -> Result<()> {
    for (namespace, passes) in [("shop", true), ("kube-system", false)] {
        let mut sink = Collector::start()?;
        let relay = Relay::start(
            "gateway.yaml",
            &[
                ("UPSTREAM_ENDPOINT", &sink.endpoint(Protocol::Grpc)),
                ("UPSTREAM_INSECURE", "true"),
                // No cluster: its pods stay unknown, which must not hold anything up.
                ("K8S_AUTH_TYPE", "none"),
                ("KUBERNETES_SERVICE_HOST", "127.0.0.1"),
                ("KUBERNETES_SERVICE_PORT", "1"),
            ],
        )?;
        let attributes = format!("k8s.namespace.name={namespace}");
        let received = behind(&relay, &mut sink, &attributes)?;
        relay.stop()?;
        // What is filtered leaves its names behind in the dictionary.
        if passes {
            received.check()?;
        }
        ensure_both(&received)?;
        let mut samples = 0;
        received.each_sample("samples", |sample| {
            samples += usize::from(sample.process == Some(Workload::Spinner.name()));
        });
        ensure!(
            (samples > 0) == passes,
            "{samples} samples of a program of {namespace} arrived"
        );
    }
    Ok(())
}

fn profiles_behind(name: &str, variable: &str) -> Result<Received> {
    let mut sink = Collector::start()?;
    let endpoint = sink.endpoint(Protocol::Grpc);
    let relay = Relay::start(name, &[(variable, &endpoint)])?;
    let received = behind(&relay, &mut sink, "")?;
    relay.stop()?;
    let windows = received.windows("samples").len();
    ensure!(windows >= 2, "{name}: profiles of {windows} windows in 3 s");
    ensure!(received.metrics.is_empty(), "{name}: metrics came through");
    Ok(received)
}

fn pyroscope() -> Result<()> {
    let received = profiles_behind("pyroscope.yaml", "PYROSCOPE_ENDPOINT")?;
    received.check()
}

/// Not one attribute is left in a resource, and samples still say of which service they are.
fn parca() -> Result<()> {
    let received = profiles_behind("parca.yaml", "PARCA_ENDPOINT")?;
    let left: usize = received
        .profiles
        .iter()
        .flat_map(|request| &request.resource_profiles)
        .filter_map(|profiles| profiles.resource.as_ref())
        .map(|resource| resource.attributes.len())
        .sum();
    ensure!(left == 0, "{left} attributes are left in resources");
    let (mut samples, mut named) = (0, 0);
    received.each_sample("samples", |sample| {
        samples += 1;
        named += usize::from(sample.attribute(SERVICE_NAME).is_some());
    });
    ensure!(
        named == samples && named > 0,
        "{named} of {samples} samples name a service"
    );
    Ok(())
}

fn prometheus() -> Result<()> {
    let mut sink = Collector::start()?;
    let endpoint = sink.endpoint(Protocol::Http);
    let relay = Relay::start("prometheus.yaml", &[("PROMETHEUS_ENDPOINT", &endpoint)])?;
    let received = behind(&relay, &mut sink, "")?;
    relay.stop()?;
    ensure!(received.profiles.is_empty(), "profiles came through");
    ensure!(
        received.last_sum(&SYSTEM_CPU_TIME, &[])? > 0.0,
        "no CPU time"
    );
    Ok(())
}
