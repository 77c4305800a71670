//! `/proc/PID/stat`, of a process or a thread.

use std::str::FromStr;

/// `PF_KTHREAD` of `include/linux/sched.h`: the task is a kernel thread.
const PF_KTHREAD: u32 = 0x0020_0000;

/// The fields that are used of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat<'a> {
    /// Id of the process or thread.
    pub(crate) pid: u32,
    /// Name of the (main) thread.
    pub(crate) comm: &'a [u8],
    /// One letter, `proc_pid_stat(5)`.
    pub(crate) state: u8,
    pub(crate) ppid: u32,
    /// `PF_*`.
    pub(crate) flags: u32,
    /// CPU time in user mode, in clock ticks.
    pub(crate) user_ticks: u64,
    /// CPU time in the kernel, in clock ticks.
    pub(crate) system_ticks: u64,
    /// Start in clock ticks since boot.
    pub(crate) start_ticks: u64,
    /// Resident memory in pages.
    pub(crate) resident_pages: u64,
}

impl<'a> Stat<'a> {
    /// Reads one line. The name may hold blanks, parentheses and line ends: only the last
    /// parenthesis closes it.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let open = line.iter().position(|byte| *byte == b'(')?;
        let close = line.iter().rposition(|byte| *byte == b')')?;
        let comm = line.get(open + 1..close)?;
        let pid = number(line.get(..open)?.trim_ascii())?;
        // The fields after the name, from field 3 on.
        let mut fields = line
            .get(close + 1..)?
            .split(u8::is_ascii_whitespace)
            .filter(|field| !field.is_empty());
        let state = *fields.next()?.first()?;
        let ppid = number(fields.next()?)?;
        // The numbers of proc_pid_stat(5) are 9, 14, 15, 22 and 24.
        let flags = number(fields.nth(4)?)?;
        let user_ticks = number(fields.nth(4)?)?;
        let system_ticks = number(fields.next()?)?;
        let start_ticks = number(fields.nth(6)?)?;
        let resident_pages = number(fields.nth(1)?)?;
        Some(Self {
            pid,
            comm,
            state,
            ppid,
            flags,
            user_ticks,
            system_ticks,
            start_ticks,
            resident_pages,
        })
    }

    /// A thread of the kernel, without a program.
    pub(crate) fn is_kernel_thread(&self) -> bool {
        self.flags & PF_KTHREAD != 0
    }

    /// A process that has ended and waits to be collected.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

fn number<T: FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::test_support::Random;

    const TAIL: &str = "S 7 1 1 0 -1 2129984 0 0 0 0 1 2 3 4 20 0 1 0 4711 0 815 184467 0";

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
            assert!(stat.is_kernel_thread());
            assert_eq!((stat.pid, stat.flags), (42, 2_129_984));
            assert_eq!((stat.user_ticks, stat.system_ticks), (1, 2));
            assert_eq!(stat.resident_pages, 815);
        }
    }

    /// Cut or random lines give nothing, and nothing else happens.
    #[test]
    fn broken_lines() {
        let line = format!("42 (a) {TAIL}");
        let end = line.find(" 815").unwrap() + 1;
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
