//! The mappings of processes in the array that kernel programs read.

use std::{io, time::Instant};

use aya::maps::{HashMap, MapData};
use evenkeel_abi::{UNWIND_PROCESS_MAPPINGS, UNWIND_PROCESSES, UnwindMapping, UnwindProcess};
use lru::LruCache;

use super::space::Space;
use crate::{identity::ProcessKey, kernel::mapped_array::WritableArray};

/// Where kernel programs find the mappings of a process.
pub(super) trait ProcessEntries {
    /// Shows a process, in place of what was there for its id.
    fn put(&mut self, pid: u32, process: UnwindProcess) -> io::Result<()>;
    /// Hides a process; it may be gone already.
    fn remove(&mut self, pid: u32);
}

/// An [`UnwindProcess`] as words, which aya can write.
pub(super) type ProcessWords = [u64; 2];

impl ProcessEntries for HashMap<MapData, u32, ProcessWords> {
    fn put(&mut self, pid: u32, process: UnwindProcess) -> io::Result<()> {
        let place = u64::from(process.first) | u64::from(process.count) << 32;
        self.insert(pid, [process.start_time, place], 0)
            .map_err(io::Error::other)
    }

    fn remove(&mut self, pid: u32) {
        // The programs remove it too, at an exec.
        let _ = HashMap::remove(self, &pid);
    }
}

#[derive(Debug)]
struct Known {
    start_time: u64,
    first: u32,
    mappings: Vec<UnwindMapping>,
}

impl Known {
    fn entry(&self) -> UnwindProcess {
        UnwindProcess {
            start_time: self.start_time,
            first: self.first,
            count: length(&self.mappings),
        }
    }
}

/// What kernel programs know of processes.
#[derive(Debug)]
pub(super) struct ProcessMappings<E> {
    entries: E,
    array: WritableArray,
    space: Space,
    known: LruCache<u32, Known>,
    evicted: u64,
    refused: u64,
}

const MAPPING_WORDS: usize = size_of::<UnwindMapping>() / size_of::<u64>();

impl<E: ProcessEntries> ProcessMappings<E> {
    /// No process is known.
    pub(super) fn new(entries: E, array: WritableArray) -> Self {
        let capacity = u32::try_from(array.len() / MAPPING_WORDS).unwrap_or(u32::MAX);
        Self {
            entries,
            array,
            space: Space::new(capacity),
            known: LruCache::unbounded(),
            evicted: 0,
            refused: 0,
        }
    }

    /// Processes known.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Processes that were let go to make room, since the start.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Processes for which there was no room, since the start.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    /// Shows the mappings of a process, sorted by address, in place of those it had. Gives the mappings
    /// that are hidden by that, of this process and of others that made room.
    pub(super) fn publish(
        &mut self,
        process: ProcessKey,
        mappings: Vec<UnwindMapping>,
        now: Instant,
    ) -> Vec<UnwindMapping> {
        let mut hidden = Vec::new();
        if let Some(known) = self.known.get(&process.pid)
            && known.start_time == process.start_time_nanos
            && known.mappings == mappings
        {
            // An exec of the same program to the same place has removed the entry.
            let entry = known.entry();
            if self.entries.put(process.pid, entry).is_ok() {
                return mappings;
            }
        }
        // Not `hidden` yet: the entry may be gone by an exec, and the run is needed for the new one.
        if let Some(before) = self.known.pop(&process.pid) {
            self.space
                .give_back(before.first, length(&before.mappings), now);
            hidden = before.mappings;
        }
        if mappings.is_empty() || mappings.len() > UNWIND_PROCESS_MAPPINGS {
            self.refused += u64::from(!mappings.is_empty());
            self.entries.remove(process.pid);
            hidden.extend(mappings);
            return hidden;
        }
        if self.known.len() >= UNWIND_PROCESSES {
            hidden.extend(self.evict(now));
        }
        let mut place = self.space.take(length(&mappings), now);
        if place.is_none() {
            // What is let go is free only after a while: room for the next one.
            hidden.extend(self.evict(now));
            place = self.space.take(length(&mappings), now);
        }
        let Some(first) = place else {
            self.refused += 1;
            self.entries.remove(process.pid);
            hidden.extend(mappings);
            return hidden;
        };
        for (index, mapping) in (first as usize..).zip(&mappings) {
            let word = index * MAPPING_WORDS;
            self.array.set(word, mapping.start);
            self.array.set(word + 1, mapping.end);
            self.array.set(word + 2, mapping.bias);
            self.array.set(word + 3, u64::from(mapping.executable));
        }
        let known = Known {
            start_time: process.start_time_nanos,
            first,
            mappings,
        };
        if let Err(error) = self.entries.put(process.pid, known.entry()) {
            tracing::debug!(pid = process.pid, %error, "A process could not be shown to the kernel programs.");
            self.refused += 1;
            self.space.give_back(first, length(&known.mappings), now);
            hidden.extend(known.mappings);
            return hidden;
        }
        self.known.put(process.pid, known);
        hidden
    }

    /// Hides a process that is gone; gives its mappings.
    pub(super) fn forget(&mut self, process: ProcessKey, now: Instant) -> Vec<UnwindMapping> {
        let is_it = |known: &Known| known.start_time == process.start_time_nanos;
        if !self.known.peek(&process.pid).is_some_and(is_it) {
            return Vec::new();
        }
        let Some(known) = self.known.pop(&process.pid) else {
            return Vec::new();
        };
        self.entries.remove(process.pid);
        self.space
            .give_back(known.first, length(&known.mappings), now);
        known.mappings
    }

    fn evict(&mut self, now: Instant) -> Vec<UnwindMapping> {
        let Some((pid, known)) = self.known.pop_lru() else {
            return Vec::new();
        };
        self.evicted += 1;
        self.entries.remove(pid);
        self.space
            .give_back(known.first, length(&known.mappings), now);
        known.mappings
    }
}

fn length(mappings: &[UnwindMapping]) -> u32 {
    u32::try_from(mappings.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::unwind::space::GRACE;

    impl ProcessEntries for BTreeMap<u32, UnwindProcess> {
        fn put(&mut self, pid: u32, process: UnwindProcess) -> io::Result<()> {
            self.insert(pid, process);
            Ok(())
        }

        fn remove(&mut self, pid: u32) {
            Self::remove(self, &pid);
        }
    }

    fn table(mappings: usize) -> ProcessMappings<BTreeMap<u32, UnwindProcess>> {
        let array = WritableArray::anonymous(mappings * MAPPING_WORDS).expect("memory");
        ProcessMappings::new(BTreeMap::new(), array)
    }

    fn process(pid: u32) -> ProcessKey {
        ProcessKey {
            pid,
            start_time_nanos: u64::from(pid) * 7,
        }
    }

    fn mappings(count: u32) -> Vec<UnwindMapping> {
        let mapping = |index| UnwindMapping {
            start: u64::from(index) << 16,
            end: u64::from(index + 1) << 16,
            bias: 5,
            executable: index,
            reserved: 0,
        };
        (0..count).map(mapping).collect()
    }

    /// What is published is what kernel programs read, word for word; a second publication replaces the
    /// first and gives what it hid.
    #[test]
    fn published_mappings_are_read_back() {
        let mut table = table(16);
        let now = Instant::now();
        assert_eq!(table.publish(process(1), mappings(3), now), []);
        assert_eq!(table.publish(process(2), mappings(2), now), []);
        let entry = table.entries[&2];
        assert_eq!((entry.start_time, entry.count), (14, 2));
        let word = entry.first as usize * MAPPING_WORDS;
        let read: Vec<u64> = (word..word + 8)
            .map(|word| table.array.load(word))
            .collect();
        assert_eq!(read, [0, 1 << 16, 5, 0, 1 << 16, 2 << 16, 5, 1]);
        assert_eq!(table.publish(process(1), mappings(4), now), mappings(3));
        assert_eq!(table.entries[&1].count, 4);
        let first = table.entries[&1].first;
        table.entries.clear();
        assert_eq!(table.publish(process(1), mappings(4), now), mappings(4));
        assert_eq!(table.entries[&1].first, first, "the same, where it was");
        assert_eq!(table.forget(process(1), now), mappings(4));
        assert!(!table.entries.contains_key(&1));
    }

    /// An id that has gone to another process is not that process's to forget.
    #[test]
    fn another_process_is_not_forgotten() {
        let mut table = table(16);
        let now = Instant::now();
        table.publish(process(1), mappings(3), now);
        let before = ProcessKey {
            pid: 1,
            start_time_nanos: 1,
        };
        assert_eq!(table.forget(before, now), []);
        assert!(table.entries.contains_key(&1));
    }

    /// Without room the process that was published longest ago is let go; the new one fits once nobody reads
    /// the room any more. What never fits is refused and counted.
    #[test]
    fn room_is_made_and_counted() {
        let mut table = table(8);
        let now = Instant::now();
        table.publish(process(1), mappings(4), now);
        table.publish(process(2), mappings(4), now);
        let hidden = table.publish(process(3), mappings(4), now);
        assert_eq!(hidden.len(), 8, "the oldest and the new one");
        assert_eq!((table.evicted(), table.refused()), (1, 1));
        assert!(!table.entries.contains_key(&1));
        let later = now + GRACE;
        assert_eq!(table.publish(process(3), mappings(4), later), []);
        assert_eq!(table.entries[&3].count, 4);
        let hidden = table.publish(process(4), mappings(9), later + GRACE);
        assert!(!table.entries.contains_key(&4) && hidden.len() >= 9);
    }
}
