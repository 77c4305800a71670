//! The thread that watches in bursts: it attaches the programs, waits, and detaches them again.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use evenkeel_abi::SKIP_BITS;
use rustix::process::setpriority_process;

use super::{
    budget::{Budget, Costs, Plan, Spent},
    calibration::{calibrate, own_time, quick_call},
    estimate::{Estimate, Watch, Weighed, weigh},
    growth::{Counted, Growth, Looks},
    layout::Layout,
    spread::{Burst, Spread},
};
use crate::kernel::{
    Kernel,
    mapped_array::MappedWord,
    part::syscalls::shards,
    raw_tracepoint::{Attachment, RawTracepoint},
};

/// The thread's nice value.
const PRIORITY: i32 = -15;

/// How often a watch without an end is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The two programs and the word that turns them on.
#[derive(Debug)]
pub(super) struct Hooks {
    enter: RawTracepoint,
    exit: RawTracepoint,
    control: MappedWord,
    attachments: Option<[Attachment; 2]>,
    /// Number of the burst.
    burst: u64,
}

impl Hooks {
    /// Attaches both, unless they are. Calls are watched from [`Hooks::watch`] on.
    pub(super) fn attach(&mut self) -> io::Result<()> {
        if self.attachments.is_none() {
            let exit = self.exit.attach()?;
            let enter = self.enter.attach()?;
            self.attachments = Some([enter, exit]);
            self.burst += 1;
        }
        Ok(())
    }

    /// Watches calls, one sample for so many.
    pub(super) fn watch(&self, skip: u16) {
        self.control.set(self.burst << SKIP_BITS | u64::from(skip));
    }

    /// Does not watch any more.
    fn pause(&self) {
        self.control.set(0);
    }

    /// Detaches both.
    pub(super) fn detach(&mut self) {
        self.pause();
        self.attachments = None;
    }
}

/// What the thread found, for whoever makes metrics of it.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) estimate: Estimate,
    pub(super) spread: Spread,
    /// Failing calls are seen as what they are.
    pub(super) has_errors: bool,
    /// What watching costs.
    pub(super) costs: Costs,
    /// Calls watched and sampled in spans that are over.
    pub(super) looks: Looks,
    /// Sampled calls that were too long for their burst.
    pub(super) too_long: f64,
    /// Seconds for which calls were watched in spans that are over.
    pub(super) watched: f64,
    /// Attachments so far.
    pub(super) bursts: u64,
    /// CPU seconds that all of it has cost.
    pub(super) cost: f64,
    /// What is going on.
    pub(super) plan: Option<Plan>,
    /// The longest duration that the last span could measure, seconds.
    pub(super) longest: f64,
    /// Why the thread has ended.
    pub(super) failure: Option<String>,
    counted: Counted,
    shards: usize,
    /// When the burst and its last span began.
    under_way: Option<(f64, f64)>,
    epoch: Instant,
}

/// The sums at a moment.
#[derive(Debug)]
pub(super) struct Sums {
    /// By [`Layout`].
    pub(super) words: Vec<f64>,
    /// Calls sampled and watched.
    pub(super) looks: Looks,
    /// Seconds for which calls were watched.
    pub(super) watched: f64,
    /// Sampled calls that were too long for their burst.
    pub(super) too_long: f64,
}

impl Findings {
    fn now(&self) -> f64 {
        self.epoch.elapsed().as_secs_f64()
    }

    fn weigh(&self, growth: &Growth, watch: Watch) -> Weighed {
        let skip = self.plan.map_or(1, |plan| plan.skip);
        let layout = self.estimate.layout();
        weigh(layout, growth, watch, skip, self.costs, self.shards)
    }

    /// Everything so far, the span that is under way included.
    pub(super) fn sums(&self) -> Sums {
        let now = self.now();
        let mut sums = Sums {
            words: Vec::new(),
            looks: self.looks,
            watched: self.watched,
            too_long: self.too_long,
        };
        let weighed = self.under_way.map(|(attached, begun)| {
            let growth = self.counted.growth();
            let watch = Watch {
                attached,
                begun,
                ended: now,
            };
            let weighed = self.weigh(&growth, watch);
            sums.looks.watched += growth.watched();
            sums.looks.sampled += growth.sampled();
            sums.watched += watch.length();
            sums.too_long += weighed.too_long;
            weighed
        });
        sums.words = self.estimate.words(now, weighed.as_ref());
        sums
    }

    /// Ends a span: takes what was counted and gives what was looked at.
    fn end(&mut self, watch: Watch, plan: &Plan) -> Looks {
        let growth = self.counted.growth();
        self.counted.take(&growth);
        let weighed = self.weigh(&growth, watch);
        let looks = Looks {
            watched: growth.watched(),
            sampled: growth.sampled(),
        };
        self.looks.watched += looks.watched;
        self.looks.sampled += looks.sampled;
        self.watched += watch.length();
        self.too_long += weighed.too_long;
        self.longest = watch.longest();
        self.spread.add(Burst {
            calls: weighed.calls(self.estimate.layout()),
            slowed: weighed.slowed(self.estimate.layout(), watch),
            length: watch.length(),
            gap: plan.gap.as_secs_f64(),
            skip: plan.skip,
        });
        self.estimate.end(watch, weighed);
        self.under_way = None;
        looks
    }
}

/// The running thread; it ends when this is dropped, with the programs detached.
#[derive(Debug)]
pub(super) struct Sampler {
    findings: Arc<Mutex<Findings>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The thread could not be started.
#[derive(Debug, thiserror::Error)]
pub(super) enum SamplerError {
    /// The object lacks a part, or a descriptor.
    #[error("the kernel object lacks {0}")]
    Missing(&'static str),
    /// The control word could not be mapped.
    #[error(transparent)]
    Control(#[from] crate::kernel::mapped_array::MappedArrayError),
    /// The programs could not be attached.
    #[error("cannot attach: {0}")]
    Attach(#[source] io::Error),
    /// Known calls were not seen as what they are.
    #[error("calls are not told from those of the 32-bit ABI")]
    Abi,
    /// The system refused a thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

impl Sampler {
    /// Starts with the programs of a kernel's side that loaded them; measuring may cost a share of the
    /// time of so many CPUs.
    pub(super) fn start(
        kernel: &mut Kernel,
        layout: Layout,
        share: f64,
        cpus: usize,
    ) -> Result<Self, SamplerError> {
        let program = |kernel: &Kernel, name: &'static str| {
            let program = kernel.raw_tracepoint(name);
            program.ok_or(SamplerError::Missing(name))
        };
        let mut hooks = Hooks {
            enter: program(kernel, "sys_enter")?,
            exit: program(kernel, "sys_exit")?,
            control: kernel.take_word("SYSCALL_CONTROL")?,
            attachments: None,
            burst: 0,
        };
        let mut counted =
            Counted::new(kernel, layout).ok_or(SamplerError::Missing("its arrays"))?;
        let calibration = calibrate(&mut hooks, &counted, layout).map_err(SamplerError::Attach)?;
        let growth = counted.growth();
        counted.take(&growth);
        tracing::debug!(?calibration, "Watching system calls was measured.");
        if !calibration.families_are_right {
            return Err(SamplerError::Abi);
        }
        let findings = Arc::new(Mutex::new(Findings {
            estimate: Estimate::new(layout),
            spread: Spread::default(),
            has_errors: calibration.errors_are_right,
            costs: calibration.costs,
            looks: Looks::default(),
            too_long: 0.0,
            watched: 0.0,
            bursts: 0,
            cost: 0.0,
            plan: None,
            longest: 0.0,
            failure: None,
            counted,
            shards: shards(kernel.cpu_limit()),
            under_way: None,
            epoch: Instant::now(),
        }));
        let (stop, stopped) = bounded(0);
        let driver = Driver {
            hooks,
            findings: findings.clone(),
            stopped,
            budget: Budget::new(share, cpus, calibration),
            began: None,
        };
        let thread = thread::Builder::new()
            .name("syscalls".into())
            .spawn(move || driver.run())?;
        Ok(Self {
            findings,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// What was found so far. The thread waits meanwhile.
    pub(super) fn findings(&self) -> MutexGuard<'_, Findings> {
        lock(&self.findings)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It only fails by a panic, of which it has told already.
            let _ = thread.join();
        }
    }
}

/// The thread that panicked has left the findings as they were.
fn lock(findings: &Mutex<Findings>) -> MutexGuard<'_, Findings> {
    findings.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Driver {
    hooks: Hooks,
    findings: Arc<Mutex<Findings>>,
    stopped: Receiver<()>,
    budget: Budget,
    /// When the burst that goes on began.
    began: Option<f64>,
}

/// It is time to end.
struct Stopped;

impl Driver {
    fn run(mut self) {
        // A burst that ends late costs what it should not. It takes no time worth mentioning.
        if let Err(error) = setpriority_process(None, PRIORITY) {
            tracing::debug!(%error, "Bursts may end late on a busy host.");
        }
        let failure = loop {
            match self.cycle() {
                Ok(None) => {}
                Ok(Some(Stopped)) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        self.hooks.detach();
        if let Some(failure) = failure {
            tracing::warn!(failure, "System calls are not measured any more.");
            lock(&self.findings).failure = Some(failure);
        }
    }

    /// One burst, or a part of one that goes on, and the gap behind it.
    fn cycle(&mut self) -> io::Result<Option<Stopped>> {
        let plan = self.budget.plan();
        let own = own_time();
        let start = lock(&self.findings).now();
        let is_new = self.began.is_none();
        self.hooks.attach()?;
        self.hooks.watch(plan.skip);
        let begun = {
            let mut findings = lock(&self.findings);
            let now = findings.now();
            let attached = *self.began.get_or_insert(now);
            findings.estimate.begin(now);
            findings.under_way = Some((attached, now));
            findings.bursts += u64::from(is_new);
            findings.plan = Some(plan);
            now
        };
        let mut stopped = self.wait_for_alarm(&plan);
        let is_last = stopped.is_some() || plan.gap > Duration::ZERO;
        let (watch, looks) = {
            let mut findings = lock(&self.findings);
            let watch = Watch {
                attached: self.began.unwrap_or(begun),
                begun,
                ended: findings.now(),
            };
            (watch, findings.end(watch, &plan))
        };
        if is_last {
            self.end_burst(plan.skip);
        }
        let detached = lock(&self.findings).now();
        if stopped.is_none() {
            stopped = self.wait(plan.gap);
        }
        let mut findings = lock(&self.findings);
        self.budget.account(Spent {
            elapsed: findings.now() - start,
            watched: watch.length(),
            attached: detached - start,
            looks,
            own: own_time() - own,
            attachments: u32::from(is_new),
        });
        findings.cost = self.budget.spent();
        Ok(stopped)
    }

    /// Detaches, and times a call before and after. What is counted of these is taken for nothing.
    fn end_burst(&mut self, skip: u16) {
        let watched = quick_call();
        self.hooks.detach();
        self.began = None;
        let unwatched = quick_call();
        let mut findings = lock(&self.findings);
        let growth = findings.counted.growth();
        findings.counted.take(&growth);
        let sampled = findings.costs.sample / f64::from(skip);
        findings.costs = self.budget.learn(watched - unwatched - sampled);
    }

    fn wait(&self, duration: Duration) -> Option<Stopped> {
        match self.stopped.recv_timeout(duration) {
            Err(RecvTimeoutError::Timeout) => None,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Some(Stopped),
        }
    }

    /// Waits for the end of a burst; one without a gap ends early when there are far more calls than
    /// it was planned for.
    fn wait_for_alarm(&self, plan: &Plan) -> Option<Stopped> {
        let end = Instant::now() + plan.burst;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let is_watched = plan.alarm < u64::MAX;
            let turn = if is_watched { left.min(LOOK) } else { left };
            if let Some(stopped) = self.wait(turn) {
                return Some(stopped);
            }
            if is_watched && lock(&self.findings).counted.watched() > plan.alarm {
                return None;
            }
        }
    }
}
