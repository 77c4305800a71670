//! The thread that watches in bursts: it attaches the programs, waits, and detaches them again.

use std::{
    io, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use rustix::process::setpriority_process;

use super::{
    budget::{Budget, Spent},
    calibration::{calibrate, own_time, quick_call},
    findings::Findings,
    growth::Counted,
    hooks::Hooks,
    layout::Layout,
};
use crate::kernel::{Kernel, mapped_array::MappedArrayError, part::syscalls::shards};

/// The thread's nice value.
const PRIORITY: i32 = -15;

/// How often a watch without an end is looked at.
const LOOK: Duration = Duration::from_millis(50);

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
    Control(#[from] MappedArrayError),
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
        let (enter, exit) = (program(kernel, "sys_enter")?, program(kernel, "sys_exit")?);
        let mut hooks = Hooks::new(enter, exit, kernel.take_writable("SYSCALL_CONTROL", 1)?);
        let mut counted =
            Counted::new(kernel, layout).ok_or(SamplerError::Missing("its arrays"))?;
        let calibration = calibrate(&mut hooks, &counted, layout).map_err(SamplerError::Attach)?;
        let growth = counted.growth();
        counted.take(&growth);
        tracing::debug!(?calibration, "Watching system calls was measured.");
        if !calibration.families_are_right {
            return Err(SamplerError::Abi);
        }
        let shards = shards(kernel.cpu_limit());
        let findings = Findings::new(counted, layout, shards, calibration);
        let findings = Arc::new(Mutex::new(findings));
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
