//! What the object consists of: for each signal its programs, the kernel fields they read and the
//! arrays they write. One file a signal; the kernel's half of each is the file of the same name in
//! `exporter-ebpf/src/`.

mod block_io;
pub mod focus;
mod interrupts;
pub(in crate::kernel) mod network;
mod process;
mod sampling;
pub mod scheduler;
pub mod syscalls;
mod task;
pub mod unwind;

use super::probe::Program;
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
    &unwind::PART,
    &process::PART,
    &focus::PART,
    &scheduler::PART,
    &interrupts::PART,
    &network::PART,
    &syscalls::PART,
    &block_io::PART,
    &sampling::PART,
];

/// The size of the tables of block I/O on its way, which its programs need to know.
pub const DISK_TABLE: ArrayMap = block_io::table("DISK_ISSUES");

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
    /// An array of so many bytes.
    Bytes(u32),
}

/// A mmapped array of the object: made with `BPF_F_MMAPABLE`, written by programs, read by us.
#[derive(Debug)]
pub struct ArrayMap {
    /// Name of the map.
    pub name: &'static str,
    /// How many entries it has.
    pub entries: Entries,
    /// Words of 8 bytes in an entry; 0 for an array that only programs read, which is not mapped.
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
    /// So many for each group in focus.
    PerFocus(u32),
    /// So many, and one for each listed system call, in each shard of `syscalls::shards`.
    PerShard(u32),
    /// So many for each of the [`banks`].
    Banks(u32),
    /// So many for each four CPUs that there can be, up to so many times.
    PerFourCpus {
        /// Entries for four CPUs.
        entries: u32,
        /// Most times.
        limit: u32,
    },
    /// So many for each bank; there is one for each number that a CPU can have, up to a limit.
    Banked {
        /// Entries of a bank.
        entries: u32,
        /// Most banks.
        banks: u32,
    },
    /// One for each two rows of unwind tables that there is room for.
    UnwindRows,
}

/// What the sizes of arrays follow.
#[derive(Clone, Copy, Debug)]
pub struct Extent<'a> {
    /// Numbers that a CPU can have.
    pub cpus: usize,
    /// Services and containers in focus.
    pub focus_groups: usize,
    /// System calls that are measured one by one.
    pub listed_calls: usize,
    /// Signals that are on.
    pub signals: &'a [Signal],
    /// Rows of unwind tables that there is room for.
    pub unwind_rows: u32,
}

/// Most banks of an array that CPUs share: histograms of 11 KB for every CPU of a large host would
/// be tens of megabytes, and among 16 banks two CPUs seldom write the same word at once.
const MAX_BANKS: u32 = 16;

/// Banks on a host with so many CPU numbers: a power of two, so that a CPU finds its own by a mask.
pub fn banks(cpu_limit: usize) -> u32 {
    u32::try_from(cpu_limit)
        .unwrap_or(MAX_BANKS)
        .clamp(1, MAX_BANKS)
        .next_power_of_two()
}

impl ArrayMap {
    /// How many entries it has; at least one.
    pub fn entries(&self, extent: &Extent<'_>) -> u32 {
        let is_on = |signal| extent.signals.contains(signal);
        if !self.serves.is_empty() && !self.serves.iter().any(is_on) {
            return 1;
        }
        let times = |entries: u32, count: usize| {
            entries.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
        };
        let cpus = u32::try_from(extent.cpus).unwrap_or(u32::MAX);
        let entries = match self.entries {
            Entries::Fixed(entries) => entries,
            Entries::PerCpu(entries) => times(entries, extent.cpus),
            Entries::PerFocus(entries) => times(entries, extent.focus_groups),
            Entries::PerShard(entries) => times(
                entries + extent.listed_calls as u32,
                syscalls::shards(extent.cpus),
            ),
            Entries::Banks(entries) => entries.saturating_mul(banks(extent.cpus)),
            Entries::PerFourCpus { entries, limit } => entries * cpus.div_ceil(4).clamp(1, limit),
            Entries::Banked { entries, banks } => entries.saturating_mul(cpus.min(banks)),
            Entries::UnwindRows => extent.unwind_rows.div_ceil(2),
        };
        entries.max(1)
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

    /// Every CPU has a bank to itself up to 16; beyond that they share, and memory stays bounded.
    #[test]
    fn banks_are_bounded() {
        let counts = [0, 1, 2, 3, 8, 16, 17, 4096].map(banks);
        assert_eq!(counts, [1, 1, 2, 4, 8, 16, 16, 16]);
        let array = ArrayMap {
            name: "X",
            entries: Entries::Banks(5),
            words: 1,
            serves: &[],
        };
        let extent = |cpus| Extent {
            cpus,
            focus_groups: 0,
            listed_calls: 0,
            signals: &[],
            unwind_rows: 0,
        };
        assert_eq!(array.entries(&extent(3)), 20);
        assert_eq!(array.entries(&extent(4096)), 80);
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
        let extent = |signals| Extent {
            cpus: 8,
            focus_groups: 0,
            listed_calls: 0,
            signals,
            unwind_rows: 0,
        };
        assert_eq!(array.entries(&extent(&[Signal::Scheduler])), 24);
        assert_eq!(array.entries(&extent(&[Signal::Host])), 1);
        let of = |cpus| Extent {
            cpus,
            focus_groups: 0,
            listed_calls: 0,
            signals: &[Signal::Scheduler],
            unwind_rows: 0,
        };
        let growing = ArrayMap {
            entries: Entries::PerFourCpus {
                entries: 5,
                limit: 3,
            },
            ..array
        };
        assert_eq!(growing.entries(&of(2)), 5);
        assert_eq!(growing.entries(&of(5)), 10);
        assert_eq!(growing.entries(&of(64)), 15);
        let banked = ArrayMap {
            entries: Entries::Banked {
                entries: 3,
                banks: 4,
            },
            ..array
        };
        assert_eq!(banked.entries(&of(2)), 6);
        assert_eq!(banked.entries(&of(64)), 12);
    }
}
