//! One recording in every format of the report.

use std::{fs, process::Command, sync::OnceLock, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use evenkeel_tests::{
    child::run,
    evenkeel::Recording,
    folded::{self, sum},
    needs::{Need, RECORDING},
    received::Received,
    suite::Test,
    workload::Workload,
};
use serde_json::Value;

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "formats::the_recording_keeps_the_invariants_and_the_registry",
        RECORDING,
        invariants,
    ),
    Test::new(
        "formats::text_names_the_hot_function_first",
        RECORDING,
        text,
    ),
    Test::new(
        "formats::json_has_the_keys_of_the_contract",
        RECORDING,
        json,
    ),
    Test::new(
        "formats::json_folded_and_otlp_have_the_same_totals",
        RECORDING,
        totals,
    ),
    Test::new("formats::pprof_opens_in_go_tool_pprof", PPROF, pprof),
    Test::new("formats::html_is_one_self_contained_file", RECORDING, html),
    Test::new(
        "formats::filter_and_by_narrow_the_report",
        RECORDING,
        narrowed,
    ),
];

const PPROF: &[Need] = &[Need::Root, Need::Bpf, Need::Program("go")];

const LIMIT: Duration = Duration::from_secs(60);

/// One recording of a five-second spinner for all of them.
fn recording() -> Result<&'static Recording> {
    static RECORDING: OnceLock<Result<Recording, String>> = OnceLock::new();
    let made = RECORDING.get_or_init(|| {
        Recording::of(Workload::Spinner, &["5"]).map_err(|error| format!("{error:#}"))
    });
    match made {
        Ok(recording) => Ok(recording),
        Err(error) => bail!("{error}"),
    }
}

/// The checker passes, and there is something to check.
fn invariants() -> Result<()> {
    let received = Received::from_recording(recording()?)?;
    ensure!(
        !received.profiles.is_empty() && !received.metrics.is_empty(),
        "a signal is missing"
    );
    received.check()
}

/// The command's own process comes first; its hot function stands above all others.
fn text() -> Result<()> {
    let report = recording()?.report(&[])?.stdout;
    let line_of = |word: &str| report.lines().position(|line| line.contains(word));
    let process = line_of(Workload::Spinner.name());
    ensure!(
        process.is_some(),
        "no {} in\n{report}",
        Workload::Spinner.name()
    );
    let inner = line_of("inner").with_context(|| format!("no `inner` in\n{report}"))?;
    if let Some(outer) = line_of("outer") {
        ensure!(inner <= outer, "`outer` stands above `inner`:\n{report}");
    }
    Ok(())
}

fn json() -> Result<()> {
    let report = recording()?.json()?;
    for key in [
        "resource",
        "start",
        "duration_s",
        "windows",
        "profiles",
        "metrics",
        "status",
    ] {
        ensure!(report.get(key).is_some(), "no `{key}` in {report:.400}");
    }
    let seconds = report["duration_s"].as_f64().context("duration_s")?;
    ensure!((4.5..=8.0).contains(&seconds), "duration_s is {seconds}");
    ensure!(
        report["windows"]
            .as_u64()
            .is_some_and(|windows| windows >= 1),
        "windows"
    );

    let profile = &report["profiles"]["on_cpu"];
    ensure!(
        profile["unit"].is_string() && profile["total"].is_u64(),
        "on_cpu: {profile:.400}"
    );
    let top = profile["top"].as_array().context("top")?;
    for key in ["function", "module", "self", "total"] {
        ensure!(
            top.iter().all(|row| row.get(key).is_some()),
            "a row of top without {key}"
        );
    }
    let churn = top
        .iter()
        .find(|row| row["function"] == "churn" && row["module"] == Workload::Spinner.name())
        .with_context(|| format!("no `churn` among {} top functions", top.len()))?;
    ensure!(
        churn["self"].as_u64().is_some_and(|own| own > 100)
            && churn["total"].as_u64() >= churn["self"].as_u64(),
        "{churn}"
    );
    ensure!(profile.get("by_process").is_some(), "no by_process");

    let metrics = report["metrics"].as_array().context("metrics")?;
    ensure!(!metrics.is_empty(), "no metrics");
    for metric in metrics {
        let name = metric["name"].as_str().context("a metric without a name")?;
        ensure!(
            evenkeel_semconv::metric::ALL
                .iter()
                .any(|known| known.name == name),
            "{name} is not in the registry"
        );
        ensure!(
            metric["unit"].is_string() && metric["attributes"].is_object(),
            "{metric}"
        );
        let is_distribution = ["count", "sum", "p50", "p90", "p99", "p999"]
            .iter()
            .all(|key| metric.get(key).is_some());
        ensure!(metric.get("value").is_some() != is_distribution, "{metric}");
    }

    let status = report["status"].as_array().context("status")?;
    for row in status {
        for key in ["signal", "state", "events", "lost"] {
            ensure!(row.get(key).is_some(), "a status without {key}: {row}");
        }
        let state = row["state"].as_str().unwrap_or_default();
        ensure!(
            ["attached", "partial", "off", "failed"].contains(&state),
            "{row}"
        );
        if state != "attached" {
            ensure!(
                row["reason"]
                    .as_str()
                    .is_some_and(|reason| !reason.is_empty()),
                "no reason: {row}"
            );
        }
    }
    let attached = |signal: &str| {
        status
            .iter()
            .any(|row: &Value| row["signal"] == signal && row["state"] == "attached")
    };
    ensure!(
        attached("on_cpu"),
        "on_cpu is not attached: {}",
        report["status"]
    );
    Ok(())
}

/// The same number of samples, whichever way they are counted.
fn totals() -> Result<()> {
    let recording = recording()?;
    let folded = sum(&recording.folded("on_cpu")?, |_| true);
    let json = recording.json()?["profiles"]["on_cpu"]["total"].as_u64();
    ensure!(json == Some(folded), "JSON has {json:?}, folded {folded}");
    let otlp = Received::from_recording(recording)?.profile_total("samples");
    #[expect(
        clippy::cast_precision_loss,
        reason = "sample counts are far below 2^53"
    )]
    let folded = folded as f64;
    ensure!(
        (folded - otlp).abs() < 0.5,
        "folded has {folded}, the OTLP {otlp}"
    );
    Ok(())
}

/// `go tool pprof` reads it, and its total is ours.
fn pprof() -> Result<()> {
    let recording = recording()?;
    let output = recording.folder().join("profile.pb.gz");
    let path = output.to_string_lossy();
    recording.report(&["--profile", "on_cpu", "--format", "pprof", "-o", &path])?;
    let stacks = recording.folded("on_cpu")?;
    let samples = sum(&stacks, |_| true);
    let go = |arguments: &[&str]| -> Result<String> {
        let mut command = Command::new("go");
        command
            .args(["tool", "pprof", "-symbolize=none"])
            .args(arguments)
            .arg(&*path);
        Ok(run(&mut command, LIMIT)?.succeeded()?.stdout)
    };
    let top = go(&["-top", "-sample_index=samples"])?;
    let leaves = sum(&stacks, |stack| {
        stack.frames.last().is_some_and(|frame| frame == "churn")
    });
    let flat = top.lines().find_map(|line| {
        line.strip_suffix(" churn (inline)")?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    });
    ensure!(
        flat == Some(leaves),
        "{leaves} samples have `churn` as their leaf, pprof has {flat:?}:\n{top}"
    );
    ensure!(
        top.contains(&format!("of {samples} total")),
        "the total is not {samples}:\n{top}"
    );
    let tree = go(&["-traces", "-sample_index=samples"])?;
    ensure!(
        tree.contains("outer") && tree.contains("main"),
        "no callers:\n{tree:.2000}"
    );
    Ok(())
}

/// The file names the process and its function and refers to nothing outside of itself.
fn html() -> Result<()> {
    let recording = recording()?;
    let output = recording.folder().join("report.html");
    recording.report(&["--format", "html", "-o", &output.to_string_lossy()])?;
    let html = fs::read_to_string(&output)?;
    ensure!(html.to_lowercase().contains("<!doctype html"), "no doctype");
    for word in ["inner", "outer", Workload::Spinner.name()] {
        ensure!(html.contains(word), "no `{word}` in the page");
    }
    // Namespace declarations look like addresses and are none.
    for outside in [
        "src=\"http",
        "href=\"http",
        "src='http",
        "url(http",
        "@import",
        "fetch(",
        "src=\"//",
    ] {
        ensure!(
            !html.contains(outside),
            "the page refers to something outside: {outside}"
        );
    }
    ensure!(
        html.len() < 8 << 20,
        "the page of a 5-second recording has {} bytes",
        html.len()
    );
    Ok(())
}

/// `--filter` keeps one process; `--by process` lists processes.
fn narrowed() -> Result<()> {
    let recording = recording()?;
    let name = Workload::Spinner.name();
    let filter = format!(
        "{}={name}",
        evenkeel_semconv::attribute::PROCESS_EXECUTABLE_NAME
    );
    let report = recording.report(&[
        "--profile",
        "on_cpu",
        "--format",
        "folded",
        "--filter",
        &filter,
    ])?;
    let stacks = folded::parse(&report.stdout)?;
    ensure!(!stacks.is_empty(), "nothing is left");
    ensure!(
        stacks.iter().all(|stack| stack.process == name),
        "another process is left"
    );
    let own = sum(&recording.folded("on_cpu")?, |stack| stack.process == name);
    ensure!(
        sum(&stacks, |_| true) == own,
        "the filter changed the values"
    );
    let by_process = recording.report(&["--by", "process"])?.stdout;
    ensure!(by_process.contains(name), "{by_process}");
    Ok(())
}
