//! The command line that needs no privileges.

use std::{process::Command, time::Duration};

use anyhow::{Context as _, Result, ensure};
use evenkeel_tests::{
    child::run,
    evenkeel,
    needs::{Need, RECORDING},
    suite::Test,
    workload::Workload,
};
use serde_json::Value;

pub(crate) const TESTS: &[Test] = &[
    Test::new("cli::every_command_has_help_with_an_example", &[], help),
    Test::new(
        "cli::version_names_the_kernel_object_and_the_signals",
        &[],
        version,
    ),
    Test::new(
        "cli::inspect_resource_says_where_values_come_from",
        &[],
        inspect_resource,
    ),
    Test::new(
        "cli::inspect_address_names_a_function",
        &[Need::Program("nm")],
        inspect_address,
    ),
    Test::new(
        "cli::inspect_process_describes_a_workload",
        RECORDING,
        inspect_process,
    ),
];

const LIMIT: Duration = Duration::from_secs(20);

fn output(arguments: &[&str]) -> Result<String> {
    Ok(run(&mut evenkeel::command(arguments)?, LIMIT)?
        .succeeded()?
        .stdout)
}

fn json(arguments: &[&str]) -> Result<Value> {
    let text = output(arguments)?;
    serde_json::from_str(&text).with_context(|| format!("{arguments:?} printed {text:?}"))
}

/// Help goes to standard output and shows how the command is called.
fn help() -> Result<()> {
    ensure!(
        output(&["--help"])?.contains("record"),
        "the help does not list `record`"
    );
    for command in [
        &["agent"][..],
        &["record"],
        &["report"],
        &["version"],
        &["inspect", "process"],
        &["inspect", "address"],
        &["inspect", "resource"],
    ] {
        let mut arguments = command.to_vec();
        arguments.push("--help");
        let text = output(&arguments)?;
        let example = format!("evenkeel {}", command.join(" "));
        let shown = text
            .lines()
            .filter(|line| line.contains(&example) && !line.trim_start().starts_with("Usage:"))
            .count();
        ensure!(shown > 0, "{arguments:?} has no example");
    }
    Ok(())
}

/// The object's SHA-256 is 64 hex digits, and the text form has it too.
fn version() -> Result<()> {
    let version = json(&["version", "--format", "json"])?;
    let text = version.to_string();
    let digest = text
        .split('"')
        .find(|word| word.len() == 64 && word.chars().all(|c| c.is_ascii_hexdigit()))
        .with_context(|| format!("no SHA-256 in {text}"))?;
    for signal in ["on_cpu", "stolen", "scheduler", "host"] {
        ensure!(text.contains(signal), "no {signal} in {text}");
    }
    ensure!(
        output(&["version"])?.contains(digest),
        "the text form has no {digest}"
    );
    Ok(())
}

/// Each attribute has a value and a source; what the environment says is there and says so.
fn inspect_resource() -> Result<()> {
    let mut command = evenkeel::command(&["inspect", "resource"])?;
    command.env(
        "OTEL_RESOURCE_ATTRIBUTES",
        "deployment.environment.name=a%20test",
    );
    let text = run(&mut command, LIMIT)?.succeeded()?.stdout;
    let resource: Value = serde_json::from_str(&text)?;
    let attributes = resource.as_object().context("not an object")?;
    ensure!(!attributes.is_empty(), "no attribute");
    for (name, attribute) in attributes {
        ensure!(
            attribute.get("value").is_some() && attribute["source"].is_string(),
            "{name}: {attribute}"
        );
    }
    for name in [
        evenkeel_semconv::attribute::HOST_ARCH,
        evenkeel_semconv::attribute::HOST_NAME,
        evenkeel_semconv::attribute::OS_TYPE,
    ] {
        ensure!(attributes.contains_key(name), "no {name} in {text}");
    }
    ensure!(
        attributes["deployment.environment.name"]["value"] == "a test",
        "OTEL_RESOURCE_ATTRIBUTES is ignored: {text}"
    );
    Ok(())
}

/// The address that `nm` gives for a function resolves to that function.
fn inspect_address() -> Result<()> {
    let program = Workload::Spinner.build()?;
    let program = program.to_string_lossy();
    let listed = run(Command::new("nm").arg(&*program), LIMIT)?.succeeded()?;
    let address = listed
        .stdout
        .lines()
        .find_map(|line| line.strip_suffix(" T inner"))
        .context("`nm` lists no `inner`")?;
    let address = format!("0x{}", address.trim_start_matches('0'));
    let frames = json(&["inspect", "address", &program, &address])?;
    ensure!(
        frames.to_string().contains("\"function\":\"inner\""),
        "{frames}"
    );
    ensure!(
        frames.to_string().contains("spinner.c"),
        "no file: {frames}"
    );
    Ok(())
}

/// The contract's keys, with values that are known here.
fn inspect_process() -> Result<()> {
    let spinner = Workload::Spinner.start(&["60"])?;
    // The exec is over when the link says so.
    std::thread::sleep(Duration::from_millis(200));
    let process = json(&["inspect", "process", &spinner.pid().to_string()])?;
    ensure!(process["pid"] == spinner.pid(), "{process}");
    ensure!(
        process["executable"]["name"] == Workload::Spinner.name(),
        "{process}"
    );
    ensure!(process["executable"]["path"].is_string(), "{process}");
    for key in [
        "start_time",
        "service_name",
        "resource",
        "unwind",
        "symbols",
    ] {
        ensure!(process.get(key).is_some(), "no {key}: {process}");
    }
    ensure!(
        process["service_name"]["value"].is_string()
            && process["service_name"]["source"].is_string(),
        "{process}"
    );
    let missing = run(
        &mut evenkeel::command(&["inspect", "process", "4194305"])?,
        LIMIT,
    )?
    .ended_with(1)?;
    ensure!(missing.stderr.contains("4194305"), "{}", missing.stderr);
    Ok(())
}
