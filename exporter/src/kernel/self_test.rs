//! Proof of the offsets: a kernel program reads our own thread, we compare with `/proc/self`.
//!
//! The verifier checks offsets of pointers against the kernel's BTF. A wrong offset that hits
//! another number of fitting size goes unnoticed by it, and would give wrong numbers for months.

use std::{collections::BTreeMap, fs, path::Path, thread, time::Duration};

use evenkeel_abi::{COMM_LEN, SelfTest, SelfTestState};

use super::{globals::Globals, mapped_array::MappedArray};
use crate::{
    identity::stat::Stat,
    signal::host::{Moment, Stat as HostStat},
};

/// Words of the `SELF_TEST` map.
pub const WORDS: usize = size_of::<SelfTest>() / 8;

/// How long to wait for the program after the thread was made. It runs inside `clone`, so the
/// result is there at once; the wait only covers a late store.
const PATIENCE: Duration = Duration::from_millis(100);

/// Steal that may be accounted between the two readings: 2 s covers a host that took the CPU for
/// long in between, and is far from what another field would read.
const STEAL_TOLERANCE_NANOS: u64 = 2_000_000_000;

/// Measured cost of helpers on this host, in nanoseconds a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HelperCosts {
    /// `bpf_ktime_get_ns`.
    pub clock: f64,
    /// `bpf_task_storage_get`.
    pub task_storage: f64,
    /// An atomic increment in an array map.
    pub counter: f64,
}

/// What the self-test found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Globals that did not prove right, with what was read and what was expected.
    pub wrong: Vec<(&'static str, String)>,
    /// Helper costs.
    pub costs: HelperCosts,
}

/// The self-test gave no result.
#[derive(Debug, thiserror::Error)]
pub enum SelfTestError {
    /// No thread could be made, so the program did not run.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// The program was attached and did not run.
    #[error("the self-test program did not run when a thread was started")]
    Silent,
    /// `/proc/self` could not be read, so there is nothing to compare with.
    #[error("cannot read {path}: {reason}")]
    Proc {
        /// The file.
        path: String,
        /// What went wrong.
        reason: String,
    },
}

/// Makes a thread, so that the attached program runs in ours, and compares.
pub fn run(
    map: &MappedArray,
    globals: &Globals,
    proc_root: &Path,
) -> Result<Findings, SelfTestError> {
    let expected = Expected::read(proc_root)?;
    let marker = 0_u64;
    let near_stack_pointer = (&raw const marker).addr() as u64;
    thread::Builder::new()
        .name("self-test".into())
        .spawn(|| ())
        .map_err(SelfTestError::Thread)?
        .join()
        .ok();
    let mut waited = Duration::ZERO;
    while map.load(0) as u32 != SelfTestState::Done as u32 {
        if waited >= PATIENCE {
            return Err(SelfTestError::Silent);
        }
        thread::sleep(Duration::from_millis(1));
        waited += Duration::from_millis(1);
    }
    let read = reading(map);
    Ok(Findings {
        wrong: compare(&read, &expected, globals, near_stack_pointer),
        costs: HelperCosts {
            clock: read.clock_nanos as f64 / 64.0,
            task_storage: read.task_storage_nanos as f64 / 64.0,
            counter: read.counter_nanos as f64 / 64.0,
        },
    })
}

/// The words of the map as the structure that the program filled.
fn reading(map: &MappedArray) -> SelfTest {
    let halves = |word: usize| {
        let bytes = map.load(word).to_ne_bytes();
        let (low, high) = bytes.split_at(4);
        let number = |half: &[u8]| u32::from_ne_bytes([half[0], half[1], half[2], half[3]]);
        (number(low), number(high))
    };
    let (state, cpu) = halves(0);
    let (tid, pid) = halves(1);
    let (flags, task_state) = halves(2);
    let (on_cpu, system_call) = halves(12);
    let mut comm = [0; COMM_LEN];
    comm[..8].copy_from_slice(&map.load(13).to_ne_bytes());
    comm[8..].copy_from_slice(&map.load(14).to_ne_bytes());
    SelfTest {
        state,
        cpu,
        tid,
        pid,
        flags,
        task_state,
        start_time: map.load(3),
        steal: map.load(4),
        instruction_pointer: map.load(5),
        stack_pointer: map.load(6),
        frame_pointer: map.load(7),
        run_delay: map.load(8),
        times_run: map.load(9),
        last_queued: map.load(10),
        run_queue_clock: map.load(11),
        on_cpu,
        system_call,
        comm,
        clock_nanos: map.load(15),
        task_storage_nanos: map.load(16),
        counter_nanos: map.load(17),
    }
}

/// What the kernel says elsewhere of the same things.
struct Expected {
    tid: u32,
    pid: u32,
    start_ticks: u64,
    ticks_per_second: u64,
    flags: u32,
    /// By CPU; absent where the kernel prints none.
    steal_nanos: BTreeMap<u32, u64>,
    /// `/proc/thread-self/schedstat`: time on run queues and times run; absent where there is none.
    waits: Option<(u64, u64)>,
    comm: [u8; COMM_LEN],
}

/// The two last fields of a `schedstat`: nanoseconds on run queues, times run.
fn parse_schedstat(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.split_ascii_whitespace().skip(1);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

impl Expected {
    fn read(proc_root: &Path) -> Result<Self, SelfTestError> {
        let failed = |path: &Path, reason: String| SelfTestError::Proc {
            path: path.display().to_string(),
            reason,
        };
        let read = |file: &str| {
            let path = proc_root.join(file);
            let text = fs::read(&path).map_err(|error| failed(&path, error.to_string()))?;
            Ok((path, text))
        };
        let (path, text) = read("thread-self/stat")?;
        let unknown = |path: &Path| failed(path, "it is not in a known format".into());
        let thread = Stat::parse(&text).ok_or_else(|| unknown(&path))?;
        let (path, text) = read("self/stat")?;
        let process = Stat::parse(&text).ok_or_else(|| unknown(&path))?;
        let ticks_per_second = rustix::param::clock_ticks_per_second();
        let (_, stat) = read("stat")?;
        let waits = fs::read_to_string(proc_root.join("thread-self/schedstat"))
            .ok()
            .and_then(|text| parse_schedstat(&text));
        let (_, name) = read("thread-self/comm")?;
        let mut comm = [0; COMM_LEN];
        for (to, from) in comm.iter_mut().zip(name.trim_ascii_end()) {
            *to = *from;
        }
        Ok(Self {
            waits,
            comm,
            tid: thread.pid,
            pid: process.pid,
            start_ticks: process.start_ticks,
            ticks_per_second,
            flags: thread.flags,
            steal_nanos: HostStat::parse(&stat)
                .steal_by_cpu(ticks_per_second)
                .map(|(cpu, seconds)| (cpu, (seconds * 1e9) as u64))
                .collect(),
        })
    }
}

/// Names the globals whose reading is not what it should be.
fn compare(
    read: &SelfTest,
    expected: &Expected,
    globals: &Globals,
    near_stack_pointer: u64,
) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    let mut check = |global: &'static str, right: bool, seen: u64, should: u64| {
        if globals.get(global).is_some() && !right {
            wrong.push((global, format!("{global} reads {seen}, should be {should}")));
        }
    };
    let number = u64::from;
    // Threads are told apart by their ids in the kernel's first namespace, which a procfs of another one does not have.
    let has_root_ids = globals.get("PID_NAMESPACE").is_none();
    check(
        "TASK_PID",
        read.tid == expected.tid || !has_root_ids,
        number(read.tid),
        number(expected.tid),
    );
    check(
        "TASK_TGID",
        read.pid == expected.pid,
        number(read.pid),
        number(expected.pid),
    );
    check(
        "TASK_FLAGS",
        read.flags == expected.flags,
        number(read.flags),
        number(expected.flags),
    );
    check(
        "TASK_STATE",
        read.task_state == 0,
        number(read.task_state),
        0,
    );

    let ticks = read.start_time / (1_000_000_000 / expected.ticks_per_second.max(1));
    check(
        "TASK_START_BOOTTIME",
        ticks == expected.start_ticks,
        ticks,
        expected.start_ticks,
    );
    // The program reads it only where it is wanted.
    if globals.get("HAS_STEAL") == Some(1)
        && let Some(steal) = expected.steal_nanos.get(&read.cpu)
    {
        check(
            "RQ_PREV_STEAL_TIME",
            read.steal.abs_diff(*steal) <= STEAL_TOLERANCE_NANOS,
            read.steal,
            *steal,
        );
    }
    compare_waits(read, expected, &mut check);
    // The thread is in `clone`, some frames below the caller of this function.
    check(
        "REGS_SP",
        read.stack_pointer.abs_diff(near_stack_pointer) < 64 << 10,
        read.stack_pointer,
        near_stack_pointer,
    );
    // Code lies in the same half of the address space as the stack, and not on the stack.
    check(
        "REGS_IP",
        (4096..1 << 56).contains(&read.instruction_pointer)
            && read.instruction_pointer.abs_diff(near_stack_pointer) > 64 << 10,
        read.instruction_pointer,
        0,
    );
    wrong
}

/// The fields that waits are measured by. The thread runs, and may have waited since `schedstat` was
/// read.
fn compare_waits(
    read: &SelfTest,
    expected: &Expected,
    check: &mut impl FnMut(&'static str, bool, u64, u64),
) {
    const SECOND: u64 = 1_000_000_000;
    if let Some((run_delay, times_run)) = expected.waits {
        let delayed = read.run_delay.wrapping_sub(run_delay);
        check(
            "TASK_RUN_DELAY",
            delayed < 10 * SECOND,
            read.run_delay,
            run_delay,
        );
        let ran = read.times_run.wrapping_sub(times_run);
        check("TASK_PCOUNT", ran < 10_000, read.times_run, times_run);
    }
    let last_queued = read.last_queued;
    check("TASK_LAST_QUEUED", last_queued == 0, last_queued, 0);
    let on_cpu = u64::from(read.on_cpu);
    check("TASK_ON_CPU", on_cpu == 1, on_cpu, 1);
    let number = u64::from(read.system_call);
    let clone3 = 435;
    // clone, fork and vfork on x86-64; clone on arm64.
    let makes_tasks = [56, 57, 58, 220, clone3].contains(&number);
    check("REGS_SYSTEM_CALL", makes_tasks, number, clone3);
    let named = read.comm == expected.comm;
    check(
        "TASK_COMM",
        named,
        u64::from(read.comm[0]),
        u64::from(expected.comm[0]),
    );
    // The clock begins at boot, give or take what firmware and hypervisor did to it.
    let since_boot = Moment::now().since_boot_nanos;
    let clock = read.run_queue_clock;
    let plausible = clock > read.run_delay && clock < since_boot.saturating_add(3600 * SECOND);
    check("RQ_CLOCK", plausible, clock, since_boot);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> (SelfTest, Expected, Globals) {
        let read = SelfTest {
            tid: 11,
            pid: 10,
            flags: 0x40,
            start_time: 1_239_999_999,
            steal: 500_000_000,
            instruction_pointer: 0x7f00_0000_1000,
            stack_pointer: 0x7fff_0000_1000,
            run_delay: 1_100,
            times_run: 12,
            run_queue_clock: 5_000,
            on_cpu: 1,
            system_call: 435,
            comm: *b"main\0\0\0\0\0\0\0\0\0\0\0\0",
            ..SelfTest::default()
        };
        let expected = Expected {
            tid: 11,
            pid: 10,
            start_ticks: 123,
            ticks_per_second: 100,
            flags: 0x40,
            steal_nanos: BTreeMap::from([(0, 500_000_000)]),
            waits: Some((1_000, 10)),
            comm: *b"main\0\0\0\0\0\0\0\0\0\0\0\0",
        };
        let mut globals = Globals::default();
        for name in [
            "TASK_PID",
            "TASK_TGID",
            "TASK_FLAGS",
            "TASK_START_BOOTTIME",
            "RQ_PREV_STEAL_TIME",
            "REGS_SP",
            "TASK_RUN_DELAY",
            "TASK_PCOUNT",
            "TASK_LAST_QUEUED",
            "TASK_ON_CPU",
            "TASK_COMM",
            "REGS_SYSTEM_CALL",
            "RQ_CLOCK",
        ] {
            globals.set(name, 8);
        }
        globals.set("HAS_STEAL", 1);
        (read, expected, globals)
    }

    /// Right readings are accepted, and each wrong one is named.
    #[test]
    fn each_wrong_reading_is_named() {
        let (read, expected, globals) = sound();
        let near = 0x7fff_0000_2000;
        assert_eq!(compare(&read, &expected, &globals, near), []);
        type Spoil = fn(&mut SelfTest);
        let cases: [(&str, Spoil); 12] = [
            ("TASK_RUN_DELAY", |read| read.run_delay = 999),
            ("TASK_PCOUNT", |read| read.times_run = 1 << 40),
            ("TASK_LAST_QUEUED", |read| read.last_queued = 7),
            ("TASK_ON_CPU", |read| read.on_cpu = 2),
            ("TASK_COMM", |read| read.comm[3] = b'x'),
            ("REGS_SYSTEM_CALL", |read| read.system_call = 0),
            ("RQ_CLOCK", |read| read.run_queue_clock = u64::MAX),
            ("TASK_PID", |read| read.tid = 12),
            ("TASK_FLAGS", |read| read.flags = 0),
            ("TASK_START_BOOTTIME", |read| read.start_time += 10_000_000),
            ("RQ_PREV_STEAL_TIME", |read| read.steal = 9_000_000_000),
            ("REGS_SP", |read| read.stack_pointer = 0),
        ];
        for (global, spoil) in cases {
            let mut spoilt = read;
            spoil(&mut spoilt);
            let wrong = compare(&spoilt, &expected, &globals, near);
            assert_eq!(wrong.len(), 1, "{wrong:?}");
            assert_eq!(wrong[0].0, global);
        }
    }
}
