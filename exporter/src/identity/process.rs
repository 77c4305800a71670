//! A process as samples refer to it.

use std::{path::Path, sync::Arc};

use evenkeel_abi::OUTSIDE;

use super::{
    file::read_bounded,
    owner::Owner,
    process_directory::CgroupFacts,
    service::{OtelEnvironment, ServiceNameSource},
    stat::Stat,
};

/// `/proc/PID/stat` is 52 numbers and a name.
const MAX_STAT_BYTES: usize = 4096;

/// Nanoseconds in a clock tick of `/proc/PID/stat`: `USER_HZ` is 100 on all architectures that we
/// run on.
const NANOS_PER_TICK: u64 = 10_000_000;

/// Names one process for as long as the host runs: process ids come again, start times do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessKey {
    /// Thread group id as our `/proc` has it; with [`OUTSIDE`] where it does not.
    pub pid: u32,
    /// `start_boottime` of the group leader, in nanoseconds since boot. It survives `exec`, also one
    /// by another thread (`de_thread` in `fs/exec.c` hands it over).
    pub start_time_nanos: u64,
}

impl ProcessKey {
    /// Start time as field 22 of `/proc/PID/stat` has it: whole clock ticks, rounded down
    /// (`nsec_to_clock_t` in `kernel/time/time.c`).
    pub fn start_ticks(&self) -> u64 {
        self.start_time_nanos / NANOS_PER_TICK
    }

    /// It is not in our PID namespace: our `/proc` does not have it.
    pub fn is_outside(&self) -> bool {
        self.pid & OUTSIDE != 0
    }

    /// The process that has this id now, known from `/proc` alone.
    pub fn current(proc_root: &Path, pid: u32) -> Option<Self> {
        let path = proc_root.join(pid.to_string()).join("stat");
        let text = read_bounded(&path, MAX_STAT_BYTES).ok()?;
        let stat = Stat::parse(&text)?;
        Some(Self::from_ticks(pid, stat.start_ticks))
    }

    /// Whether the process that has this id now is this one.
    pub fn is_current(&self, proc_root: &Path) -> bool {
        let path = proc_root.join(self.pid.to_string()).join("stat");
        read_bounded(&path, MAX_STAT_BYTES).is_ok_and(|text| {
            Stat::parse(&text).is_some_and(|stat| stat.start_ticks == self.start_ticks())
        })
    }

    /// The key for a process known from `/proc` alone, as exact as the clock tick.
    pub fn from_ticks(pid: u32, start_ticks: u64) -> Self {
        Self {
            pid,
            start_time_nanos: start_ticks.saturating_mul(NANOS_PER_TICK),
        }
    }
}

/// What is known of a process and of the program that it runs. It does not change: after `exec` the
/// process has another one.
#[derive(Clone, Debug)]
pub struct Process {
    /// Which process.
    pub key: ProcessKey,
    /// How many programs it started since we know it.
    pub image: u32,
    /// Path of its executable file in its own mount namespace, byte for byte, also when the file
    /// was deleted since; `None` when unknown and for kernel threads.
    pub executable_path: Option<Arc<Path>>,
    /// Base name of that path, or the folded name of a kernel thread, or, of a process of which
    /// nothing else is known, its thread's name. At most 255 bytes, without control characters.
    pub executable_name: Arc<str>,
    /// Name of its main thread when it was first seen.
    pub comm: Arc<str>,
    /// Its parent, at its birth when we saw that.
    pub parent: Option<u32>,
    /// It is a thread of the kernel.
    pub kernel_thread: bool,
    /// Whose it is; decided when it was first seen.
    pub owner: Arc<Owner>,
    /// The rule that gave the owner's `service.name`.
    pub service_name_source: ServiceNameSource,
    /// It had exited before it could be read: what is known comes from kernel events and its
    /// parent.
    pub exited: bool,
    /// It is the recorded command or a descendant of it.
    pub command_tree: bool,
    pub(super) cgroup: Arc<CgroupFacts>,
    pub(super) environment: Arc<OtelEnvironment>,
}

impl Process {
    /// Whether nothing but the name of a thread is known.
    pub fn is_unidentified(&self) -> bool {
        self.service_name_source == ServiceNameSource::Exited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks are rounded down, as the kernel does.
    #[test]
    fn ticks_round_down() {
        let key = ProcessKey {
            pid: 1,
            start_time_nanos: 1_239_999_999,
        };
        assert_eq!(key.start_ticks(), 123);
        assert_eq!(ProcessKey::from_ticks(1, 123).start_ticks(), 123);
    }
}
