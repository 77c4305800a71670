//! A running capture: the kernel's side, the reader, the names, and the windows made of them.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use evenkeel_otlp::model::{Metric, MetricGroup, Resource, Span, Window};

use super::{
    clock::WindowClock,
    focus::FocusTarget,
    probes::Probes,
    reader::{ReaderError, ReaderWindow},
};
use crate::{
    identity::{
        HostIdentity, Roots, SourcedAttributes,
        cloud::{CloudSettings, Detection},
        kubernetes::{KubernetesSettings, Pods, Source},
    },
    kernel::{KernelError, State, account::Statistics},
    profile::{Assembled, SampleTotals},
    signal::{
        BlockedTime, Signal, focus,
        host::{HostSampler, Moment, StealClock, StealTicker},
        status::Account,
        stolen, syscalls,
        workload::{Parts, Workloads},
    },
};

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
    /// One wait is sampled for so much waiting.
    pub wait_period: Duration,
    /// Whether samples of blocked tasks show the stack of who woke them.
    pub waker_stacks: bool,
    /// Services and containers that have distributions of their own.
    pub focus: Vec<FocusTarget>,
    /// Processes to which samples are limited; empty for all.
    pub pids: HashSet<u32>,
    /// Whether names come with files, lines and inlined functions.
    pub lines: bool,
    /// Which system calls are measured one by one, and what that may cost.
    pub syscalls: syscalls::Settings,
    /// Whose metadata service is asked what the host is.
    pub cloud: CloudSettings,
    /// Where to learn of pods.
    pub kubernetes: KubernetesSettings,
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

/// A running capture.
#[derive(Debug)]
pub struct Capture {
    options: CaptureOptions,
    host: HostIdentity,
    resource: Arc<Resource>,
    /// Until it has told what it knows.
    cloud: Option<Detection>,
    cloud_attributes: SourcedAttributes,
    cluster: Option<Source>,
    cluster_attributes: SourcedAttributes,
    steal_clock: StealClock,
    clock: WindowClock,
    attached_unix_nanos: u64,
    probes: Option<Probes>,
    host_sampler: Option<HostSampler>,
    steal_ticker: Option<StealTicker>,
    host_readings: u64,
    lost: SampleTotals,
    waits_lost: u64,
    workloads: Workloads,
    blocked_time: BlockedTime,
    last_reading: Option<ReaderWindow>,
}

impl Capture {
    /// Starts everything that the options ask for. The first window begins when this returns.
    pub fn start(
        options: CaptureOptions,
        roots: &Roots,
        mut host: HostIdentity,
    ) -> Result<Self, CaptureError> {
        // First, so that it has its answer, if there is one, before the first window is over. Nothing
        // here waits for it.
        let cloud = Detection::start(&options.cloud, roots)
            .inspect_err(|error| tracing::warn!(%error, "The cloud is not detected."))
            .ok()
            .flatten();
        let pods = Pods::default();
        let cluster = options.kubernetes.is_wanted().then(|| {
            Source::start(options.kubernetes.clone(), pods.clone())
                .inspect_err(|error| tracing::warn!(%error, "Pods are not known."))
                .ok()
        });
        let is_on = |signal| options.signals.contains(&signal);
        let kernel_is_wanted = options.signals.iter().any(|signal| *signal != Signal::Host);
        let steal_clock = StealClock::detect(&roots.proc, &roots.sys);
        let probes = if kernel_is_wanted {
            Some(Probes::start(
                &options,
                roots,
                &mut host,
                pods,
                steal_clock,
            )?)
        } else {
            None
        };
        let host_sampler = is_on(Signal::Host)
            .then(|| HostSampler::new(&roots.proc, &roots.sys).with_steal_clock(steal_clock));
        let steal_ticker =
            is_on(Signal::Stolen).then(|| StealTicker::new(&roots.proc, steal_clock));
        let resource = Arc::new(host.agent_resource());
        Ok(Self {
            options,
            host,
            resource,
            cloud,
            cloud_attributes: SourcedAttributes::default(),
            cluster: cluster.flatten(),
            cluster_attributes: SourcedAttributes::default(),
            steal_clock,
            clock: WindowClock::start(),
            attached_unix_nanos: Moment::now().unix_nanos,
            probes,
            host_sampler,
            steal_ticker,
            host_readings: 0,
            lost: SampleTotals::default(),
            waits_lost: 0,
            workloads: Workloads::default(),
            blocked_time: BlockedTime::default(),
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

    /// The states of all signals now.
    pub fn signals(&self) -> Vec<(Signal, State)> {
        let off = || State::Off("not enabled".into());
        let mut signals = match &self.probes {
            Some(probes) => probes.kernel.signals(),
            None => Signal::ALL
                .into_iter()
                .filter(|signal| *signal != Signal::Host)
                .map(|signal| (signal, off()))
                .collect(),
        };
        let host = match self.host_sampler {
            Some(_) => State::Attached,
            None => off(),
        };
        signals.push((Signal::Host, host));
        signals
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
            for signal in &mut probes.signals {
                signal.tick(&mut probes.kernel);
            }
            let share = self.options.window.mul_f64(STATISTICS_SHARE);
            // The last tick of a window turns the statistics on; the window's end turns them off.
            if probes.statistics.is_none() && remaining <= share.max(Duration::from_secs(1)) {
                probes.statistics = Statistics::on();
            }
        }
    }

    /// Ends the window: everything measured since the last one ended. Counters are read before
    /// names are looked up, which can take seconds: they belong to the window's end.
    pub fn end_window(&mut self) -> Result<(Window, WindowSummary), CaptureError> {
        let mut summary = WindowSummary::default();
        let mut idle_stolen_nanos = 0;
        let learned = self.learn();
        if let Some(probes) = &mut self.probes {
            probes.run_times = probes.kernel.run_times();
            probes.statistics = None;
            probes.walk_tasks()?;
            for signal in &mut probes.signals {
                signal.end_window(&mut probes.kernel);
            }
            let reading = probes.reader.end_window(learned)?;
            summary = probes.summary(&reading);
            idle_stolen_nanos = probes.idle_stolen_growth();
            summary.stolen_seconds += idle_stolen_nanos as f64 / 1e9;
            self.lost.add(reading.samples.lost);
            self.waits_lost += reading.samples.waits_lost;
            self.last_reading = Some(reading);
        }
        let span = self.clock.end();
        if let Some(reading) = &self.last_reading {
            self.workloads
                .end_window(&reading.deeds, span.start_unix_nanos);
        }
        let mut metrics = self.metrics();
        let assembled = match (&self.probes, &self.last_reading) {
            (Some(probes), Some(reading)) => probes.profiles(reading, idle_stolen_nanos),
            _ => Assembled::default(),
        };
        // Reasons are told by names, so this counter is ready last.
        self.blocked_time.add(&assembled.blocked_nanos);
        if let Some(host) = metrics.first_mut() {
            host.metrics
                .extend(self.blocked_time.metric(self.attached_unix_nanos));
        }
        let window = Window {
            span,
            profiles: assembled.profiles,
            metrics,
        };
        Ok((window, summary))
    }

    /// Takes what cloud and cluster have told since, if they have: the window that ends and all later ones have
    /// it. Of what both tell, the cloud's own word counts.
    fn learn(&mut self) -> Option<HostIdentity> {
        let cloud = self.cloud.as_ref().and_then(Detection::poll);
        let cluster = self.cluster.as_ref().map(Source::host_attributes);
        let cluster = cluster.filter(|told| *told != self.cluster_attributes);
        if cloud.is_none() && cluster.is_none() {
            return None;
        }
        if let Some(attributes) = cloud {
            self.cloud = None;
            self.cloud_attributes = attributes;
        }
        if let Some(attributes) = cluster {
            self.cluster_attributes = attributes;
        }
        self.host.extend(&self.cluster_attributes);
        self.host.extend(&self.cloud_attributes);
        self.resource = Arc::new(self.host.agent_resource());
        if let Some(probes) = &mut self.probes {
            probes.assembly.set_host(self.resource.clone());
        }
        self.workloads.restart();
        Some(self.host.clone())
    }

    /// What the reader counted up to the end of the last window; `None` before it, and where only the host
    /// is measured.
    pub fn last_reading(&self) -> Option<&ReaderWindow> {
        self.last_reading.as_ref()
    }

    /// The metrics now, without ending a window: a window of one nanosecond without profiles.
    pub fn reading(&mut self) -> Window {
        let span = Span {
            start_unix_nanos: Moment::now().unix_nanos.saturating_sub(1),
            duration_nanos: 1,
        };
        let mut metrics = self.metrics();
        if let Some(host) = metrics.first_mut() {
            host.metrics
                .extend(self.blocked_time.metric(self.attached_unix_nanos));
        }
        Window {
            span,
            profiles: Vec::new(),
            metrics,
        }
    }

    /// The metrics of the host and the agent, then those of each workload.
    fn metrics(&mut self) -> Vec<MetricGroup> {
        let mut groups = vec![MetricGroup {
            resource: self.resource.clone(),
            metrics: self.host_metrics(),
        }];
        let signals = self.signals();
        let is_measured = |signal| {
            signals
                .iter()
                .any(|(name, state)| *name == signal && state.is_on())
        };
        groups.extend(self.workloads.metrics(Parts {
            scheduler: is_measured(Signal::Scheduler),
            run_queue: is_measured(Signal::RunQueue),
            stolen: is_measured(Signal::Stolen),
        }));
        groups
    }

    fn host_metrics(&mut self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        let signals = self.signals();
        let is_measured = |signal| {
            signals
                .iter()
                .any(|(name, state)| *name == signal && state.is_on())
        };
        // Next to the counters of the kernel programs, which count some of the same things.
        let host = self.host_sampler.as_mut().map(HostSampler::sample);
        if let Some(probes) = &mut self.probes {
            for signal in &mut probes.signals {
                if is_measured(signal.signal()) {
                    metrics.extend(signal.metrics(&probes.kernel, self.attached_unix_nanos));
                }
            }
            if is_measured(Signal::Stolen) {
                let clock = self.steal_clock;
                metrics.extend(stolen::metrics(
                    &probes.kernel,
                    clock,
                    self.attached_unix_nanos,
                ));
            }
        }
        if let Some(probes) = &self.probes {
            metrics.extend(focus::metrics(
                &probes.kernel,
                &self.options.focus,
                &is_measured,
                self.attached_unix_nanos,
            ));
        }
        let ticker = self
            .steal_ticker
            .as_ref()
            .filter(|_| is_measured(Signal::Stolen));
        metrics.extend(ticker.and_then(StealTicker::metric));
        let ticker_losses = ticker.map(StealTicker::losses).unwrap_or_default();
        let mut host_losses = Default::default();
        if let (Some(sampler), Some(host)) = (&self.host_sampler, host) {
            self.host_readings += host.len() as u64;
            host_losses = sampler.losses();
            metrics.extend(host);
        }
        let account = Account {
            kernel: self.probes.as_ref().map(|probes| &probes.kernel),
            accounts: self.probes.as_ref().map_or_else(Vec::new, Probes::accounts),
            signals: &signals,
            reader: self.last_reading.as_ref(),
            symbols: self
                .probes
                .as_ref()
                .map(|probes| probes.assembly.symbolizer_counters()),
            aggregation_lost: self.lost,
            waits_lost: self.waits_lost,
            workloads_refused: self.workloads.refused(),
            walks_failed: self.probes.as_ref().map_or(0, |probes| probes.walks_failed),
            host_readings: self.host_readings,
            host_losses,
            ticker_losses,
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
