//! Equal samples of a window, added up.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{Hash, Hasher},
    sync::Arc,
};

use super::stack::{RawFrame, Stack};
use crate::identity::Process;

/// Distinct samples kept in a window. At 99 Hz a node of 64 CPUs takes 64,000 samples in 10 s; a
/// sample costs about 200 bytes.
const CAPACITY: usize = 131_072;

/// What makes two samples equal.
#[derive(Clone, Debug)]
pub struct SampleKey {
    /// The process and the program it ran. Equal processes are one `Arc`.
    pub process: Arc<Process>,
    /// Name of the thread, where threads are told apart.
    pub thread: Option<Arc<str>>,
    /// The stack.
    pub stack: Stack,
}

impl PartialEq for SampleKey {
    fn eq(&self, other: &Self) -> bool {
        self.process.key == other.process.key
            && self.process.image == other.process.image
            && self.thread == other.thread
            && self.stack == other.stack
    }
}

impl Eq for SampleKey {}

impl Hash for SampleKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.process.key.hash(state);
        self.process.image.hash(state);
        self.thread.hash(state);
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
}

/// The samples of one window.
#[derive(Debug, Default)]
pub struct Samples {
    /// Distinct samples and their totals.
    pub samples: Vec<(SampleKey, SampleTotals)>,
    /// Ticks of samples that found no room in the table.
    pub ticks_lost: u64,
    /// Stolen nanoseconds of samples that found no room in the table.
    pub stolen_nanos_lost: u64,
}

/// Adds up samples until the window ends.
#[derive(Debug, Default)]
pub struct SampleTable {
    stacks: HashMap<Stack, ()>,
    totals: HashMap<SampleKey, SampleTotals>,
    lost: SampleTotals,
}

impl SampleTable {
    /// Adds a sample.
    pub fn add(
        &mut self,
        process: &Arc<Process>,
        thread: Option<Arc<str>>,
        frames: &[RawFrame],
        totals: SampleTotals,
    ) {
        let stack = match self.stacks.get_key_value(frames) {
            Some((stack, ())) => stack.clone(),
            None => {
                let stack: Stack = frames.into();
                if self.stacks.len() < CAPACITY {
                    self.stacks.insert(stack.clone(), ());
                }
                stack
            }
        };
        let full = self.totals.len() >= CAPACITY;
        let key = SampleKey {
            process: process.clone(),
            thread,
            stack,
        };
        let known = match self.totals.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if full => &mut self.lost,
            Entry::Vacant(free) => free.insert(SampleTotals::default()),
        };
        known.ticks += totals.ticks;
        known.stolen_nanos += totals.stolen_nanos;
    }

    /// Ends the window: gives what was added up and begins anew.
    pub fn take(&mut self) -> Samples {
        self.stacks.clear();
        let lost = std::mem::take(&mut self.lost);
        Samples {
            samples: self.totals.drain().collect(),
            ticks_lost: lost.ticks,
            stolen_nanos_lost: lost.stolen_nanos,
        }
    }
}
