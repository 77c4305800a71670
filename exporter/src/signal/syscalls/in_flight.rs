//! The system calls that tasks are in, by family and age.

use evenkeel_abi::{CallInFlight, KnownAge, SYSCALL_FAMILIES};
use evenkeel_semconv::attribute::value::evenkeel_syscall_age as value;

/// Classes of ages: those below so many nanoseconds, then the rest, then those not known.
pub(super) const AGES: [(u64, &str); 8] = [
    (1_000_000, value::BELOW_1MS),
    (10_000_000, value::BELOW_10MS),
    (100_000_000, value::BELOW_100MS),
    (1_000_000_000, value::BELOW_1S),
    (10_000_000_000, value::BELOW_10S),
    (60_000_000_000, value::BELOW_1MIN),
    (u64::MAX, value::ABOVE_1MIN),
    (u64::MAX, value::UNKNOWN),
];

/// Class of ages that are not known.
const UNKNOWN: usize = AGES.len() - 1;

/// How many calls are under way, by family and class of age.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InFlight {
    counts: [[u64; AGES.len()]; SYSCALL_FAMILIES],
}

impl InFlight {
    /// Counts what the iterator wrote; a record that is cut is the last one and left out.
    pub(super) fn count(written: &[u8]) -> Self {
        let mut in_flight = Self::default();
        for record in written.chunks_exact(size_of::<CallInFlight>()) {
            let word = |at: usize| {
                let bytes = record
                    .get(at..at + 4)
                    .and_then(|bytes| bytes.try_into().ok());
                bytes.map_or(0, u32::from_ne_bytes)
            };
            let age = record.get(8..).and_then(|bytes| bytes.try_into().ok());
            let age = age.map_or(0, u64::from_ne_bytes);
            let class = if word(4) == KnownAge::Not as u32 {
                UNKNOWN
            } else {
                let is_in = |(limit, _): &(u64, &str)| age < *limit;
                AGES.iter().position(is_in).unwrap_or(UNKNOWN - 1)
            };
            in_flight.counts[word(0) as usize & (SYSCALL_FAMILIES - 1)][class] += 1;
        }
        in_flight
    }

    /// Family, class of age and count.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        let families = self.counts.iter().enumerate();
        families.flat_map(|(family, ages)| {
            let ages = ages.iter().enumerate();
            ages.map(move |(age, count)| (family, age, *count))
        })
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_abi::SyscallFamily;

    use super::*;

    fn record(family: SyscallFamily, known: KnownAge, age: u64) -> Vec<u8> {
        // The place among the listed calls is above the family.
        let row = family as u32 | 3 << 8;
        let mut bytes = row.to_ne_bytes().to_vec();
        bytes.extend((known as u32).to_ne_bytes());
        bytes.extend(age.to_ne_bytes());
        bytes
    }

    /// Ages fall below their limits, what is not known is told apart, and a cut record is left out.
    #[test]
    fn ages_are_classes() {
        let mut written = Vec::new();
        for (known, age) in [
            (KnownAge::SinceEntry, 999_999),
            (KnownAge::SinceEntry, 1_000_000),
            (KnownAge::SinceLeft, 59_000_000_000),
            (KnownAge::SinceLeft, 60_000_000_000),
            (KnownAge::Not, 0),
        ] {
            written.extend(record(SyscallFamily::Read, known, age));
        }
        written.extend(&record(SyscallFamily::Read, KnownAge::Not, 0)[..9]);
        let in_flight = InFlight::count(&written);
        let read = in_flight.counts[SyscallFamily::Read as usize];
        assert_eq!(read, [1, 1, 0, 0, 0, 1, 1, 1]);
        let counted: u64 = in_flight.iter().map(|(_, _, count)| count).sum();
        assert_eq!(counted, 5);
    }
}
