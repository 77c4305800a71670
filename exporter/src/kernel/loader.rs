//! Loads the object and attaches its programs one by one; no failure sinks the rest.

use std::path::Path;

use aya::{
    Ebpf, EbpfError, EbpfLoader,
    maps::{MapData, RingBuf},
    programs::{BtfTracePoint, PerfEvent, ProgramError},
};
use evenkeel_abi::{BANK_COUNTERS, BANK_HISTOGRAM_SLOTS};
use evenkeel_otlp::scale_table::ScaleTables;

use super::{
    btf::{Btf, BtfError},
    cpus,
    globals::Globals,
    map_memory,
    mapped_array::{MappedArray, MappedArrayError},
    method::Method,
    object::{Object, ObjectError},
    probe::{Hook, PROGRAMS, Program, State, signal_state},
    sampling::Sampling,
    self_test,
};
use crate::signal::{Signal, host::StealClock};

/// Ring-buffer bytes for each CPU: two seconds of samples with the deepest stacks (99 Hz, 5 KiB)
/// are 1 MiB; ordinary ones are 300 bytes.
const RING_BYTES_PER_CPU: usize = 256 << 10;
/// Smallest and largest ring buffer.
const RING_BYTES: std::ops::RangeInclusive<usize> = 1 << 20..=16 << 20;

/// Lines of the verifier's log that are kept of a refused program: the last ones say why.
const VERIFIER_LOG_LINES: usize = 6;

/// The kernel's side could not be started at all.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The object could not be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The kernel's type information could not be read.
    #[error(transparent)]
    Btf(#[from] BtfError),
    /// Which CPUs there are is not known.
    #[error(transparent)]
    Cpus(#[from] cpus::CpuError),
    /// The object was refused as a whole, or its maps could not be made.
    #[error("cannot load the kernel programs: {0}")]
    Load(#[from] EbpfError),
    /// An array could not be mapped.
    #[error(transparent)]
    Map(#[from] MappedArrayError),
    /// The ring buffer is missing from the object.
    #[error("the kernel object has no ring buffer EVENTS")]
    Events,
    /// aya could not read the kernel's type information.
    #[error("cannot read the kernel's type information: {0}")]
    AyaBtf(#[from] aya::BtfError),
    /// Not one program could be attached.
    #[error("no kernel program could be attached: {0}")]
    NothingAttached(String),
}

/// What to capture.
#[derive(Clone, Debug)]
pub struct CaptureSettings {
    /// Samples a second on each CPU.
    pub frequency: u64,
    /// Signals that are on.
    pub signals: Vec<Signal>,
}

/// The kernel's side, running.
#[derive(Debug)]
pub struct Kernel {
    ebpf: Ebpf,
    sampling: Sampling,
    counters: MappedArray,
    histograms: MappedArray,
    programs: Vec<(&'static Program, State)>,
    signals: Vec<(Signal, State)>,
    method: Method,
    object_digest: String,
    possible_cpus: usize,
    map_bytes: Vec<(String, u64)>,
}

/// The ring buffer of samples and process events.
pub type Events = RingBuf<MapData>;

impl Kernel {
    /// Loads and attaches what the settings ask for.
    pub fn start(
        settings: &CaptureSettings,
        proc_root: &Path,
        sys_root: &Path,
    ) -> Result<(Self, Events), KernelError> {
        let object = Object::from_environment()?;
        let btf = Btf::from_sys(sys_root)?;
        let possible_cpus = cpus::possible_count(sys_root)?;
        let online = cpus::online(sys_root)?;
        let mut globals = Globals::from_btf(&btf);
        drop(btf);
        globals.set("WALK_USER_STACKS", 1);
        globals.set(
            "RUN_QUEUE",
            u64::from(settings.signals.contains(&Signal::Scheduler)),
        );
        let steal = steal_lacking(&mut globals, settings, proc_root, sys_root);

        let aya_btf = aya::Btf::from_sys_fs()?;
        let mut ebpf = load(&object, &globals, possible_cpus, &aya_btf)?;
        let costs = match prove(&mut ebpf, &aya_btf, &globals, proc_root) {
            Ok(findings) => {
                if !findings.wrong.is_empty() {
                    for (global, reason) in findings.wrong {
                        tracing::warn!(global, reason, "A kernel field is not where it should be.");
                        globals.refuse(global, reason);
                    }
                    withdraw_dependents(&mut globals);
                    ebpf = load(&object, &globals, possible_cpus, &aya_btf)?;
                }
                Some(findings.costs)
            }
            Err(reason) => {
                tracing::warn!(reason, "The offsets of kernel fields could not be proved.");
                None
            }
        };

        let mut sampling = Sampling::new(settings.frequency);
        let mut programs = Vec::new();
        for program in PROGRAMS {
            let state = if program
                .serves
                .iter()
                .any(|signal| settings.signals.contains(signal))
            {
                attach(
                    &mut ebpf,
                    program,
                    &globals,
                    &aya_btf,
                    &online,
                    &mut sampling,
                )
            } else {
                State::Off("not enabled".into())
            };
            if let State::Failed(reason) = &state {
                tracing::warn!(
                    program = program.name,
                    reason,
                    "A kernel program is missing."
                );
            }
            programs.push((program, state));
        }
        if !programs
            .iter()
            .any(|(_, state)| matches!(state, State::Attached | State::Partial(_)))
            && settings
                .signals
                .iter()
                .any(|signal| *signal != Signal::Host)
        {
            let reason = programs
                .iter()
                .find_map(|(_, state)| state.reason())
                .unwrap_or("none is enabled");
            return Err(KernelError::NothingAttached(reason.into()));
        }

        let signals = signal_states(settings, &programs, steal, &globals);
        let map_bytes = map_memory::by_map(&ebpf, proc_root);
        let counters = MappedArray::new(
            "COUNTERS",
            ebpf.take_map("COUNTERS"),
            possible_cpus * BANK_COUNTERS as usize,
        )?;
        let histograms = MappedArray::new(
            "HISTOGRAMS",
            ebpf.take_map("HISTOGRAMS"),
            possible_cpus * BANK_HISTOGRAM_SLOTS as usize,
        )?;
        let events = ebpf
            .take_map("EVENTS")
            .and_then(|map| RingBuf::try_from(map).ok())
            .ok_or(KernelError::Events)?;
        let method = Method::new(
            &object.digest,
            &programs,
            &globals,
            settings.frequency,
            costs,
        );
        let kernel = Self {
            ebpf,
            sampling,
            counters,
            histograms,
            programs,
            signals,
            method,
            object_digest: object.digest,
            possible_cpus,
            map_bytes,
        };
        Ok((kernel, events))
    }

    /// Starts sampling a CPU that came online.
    pub fn cpu_online(&mut self, cpu: u32) {
        let sampled = self.programs.iter().any(|(program, state)| {
            program.hook == Hook::CpuClock && matches!(state, State::Attached | State::Partial(_))
        });
        if !sampled {
            return;
        }
        if let Some(program) = self.ebpf.program_mut("on_cpu") {
            match self.sampling.start(program, cpu) {
                Ok(()) => tracing::info!(cpu, "Sampling a CPU that came online."),
                Err(error) => tracing::warn!(cpu, %error, "Cannot sample a CPU that came online."),
            }
        }
    }

    /// Forgets a CPU that went offline.
    pub fn cpu_offline(&mut self, cpu: u32) {
        if let Some(program) = self.ebpf.program_mut("on_cpu") {
            self.sampling.stop(program, cpu);
            tracing::info!(cpu, "A CPU went offline.");
        }
    }

    /// Counters of the kernel programs.
    pub fn counters(&self) -> &MappedArray {
        &self.counters
    }

    /// Histograms of the kernel programs.
    pub fn histograms(&self) -> &MappedArray {
        &self.histograms
    }

    /// Each program and what became of it.
    pub fn programs(&self) -> &[(&'static Program, State)] {
        &self.programs
    }

    /// Each signal of the kernel's side and its state.
    pub fn signals(&self) -> &[(Signal, State)] {
        &self.signals
    }

    /// How this host measures.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// SHA-256 of the object, lower-case hex.
    pub fn object_digest(&self) -> &str {
        &self.object_digest
    }

    /// CPUs that the kernel has banks for.
    pub fn possible_cpus(&self) -> usize {
        self.possible_cpus
    }

    /// Bytes of each map of the object.
    pub fn map_bytes(&self) -> &[(String, u64)] {
        &self.map_bytes
    }

    /// The loaded object, for run times and map sizes.
    pub(super) fn ebpf(&self) -> &Ebpf {
        &self.ebpf
    }
}

fn load(
    object: &Object,
    globals: &Globals,
    possible_cpus: usize,
    btf: &aya::Btf,
) -> Result<Ebpf, EbpfError> {
    let tables = ScaleTables::NANOSECONDS_IN_SECONDS;
    // The kernel side masks its index with 63, so its table is padded to 64 entries.
    let mut bounds = [u64::MAX; 64];
    bounds[..tables.bounds.len()].copy_from_slice(&tables.bounds);
    let self_pid = u64::from(std::process::id());
    let banks = u32::try_from(possible_cpus).unwrap_or(u32::MAX);
    let ring_bytes = (possible_cpus * RING_BYTES_PER_CPU)
        .next_power_of_two()
        .clamp(*RING_BYTES.start(), *RING_BYTES.end());

    let mut loader = EbpfLoader::new();
    // Task storage has no type in aya; user space never touches that map.
    loader.btf(Some(btf)).allow_unsupported_maps();
    for (name, value) in globals.iter() {
        loader.override_global(name, value, true);
    }
    loader
        .override_global("SCALE_FIRST", &tables.first, true)
        .override_global("SCALE_BOUNDS", &bounds, true)
        .override_global("SELF_PID", &self_pid, true)
        .map_max_entries("COUNTERS", banks.saturating_mul(BANK_COUNTERS))
        .map_max_entries("HISTOGRAMS", banks.saturating_mul(BANK_HISTOGRAM_SLOTS))
        .map_max_entries("STEAL_SEEN", banks)
        .map_max_entries("EVENTS", ring_bytes as u32)
        .load(&object.bytes)
}

/// Attaches the self-test, runs it and takes it away again.
fn prove(
    ebpf: &mut Ebpf,
    btf: &aya::Btf,
    globals: &Globals,
    proc_root: &Path,
) -> Result<self_test::Findings, String> {
    let program: &mut BtfTracePoint = ebpf
        .program_mut("self_test")
        .ok_or("the object has no self-test")?
        .try_into()
        .map_err(|error: ProgramError| error.to_string())?;
    program
        .load("sched_process_fork", btf)
        .map_err(|error| in_short(&error))?;
    program.attach().map_err(|error| in_short(&error))?;
    // A map can be taken only after the programs that use it were loaded: that closes it.
    let map = MappedArray::new("SELF_TEST", ebpf.take_map("SELF_TEST"), self_test::WORDS)
        .map_err(|error| error.to_string())?;
    let findings = self_test::run(&map, globals, proc_root).map_err(|error| error.to_string());
    let unloaded = ebpf.program_mut("self_test").map_or(Ok(()), |program| {
        <&mut BtfTracePoint>::try_from(program)?.unload()
    });
    if let Err(error) = unloaded {
        tracing::debug!(%error, "The self-test could not be unloaded.");
    }
    findings
}

/// Turns off what rests on a field that did not prove right.
fn withdraw_dependents(globals: &mut Globals) {
    if globals.lacking(&["RQ_PREV_STEAL_TIME"]).is_some() {
        globals.set("HAS_STEAL", 0);
    }
    if globals
        .lacking(&["REGS_IP", "REGS_SP", "REGS_FP"])
        .is_some()
    {
        globals.set("WALK_USER_STACKS", 0);
    }
}

/// Why stolen time cannot be measured, if so; sets `HAS_STEAL`.
fn steal_lacking(
    globals: &mut Globals,
    settings: &CaptureSettings,
    proc_root: &Path,
    sys_root: &Path,
) -> Option<String> {
    let lacking = match StealClock::detect(proc_root, sys_root) {
        StealClock::Absent { reason } => Some(reason.to_owned()),
        StealClock::Counted { .. } | StealClock::Unknown { .. } => {
            globals.lacking(&["TASK_CFS_RQ", "CFS_RQ_RQ", "RQ_PREV_STEAL_TIME"])
        }
    };
    let wanted = settings.signals.contains(&Signal::Stolen);
    globals.set("HAS_STEAL", u64::from(lacking.is_none() && wanted));
    lacking
}

fn attach(
    ebpf: &mut Ebpf,
    program: &'static Program,
    globals: &Globals,
    btf: &aya::Btf,
    online: &[u32],
    sampling: &mut Sampling,
) -> State {
    if let Some(reason) = globals.lacking(program.needs) {
        return State::Off(reason);
    }
    let Some(loaded) = ebpf.program_mut(program.name) else {
        return State::Failed("the object has no such program".into());
    };
    match program.hook {
        Hook::Tracepoint(name) => {
            let attached = <&mut BtfTracePoint>::try_from(loaded).and_then(|tracepoint| {
                tracepoint.load(name, btf)?;
                tracepoint.attach()
            });
            match attached {
                Ok(_) => State::Attached,
                Err(error) => State::Failed(in_short(&error)),
            }
        }
        Hook::CpuClock => {
            if let Err(error) = <&mut PerfEvent>::try_from(&mut *loaded).and_then(PerfEvent::load) {
                return State::Failed(in_short(&error));
            }
            let mut refused = None;
            for cpu in online {
                if let Err(error) = sampling.start(loaded, *cpu) {
                    refused.get_or_insert_with(|| format!("CPU {cpu}: {}", in_short(&error)));
                }
            }
            match refused {
                None => State::Attached,
                Some(reason) if sampling.cpus() == 0 => State::Failed(reason),
                Some(reason) => State::Partial(reason),
            }
        }
    }
}

/// The states of the signals, with what no program can tell.
fn signal_states(
    settings: &CaptureSettings,
    programs: &[(&'static Program, State)],
    steal_lacking: Option<String>,
    globals: &Globals,
) -> Vec<(Signal, State)> {
    Signal::ALL
        .into_iter()
        .filter(|signal| *signal != Signal::Host)
        .map(|signal| {
            let state = if !settings.signals.contains(&signal) {
                State::Off("not enabled".into())
            } else if signal == Signal::Stolen && globals.get("HAS_STEAL") != Some(1) {
                let reason = steal_lacking
                    .clone()
                    .or_else(|| globals.lacking(&["RQ_PREV_STEAL_TIME"]))
                    .unwrap_or_else(|| "the kernel keeps no account of stolen time".into());
                State::Off(reason)
            } else {
                signal_state(signal, programs)
            };
            let state = match (signal, state) {
                (Signal::OnCpu, State::Attached) if globals.get("WALK_USER_STACKS") != Some(1) => {
                    let reason = globals
                        .lacking(&["REGS_IP", "REGS_SP", "REGS_FP"])
                        .unwrap_or_default();
                    State::Partial(format!("user stacks are not walked: {reason}"))
                }
                (_, state) => state,
            };
            (signal, state)
        })
        .collect()
}

/// An error in one line: of a verifier's log only the end, which says what it did not like.
fn in_short(error: &ProgramError) -> String {
    match error {
        ProgramError::LoadError {
            io_error,
            verifier_log,
        } => {
            let log = verifier_log.to_string();
            let lines: Vec<_> = log
                .lines()
                .filter(|line| !line.trim().is_empty() && !line.starts_with("processed "))
                .collect();
            let last = &lines[lines.len().saturating_sub(VERIFIER_LOG_LINES)..];
            format!("the kernel refused it: {io_error}: {}", last.join(" | "))
        }
        ProgramError::SyscallError(error) => format!("{}: {}", error.call, error.io_error),
        other => other.to_string(),
    }
}
