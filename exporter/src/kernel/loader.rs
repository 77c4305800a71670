//! Loads the object and attaches its programs one by one; no failure sinks the rest.

use std::{collections::HashMap, path::Path, sync::Arc};

use aya::{
    Ebpf, EbpfError, EbpfLoader,
    maps::{Map, MapData, RingBuf},
    programs::{BtfTracePoint, ProgramError},
};
use evenkeel_abi::{StackHook, WAITS_OFF_CPU, WAITS_RUN_QUEUE, WAITS_SCHEDULER};
use evenkeel_otlp::scale_table::ScaleTables;

use super::{
    attach::{Attaching, Basis, REGISTERS, STEAL_FIELDS, attach, in_short},
    btf::{Btf, BtfError},
    cpus,
    globals::Globals,
    map_memory,
    mapped_array::{MappedArray, MappedArrayError, WritableArray},
    method::Method,
    object::{Object, ObjectError},
    part::{
        self, Extent,
        scheduler::{GROUP_FIELDS, WAIT_FIELDS},
    },
    pid_namespace::{self, PidNamespace},
    probe::{Hook, Program, State},
    raw_tracepoint::RawTracepoint,
    sampling::Sampling,
    self_interrupts::SelfInterrupts,
    self_test,
};
use crate::signal::{Signal, host::StealClock, syscalls};

/// Ring-buffer bytes for each CPU: two seconds of samples with the deepest stacks (99 Hz, 5 KiB)
/// are 1 MiB; ordinary ones are 300 bytes.
const RING_BYTES_PER_CPU: usize = 256 << 10;
/// Programs without which it is not known whether a CPU is in an interrupt.
const INTERRUPT_PROGRAMS: &[&str] = &[
    "irq_handler_entry",
    "irq_handler_exit",
    "softirq_entry",
    "softirq_exit",
];

/// Takes the user stacks of waits by another hook than the best one of this kernel (`interrupt`, `exit`
/// or `none`). For the project's own tests, which compare them.
const STACK_HOOK_VARIABLE: &str = "EVENKEEL_STACK_HOOK";

/// Smallest and largest ring buffer.
const RING_BYTES: std::ops::RangeInclusive<usize> = 1 << 20..=16 << 20;

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
    /// What is known of the steal clock.
    pub steal_clock: StealClock,
    /// Waiting of which one sample is taken, nanoseconds.
    pub wait_period_nanos: u64,
    /// Services and containers in focus.
    pub focus_groups: usize,
    /// Whether stacks of wakers are taken.
    pub waker_stacks: bool,
    /// Which system calls are measured one by one, and what that may cost.
    pub syscalls: syscalls::Settings,
    /// Rows of unwind tables that there is room for.
    pub unwind_rows: u32,
}

impl CaptureSettings {
    fn extent(&self, cpus: usize) -> Extent<'_> {
        Extent {
            cpus,
            focus_groups: self.focus_groups,
            listed_calls: self.syscalls.listed.len(),
            signals: &self.signals,
            unwind_rows: self.unwind_rows,
        }
    }
}

/// The kernel's side, running.
#[derive(Debug)]
pub struct Kernel {
    ebpf: Ebpf,
    sampling: Sampling,
    self_interrupts: SelfInterrupts,
    arrays: HashMap<&'static str, Arc<MappedArray>>,
    programs: Vec<(&'static Program, State)>,
    basis: Basis,
    method: Method,
    object_digest: String,
    cpu_limit: usize,
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
        let cpu_limit = cpus::number_limit(sys_root)?;
        let online = cpus::online(sys_root)?;
        let mut globals = Globals::from_btf(&btf);
        drop(btf);
        globals.set("WALK_USER_STACKS", 1);
        if let Some(namespace) = PidNamespace::of(proc_root) {
            globals.set("PID_NAMESPACE", namespace.inode);
            globals.set("PID_NAMESPACE_DEVICE", namespace.device);
        }
        let self_pid = pid_namespace::own_id(proc_root).unwrap_or_else(std::process::id);
        globals.set("SELF_PID", u64::from(self_pid));
        globals.set("FOCUS_USED", u64::from(settings.focus_groups > 0));
        set_waits(&mut globals, settings);
        let (steal_lacking, steal_doubt) = steal(&mut globals, settings);
        let banks = part::banks(cpu_limit);
        globals.set("BANK_MASK", u64::from(banks) - 1);
        globals.set("BANKS_ARE_SHARED", u64::from(cpu_limit > banks as usize));
        globals.set(
            "DISK_BANKS_SHARED",
            u64::from(cpu_limit > evenkeel_abi::DISK_BANKS as usize),
        );
        let sets = part::DISK_TABLE.entries(&settings.extent(cpu_limit));
        globals.set(
            "DISK_TABLE_BLOCKS",
            u64::from(sets / evenkeel_abi::DISK_TABLE_BLOCK),
        );
        withdraw_dependents(&mut globals);

        let aya_btf = aya::Btf::from_sys_fs()?;
        let mut ebpf = load(&object, &globals, cpu_limit, settings, &aya_btf)?;
        let mut unproved = None;
        let mut costs = None;
        match prove(&mut ebpf, &aya_btf, &globals, proc_root) {
            Ok(findings) => {
                costs = Some(findings.costs);
                if !findings.wrong.is_empty() {
                    for (global, reason) in findings.wrong {
                        tracing::warn!(global, reason, "A kernel field is not where it should be.");
                        globals.refuse(global, reason);
                    }
                    withdraw_dependents(&mut globals);
                    ebpf = load(&object, &globals, cpu_limit, settings, &aya_btf)?;
                }
            }
            Err(reason) => {
                tracing::warn!(reason, "The offsets of kernel fields could not be proved.");
                unproved = Some(reason);
            }
        }

        let mut sampling = Sampling::new(settings.frequency);
        let mut attaching = Attaching {
            ebpf: &mut ebpf,
            globals: &globals,
            btf: &aya_btf,
            online: &online,
            sampling: &mut sampling,
        };
        let mut programs = Vec::new();
        let has_a_place = |program: &&Program| program.has_a_place(&globals);
        for program in part::programs().filter(has_a_place) {
            let wanted = |signal| settings.signals.contains(signal);
            let state = if !program.serves.iter().any(wanted) {
                State::Off("not enabled".into())
            } else {
                attach(program, &mut attaching)
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
        if !programs.iter().any(|(_, state)| state.is_on()) {
            let reason = programs
                .iter()
                .find_map(|(_, state)| state.reason())
                .unwrap_or("none is enabled");
            return Err(KernelError::NothingAttached(reason.into()));
        }

        let basis = Basis {
            wanted: settings.signals.clone(),
            globals,
            unproved,
            steal_lacking,
            steal_doubt,
        };
        let map_bytes = map_memory::by_map(&ebpf, proc_root);
        let mut self_interrupts = SelfInterrupts::new(ebpf.take_map("SELF_INTERRUPTS"));
        if basis.globals.get("STACK_HOOK") == Some(StackHook::Interrupt as u64)
            && let Some(reason) = self_interrupts.follow(&online)
        {
            tracing::warn!(reason, "Waits on some CPUs have no user stack.");
        }
        let mut arrays = HashMap::new();
        for array in part::arrays().filter(|array| array.words > 0) {
            let words = array.entries(&settings.extent(cpu_limit)) * array.words;
            let map = ebpf.take_map(array.name);
            let mapped = MappedArray::new(array.name, map, words as usize)?;
            arrays.insert(array.name, Arc::new(mapped));
        }
        let events = ebpf
            .take_map("EVENTS")
            .and_then(|map| RingBuf::try_from(map).ok())
            .ok_or(KernelError::Events)?;
        let method = Method::new(
            &object.digest,
            &programs,
            &basis.globals,
            settings.frequency,
            costs,
        );
        let kernel = Self {
            ebpf,
            sampling,
            self_interrupts,
            arrays,
            programs,
            basis,
            method,
            object_digest: object.digest,
            cpu_limit,
            map_bytes,
        };
        Ok((kernel, events))
    }

    /// Samples exactly the CPUs that are online. One that could not be sampled is tried again at
    /// the next call, and shows in the state of `on_cpu` meanwhile.
    pub fn follow_cpus(&mut self, online: &[u32]) {
        let Self {
            ebpf,
            sampling,
            self_interrupts,
            programs,
            basis,
            ..
        } = self;
        if basis.globals.get("STACK_HOOK") == Some(StackHook::Interrupt as u64)
            && let Some(reason) = self_interrupts.follow(online)
        {
            tracing::debug!(reason, "Waits on some CPUs have no user stack.");
        }
        self_interrupts.drain();
        let Some((_, state)) = programs
            .iter_mut()
            .find(|(program, state)| program.hook == Hook::CpuClock && state.is_on())
        else {
            return;
        };
        let Some(program) = ebpf.program_mut("on_cpu") else {
            return;
        };
        let before = (state.clone(), sampling.cpus());
        *state = match sampling.follow(program, online) {
            None => State::Attached,
            Some(reason) => State::Partial(reason),
        };
        if (state.clone(), sampling.cpus()) != before {
            tracing::info!(
                cpus = sampling.cpus(),
                reason = state.reason(),
                "Sampling follows the CPUs that are online."
            );
        }
    }

    /// Whether a program runs.
    pub fn runs(&self, name: &str) -> bool {
        self.programs
            .iter()
            .any(|(program, state)| program.name == name && state.is_on())
    }

    /// An array that kernel programs write (`kernel/part/`).
    pub fn array(&self, name: &str) -> Option<&MappedArray> {
        self.arrays.get(name).map(Arc::as_ref)
    }

    /// The same, for a thread that reads it by itself.
    pub fn shared_array(&self, name: &str) -> Option<Arc<MappedArray>> {
        self.arrays.get(name).cloned()
    }

    /// An array that kernel programs read and we write; it can be had once.
    pub fn take_writable(
        &mut self,
        name: &'static str,
        words: usize,
    ) -> Result<WritableArray, MappedArrayError> {
        WritableArray::new(name, self.ebpf.take_map(name), words)
    }

    /// A loaded program with the hook `Bursts`, for a thread that attaches and detaches it.
    pub fn raw_tracepoint(&self, name: &str) -> Option<RawTracepoint> {
        let program = self.ebpf.program(name)?;
        RawTracepoint::new(program.fd().ok()?)
    }

    /// Notes what has become of a program.
    pub fn report(&mut self, name: &str, reported: State) {
        let program = self.programs.iter_mut();
        if let Some((_, state)) = program
            .into_iter()
            .find(|(program, _)| program.name == name)
        {
            *state = reported;
        }
    }

    /// A map of the object that is not mapped, to read it.
    pub fn map(&self, name: &str) -> Option<&Map> {
        self.ebpf.map(name)
    }

    /// A map of the object that is not mapped, such as a hash table.
    pub fn map_mut(&mut self, name: &str) -> Option<&mut Map> {
        self.ebpf.map_mut(name)
    }

    /// The same, for somebody else to keep.
    pub fn take_map(&mut self, name: &str) -> Option<Map> {
        self.ebpf.take_map(name)
    }

    /// Each program and what became of it.
    pub fn programs(&self) -> &[(&'static Program, State)] {
        &self.programs
    }

    /// Each signal of the kernel's side and its state.
    pub fn signals(&self) -> Vec<(Signal, State)> {
        self.basis.signal_states(&self.programs)
    }

    /// How this host measures.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// SHA-256 of the object, lower-case hex.
    pub fn object_digest(&self) -> &str {
        &self.object_digest
    }

    /// Banks that the kernel programs have, one for each number that a CPU can have.
    pub fn cpu_limit(&self) -> usize {
        self.cpu_limit
    }

    /// Bytes of each map of the object.
    pub fn map_bytes(&self) -> &[(String, u64)] {
        &self.map_bytes
    }

    /// A program of the object.
    pub(super) fn program_mut(&mut self, name: &str) -> Option<&mut aya::programs::Program> {
        self.ebpf.program_mut(name)
    }

    /// The loaded object, for run times and map sizes.
    pub(super) fn ebpf(&self) -> &Ebpf {
        &self.ebpf
    }
}

fn load(
    object: &Object,
    globals: &Globals,
    cpu_limit: usize,
    settings: &CaptureSettings,
    btf: &aya::Btf,
) -> Result<Ebpf, EbpfError> {
    let tables = ScaleTables::NANOSECONDS_IN_SECONDS;
    // The kernel side masks its index with 63, so its table is padded to 64 entries.
    let mut bounds = [u64::MAX; 64];
    bounds[..tables.bounds.len()].copy_from_slice(&tables.bounds);
    let syscall_tables = part::syscalls::Tables::new(&settings.syscalls, cpu_limit);
    let ring_bytes = (cpu_limit * RING_BYTES_PER_CPU)
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
        .override_global("REGISTERS_BY_NUMBER", globals.registers(), true)
        .map_max_entries("EVENTS", ring_bytes as u32);
    syscall_tables.set(&mut loader);
    for array in part::arrays() {
        loader.map_max_entries(array.name, array.entries(&settings.extent(cpu_limit)));
    }
    loader.load(&object.bytes)
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

/// Which waits are measured, and how they are sampled.
fn set_waits(globals: &mut Globals, settings: &CaptureSettings) {
    let mut waits = 0;
    for (signal, bit) in [
        (Signal::OffCpu, WAITS_OFF_CPU),
        (Signal::RunQueue, WAITS_RUN_QUEUE),
        (Signal::Scheduler, WAITS_SCHEDULER),
    ] {
        if settings.signals.contains(&signal) {
            waits |= bit;
        }
    }
    globals.set("WAITS", waits);
    // What an interrupt hits must not be taken for a waker.
    let sees_interrupts = settings.signals.contains(&Signal::Interrupts)
        && globals.lacking(INTERRUPT_PROGRAMS).is_none();
    globals.set("HAS_INTERRUPT_STATE", u64::from(sees_interrupts));
    globals.set("WAKER_STACKS", u64::from(settings.waker_stacks));
    let period = settings.wait_period_nanos.max(1);
    globals.set("WAIT_PERIOD", period);
    globals.set("WAIT_PERIOD_RECIPROCAL", (1 << 52) / period);
    if let Some(hook) = std::env::var_os(STACK_HOOK_VARIABLE) {
        let hook = match hook.to_str() {
            Some("interrupt") => StackHook::Interrupt,
            Some("exit") => StackHook::Exit,
            _ => StackHook::None,
        };
        globals.set("STACK_HOOK", hook as u64);
    }
}

/// Turns off what rests on a field that is missing or did not prove right.
fn withdraw_dependents(globals: &mut Globals) {
    if globals.lacking(STEAL_FIELDS).is_some() {
        globals.set("HAS_STEAL", 0);
    }
    if globals.lacking(REGISTERS).is_some() {
        globals.set("WALK_USER_STACKS", 0);
    }
    if globals.lacking(WAIT_FIELDS).is_some() {
        globals.set("HAS_WAIT_FIELDS", 0);
        globals.set("WAITS", 0);
    }
    if globals.lacking(GROUP_FIELDS).is_some() {
        globals.set("HAS_TASK_GROUP", 0);
    }
}

/// Why stolen time cannot be measured, and why a zero of it would say nothing; sets `HAS_STEAL`.
fn steal(globals: &mut Globals, settings: &CaptureSettings) -> (Option<String>, Option<String>) {
    let mut lacking = globals.lacking(STEAL_FIELDS);
    let mut doubt = None;
    match settings.steal_clock {
        StealClock::Absent { reason } => lacking = Some(reason.into()),
        StealClock::Counted { .. } => {}
        StealClock::Unknown { reason } => {
            doubt = Some(format!(
                "whether stolen time is counted cannot be told: {reason}"
            ));
        }
    }
    let wanted = settings.signals.contains(&Signal::Stolen);
    globals.set("HAS_STEAL", u64::from(lacking.is_none() && wanted));
    (lacking, doubt)
}
