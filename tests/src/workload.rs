//! Builds the programs of `examples/workloads` and runs them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

use crate::child::{Finished, Running, run};

/// Longest build of one workload: the first Go build compiles the standard library (about 20 s on two
/// idle cores).
const BUILD_LIMIT: Duration = Duration::from_secs(240);

/// Flags that give every function of ours a frame pointer and a frame.
const C_FLAGS: [&str; 7] = [
    "-O1",
    "-g",
    "-Wall",
    "-Werror",
    "-pthread",
    "-fno-omit-frame-pointer",
    "-fno-optimize-sibling-calls",
];

/// A workload. The executable's name begins with `ek-`, so that no other process on the machine has it,
/// and fits the 15 bytes of a command name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// `spinner SECONDS [CPU]`
    Spinner,
    /// `spinners COUNT SECONDS CPUS`
    Spinners,
    /// `recursion DEPTH SECONDS`
    Recursion,
    /// `fixed_work THREADS ROUNDS`
    FixedWork,
    /// `ping_pong ROUNDS [CPU [WORK]]`
    PingPong,
    /// `calls KIND COUNT [CPU]`
    Calls,
    /// `readers THREADS SECONDS`
    Readers,
    /// `syscalls ROUNDS [CPU]`
    Syscalls,
    /// `direct_io FILE OPERATIONS [CPU]`
    DirectIo,
    /// `thread_mix SECONDS`
    ThreadMix,
    /// `sleepers THREADS MICROSECONDS COUNT SECONDS`
    Sleepers,
    /// `blocked SECONDS [COUNT]`
    Blocked,
    /// `direct_reads FILE SECONDS`
    DirectReads,
    /// `mutex_ping_pong SECONDS`
    MutexPingPong,
    /// `condition_queue SECONDS`
    ConditionQueue,
    /// `duty THREADS RUN SLEEP SECONDS [CPU]`
    Duty,
    /// `rust_locks SECONDS`
    RustLocks,
    /// `udp flood SECONDS`, `udp closed COUNT` or `udp full COUNT`
    Udp,
    /// `delayed_tcp DELAY_MS ROUNDS [LOSE_EVERY [LOSE_SYNS [LOSE_SYN_ACKS]]]`
    DelayedTcp,
    /// `unmap SECONDS`
    Unmap,
    /// `concurrent_reads FILE COUNT SECONDS BYTES`
    ConcurrentReads,
    /// `hot_crate SECONDS`, Rust with v0 symbol names.
    Rust,
    /// `hot_go SECONDS` with symbols and DWARF.
    Go,
    /// `hot_go SECONDS` linked with `-s -w`.
    GoStripped,
    /// `hot_cgo SECONDS`
    GoWithC,
}

impl Workload {
    /// The name of the process.
    pub fn name(self) -> &'static str {
        match self {
            Self::Spinner => "ek-spinner",
            Self::Spinners => "ek-spinners",
            Self::Recursion => "ek-recursion",
            Self::FixedWork => "ek-fixed-work",
            Self::PingPong => "ek-ping-pong",
            Self::Calls => "ek-calls",
            Self::Readers => "ek-readers",
            Self::Syscalls => "ek-syscalls",
            Self::DirectIo => "ek-direct-io",
            Self::ThreadMix => "ek-thread-mix",
            Self::Sleepers => "ek-sleepers",
            Self::Blocked => "ek-blocked",
            Self::DirectReads => "ek-direct-reads",
            Self::MutexPingPong => "ek-mutex",
            Self::ConditionQueue => "ek-condition",
            Self::Duty => "ek-duty",
            Self::RustLocks => "ek-rust-locks",
            Self::Udp => "ek-udp",
            Self::DelayedTcp => "ek-delayed-tcp",
            Self::Unmap => "ek-unmap",
            Self::ConcurrentReads => "ek-many-reads",
            Self::Rust => "ek-hot-rust",
            Self::Go => "ek-hot-go",
            Self::GoStripped => "ek-hot-go-strip",
            Self::GoWithC => "ek-hot-cgo",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::Spinner => "spinner.c",
            Self::Spinners => "spinners.c",
            Self::Recursion => "recursion.c",
            Self::FixedWork => "fixed_work.c",
            Self::PingPong => "ping_pong.c",
            Self::Calls => "calls.c",
            Self::Readers => "readers.c",
            Self::Syscalls => "syscalls.c",
            Self::DirectIo => "direct_io.c",
            Self::ThreadMix => "thread_mix.c",
            Self::Sleepers => "sleepers.c",
            Self::Blocked => "blocked.c",
            Self::DirectReads => "direct_reads.c",
            Self::MutexPingPong => "mutex_ping_pong.c",
            Self::ConditionQueue => "condition_queue.c",
            Self::Duty => "duty.c",
            Self::RustLocks => "rust_locks.rs",
            Self::Udp => "udp.c",
            Self::DelayedTcp => "delayed_tcp.c",
            Self::Unmap => "unmap.c",
            Self::ConcurrentReads => "concurrent_reads.c",
            Self::Rust => "hot_crate.rs",
            Self::Go | Self::GoStripped => "hot_go.go",
            Self::GoWithC => "hot_cgo.go",
        }
    }

    /// The command that builds it to `output`; run in the folder of the sources, so that no path of this
    /// machine gets into the program.
    fn compiler(self, output: &Path) -> Command {
        let mut command;
        match self {
            Self::Rust | Self::RustLocks => {
                command = Command::new("rustc");
                let name = self.source().trim_end_matches(".rs");
                command.args(["--crate-name", name, "--edition", "2024", "-O"]);
                command.args(["-C", "symbol-mangling-version=v0"]);
                command.args(["-C", "force-frame-pointers=yes"]);
                command.args(["-C", "debuginfo=line-tables-only"]);
            }
            Self::Go | Self::GoStripped | Self::GoWithC => {
                command = Command::new("go");
                command.args(["build", "-trimpath"]);
                let c = if self == Self::GoWithC { "1" } else { "0" };
                command.env("CGO_ENABLED", c).env("GOTOOLCHAIN", "local");
                if self == Self::GoStripped {
                    command.args(["-ldflags", "-s -w"]);
                }
            }
            _ => {
                command = Command::new("cc");
                command.args(C_FLAGS);
            }
        }
        command.arg("-o").arg(output).arg(self.source());
        command.current_dir(source_folder());
        command
    }

    /// Builds it, unless it is there and newer than its source, and gives its path.
    pub fn build(self) -> Result<PathBuf> {
        let folder = target_folder()?.join("workloads");
        fs::create_dir_all(&folder)?;
        let output = folder.join(self.name());
        if is_current(&output, &[self.source(), "workload.h", "account.h"])? {
            return Ok(output);
        }
        run(&mut self.compiler(&output), BUILD_LIMIT)?
            .succeeded()
            .with_context(|| format!("building {}", self.source()))?;
        Ok(output)
    }

    /// A command that runs it.
    pub fn command(self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(self.build()?);
        command.args(arguments);
        Ok(command)
    }

    /// Starts it.
    pub fn start(self, arguments: &[&str]) -> Result<Running> {
        Running::start(&mut self.command(arguments)?)
    }
}

/// Whether `output` is newer than each of `sources` and than this test program, which holds the flags.
fn is_current(output: &Path, sources: &[&str]) -> Result<bool> {
    let Ok(built) = fs::metadata(output).and_then(|metadata| metadata.modified()) else {
        return Ok(false);
    };
    let mut inputs: Vec<PathBuf> = sources
        .iter()
        .map(|source| source_folder().join(source))
        .collect();
    inputs.push(std::env::current_exe()?);
    for input in inputs {
        let changed = fs::metadata(&input)
            .and_then(|metadata| metadata.modified())
            .with_context(|| input.display().to_string())?;
        if changed >= built {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The repository's root.
pub fn repository() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

fn source_folder() -> PathBuf {
    repository().join("examples/workloads")
}

/// The profile's folder in the target directory, where this test program was built.
pub fn target_folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let folder = program
        .ancestors()
        .find(|folder| folder.join("deps").is_dir());
    Ok(folder
        .with_context(|| format!("{} is not in a target directory", program.display()))?
        .to_owned())
}

/// What a workload printed behind `key `, as numbers, one list a line.
pub fn printed(finished: &Finished, key: &str) -> Result<Vec<Vec<f64>>> {
    let rows: Vec<Vec<f64>> = finished
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix(' '))
        .map(|rest| {
            rest.split_whitespace()
                .map(|number| Ok(number.parse()?))
                .collect()
        })
        .collect::<Result<_>>()?;
    ensure!(
        !rows.is_empty(),
        "`{}` printed no {key}: {:?}",
        finished.what,
        finished.stdout
    );
    Ok(rows)
}
