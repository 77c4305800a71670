//! The parts of a capture that need the kernel.

use std::{sync::Arc, thread, time::Duration};

use evenkeel_abi::Counter;
use evenkeel_semconv::attribute;

use super::{
    focus::Focus,
    reader::{Reader, ReaderSettings, ReaderWindow},
    session::{CaptureError, CaptureOptions, WindowSummary},
};
use crate::{
    identity::{HostIdentity, ProcessTable, Roots, kubernetes::Pods},
    kernel::{
        CaptureSettings, Kernel,
        account::{RunTime, Statistics},
        cpus::CpuWatch,
        iterator::IteratorError,
        part::unwind::{self, UnwindArrays},
        requirements::raise_locked_memory,
    },
    profile::{Assembled, Assembly, AssemblySettings},
    signal::{KernelSignal, Signal, SignalAccount, host::StealClock, kernel_signals, stolen},
    symbol::{ExecutableTable, Symbolizer, SymbolizerSettings, raise_file_limit},
    unwind::Unwinder,
};

/// Processes kept; one takes about 300 bytes. It holds 18 s of 1,800 short processes a second.
const PROCESSES: usize = 32_768;

/// Executables kept open.
const EXECUTABLES: usize = 2048;

/// The parts that need the kernel.
#[derive(Debug)]
pub(super) struct Probes {
    pub(super) kernel: Kernel,
    pub(super) signals: Vec<Box<dyn KernelSignal>>,
    pub(super) reader: Reader,
    pub(super) assembly: Assembly,
    cpus: Option<CpuWatch>,
    pub(super) statistics: Option<Statistics>,
    pub(super) run_times: Vec<RunTime>,
    idle_stolen_nanos: u64,
    is_limited: bool,
    pub(super) walks_failed: u64,
    lost: u64,
}

impl Probes {
    /// Starts the kernel's side and what reads it. The attributes that say how this host measures
    /// are added to `host` before any owner is made.
    pub(super) fn start(
        options: &CaptureOptions,
        roots: &Roots,
        host: &mut HostIdentity,
        pods: Pods,
        steal_clock: StealClock,
    ) -> Result<Self, CaptureError> {
        raise_locked_memory();
        raise_file_limit();
        let settings = CaptureSettings {
            frequency: options.frequency,
            signals: options.signals.clone(),
            steal_clock,
            syscalls: options.syscalls.clone(),
            wait_period_nanos: u64::try_from(options.wait_period.as_nanos()).unwrap_or(u64::MAX),
            focus_groups: options.focus.len(),
            waker_stacks: options.waker_stacks,
            unwind_rows: unwind_rows(),
        };
        let (mut kernel, events) = Kernel::start(&settings, &roots.proc, &roots.sys)?;
        if kernel.runs(TASK_WALK) {
            // The first walk begins the waits of all tasks; what it writes is of no window.
            let _ = walk(&mut kernel);
        }
        describe_method(&kernel, host);

        let mut symbols = SymbolizerSettings::new(options.lines);
        symbols.proc_root.clone_from(&roots.proc);
        symbols.sys_root.clone_from(&roots.sys);
        let symbolizer = Symbolizer::start(symbols).map_err(CaptureError::Symbolizer)?;
        let executables = ExecutableTable::new(EXECUTABLES, Some(symbolizer.evictions()));
        let processes = ProcessTable::new(roots, host, PROCESSES).with_pods(pods);
        let is_on = |signal| options.signals.contains(&signal);
        let unwinder = unwinder(&mut kernel, &settings);
        let reader = Reader::start(
            ReaderSettings {
                proc_root: roots.proc.clone(),
                pids: options.pids.clone(),
                thread_names: options.detailed_samples,
                on_cpu: is_on(Signal::OnCpu),
                window: options.window,
            },
            events,
            processes,
            executables,
            Focus::new(
                &options.focus,
                kernel.take_map("FOCUS"),
                kernel.take_map("FOCUS_GENERATION"),
            ),
            unwinder,
        )?;
        let assembly = Assembly::new(
            AssemblySettings {
                frequency: options.frequency,
                pids: options.detailed_samples,
                on_cpu: is_on(Signal::OnCpu),
                stolen: is_on(Signal::Stolen),
                off_cpu: is_on(Signal::OffCpu),
                run_queue: is_on(Signal::RunQueue),
                wait_period: options.wait_period,
            },
            symbolizer,
            Arc::new(host.agent_resource()),
        );
        let mut signals = kernel_signals(options, roots);
        // What they have to tell the kernel programs must not wait for the first second.
        for signal in &mut signals {
            signal.start(&mut kernel);
            signal.tick(&mut kernel);
        }
        let cpus = CpuWatch::new(&roots.sys)
            .inspect_err(|error| tracing::warn!(%error, "CPUs are not followed."))
            .ok();
        Ok(Self {
            idle_stolen_nanos: stolen::idle_nanos(&kernel),
            is_limited: !options.pids.is_empty(),
            kernel,
            signals,
            reader,
            assembly,
            cpus,
            statistics: None,
            run_times: Vec::new(),
            walks_failed: 0,
            lost: 0,
        })
    }

    /// Samples the CPUs that are online now.
    pub(super) fn follow_cpus(&mut self) {
        let Some(watch) = &mut self.cpus else {
            return;
        };
        match watch.poll() {
            Ok(_) => self.kernel.follow_cpus(watch.online()),
            Err(error) => tracing::debug!(%error, "Which CPUs are online cannot be told."),
        }
    }

    /// Sums of a window, with the samples that were lost on the way.
    pub(super) fn summary(&mut self, reading: &ReaderWindow) -> WindowSummary {
        let lost = self.kernel.counter(Counter::SamplesLost) + reading.malformed;
        let grown = lost.saturating_sub(self.lost);
        self.lost = lost;
        let samples = &reading.samples;
        let mut summary = WindowSummary {
            lost: grown + samples.lost.ticks,
            ..WindowSummary::default()
        };
        let mut stolen_nanos = 0;
        for (_, totals) in &samples.samples {
            summary.samples += totals.ticks;
            stolen_nanos += totals.stolen_nanos;
        }
        summary.stolen_seconds = stolen_nanos as f64 / 1e9;
        summary
    }

    /// Hands the reader the waits that go on and what each task did.
    pub(super) fn walk_tasks(&mut self) -> Result<(), CaptureError> {
        if self.kernel.runs(TASK_WALK) {
            match walk(&mut self.kernel) {
                Ok(records) => self.reader.records(records)?,
                Err(error) => {
                    self.walks_failed += 1;
                    tracing::warn!(%error, "Waits that go on are missing from a window.");
                }
            }
        }
        Ok(())
    }

    /// What the signals of the kernel's side saw and lost.
    pub(super) fn accounts(&self) -> Vec<(Signal, SignalAccount)> {
        self.signals
            .iter()
            .map(|signal| (signal.signal(), signal.account(&self.kernel)))
            .collect()
    }

    /// Stolen nanoseconds of idle CPUs since the last call. They belong to no process, so they are
    /// not in a capture that is limited to some.
    pub(super) fn idle_stolen_growth(&mut self) -> u64 {
        let idle = stolen::idle_nanos(&self.kernel);
        let growth = idle.saturating_sub(self.idle_stolen_nanos);
        self.idle_stolen_nanos = idle;
        if self.is_limited { 0 } else { growth }
    }

    /// The profiles of a window, with names.
    pub(super) fn profiles(&self, reading: &ReaderWindow, idle_stolen_nanos: u64) -> Assembled {
        self.assembly.profiles(&reading.samples, idle_stolen_nanos)
    }
}

/// Rows of unwind tables that there is room for: a row is 4 bytes, and a 1024th of the node's memory is
/// spent on them, 4 to 32 MiB. A C library has 28 thousand, a C compiler half a million, Rust's a million.
fn unwind_rows() -> u32 {
    const BYTES: std::ops::RangeInclusive<u64> = 4 << 20..=32 << 20;
    let memory = rustix::system::sysinfo();
    let bytes = memory.totalram.saturating_mul(u64::from(memory.mem_unit)) / 1024;
    u32::try_from(bytes.clamp(*BYTES.start(), *BYTES.end()) / 4).unwrap_or(1 << 20)
}

/// What keeps the unwind tables; `None` where no stacks are taken, or after a warning.
fn unwinder(kernel: &mut Kernel, settings: &CaptureSettings) -> Option<Unwinder> {
    if !unwind::serves(&settings.signals) {
        return None;
    }
    let started = UnwindArrays::take(kernel, settings.unwind_rows)
        .map_err(|error| error.to_string())
        .and_then(|arrays| {
            let processes = kernel
                .take_map("UNWIND_PROCESSES")
                .and_then(|map| aya::maps::HashMap::try_from(map).ok())
                .ok_or("the kernel object has no table UNWIND_PROCESSES")?;
            Unwinder::start(arrays, processes).map_err(|error| error.to_string())
        });
    match started {
        Ok(unwinder) => Some(unwinder),
        Err(reason) => {
            tracing::warn!(reason, "User stacks are walked by frame pointers only.");
            None
        }
    }
}

/// The walk over all tasks.
const TASK_WALK: &str = "task_walk";

/// The walk compares with the clock that a switch to one of our threads has just read: a nap makes
/// one happen on this CPU.
fn walk(kernel: &mut Kernel) -> Result<Vec<u8>, IteratorError> {
    thread::sleep(Duration::from_micros(50));
    kernel.iterate(TASK_WALK)
}

/// Puts how this host measures on every resource.
fn describe_method(kernel: &Kernel, host: &mut HostIdentity) {
    host.insert(
        attribute::EVENKEEL_BPF_OBJECT_HASH,
        kernel.object_digest(),
        "SHA-256 of the loaded kernel object",
    );
    let method = kernel.method();
    host.insert(
        attribute::EVENKEEL_METHOD_FINGERPRINT,
        method.fingerprint.as_str(),
        "hooks attached, fallbacks taken and rates",
    );
    if let Some(cost) = method.clock_cost() {
        host.insert(attribute::EVENKEEL_METHOD_CLOCK_COST, cost, "self-test");
    }
    tracing::debug!(method = method.description, "Kernel programs are attached.");
}
