//! `/proc/stat` (`fs/proc/stat.c`, `show_stat`).

use evenkeel_semconv::attribute::value::cpu_mode;

use super::{digits, words};
use crate::kernel::cpus::MAX_CPUS;

/// `cpu.mode` of the first eight columns. The two that follow, guest and guest_nice, are contained
/// in user and nice.
pub(super) const MODES: [&str; 8] = [
    cpu_mode::USER,
    cpu_mode::NICE,
    cpu_mode::SYSTEM,
    cpu_mode::IDLE,
    cpu_mode::IOWAIT,
    cpu_mode::INTERRUPT,
    cpu_mode::SOFTIRQ,
    cpu_mode::STEAL,
];
/// Column of idle.
pub(super) const IDLE: usize = 3;
/// Column of iowait.
pub(super) const IOWAIT: usize = 4;
/// Column of steal.
pub(super) const STEAL: usize = 7;

/// Columns of a line with guest and guest_nice.
const COLUMNS: usize = 10;
/// Columns that every kernel has: up to idle.
const LEAST_COLUMNS: usize = 4;

/// One `cpu` line, in ticks of `USER_HZ`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// User, nice, system, idle, iowait, interrupt, softirq, steal, guest, guest_nice. Columns
    /// that the kernel does not print are absent.
    pub columns: [Option<u64>; COLUMNS],
}

impl CpuTicks {
    fn parse<'a>(words: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut ticks = Self::default();
        let mut count = 0;
        for (column, word) in ticks.columns.iter_mut().zip(words) {
            *column = Some(digits(word)?);
            count += 1;
        }
        (count >= LEAST_COLUMNS).then_some(ticks)
    }

    /// Stolen ticks.
    #[must_use]
    pub fn steal(&self) -> Option<u64> {
        self.columns[STEAL]
    }
}

/// The part of the file that is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// The sum over all CPUs, offline ones included.
    pub total: Option<CpuTicks>,
    /// CPUs that are online, ascending.
    pub cpus: Vec<(u32, CpuTicks)>,
    /// Context switches of all CPUs.
    pub context_switches: Option<u64>,
    /// Lines that should have been one of these and are not.
    pub invalid: u64,
}

impl Stat {
    /// Parses the text of the file. Lines that are cut, repeated or not numbers are left out and
    /// counted; nothing else depends on them.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let mut stat = Self::default();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            // Without its end a line may have lost digits.
            let (whole, line) = match line.split_last() {
                Some((b'\n', line)) => (true, line),
                _ => (false, line),
            };
            let mut words = words(line);
            let valid = match words.next() {
                Some(b"cpu") if whole => stat.take_total(CpuTicks::parse(words)),
                Some(b"ctxt") if whole => stat.take_switches(words.next().and_then(digits)),
                Some([b'c', b'p', b'u', number @ ..]) if whole => {
                    stat.take_cpu(digits(number), CpuTicks::parse(words))
                }
                Some([b'c', b'p', b'u', ..] | b"ctxt") => None,
                _ => Some(()),
            };
            if valid.is_none() {
                stat.invalid += 1;
            }
        }
        stat
    }

    fn take_total(&mut self, ticks: Option<CpuTicks>) -> Option<()> {
        if self.total.is_some() {
            return None;
        }
        self.total = Some(ticks?);
        Some(())
    }

    fn take_switches(&mut self, count: Option<u64>) -> Option<()> {
        if self.context_switches.is_some() {
            return None;
        }
        self.context_switches = Some(count?);
        Some(())
    }

    fn take_cpu(&mut self, number: Option<u64>, ticks: Option<CpuTicks>) -> Option<()> {
        let number = u32::try_from(number?).ok().filter(|cpu| *cpu < MAX_CPUS)?;
        if self.cpus.last().is_some_and(|(last, _)| *last >= number) {
            return None;
        }
        self.cpus.push((number, ticks?));
        Some(())
    }

    /// Stolen seconds of each CPU since boot; CPUs whose line has no such column are left out.
    pub fn steal_by_cpu(&self, ticks_per_second: u64) -> impl Iterator<Item = (u32, f64)> {
        self.cpus.iter().filter_map(move |(cpu, ticks)| {
            Some((*cpu, ticks.steal()? as f64 / ticks_per_second as f64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "cpu  15361 1 5348 130023 400 2 144 12 7 3\n\
                        cpu0 7236 0 2163 66201 46 0 15 3 0 0\n\
                        cpu7 8125 0 3185 63821 353 0 129 9 0 0\n\
                        intr 394502 0 0 0\n\
                        ctxt 1990473\n\
                        btime 1417046662\n\
                        softirq 0 1\n";

    /// The lines that are used come out, the others are passed over.
    #[test]
    fn parses_the_file() {
        let stat = Stat::parse(TEXT.as_bytes());
        let total = stat.total.unwrap();
        assert_eq!(
            total.columns.map(Option::unwrap),
            [15361, 1, 5348, 130_023, 400, 2, 144, 12, 7, 3]
        );
        assert_eq!(
            stat.cpus.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(),
            [0, 7]
        );
        assert_eq!((stat.context_switches, stat.invalid), (Some(1_990_473), 0));
        assert_eq!(
            stat.steal_by_cpu(100).collect::<Vec<_>>(),
            [(0, 0.03), (7, 0.09)]
        );
    }

    /// Columns that a kernel does not print are absent, and those of kernels to come are ignored.
    #[test]
    fn columns_may_be_missing() {
        let line = |text: &str| Stat::parse(text.as_bytes()).total;
        let old = line("cpu 1 2 3 4\n").unwrap();
        assert_eq!(
            (old.columns[IDLE], old.columns[IOWAIT], old.steal()),
            (Some(4), None, None)
        );
        assert_eq!(line("cpu 1 2 3\n"), None);
        assert!(line("cpu 1 2 3 4 5 6 7 8 9 10 11 x\n").is_some());
    }

    /// Each kind of broken line is left out and counted, and spoils no other.
    #[test]
    fn broken_lines_are_counted() {
        let good = "cpu 1 2 3 4 5 6 7 8 9 10\nctxt 5\n";
        for bad in [
            "cpu 1 2 3 4\n",
            "cpu0 1 -2 3 4\n",
            "cpu1 1 99999999999999999999999 3 4\n",
            "cpux 1 2 3 4\n",
            "cpu8192 1 2 3 4\n",
            "cpu99999999999 1 2 3 4\n",
            "cpu0 1 2 three 4\n",
            "ctxt 7\n",
            "ctxt \u{661}\n",
            "cpu1",
            "ctxt 12",
        ] {
            let stat = Stat::parse(format!("{good}{bad}").as_bytes());
            assert_eq!((stat.invalid, stat.context_switches), (1, Some(5)), "{bad}");
            assert!(stat.total.is_some() && stat.cpus.is_empty(), "{bad}");
        }
        let repeated = Stat::parse(b"cpu1 1 1 1 1\ncpu0 2 2 2 2\ncpu1 3 3 3 3\n");
        assert_eq!((repeated.cpus.len(), repeated.invalid), (1, 2));
    }

    /// Cut anywhere, the file never yields a number that was not in it.
    #[test]
    fn truncation_invents_nothing() {
        let whole = Stat::parse(TEXT.as_bytes());
        for length in 0..TEXT.len() {
            let cut = Stat::parse(&TEXT.as_bytes()[..length]);
            assert!(cut.total.is_none() || cut.total == whole.total);
            assert!(cut.cpus.iter().all(|cpu| whole.cpus.contains(cpu)));
            assert!(cut.context_switches.is_none_or(|count| count == 1_990_473));
        }
    }
}
