//! What the kernel programs counted of one series.
//!
//! Counts have 32 bits in the kernel and wrap: at 100,000 operations a second in one bucket after half
//! a day. Here they have 64, and every reading adds what was counted since the one before.

use evenkeel_abi::{
    DISK_BANK_SERIES, DISK_DURATION_SLOTS, DISK_EXACT_SECTORS, DISK_FIRST_OCTAVE,
    DISK_OCTAVE_SLOTS, DISK_SIZE_SCALE, DISK_SIZE_SLOTS, DISK_STATUSES, DiskPhase, DiskSeries,
    HISTOGRAM_SCALE,
};
use evenkeel_otlp::{histogram::ExponentialHistogram, scale_table::ScaleTables};

use crate::kernel::mapped_array::MappedArray;

/// Counts of 32 bits of a series.
const COUNTS: usize = DiskSeries::COUNT_LEN as usize;

/// Bytes of a sector, also of disks with larger ones.
const SECTOR_BYTES: f64 = 512.0;

/// A series as it is in the kernel, all banks together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    nanos: [u64; DiskPhase::COUNT as usize],
    bytes: u64,
    counts: Vec<u32>,
}

impl Reading {
    /// What a series holds before anything was counted.
    pub(super) fn zero() -> Self {
        Self {
            nanos: [0; DiskPhase::COUNT as usize],
            bytes: 0,
            counts: vec![0; COUNTS],
        }
    }

    /// Reads a series.
    pub(super) fn of(array: &MappedArray, series: u32) -> Self {
        let words = DiskSeries::WORDS as usize;
        let bank_words = words * DISK_BANK_SERIES as usize;
        let mut reading = Self::zero();
        for bank in 0..array.len() / bank_words {
            let base = bank * bank_words + series as usize * words;
            let word = |index: u32| array.load(base + index as usize);
            for (sum, index) in reading.nanos.iter_mut().zip(DiskSeries::NANOS_WORD..) {
                *sum = sum.wrapping_add(word(index));
            }
            reading.bytes = reading.bytes.wrapping_add(word(DiskSeries::BYTES_WORD));
            let first = DiskSeries::COUNTS / 2;
            for (pair, index) in reading.counts.chunks_mut(2).zip(first..) {
                let both = word(index).to_ne_bytes();
                let (low, high) = both.split_at(4);
                for (count, half) in pair.iter_mut().zip([low, high]) {
                    let half = u32::from_ne_bytes([half[0], half[1], half[2], half[3]]);
                    *count = count.wrapping_add(half);
                }
            }
        }
        reading
    }

    /// Operations that ended since an earlier reading.
    pub(super) fn operations_since(&self, earlier: &Self) -> u64 {
        let sizes = DiskSeries::SIZES as usize..(DiskSeries::SIZES + DISK_SIZE_SLOTS) as usize;
        self.counts[sizes.clone()]
            .iter()
            .zip(&earlier.counts[sizes])
            .map(|(now, before)| u64::from(now.wrapping_sub(*before)))
            .sum()
    }
}

/// What was counted since a disk took the series.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    nanos: [u64; DiskPhase::COUNT as usize],
    bytes: u64,
    counts: Vec<u64>,
}

impl Counts {
    /// Nothing yet.
    pub(super) fn new() -> Self {
        Self {
            nanos: [0; DiskPhase::COUNT as usize],
            bytes: 0,
            counts: vec![0; COUNTS],
        }
    }

    /// Adds what was counted from one reading to the next.
    pub(super) fn add_growth(&mut self, from: &Reading, to: &Reading) {
        for (sum, (from, to)) in self.nanos.iter_mut().zip(from.nanos.iter().zip(&to.nanos)) {
            *sum += to.wrapping_sub(*from);
        }
        self.bytes += to.bytes.wrapping_sub(from.bytes);
        for (sum, (from, to)) in self
            .counts
            .iter_mut()
            .zip(from.counts.iter().zip(&to.counts))
        {
            *sum += u64::from(to.wrapping_sub(*from));
        }
    }

    /// Adds what was counted in another series of the same disk and operation.
    pub(super) fn merge(&mut self, other: &Self) {
        for (sum, more) in self.nanos.iter_mut().zip(other.nanos) {
            *sum += more;
        }
        self.bytes += other.bytes;
        for (sum, more) in self.counts.iter_mut().zip(&other.counts) {
            *sum += more;
        }
    }

    /// Operations that ended.
    pub(super) fn operations(&self) -> u64 {
        self.part(DiskSeries::SIZES, DISK_SIZE_SLOTS).iter().sum()
    }

    /// Completions of a part of an operation.
    pub(super) fn partial(&self) -> u64 {
        self.counts[0]
    }

    /// Operations that were handed back.
    pub(super) fn requeues(&self) -> u64 {
        self.counts[DiskSeries::REQUEUED as usize]
    }

    /// Operations that ended with an error, by `blk_status_t`.
    pub(super) fn errors(&self) -> impl Iterator<Item = u64> {
        self.part(DiskSeries::ERRORS, DISK_STATUSES).iter().copied()
    }

    /// The distribution of a phase, in seconds.
    pub(super) fn durations(&self, phase: DiskPhase) -> ExponentialHistogram {
        let counts = &self.counts[DiskSeries::DURATIONS as usize..];
        let slots: Vec<u64> = (0..DISK_DURATION_SLOTS)
            .map(|slot| counts[DiskSeries::duration(phase as u32, slot) as usize])
            .collect();
        let first = (DISK_FIRST_OCTAVE * DISK_OCTAVE_SLOTS) as i32;
        ExponentialHistogram::from_slots(
            HISTOGRAM_SCALE as i32,
            ScaleTables::NANOSECONDS_IN_SECONDS.slot_zero_index + first,
            &slots,
            self.nanos[phase as usize] as f64 / 1e9,
        )
    }

    /// The distribution of sizes, in bytes.
    pub(super) fn sizes(&self) -> ExponentialHistogram {
        let scale = DISK_SIZE_SCALE as i32;
        let slots = self.part(DiskSeries::SIZES, DISK_SIZE_SLOTS);
        let (exact, large) = slots.split_at(DISK_EXACT_SECTORS as usize + 1);
        // Slot 0 of the large sizes holds what is above `DISK_EXACT_SECTORS`, a power of two, and so
        // begins an octave.
        let first_large = index_of_sectors(DISK_EXACT_SECTORS) + 1;
        let mut histogram = ExponentialHistogram::from_slots(scale, first_large, large, 0.0);
        for (sectors, count) in exact
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(_, count)| **count > 0)
        {
            histogram.merge(&ExponentialHistogram {
                scale,
                zero_count: 0,
                sum: 0.0,
                offset: index_of_sectors(sectors as u32),
                counts: vec![*count],
            });
        }
        histogram.zero_count = exact[0];
        histogram.sum = self.bytes as f64;
        histogram
    }

    fn part(&self, first: u32, length: u32) -> &[u64] {
        &self.counts[first as usize..][..length as usize]
    }
}

/// The bucket of a size.
fn index_of_sectors(sectors: u32) -> i32 {
    ExponentialHistogram::index(DISK_SIZE_SCALE as i32, f64::from(sectors) * SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(changes: &[(u32, u32)]) -> Reading {
        let mut reading = Reading::zero();
        for (place, count) in changes {
            reading.counts[*place as usize] = *count;
        }
        reading
    }

    /// A count that wraps in the kernel goes on here, and what was there before is not counted.
    #[test]
    fn counts_do_not_wrap() {
        let place = DiskSeries::REQUEUED;
        let mut counts = Counts::new();
        let steps = [u32::MAX - 2, u32::MAX, 4, 10];
        for pair in steps.windows(2) {
            counts.add_growth(&reading(&[(place, pair[0])]), &reading(&[(place, pair[1])]));
        }
        assert_eq!(counts.requeues(), 13);
    }

    /// Every duration is in the bucket that its value has, also at both ends of what is kept.
    #[test]
    fn durations_are_in_their_buckets() {
        let tables = ScaleTables::NANOSECONDS_IN_SECONDS;
        for nanos in [
            128_u64,
            129,
            1_000,
            65_536,
            1_000_000,
            123_456_789,
            500_000_000_000,
        ] {
            let slot = tables.slot(nanos).unwrap() - DISK_FIRST_OCTAVE * DISK_OCTAVE_SLOTS;
            let place = DiskSeries::DURATIONS + DiskSeries::duration(DiskPhase::Queue as u32, slot);
            let mut counts = Counts::new();
            counts.add_growth(&Reading::zero(), &reading(&[(place, 3)]));
            assert_eq!(counts.durations(DiskPhase::Total).count(), 0);
            let histogram = counts.durations(DiskPhase::Queue);
            let index = ExponentialHistogram::index(HISTOGRAM_SCALE as i32, nanos as f64 / 1e9);
            assert_eq!(
                (histogram.offset, histogram.counts),
                (index, vec![3]),
                "{nanos} ns"
            );
        }
    }

    /// Sizes below and above 128 KiB share one scale; the sum is that of the kernel.
    #[test]
    fn sizes_are_in_their_buckets() {
        let mut read = reading(&[
            (DiskSeries::SIZES, 5),
            (DiskSeries::SIZES + 8, 2),
            (DiskSeries::SIZES + DISK_EXACT_SECTORS, 1),
            // Above 128 KiB: the last bucket of the octave has 256 KiB.
            (DiskSeries::SIZES + DISK_EXACT_SECTORS + 8, 1),
        ]);
        read.bytes = 1_000_000;
        let mut counts = Counts::new();
        counts.add_growth(&Reading::zero(), &read);
        let mut expected = ExponentialHistogram::new(DISK_SIZE_SCALE as i32);
        for bytes in [
            0.0, 0.0, 0.0, 0.0, 0.0, 4096.0, 4096.0, 131_072.0, 262_144.0,
        ] {
            expected.record(bytes);
        }
        expected.sum = 1_000_000.0;
        assert_eq!(counts.sizes(), expected);
        assert_eq!(counts.operations(), 9);
    }

    /// Two series of one disk are one.
    #[test]
    fn series_of_one_disk_add_up() {
        let mut counts = Counts::new();
        counts.add_growth(&Reading::zero(), &reading(&[(DiskSeries::SIZES + 8, 2)]));
        let other = counts.clone();
        counts.merge(&other);
        assert_eq!(counts.operations(), 4);
    }
}
