//! `evenkeel report`: the analysing half, by its thin end.

use std::{
    fs::File,
    io::{self, BufWriter, IsTerminal as _, Write},
    path::PathBuf,
};

use anyhow::Context as _;
use evenkeel_analysis::report::{self, Format, Grouping, Options};

use super::{
    log::colours,
    outcome::{Failure, Outcome},
};
use crate::settings::Problems;

/// Arguments of `evenkeel report`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  evenkeel report node.otlp\n  evenkeel report node.otlp --format html -o node.html\n  evenkeel report node.otlp --format folded --filter process=nginx | head\n  evenkeel report node.otlp --profile stolen --by process\n  evenkeel report node.otlp --profile off_cpu --filter evenkeel.off_cpu.reason=lock"
)]
pub(super) struct ReportArguments {
    /// Recordings, or what a Collector's file exporter wrote; several are read as one
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Which profile: on_cpu, off_cpu, run_queue, stolen, ... [default: on_cpu; html and json: all]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// text, html, json, folded or pprof
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    format: String,
    /// function, line, process, container or service
    #[arg(long, default_value = "function", value_name = "KEY")]
    by: String,
    /// Keep samples with this attribute, such as process=nginx; repeated, all must hold
    #[arg(long, value_name = "KEY=VALUE")]
    filter: Vec<String>,
    /// Folder with debug files, found by build id, for names and lines that the recording lacks; may be
    /// repeated
    #[arg(long, value_name = "DIR")]
    debug_dir: Vec<PathBuf>,
    /// Write here and not to stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

pub(super) fn run(arguments: &ReportArguments, mut problems: Problems) -> Outcome {
    let format = arguments.format.parse::<Format>();
    let by = arguments.by.parse::<Grouping>();
    for error in [format.as_ref().err(), by.as_ref().err()]
        .into_iter()
        .flatten()
    {
        problems.push(error.to_string());
    }
    let mut filters = Vec::new();
    for filter in &arguments.filter {
        match filter.parse() {
            Ok(condition) => filters.push(condition),
            Err(error) => problems.push(format!("--filter: {error}")),
        }
    }
    let is_terminal = arguments.output.is_none() && io::stdout().is_terminal();
    if format.as_ref().is_ok_and(|format| *format == Format::Pprof) && is_terminal {
        problems.push("--format pprof is binary: give -o FILE or a pipe");
    }
    for directory in &arguments.debug_dir {
        if !directory.is_dir() {
            problems.push(format!("--debug-dir: {} is no folder", directory.display()));
        }
    }
    problems.or(()).map_err(Failure::Usage)?;
    let options = Options {
        files: arguments.files.clone(),
        profile: arguments.profile.clone(),
        format: format?,
        by: by?,
        debug_directories: arguments.debug_dir.clone(),
        filters,
        colour: colours(is_terminal),
        width: is_terminal.then(columns).flatten(),
    };
    match &arguments.output {
        None => write(&options, &mut io::stdout().lock()),
        Some(path) => {
            let shown = path.display();
            let file = File::create(path).with_context(|| format!("cannot create {shown}"))?;
            let mut output = BufWriter::new(file);
            write(&options, &mut output)?;
            output
                .flush()
                .with_context(|| format!("cannot write {shown}"))?;
            tracing::info!("Wrote {shown}.");
            Ok(())
        }
    }?;
    Ok(0)
}

/// Columns of the terminal on stdout.
fn columns() -> Option<usize> {
    rustix::termios::tcgetwinsize(io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
}

fn write(options: &Options, output: &mut dyn Write) -> Result<(), Failure> {
    for note in report::run(options, output)? {
        tracing::info!("{note}");
    }
    Ok(())
}
