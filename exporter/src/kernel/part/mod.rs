//! What the object consists of: for each signal its programs, the kernel fields they read and the
//! arrays they write. One file a signal; the kernel's half of each is the file of the same name in
//! `exporter-ebpf/src/`.

mod block_io;
mod interrupts;
mod network;
mod process;
mod sampling;
pub mod scheduler;
pub mod syscalls;
mod task;

use super::{loader::CaptureSettings, probe::Program};
use crate::signal::Signal;

/// The programs of one signal and what they rest on.
#[derive(Debug)]
pub struct Part {
    /// In the order in which they are attached.
    pub programs: &'static [Program],
    /// Kernel fields whose offsets they read from globals.
    pub fields: &'static [Field],
    /// Arrays that user space maps.
    pub arrays: &'static [ArrayMap],
}

/// All parts, in the order in which they are attached: whoever makes a task known comes before
/// whoever samples it.
const PARTS: &[&Part] = &[
    &task::PART,
    &process::PART,
    &scheduler::PART,
    &interrupts::PART,
    &network::PART,
    &syscalls::PART,
    &block_io::PART,
    &sampling::PART,
];

/// A field that a kernel program reads.
#[derive(Debug)]
pub struct Field {
    /// Name of the global that holds its offset.
    pub global: &'static str,
    /// Where it may be, best first: structure and path.
    pub places: &'static [(&'static str, &'static str)],
    /// What has to be there; a field of another size would be read wrongly.
    pub shape: Shape,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A pointer to a structure.
    Pointer,
    /// A number of so many bytes.
    Scalar(u32),
}

/// A mmapped array of the object: made with `BPF_F_MMAPABLE`, written by programs, read by us.
#[derive(Debug)]
pub struct ArrayMap {
    /// Name of the map.
    pub name: &'static str,
    /// How many entries it has.
    pub entries: Entries,
    /// Words of 8 bytes in an entry.
    pub words: u32,
    /// Signals that it serves; it has a single entry when none of them is on. Empty: all.
    pub serves: &'static [Signal],
}

/// The size of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// So many in all.
    Fixed(u32),
    /// So many for each number that a CPU can have.
    PerCpu(u32),
    /// So many, and one for each listed system call, in each shard of `syscalls::shards`.
    PerShard(u32),
}

impl ArrayMap {
    /// Entries on a host with so many CPU numbers, under those settings.
    pub fn entries(&self, cpu_limit: usize, settings: &CaptureSettings) -> u32 {
        let is_on = |signal| settings.signals.contains(signal);
        if !self.serves.is_empty() && !self.serves.iter().any(is_on) {
            return 1;
        }
        match self.entries {
            Entries::Fixed(entries) => entries,
            Entries::PerCpu(entries) => {
                entries.saturating_mul(u32::try_from(cpu_limit).unwrap_or(u32::MAX))
            }
            Entries::PerShard(entries) => {
                let listed = settings.syscalls.listed.len() as u32;
                (entries + listed) * syscalls::shards(cpu_limit) as u32
            }
        }
    }
}

/// All programs, in the order in which they are attached.
pub fn programs() -> impl Iterator<Item = &'static Program> {
    PARTS.iter().flat_map(|part| part.programs)
}

/// All fields.
pub fn fields() -> impl Iterator<Item = &'static Field> {
    PARTS.iter().flat_map(|part| part.fields)
}

/// All arrays.
pub fn arrays() -> impl Iterator<Item = &'static ArrayMap> {
    PARTS.iter().flat_map(|part| part.arrays)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// No program, field or array is in two parts.
    #[test]
    fn names_are_unique() {
        let names: Vec<_> = programs()
            .map(|program| program.name)
            .chain(fields().map(|field| field.global))
            .chain(arrays().map(|array| array.name))
            .collect();
        let unique: HashSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
    }

    /// The arrays of a signal that is off take no memory.
    #[test]
    fn arrays_follow_the_signals() {
        let array = ArrayMap {
            name: "X",
            entries: Entries::PerCpu(3),
            words: 2,
            serves: &[Signal::Scheduler],
        };
        let mut settings = CaptureSettings {
            signals: vec![Signal::Scheduler],
            ..CaptureSettings::default()
        };
        assert_eq!(array.entries(8, &settings), 24);
        settings.signals = vec![Signal::Host];
        assert_eq!(array.entries(8, &settings), 1);
    }
}
