//! `evenkeel version`.

use std::io::{self, Write as _};

use serde_json::json;

use super::outcome::{Failure, Outcome};
use crate::{
    kernel::object::Object,
    settings::{Problem, Problems},
    signal::Signal,
};

/// Arguments of `evenkeel version`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  evenkeel version --format json")]
pub(super) struct VersionArguments {
    /// text or json
    #[arg(long, default_value = "text")]
    format: String,
}

pub(super) fn run(arguments: &VersionArguments, mut problems: Problems) -> Outcome {
    if !["text", "json"].contains(&arguments.format.as_str()) {
        problems.0.push(Problem::value(
            "--format",
            &arguments.format,
            "text or json",
        ));
    }
    problems.or(()).map_err(Failure::Usage)?;
    let object = Object::embedded();
    let version = env!("CARGO_PKG_VERSION");
    let mut stdout = io::stdout().lock();
    if arguments.format == "json" {
        let toolchain: Vec<_> = Object::toolchain().lines().collect();
        let value = json!({
            "version": version,
            "bpf_object_sha256": object.digest,
            "bpf_object_toolchain": toolchain,
            "signals": Signal::ALL.map(Signal::name),
            "analysis": cfg!(feature = "analysis"),
        });
        writeln!(stdout, "{value:#}")?;
    } else {
        writeln!(stdout, "evenkeel {version}")?;
        writeln!(stdout, "kernel object  {}", object.digest)?;
        writeln!(
            stdout,
            "built with     {}",
            Object::toolchain().replace('\n', ", ")
        )?;
        writeln!(stdout, "signals        {}", Signal::names())?;
    }
    Ok(0)
}
