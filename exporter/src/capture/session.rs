//! A running capture: the kernel's side, the reader, the names, and the windows made of them.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use evenkeel_otlp::model::{Metric, MetricGroup, ProfileGroup, Resource, Span, Window};
use evenkeel_semconv::attribute;

use super::{
    clock::WindowClock,
    reader::{Reader, ReaderError, ReaderSettings, ReaderWindow},
};
use crate::{
    identity::{HostIdentity, ProcessTable, Roots},
    kernel::{
        CaptureSettings, Kernel, KernelError, State,
        account::{RunTime, Statistics},
        cpus::CpuWatch,
        requirements::raise_locked_memory,
    },
    profile::{Assembly, AssemblySettings},
    signal::{
        Signal,
        host::{HostSampler, Moment, StealClock, StealTicker},
        run_queue,
        status::Account,
        stolen,
    },
    symbol::{ExecutableTable, Symbolizer, SymbolizerSettings, raise_file_limit},
};

/// Processes kept; one takes about 500 bytes.
const PROCESSES: usize = 32_768;

/// Executables kept open.
const EXECUTABLES: usize = 2048;

/// How much of each window the kernel's run-time statistics are on: long enough for thousands of
/// switches, short enough that their own cost (two clock reads a run) is a tenth.
const STATISTICS_SHARE: f64 = 0.1;

/// What to capture and how.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// Samples a second on each CPU.
    pub frequency: u64,
    /// Length of a window.
    pub window: Duration,
    /// Signals that are on.
    pub signals: Vec<Signal>,
    /// Processes to which samples are limited; empty for all.
    pub pids: HashSet<u32>,
    /// Whether names come with files, lines and inlined functions.
    pub lines: bool,
    /// Whether samples carry `process.pid` and `thread.name`.
    pub detailed_samples: bool,
}

/// The capture could not be started, or stopped early.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The kernel's side.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The reader.
    #[error(transparent)]
    Reader(#[from] ReaderError),
    /// The symbolizer.
    #[error("cannot start the symbolizer: {0}")]
    Symbolizer(#[source] std::io::Error),
}

/// A window in a line, for progress and logs.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowSummary {
    /// Samples of running tasks.
    pub samples: u64,
    /// Stolen seconds.
    pub stolen_seconds: f64,
    /// Samples lost.
    pub lost: u64,
}

/// The parts that need the kernel.
#[derive(Debug)]
struct Probes {
    kernel: Kernel,
    reader: Reader,
    assembly: Assembly,
    cpus: Option<CpuWatch>,
    statistics: Option<Statistics>,
    run_times: Vec<RunTime>,
    idle_stolen_nanos: u64,
}

/// A running capture.
#[derive(Debug)]
pub struct Capture {
    options: CaptureOptions,
    host: HostIdentity,
    resource: Arc<Resource>,
    signals: Vec<(Signal, State)>,
    clock: WindowClock,
    attached_unix_nanos: u64,
    probes: Option<Probes>,
    host_sampler: Option<HostSampler>,
    steal_ticker: Option<StealTicker>,
    host_readings: u64,
    aggregation_lost: u64,
    last_reading: Option<ReaderWindow>,
}

impl Capture {
    /// Starts everything that the options ask for. The first window begins when this returns.
    pub fn start(
        options: CaptureOptions,
        roots: &Roots,
        mut host: HostIdentity,
    ) -> Result<Self, CaptureError> {
        let is_on = |signal| options.signals.contains(&signal);
        let kernel_is_wanted = options.signals.iter().any(|signal| *signal != Signal::Host);
        let steal_clock = StealClock::detect(&roots.proc, &roots.sys);
        let mut signals = Vec::new();
        let mut probes = None;
        if kernel_is_wanted {
            let (started, states) = start_probes(&options, roots, &mut host)?;
            signals = states;
            probes = Some(started);
        } else {
            let off = |signal| (signal, State::Off("not enabled".into()));
            signals.extend([Signal::OnCpu, Signal::Stolen, Signal::Scheduler].map(off));
        }
        signals.push((
            Signal::Host,
            if is_on(Signal::Host) {
                State::Attached
            } else {
                State::Off("not enabled".into())
            },
        ));
        let host_sampler = is_on(Signal::Host)
            .then(|| HostSampler::new(&roots.proc).with_steal_clock(steal_clock));
        let steal_ticker =
            is_on(Signal::Stolen).then(|| StealTicker::new(&roots.proc, steal_clock));
        let resource = Arc::new(host.agent_resource());
        Ok(Self {
            options,
            host,
            resource,
            signals,
            clock: WindowClock::start(),
            attached_unix_nanos: Moment::now().unix_nanos,
            probes,
            host_sampler,
            steal_ticker,
            host_readings: 0,
            aggregation_lost: 0,
            last_reading: None,
        })
    }

    /// The agent's own resource, which is also that of metrics about the host.
    pub fn resource(&self) -> &Arc<Resource> {
        &self.resource
    }

    /// What is known of the host, with where each attribute came from.
    pub fn host(&self) -> &HostIdentity {
        &self.host
    }

    /// The states of all signals.
    pub fn signals(&self) -> &[(Signal, State)] {
        &self.signals
    }

    /// When the running window ends.
    pub fn window_end(&self) -> Instant {
        self.clock.started() + self.options.window
    }

    /// Time since the running window began.
    pub fn window_age(&self) -> Duration {
        self.clock.started().elapsed()
    }

    /// The next process that this one starts is the recorded command.
    pub fn expect_command(&self) -> Result<(), CaptureError> {
        match &self.probes {
            Some(probes) => Ok(probes.reader.expect_command(std::process::id())?),
            None => Ok(()),
        }
    }

    /// Marks a process and its descendants as the recorded command.
    pub fn mark_command_tree(&self, pid: u32) -> Result<(), CaptureError> {
        match &self.probes {
            Some(probes) => Ok(probes.reader.mark_command_tree(pid)?),
            None => Ok(()),
        }
    }

    /// What has to be done every second.
    pub fn tick(&mut self) {
        if let Some(ticker) = &mut self.steal_ticker {
            ticker.tick();
        }
        let remaining = self.window_end().saturating_duration_since(Instant::now());
        if let Some(probes) = &mut self.probes {
            probes.follow_cpus();
            let share = self.options.window.mul_f64(STATISTICS_SHARE);
            // The last tick of a window turns the statistics on; the window's end turns them off.
            if probes.statistics.is_none() && remaining <= share.max(Duration::from_secs(1)) {
                probes.statistics = Statistics::on();
            }
        }
    }

    /// Ends the window: everything measured since the last one ended.
    pub fn end_window(&mut self) -> Result<(Window, WindowSummary), CaptureError> {
        let mut summary = WindowSummary::default();
        let mut profiles = Vec::new();
        let span = match &mut self.probes {
            None => self.clock.end(),
            Some(probes) => {
                probes.run_times = probes.kernel.run_times();
                probes.statistics = None;
                let reading = probes.reader.end_window()?;
                let span = self.clock.end();
                profiles = probes.profiles(&reading, &mut summary);
                let lost = reading.samples.ticks_lost;
                self.aggregation_lost += lost;
                self.last_reading = Some(reading);
                span
            }
        };
        let metrics = self.metrics();
        let window = Window {
            span,
            profiles,
            metrics: vec![MetricGroup {
                resource: self.resource.clone(),
                metrics,
            }],
        };
        Ok((window, summary))
    }

    /// The metrics now, without ending a window: a window of one nanosecond without profiles.
    pub fn reading(&mut self) -> Window {
        let span = Span {
            start_unix_nanos: Moment::now().unix_nanos.saturating_sub(1),
            duration_nanos: 1,
        };
        let metrics = self.metrics();
        Window {
            span,
            profiles: Vec::new(),
            metrics: vec![MetricGroup {
                resource: self.resource.clone(),
                metrics,
            }],
        }
    }

    fn metrics(&mut self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        let is_measured = |signal| {
            self.signals.iter().any(|(name, state)| {
                *name == signal && matches!(state, State::Attached | State::Partial(_))
            })
        };
        if let Some(probes) = &self.probes {
            if is_measured(Signal::Scheduler) {
                metrics.extend(run_queue::metrics(&probes.kernel, self.attached_unix_nanos));
            }
            if is_measured(Signal::Stolen) {
                metrics.extend(stolen::metrics(&probes.kernel, self.attached_unix_nanos));
            }
        }
        if let Some(ticker) = self
            .steal_ticker
            .as_ref()
            .filter(|_| is_measured(Signal::Stolen))
        {
            metrics.extend(ticker.metric());
        }
        let mut host_losses = Default::default();
        if let Some(sampler) = &mut self.host_sampler {
            let host = sampler.sample();
            self.host_readings += host.len() as u64;
            host_losses = sampler.losses();
            metrics.extend(host);
        }
        let account = Account {
            kernel: self.probes.as_ref().map(|probes| &probes.kernel),
            signals: &self.signals,
            reader: self.last_reading.as_ref(),
            symbols: self
                .probes
                .as_ref()
                .map(|probes| probes.assembly.symbolizer_counters()),
            aggregation_lost: self.aggregation_lost,
            host_readings: self.host_readings,
            host_losses,
            run_times: self
                .probes
                .as_ref()
                .map_or(&[], |probes| probes.run_times.as_slice()),
            map_bytes: self
                .probes
                .as_ref()
                .map_or(&[], |probes| probes.kernel.map_bytes()),
            attached_unix_nanos: self.attached_unix_nanos,
        };
        metrics.extend(account.metrics());
        metrics
    }
}

impl Probes {
    fn follow_cpus(&mut self) {
        let Some(watch) = &mut self.cpus else {
            return;
        };
        match watch.poll() {
            Ok(changes) => {
                for cpu in changes.offline {
                    self.kernel.cpu_offline(cpu);
                }
                for cpu in changes.online {
                    self.kernel.cpu_online(cpu);
                }
            }
            Err(error) => tracing::debug!(%error, "Which CPUs are online cannot be told."),
        }
    }

    fn profiles(
        &mut self,
        reading: &ReaderWindow,
        summary: &mut WindowSummary,
    ) -> Vec<ProfileGroup> {
        let idle = stolen::idle_nanos(&self.kernel);
        let idle_growth = idle.saturating_sub(self.idle_stolen_nanos);
        self.idle_stolen_nanos = idle;
        let totals = |value: fn(&crate::profile::SampleTotals) -> u64| {
            reading
                .samples
                .samples
                .iter()
                .map(|(_, totals)| value(totals))
                .sum::<u64>()
        };
        summary.samples = totals(|totals| totals.ticks);
        summary.stolen_seconds = (totals(|totals| totals.stolen_nanos) + idle_growth) as f64 / 1e9;
        summary.lost = reading.samples.ticks_lost;
        self.assembly.profiles(&reading.samples, idle_growth)
    }
}

/// Starts the kernel's side and what reads it. The attributes that say how this host measures are
/// added to `host` before any owner is made.
fn start_probes(
    options: &CaptureOptions,
    roots: &Roots,
    host: &mut HostIdentity,
) -> Result<(Probes, Vec<(Signal, State)>), CaptureError> {
    raise_locked_memory();
    raise_file_limit();
    let settings = CaptureSettings {
        frequency: options.frequency,
        signals: options.signals.clone(),
    };
    let (kernel, events) = Kernel::start(&settings, &roots.proc, &roots.sys)?;
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

    let mut symbols = SymbolizerSettings::new(options.lines);
    symbols.proc_root.clone_from(&roots.proc);
    symbols.sys_root.clone_from(&roots.sys);
    let symbolizer = Symbolizer::start(symbols).map_err(CaptureError::Symbolizer)?;
    let executables = ExecutableTable::new(EXECUTABLES, Some(symbolizer.evictions()));
    let processes = ProcessTable::new(roots, host, PROCESSES);
    let reader = Reader::start(
        ReaderSettings {
            proc_root: roots.proc.clone(),
            pids: options.pids.clone(),
            thread_names: options.detailed_samples,
        },
        events,
        processes,
        executables,
    )?;
    let assembly = Assembly::new(
        AssemblySettings {
            frequency: options.frequency,
            pids: options.detailed_samples,
            on_cpu: options.signals.contains(&Signal::OnCpu),
            stolen: options.signals.contains(&Signal::Stolen),
        },
        symbolizer,
        Arc::new(host.agent_resource()),
    );
    let signals = kernel.signals().to_vec();
    let cpus = CpuWatch::new(&roots.sys)
        .inspect_err(|error| tracing::debug!(%error, "CPUs are not followed."))
        .ok();
    let idle_stolen_nanos = stolen::idle_nanos(&kernel);
    let probes = Probes {
        kernel,
        reader,
        assembly,
        cpus,
        statistics: None,
        run_times: Vec::new(),
        idle_stolen_nanos,
    };
    Ok((probes, signals))
}
