//! The thread that watches in bursts: it attaches the programs, waits, and detaches them again.

use std::{
    io, mem,
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
    estimate::{Estimate, Watch, Weighed, length, longest, weigh},
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
    /// What was watched of the cycle so far.
    watches: Vec<Watch>,
    /// Since when calls are watched, and since when without a break.
    under_way: Option<(f64, f64)>,
    /// Since when what was counted is not taken.
    taken: f64,
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

    fn weigh(&self, growth: &Growth, watches: &[Watch]) -> Weighed {
        let skip = self.plan.map_or(1, |plan| plan.skip);
        let layout = self.estimate.layout();
        weigh(layout, growth, watches, skip, self.costs, self.shards)
    }

    /// Everything so far, what is watched now included.
    pub(super) fn sums(&self) -> Sums {
        let now = self.now();
        let mut sums = Sums {
            words: Vec::new(),
            looks: self.looks,
            watched: self.watched,
            too_long: self.too_long,
        };
        let mut watches = self.watches.clone();
        watches.extend(self.under_way.map(|(begun, attached)| Watch {
            attached,
            begun,
            ended: now,
        }));
        let so_far = (!watches.is_empty()).then(|| {
            let growth = self.counted.growth();
            let weighed = self.weigh(&growth, &watches);
            sums.looks.watched += growth.watched();
            sums.looks.sampled += growth.sampled();
            sums.watched += length(&watches);
            sums.too_long += weighed.too_long;
            weighed
        });
        sums.words = self.estimate.words(now, so_far.as_ref());
        sums
    }

    /// Calls are watched from now on, or are still watched.
    fn begin_watch(&mut self, attached: &mut Option<f64>) {
        let begun = match attached {
            Some(_) => self.taken,
            None => self.now(),
        };
        self.under_way = Some((begun, *attached.get_or_insert(begun)));
    }

    /// They are not watched any more, or not for this cycle.
    fn end_watch(&mut self) {
        let ended = self.now();
        self.taken = ended;
        self.watches
            .extend(self.under_way.take().map(|(begun, attached)| Watch {
                attached,
                begun,
                ended,
            }));
    }

    /// What was to be watched of the cycle was watched: takes what was counted and gives what was looked
    /// at, and for how long.
    fn end(&mut self, plan: &Plan) -> (Looks, f64) {
        let growth = self.counted.growth();
        self.counted.take(&growth);
        let watches = mem::take(&mut self.watches);
        let weighed = self.weigh(&growth, &watches);
        let looks = Looks {
            watched: growth.watched(),
            sampled: growth.sampled(),
        };
        let watched = length(&watches);
        self.looks.watched += looks.watched;
        self.looks.sampled += looks.sampled;
        self.watched += watched;
        self.too_long += weighed.too_long;
        self.longest = longest(&watches);
        let layout = self.estimate.layout();
        self.spread.add(Burst {
            calls: weighed.calls(layout),
            slowed: weighed.slowed(layout),
            length: watched,
            gap: if plan.alarm < u64::MAX {
                0.0
            } else {
                (plan.cycle - watched).max(0.0)
            },
            skip: plan.skip,
        });
        self.estimate.end(weighed);
        (looks, watched)
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
            watches: Vec::new(),
            under_way: None,
            taken: 0.0,
            epoch: Instant::now(),
        }));
        let (stop, stopped) = bounded(0);
        let driver = Driver {
            hooks,
            findings: findings.clone(),
            stopped,
            budget: Budget::new(share, cpus, calibration),
            attached: None,
            attached_from: None,
            attached_in_cycle: 0.0,
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
    /// Since when calls are watched without a break.
    attached: Option<f64>,
    /// Since when the programs are attached, in this cycle.
    attached_from: Option<Instant>,
    /// Seconds for which they were before.
    attached_in_cycle: f64,
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

    /// One cycle.
    fn cycle(&mut self) -> io::Result<Option<Stopped>> {
        let plan = self.budget.plan();
        let own = own_time();
        let bursts = {
            let mut findings = lock(&self.findings);
            // Calls that are watched without a break are counted without one.
            let goes_on = self.attached.is_some() && plan.first.0 <= 0.0;
            let now = if goes_on {
                findings.taken
            } else {
                findings.now()
            };
            findings.estimate.begin(now);
            findings.plan = Some(plan);
            findings.bursts
        };
        let begun = Instant::now();
        let mut stopped = None;
        let mut looked = None;
        for (from, to) in [Some(plan.first), plan.second].into_iter().flatten() {
            if from > 0.0 && stopped.is_none() {
                self.leave(plan.skip);
                stopped = self.wait_until(begun, from, u64::MAX);
            }
            if stopped.is_some() {
                break;
            }
            self.watch(plan.skip)?;
            stopped = self.wait_until(begun, to, plan.alarm);
            let is_last = plan.second.is_none_or(|second| second.1 == to);
            if !plan.ends_at(to) && !is_last {
                self.hooks.pause();
            }
            lock(&self.findings).end_watch();
            if is_last || stopped.is_some() {
                looked = Some(lock(&self.findings).end(&plan));
            }
            if !plan.ends_at(to) {
                self.leave(plan.skip);
            }
        }
        if plan.alarm == u64::MAX && stopped.is_none() {
            stopped = self.wait_until(begun, plan.cycle, u64::MAX);
        }
        let (looks, watched) = looked.unwrap_or_default();
        if let Some(from) = &mut self.attached_from {
            self.attached_in_cycle += from.elapsed().as_secs_f64();
            *from = Instant::now();
        }
        let mut findings = lock(&self.findings);
        self.budget.account(Spent {
            elapsed: begun.elapsed().as_secs_f64(),
            watched,
            attached: mem::take(&mut self.attached_in_cycle),
            looks,
            own: own_time() - own,
            attachments: (findings.bursts - bursts) as u32,
        });
        findings.cost = self.budget.spent();
        Ok(stopped)
    }

    /// Watches calls, attached already or not.
    fn watch(&mut self, skip: u16) -> io::Result<()> {
        let is_new = self.attached.is_none();
        self.attached_from.get_or_insert_with(Instant::now);
        self.hooks.attach()?;
        self.hooks.watch(skip);
        let mut findings = lock(&self.findings);
        findings.begin_watch(&mut self.attached);
        findings.bursts += u64::from(is_new);
        Ok(())
    }

    /// Detaches, if calls are watched. Unless what was counted is still to be taken, a call is timed
    /// before and after.
    fn leave(&mut self, skip: u16) {
        if self.attached.take().is_none() {
            return;
        }
        let is_taken = lock(&self.findings).watches.is_empty();
        let watched = is_taken.then(quick_call);
        self.hooks.detach();
        if let Some(from) = self.attached_from.take() {
            self.attached_in_cycle += from.elapsed().as_secs_f64();
        }
        if let Some(watched) = watched {
            let unwatched = quick_call();
            let mut findings = lock(&self.findings);
            // What the loop was counted as, and what else was called meanwhile, is of no burst.
            let growth = findings.counted.growth();
            findings.counted.take(&growth);
            let sampled = findings.costs.sample / f64::from(skip);
            findings.costs = self.budget.learn(watched - unwatched - sampled);
        }
    }

    fn wait(&self, duration: Duration) -> Option<Stopped> {
        match self.stopped.recv_timeout(duration) {
            Err(RecvTimeoutError::Timeout) => None,
            Ok(()) | Err(RecvTimeoutError::Disconnected) => Some(Stopped),
        }
    }

    /// Waits until so many seconds after the beginning of the cycle, or until more calls were watched
    /// than `alarm`.
    fn wait_until(&self, begun: Instant, seconds: f64, alarm: u64) -> Option<Stopped> {
        let end = begun + Duration::from_secs_f64(seconds);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let can_alarm = alarm < u64::MAX;
            let turn = if can_alarm { left.min(LOOK) } else { left };
            if let Some(stopped) = self.wait(turn) {
                return Some(stopped);
            }
            if can_alarm && lock(&self.findings).counted.watched() > alarm {
                return None;
            }
        }
    }
}
