//! Equal samples of a window, added up.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    hash::{Hash, Hasher},
    sync::Arc,
};

use super::{
    cause::Cause,
    stack::{RawFrame, Stack},
};
use crate::identity::Process;

/// Distinct samples kept in a window. At 99 Hz a node of 64 CPUs takes 64,000 samples in 10 s; a
/// sample costs about 100 bytes.
const CAPACITY: usize = 131_072;

/// Frames kept in the distinct stacks of a window, 40 bytes each: 40 MB. Ordinary stacks have 30
/// frames, the deepest 639.
const FRAME_CAPACITY: usize = 1 << 20;

/// What makes two samples equal.
#[derive(Clone, Debug)]
pub struct SampleKey {
    /// The process and the program it ran. Equal processes are one `Arc`.
    pub process: Arc<Process>,
    /// Name of the thread, where threads are told apart.
    pub thread: Option<Arc<str>>,
    /// What it is a sample of.
    pub cause: Cause,
    /// The stack.
    pub stack: Stack,
}

// One process and program is one `Arc`, until something new is known of it (that it is of the
// recorded command, say): what was sampled before stays apart from what is sampled after.
impl PartialEq for SampleKey {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.process, &other.process)
            && self.thread == other.thread
            && self.cause == other.cause
            && self.stack == other.stack
    }
}

impl Eq for SampleKey {}

impl Hash for SampleKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.process).hash(state);
        self.thread.hash(state);
        self.cause.hash(state);
        self.stack.hash(state);
    }
}

/// What is added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTotals {
    /// Timer ticks.
    pub ticks: u64,
    /// Stolen nanoseconds.
    pub stolen_nanos: u64,
    /// Nanoseconds of waiting.
    pub waited_nanos: u64,
}

impl SampleTotals {
    /// Adds.
    pub fn add(&mut self, other: Self) {
        self.ticks += other.ticks;
        self.stolen_nanos += other.stolen_nanos;
        self.waited_nanos += other.waited_nanos;
    }
}

/// The samples of one window.
#[derive(Debug, Default)]
pub struct Samples {
    /// Distinct samples and their totals.
    pub samples: Vec<(SampleKey, SampleTotals)>,
    /// What found no room in the table.
    pub lost: SampleTotals,
    /// Samples of waits that found no room in the table.
    pub waits_lost: u64,
}

/// Adds up samples until the window ends.
#[derive(Debug, Default)]
pub struct SampleTable {
    stacks: HashSet<Stack>,
    frames: usize,
    totals: HashMap<SampleKey, SampleTotals>,
    lost: SampleTotals,
    waits_lost: u64,
}

impl SampleTable {
    /// Adds a sample.
    pub fn add(
        &mut self,
        process: &Arc<Process>,
        thread: Option<Arc<str>>,
        cause: Cause,
        frames: &[RawFrame],
        totals: SampleTotals,
    ) {
        let Some(stack) = self.stack(frames) else {
            self.lost.add(totals);
            self.waits_lost += u64::from(cause != Cause::Running);
            return;
        };
        let full = self.totals.len() >= CAPACITY;
        let waits = u64::from(cause != Cause::Running);
        let key = SampleKey {
            process: process.clone(),
            thread,
            cause,
            stack,
        };
        let known = match self.totals.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if full => {
                self.waits_lost += waits;
                &mut self.lost
            }
            Entry::Vacant(free) => free.insert(SampleTotals::default()),
        };
        known.add(totals);
    }

    /// The one copy of a stack; `None` when there is no room for another one.
    fn stack(&mut self, frames: &[RawFrame]) -> Option<Stack> {
        if let Some(stack) = self.stacks.get(frames) {
            return Some(stack.clone());
        }
        if self.frames + frames.len() > FRAME_CAPACITY {
            return None;
        }
        let stack: Stack = frames.into();
        self.frames += frames.len();
        self.stacks.insert(stack.clone());
        Some(stack)
    }

    /// Ends the window: gives what was added up and begins anew.
    pub fn take(&mut self) -> Samples {
        self.stacks.clear();
        self.frames = 0;
        Samples {
            samples: self.totals.drain().collect(),
            lost: std::mem::take(&mut self.lost),
            waits_lost: std::mem::take(&mut self.waits_lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        identity::{HostIdentity, ProcessKey, ProcessTable, Roots},
        profile::stack::Place,
    };

    fn process() -> Arc<Process> {
        let roots = Roots::from_environment(|_| None);
        let mut table = ProcessTable::new(&roots, &HostIdentity::default(), 8);
        let key = ProcessKey {
            pid: u32::MAX,
            start_time_nanos: 1,
        };
        table.observe(key, b"gone")
    }

    fn frame(address: u64) -> RawFrame {
        RawFrame {
            place: Place::Kernel(address),
            exact: true,
        }
    }

    const TICK: SampleTotals = SampleTotals {
        ticks: 1,
        stolen_nanos: 5,
        waited_nanos: 0,
    };

    /// Equal samples are one with their sum; another stack, thread or process is another one.
    #[test]
    fn equal_samples_are_added_up() {
        let process = process();
        let mut marked = (*process).clone();
        marked.command_tree = true;
        let mut table = SampleTable::default();
        table.add(&process, None, Cause::Running, &[frame(1)], TICK);
        table.add(&process, None, Cause::Running, &[frame(1)], TICK);
        table.add(&process, None, Cause::Running, &[frame(2)], TICK);
        table.add(
            &process,
            Some("worker".into()),
            Cause::Running,
            &[frame(1)],
            TICK,
        );
        table.add(&Arc::new(marked), None, Cause::Running, &[frame(1)], TICK);
        let mut ticks: Vec<_> = table
            .take()
            .samples
            .iter()
            .map(|(_, totals)| (totals.ticks, totals.stolen_nanos))
            .collect();
        ticks.sort_unstable();
        assert_eq!(ticks, [(1, 5), (1, 5), (1, 5), (2, 10)]);
        assert!(table.take().samples.is_empty());
    }

    /// A full table counts what it has no room for, and still adds to what it holds.
    #[test]
    fn overflow_is_counted() {
        let process = process();
        let mut table = SampleTable::default();
        for address in 0..CAPACITY as u64 + 10 {
            table.add(&process, None, Cause::Running, &[frame(address)], TICK);
        }
        table.add(&process, None, Cause::Running, &[frame(0)], TICK);
        let samples = table.take();
        assert_eq!(samples.samples.len(), CAPACITY);
        assert_eq!((samples.lost.ticks, samples.lost.stolen_nanos), (10, 50));
        let kept: u64 = samples.samples.iter().map(|(_, totals)| totals.ticks).sum();
        assert_eq!(kept, CAPACITY as u64 + 1);
    }
}
