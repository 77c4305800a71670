//! `/proc/PID/stat`.

/// `PF_KTHREAD` of `include/linux/sched.h`: the task is a kernel thread.
const PF_KTHREAD: u64 = 0x0020_0000;

/// The fields that are used of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stat<'a> {
    /// Name of the main thread.
    pub(super) comm: &'a [u8],
    /// One letter, `proc_pid_stat(5)`.
    pub(super) state: u8,
    pub(super) ppid: u32,
    pub(super) kernel_thread: bool,
    /// Start in clock ticks since boot.
    pub(super) start_ticks: u64,
}

impl<'a> Stat<'a> {
    /// Reads one line. The name may hold blanks, parentheses and line ends: only the last
    /// parenthesis closes it.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let open = line.iter().position(|byte| *byte == b'(')?;
        let close = line.iter().rposition(|byte| *byte == b')')?;
        let comm = line.get(open + 1..close)?;
        // The fields after the name, from field 3 on.
        let mut fields = line
            .get(close + 1..)?
            .split(u8::is_ascii_whitespace)
            .filter(|field| !field.is_empty());
        let state = *fields.next()?.first()?;
        let ppid = number(fields.next()?)?;
        let flags = number(fields.nth(4)?)?;
        let start_ticks = number(fields.nth(12)?)?;
        Some(Self {
            comm,
            state,
            ppid: u32::try_from(ppid).ok()?,
            kernel_thread: flags & PF_KTHREAD != 0,
            start_ticks,
        })
    }

    /// A process that has ended and waits to be collected.
    pub(super) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

fn number(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::test_support::Random;

    const TAIL: &str = "S 7 1 1 0 -1 2129984 0 0 0 0 1 2 3 4 20 0 1 0 4711 0 0 184467 0";

    /// Field 22 is found whatever is in the name.
    #[test]
    fn names_do_not_shift_fields() {
        for comm in [
            "bash",
            "a b",
            ") R 1 (",
            ")",
            "((",
            "",
            "x) S 7 1 1",
            "a\nb",
        ] {
            let line = format!("42 ({comm}) {TAIL}\n");
            let stat = Stat::parse(line.as_bytes()).unwrap();
            assert_eq!(stat.comm, comm.as_bytes());
            assert_eq!((stat.state, stat.ppid, stat.start_ticks), (b'S', 7, 4711));
            assert!(stat.kernel_thread);
        }
    }

    /// Cut or random lines give nothing, and nothing else happens.
    #[test]
    fn broken_lines() {
        let line = format!("42 (a) {TAIL}");
        let end = line.find(" 4711").unwrap() + 1;
        for length in 0..end {
            assert_eq!(Stat::parse(line.get(..length).unwrap().as_bytes()), None);
        }
        let mut random = Random::new(3);
        for _ in 0..20_000 {
            let mut bytes = random.bytes(20);
            bytes.extend_from_slice(b") R 1 ");
            bytes.extend(random.bytes(60));
            let _ = Stat::parse(&bytes);
            let _ = Stat::parse(&random.bytes(60));
        }
    }
}
