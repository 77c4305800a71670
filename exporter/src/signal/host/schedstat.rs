//! `/proc/schedstat` (`Documentation/scheduler/sched-stats.rst`): the scheduler's own sum of what
//! tasks waited for a CPU. Kernels without `CONFIG_SCHEDSTATS` do not have it.

use std::collections::BTreeMap;

use super::{Losses, digits, words};
use crate::kernel::cpus::MAX_CPUS;

/// Versions whose `cpu` lines are alike: nine numbers, of which the eighth is the waits in
/// nanoseconds.
const VERSIONS: std::ops::RangeInclusive<u64> = 15..=17;
const FIELDS: usize = 9;
const RUN_DELAY: usize = 7;

/// Waits of all tasks on all CPUs.
#[derive(Debug, Default)]
pub(super) struct CpuWaits {
    /// Nanoseconds at the last reading, by CPU, offline ones included.
    last: BTreeMap<u32, u64>,
    nanos: u64,
}

impl CpuWaits {
    /// Takes the text of the file and gives nanoseconds since boot; `None` where its format is not
    /// known or it has no CPU.
    pub(super) fn take(&mut self, text: &[u8], losses: &mut Losses) -> Option<u64> {
        let mut lines = text.split(|byte| *byte == b'\n');
        let version = lines
            .next()
            .and_then(|line| digits(line.strip_prefix(b"version ")?));
        if !version.is_some_and(|version| VERSIONS.contains(&version)) {
            losses.invalid += 1;
            return None;
        }
        for line in lines.filter(|line| line.starts_with(b"cpu")) {
            let Some((cpu, nanos)) = parse(line) else {
                losses.invalid += 1;
                continue;
            };
            // A CPU that comes later was offline since boot, and counts all of its own.
            let before = self.last.insert(cpu, nanos).unwrap_or(0);
            let growth = nanos.checked_sub(before);
            losses.out_of_range += u64::from(growth.is_none());
            self.nanos = self.nanos.saturating_add(growth.unwrap_or(0));
        }
        (!self.last.is_empty()).then_some(self.nanos)
    }
}

/// The CPU and the nanoseconds of a line.
fn parse(line: &[u8]) -> Option<(u32, u64)> {
    let mut words = words(line);
    let cpu = digits(words.next()?.strip_prefix(b"cpu")?)?;
    let fields = words.map(digits).collect::<Option<Vec<_>>>()?;
    let cpu = u32::try_from(cpu).ok().filter(|cpu| *cpu < MAX_CPUS)?;
    (fields.len() == FIELDS).then_some((cpu, *fields.get(RUN_DELAY)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(version: u32, first: u64, second: &str) -> String {
        format!(
            "version {version}\ntimestamp 4294892316\ncpu0 0 0 1 2 3 4 5000 {first} 9\n\
             domain0 MC 00000003 1 2 3\n{second}"
        )
    }

    /// Waits of all CPUs; one that went offline keeps its share, one that fell adds nothing.
    #[test]
    fn sums_the_cpus() {
        let mut waits = CpuWaits::default();
        let mut losses = Losses::default();
        for version in [15, 16, 17] {
            let mut alone = CpuWaits::default();
            let whole = text(version, 100, "cpu1 0 0 1 2 3 4 5000 11 9\n");
            let sum = alone.take(whole.as_bytes(), &mut losses);
            assert_eq!(sum, Some(111), "{version}");
        }
        let readings = [
            (100, "cpu1 0 0 1 2 3 4 5000 11 9\n", 111, 0),
            (150, "", 161, 0),
            (140, "cpu1 0 0 1 2 3 4 5000 12 9\n", 162, 1),
        ];
        for (first, second, sum, fallen) in readings {
            let taken = waits.take(text(16, first, second).as_bytes(), &mut losses);
            assert_eq!((taken, losses.out_of_range), (Some(sum), fallen));
        }
        // A file that cannot be read once takes nothing from the sum.
        assert_eq!(waits.take(b"version 99\n", &mut losses), None);
        let taken = waits.take(text(16, 141, "").as_bytes(), &mut losses);
        assert_eq!((taken, losses.invalid), (Some(163), 1));
    }

    /// Versions and lines that are not known give nothing.
    #[test]
    fn unknown_texts_give_nothing() {
        for bad in [
            "",
            "version 14\ncpu0 0 0 1 2 3 4 5 6 9\n",
            "version 18\ncpu0 0 0 1 2 3 4 5 6 9\n",
            "version -1\n",
            "version 15\ncpu0 0 0 1 2 3 4 5 6\n",
            "version 15\ncpu0 0 0 1 2 3 4 5 6 7 8\n",
            "version 15\ncpu0 0 0 1 2 3 4 5 -6 9\n",
            "version 15\ncpu99999 0 0 1 2 3 4 5 6 9\n",
        ] {
            let mut waits = CpuWaits::default();
            let mut losses = Losses::default();
            let sum = waits.take(bad.as_bytes(), &mut losses);
            assert_eq!((sum, losses.invalid), (None, 1), "{bad:?}");
        }
    }
}
