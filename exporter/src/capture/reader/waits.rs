//! Waits: whose fault, why, and what woke the task.

use std::{num::NonZeroUsize, sync::Arc};

use evenkeel_abi::LEFT_UNFINISHED;

use super::{super::split::Split, ReaderState};
use crate::{
    identity::Process,
    kernel::event::{self, Account, Behind, Sample, Wait},
    profile::{Ahead, Block, Cause, Futex, RawFrame, SampleTotals, WOKEN_BY, Waker},
    signal::workload::WorkloadKey,
};

/// Stacks of wakers kept until the sample of the wait comes, which is a moment later.
pub(super) const WAKER_STACKS: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// From this on, who waits for the end of another process or thread has nothing else to do.
const SECOND_NANOS: u64 = 1_000_000_000;

/// Number of `futex` on this architecture (x86-64, arm64).
const SYS_FUTEX: i32 = if cfg!(target_arch = "aarch64") {
    98
} else {
    202
};

/// `FUTEX_CMD_MASK`: all but `FUTEX_PRIVATE_FLAG` and `FUTEX_CLOCK_REALTIME`.
const FUTEX_COMMAND: u32 = 127;

/// The futex that a task waits on.
fn futex(wait: &Wait<'_>) -> Option<Futex> {
    (wait.system_call == Some(SYS_FUTEX)).then(|| Futex {
        // Both are `int` in the system call.
        operation: wait.arguments[0] as u32 & FUTEX_COMMAND,
        is_contended_mutex: wait.arguments[1] as u32 == 2,
    })
}

impl ReaderState {
    /// Remembers what woke a thread until the sample of its wait comes.
    pub(super) fn waker(&mut self, waker: &Sample<'_>, woken_tid: u32) {
        let process = self.processes.observe(waker.process, waker.comm);
        self.collect_frames(waker, &process);
        // A stack of who waited grows on at its leaf with what woke it, innermost caller first.
        let mut frames: Vec<RawFrame> = self.frames.drain(..).rev().collect();
        frames.push(RawFrame::marker(WOKEN_BY));
        self.waker_stacks.put(woken_tid, frames);
    }

    pub(super) fn account(&mut self, account: &Account<'_>) {
        let process = self.processes.observe(account.process, account.comm);
        let deeds = self
            .deeds
            .entry(WorkloadKey(process.owner.clone()))
            .or_default();
        deeds.voluntary += account.voluntary;
        deeds.involuntary += account.involuntary;
        deeds.queued_nanos += account.queued_nanos;
    }

    /// A wait becomes a sample of its blocked part and samples of its parts on a run queue, by
    /// who was ahead.
    pub(super) fn wait(&mut self, wait: &Wait<'_>) {
        let process = self
            .processes
            .observe(wait.sample.process, wait.sample.comm);
        let mut behind = wait.behind;
        let neighbours = self.neighbours(&process, &mut behind);
        let ahead = Split::of(wait.queued_nanos, wait.flags, &behind);
        self.blame(wait, &process, &ahead, &neighbours, behind.other);
        if !self.wanted(&wait.sample) {
            return;
        }
        self.collect_frames(&wait.sample, &process);
        let thread = self.thread_name(wait.sample.comm);
        for (ahead, nanos) in ahead.parts() {
            self.add_wait(&process, thread.clone(), Cause::Queued(ahead), nanos);
        }
        if wait.blocked_nanos == 0 {
            return;
        }
        if wait.flags & LEFT_UNFINISHED == 0
            && let Some(mut frames) = self.waker_stacks.pop(&wait.sample.tid)
        {
            frames.append(&mut self.frames);
            self.frames = frames;
        }
        let block = self.block(wait);
        self.add_wait(&process, thread, Cause::Blocked(block), wait.blocked_nanos);
    }

    fn add_wait(
        &mut self,
        process: &Arc<Process>,
        thread: Option<Arc<str>>,
        cause: Cause,
        nanos: u64,
    ) {
        if nanos > 0 {
            let totals = SampleTotals {
                waited_nanos: nanos,
                ..SampleTotals::default()
            };
            self.table.add(process, thread, cause, &self.frames, totals);
        }
    }

    /// Why a task was blocked, as far as its record says.
    fn block(&mut self, wait: &Wait<'_>) -> Block {
        let waker = match wait.waker {
            None => None,
            Some(event::Waker::Interrupt) => Some(Waker::Interrupt),
            Some(event::Waker::Process(key)) => {
                Some(Waker::Process(self.processes.observe(key, b"")))
            }
        };
        let window = u64::try_from(self.settings.window.as_nanos()).unwrap_or(u64::MAX);
        Block {
            task_state: wait.task_state,
            futex: futex(wait),
            a_second: wait.blocked_nanos >= SECOND_NANOS,
            whole_window: wait.flags & LEFT_UNFINISHED != 0
                // The window is a little shorter when the next one has begun a little late.
                && wait.blocked_nanos >= window - window / 20,
            waker,
        }
    }

    /// Names the processes that had the CPU, each with its part. Those of the same container, or of the
    /// same service, are no neighbours: their part becomes the wait's own.
    fn neighbours(&mut self, process: &Process, behind: &mut Behind) -> Vec<(Arc<str>, u64)> {
        let mut neighbours = Vec::new();
        for (key, nanos) in behind.others {
            if key.pid == 0 || nanos == 0 {
                continue;
            }
            let neighbour = self.processes.observe(key, b"");
            if neighbour.owner.is_with(&process.owner) {
                behind.own = behind.own.saturating_add(nanos);
                behind.other = behind.other.saturating_sub(nanos);
            } else {
                neighbours.push((neighbour.owner.service_name.clone(), nanos));
            }
        }
        neighbours
    }

    /// Adds a wait on a run queue to the account of its workload.
    fn blame(
        &mut self,
        wait: &Wait<'_>,
        process: &Process,
        ahead: &Split,
        neighbours: &[(Arc<str>, u64)],
        others: u64,
    ) {
        if wait.queued_nanos == 0 {
            return;
        }
        let deeds = self
            .deeds
            .entry(WorkloadKey(process.owner.clone()))
            .or_default();
        for (sum, (_, nanos)) in deeds.ahead_nanos.iter_mut().zip(ahead.parts()) {
            *sum += nanos;
        }
        for (name, nanos) in neighbours {
            let part = ahead.part_of(Ahead::Other, *nanos, others);
            if part > 0 {
                deeds.blame(name, part);
            }
        }
    }
}
