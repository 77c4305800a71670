//! `evenkeel inspect`: what is known, and why, as JSON.

use std::{
    io::{self, Write as _},
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::{
    outcome::{Failure, Outcome},
    variable, walks,
};
use crate::{
    identity::{
        HostIdentity, Roots,
        cloud::{CloudSettings, Detection},
        inspect::ProcessInspection,
    },
    kernel::object::Object,
    settings::{Problem, Problems},
    symbol::{AddressSpace, Executable, ExecutableTable, inspect_address},
    unwind,
};

/// What to inspect.
#[derive(Debug, clap::Subcommand)]
#[command(
    after_help = "Examples:\n  evenkeel inspect process 4242\n  evenkeel inspect address /bin/ls 0x6a80\n  evenkeel inspect resource"
)]
pub(super) enum InspectCommand {
    /// What is known of a process: program, container, service and why, symbols
    #[command(
        after_help = "Examples:\n  evenkeel inspect process 4242\n  evenkeel inspect process 4242 --watch 5s"
    )]
    Process {
        /// Process id
        pid: String,
        /// Sample it for some time, as root, and count how the walks of its stacks end
        #[arg(long, value_name = "TIME")]
        watch: Option<String>,
    },
    /// The frames at ELF virtual addresses of a file, inlined ones first
    #[command(after_help = "Example:\n  evenkeel inspect address /bin/ls 0x6a80")]
    Address {
        /// An ELF file
        file: PathBuf,
        /// Addresses, decimal or with 0x
        #[arg(required = true)]
        addresses: Vec<String>,
    },
    /// The resource attributes that this host would send, and where each came from
    #[command(
        after_help = "Examples:\n  evenkeel inspect resource\n  evenkeel inspect resource --cloud off"
    )]
    Resource {
        /// Whose metadata service tells what this host is: auto, off, or a provider such as aws, gcp,
        /// azure [default: auto] [env: EVENKEEL_CLOUD]
        #[arg(long, value_name = "PROVIDER")]
        cloud: Option<String>,
    },
}

/// How long a process can be watched.
const WATCHED: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(3600);

/// How long a metadata service may take. A live one answers within milliseconds.
const CLOUD_WAIT: Duration = Duration::from_secs(3);

/// Executables looked at for one process.
const EXECUTABLES: usize = 4096;

pub(super) fn run(command: &InspectCommand, problems: Problems) -> Outcome {
    let value = match command {
        InspectCommand::Process { pid, watch } => process(pid, watch.as_deref(), problems)?,
        InspectCommand::Address { file, addresses } => address(file, addresses, problems)?,
        InspectCommand::Resource { cloud } => resource(cloud.as_deref(), problems)?,
    };
    writeln!(io::stdout().lock(), "{value:#}")?;
    Ok(0)
}

/// The host's identity; a wrong variable is a problem of configuration.
pub(super) fn host(roots: &Roots, problems: &mut Problems) -> HostIdentity {
    let (host, errors) = HostIdentity::detect(roots, |name| std::env::var_os(name));
    for error in errors {
        problems.push(error.to_string());
    }
    host
}

fn process(pid: &str, watch: Option<&str>, mut problems: Problems) -> Result<Value, Failure> {
    let roots = Roots::from_environment(|name| std::env::var_os(name));
    let host = host(&roots, &mut problems);
    let number = pid.parse::<u32>();
    if number.is_err() {
        problems.0.push(Problem::value("PID", pid, "a process id"));
    }
    let watch = watch.and_then(|text| {
        let time = humantime::parse_duration(text).ok();
        let time = time.filter(|time| WATCHED.contains(time));
        if time.is_none() {
            problems
                .0
                .push(Problem::value("--watch", text, "a time of 1s to 1h"));
        }
        time
    });
    problems.or(()).map_err(Failure::Usage)?;
    let pid = number?;
    let mut inspection = ProcessInspection::read(&roots, &host, pid)?;
    let mut table = ExecutableTable::new(EXECUTABLES, None);
    match AddressSpace::read(&roots.proc, pid, &mut table) {
        Ok(space) => {
            let executables: Vec<_> = space.executables().collect();
            let own = executables.iter().find(|executable| {
                inspection.executable.path.as_deref() == executable.path.to_str()
            });
            inspection.executable.build_id = own.and_then(|executable| build_id(executable));
            let files: Vec<_> = executables
                .iter()
                .map(|executable| {
                    json!({
                        "file": executable.path.display().to_string(),
                        "build_id": build_id(executable),
                        "opened_by": format!("{:?}", executable.provenance),
                        "symbol_bytes": executable.symbol_bytes,
                        "debug_bytes": executable.debug_bytes,
                        "reason": executable.reason,
                    })
                })
                .collect();
            inspection.symbols = Some(json!({ "files": files }));
            inspection.unwind = Some(serde_json::to_value(unwind::inspect(&space))?);
        }
        Err(error) => {
            let reason = json!({ "files": [], "reason": error.to_string() });
            inspection.symbols = Some(reason.clone());
            inspection.unwind = Some(reason);
        }
    }
    if let Some(time) = watch {
        let walks = walks::watch(pid, time, &roots, host)?;
        if let Some(Value::Object(unwind)) = &mut inspection.unwind {
            unwind.insert("walks".into(), walks);
        }
    }
    Ok(serde_json::to_value(inspection)?)
}

fn build_id(executable: &Executable) -> Option<String> {
    let ids = &executable.build_ids;
    ids.gnu
        .as_ref()
        .or(ids.go.as_ref())
        .or(ids.htlhash.as_ref())
        .map(ToString::to_string)
}

fn address(
    file: &std::path::Path,
    addresses: &[String],
    mut problems: Problems,
) -> Result<Value, Failure> {
    let mut numbers = Vec::new();
    for text in addresses {
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        match number {
            Ok(number) => numbers.push(number),
            Err(_) => problems.0.push(Problem::value(
                "ADDRESS",
                text,
                "a number, decimal or with 0x",
            )),
        }
    }
    problems.or(()).map_err(Failure::Usage)?;
    let frames = inspect_address(file, &numbers).context("cannot inspect the file")?;
    Ok(serde_json::to_value(frames)?)
}

fn resource(cloud: Option<&str>, mut problems: Problems) -> Result<Value, Failure> {
    let roots = Roots::from_environment(|name| std::env::var_os(name));
    let mut host = host(&roots, &mut problems);
    let cloud = CloudSettings::new(cloud, &variable, &mut problems);
    problems.or(()).map_err(Failure::Usage)?;
    if let Some(detection) = Detection::start(&cloud, &roots)?
        && let Some(attributes) = detection.wait_until(Instant::now() + CLOUD_WAIT)
    {
        host.extend(&attributes);
    }
    host.insert(
        evenkeel_semconv::attribute::EVENKEEL_BPF_OBJECT_HASH,
        Object::from_environment()?.digest,
        "SHA-256 of the kernel object",
    );
    Ok(serde_json::to_value(host.agent_attributes())?)
}
