//! Records of the ring buffer, parsed.

use std::ffi::CStr;

use evenkeel_abi::{
    COMM_LEN, EXACT_FRAME, EXEC_FILENAME_LEN, EventKind, ExecEvent, FLAG_UNVERIFIED,
    MAX_KERNEL_FRAMES, MAX_USER_FRAMES, NEIGHBOURS, NO_SYSTEM_CALL, ProcessEvent, SampleHeader,
    TaskAccount, WAKER_INTERRUPT, WaitDetail, WalkEnd,
};

use crate::identity::ProcessKey;

/// One record.
#[derive(Debug)]
pub enum Event<'a> {
    /// A sample of a running task.
    Sample(Sample<'a>),
    /// Stolen time found at a context switch.
    Stolen(Sample<'a>),
    /// A process was created.
    Fork {
        /// The creating process.
        parent: ProcessKey,
        /// The new process.
        child: ProcessKey,
    },
    /// A process runs another program now.
    Exec {
        /// The process.
        process: ProcessKey,
        /// Its thread name now.
        comm: &'a [u8],
        /// The path given to execve, cut at 255 bytes.
        filename: &'a [u8],
    },
    /// A task waited.
    Wait(Box<Wait<'a>>),
    /// What woke a task, and the thread that was woken.
    Waker(Sample<'a>, u32),
    /// What a task did.
    Account(Account<'a>),
    /// A process is gone.
    Exit {
        /// The process.
        process: ProcessKey,
    },
}

/// A sample as the kernel took it.
#[derive(Debug)]
pub struct Sample<'a> {
    /// The process.
    pub process: ProcessKey,
    /// Thread id.
    pub tid: u32,
    /// Thread name.
    pub comm: &'a [u8],
    /// The user stack goes on beyond its last frame, or may: the walk did not reach the outermost one.
    pub truncated: bool,
    /// The number of the `WalkEnd`.
    pub walk_end: u32,
    /// User frames were found by frame pointers in code about which nothing was known.
    pub is_unverified: bool,
    /// Growth of the CPU's stolen time, nanoseconds.
    pub stolen_nanos: u64,
    kernel: &'a [u8],
    user: &'a [u8],
}

impl Sample<'_> {
    /// Kernel addresses, leaf first.
    pub fn kernel_frames(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        words(self.kernel)
    }

    /// User addresses, leaf first, and whether the instruction there was interrupted: all others are
    /// return addresses, one past the call.
    pub fn user_frames(&self) -> impl ExactSizeIterator<Item = (u64, bool)> + '_ {
        words(self.user).enumerate().map(|(index, word)| {
            let is_exact = index == 0 || word & EXACT_FRAME != 0;
            (word & !EXACT_FRAME, is_exact)
        })
    }
}

fn words(bytes: &[u8]) -> impl ExactSizeIterator<Item = u64> + '_ {
    bytes
        .as_chunks::<8>()
        .0
        .iter()
        .map(|word| u64::from_ne_bytes(*word))
}

/// A wait that was sampled.
#[derive(Debug)]
pub struct Wait<'a> {
    /// Whose wait, and where.
    pub sample: Sample<'a>,
    /// `LEFT_*`, `HAS_QUOTA` and `USER_STACK_MISSED`.
    pub flags: u32,
    /// What it counts of blocked time, nanoseconds.
    pub blocked_nanos: u64,
    /// What it counts of time on run queues, nanoseconds.
    pub queued_nanos: u64,
    /// Who had the CPU meanwhile.
    pub behind: Behind,
    /// `TASK_*` (include/linux/sched.h).
    pub task_state: u32,
    /// System call that the task is in.
    pub system_call: Option<i32>,
    /// Its second and third argument.
    pub arguments: [u64; 2],
    /// Who woke it; `None` when nobody was seen.
    pub waker: Option<Waker>,
}

/// Who woke a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// A process.
    Process(ProcessKey),
    /// An interrupt.
    Interrupt,
}

/// Who had the CPU while a task waited for it, nanoseconds of one wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The whole of it.
    pub queued: u64,
    /// Nobody had to: a quota held the task back.
    pub throttled: u64,
    /// The same process, or an unnamed one of the same group.
    pub own: u64,
    /// Another process.
    pub other: u64,
    /// A kernel thread.
    pub kernel: u64,
    /// Nobody.
    pub idle: u64,
    /// Processes of `other`, with their parts; pid 0 for none.
    pub others: [(ProcessKey, u64); NEIGHBOURS],
}

/// What a task did since the last account of it.
#[derive(Debug)]
pub struct Account<'a> {
    /// The process.
    pub process: ProcessKey,
    /// Thread name.
    pub comm: &'a [u8],
    /// Switches away because it blocked.
    pub voluntary: u64,
    /// Switches away while it could have gone on.
    pub involuntary: u64,
    /// Time on run queues, nanoseconds.
    pub queued_nanos: u64,
}

/// A cursor over the fields of a record.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }
}

/// Text up to its NUL.
fn text(bytes: &[u8]) -> &[u8] {
    CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes)
}

/// Parses a record; `None` for one that this version does not know or that is cut.
pub fn parse(record: &[u8]) -> Option<Event<'_>> {
    let kind = Fields(record).u32()?;
    if kind == EventKind::Sample as u32 {
        sample(record).map(Event::Sample)
    } else if kind == EventKind::Stolen as u32 {
        sample(record).map(Event::Stolen)
    } else if kind == EventKind::Wait as u32 {
        wait(record).map(Box::new).map(Event::Wait)
    } else if kind == EventKind::Waker as u32 {
        let woken_tid = u32::from_ne_bytes(*record.get(WOKEN_TID..)?.first_chunk()?);
        let waker = sample(record.get(size_of::<WaitDetail>()..)?)?;
        Some(Event::Waker(waker, woken_tid))
    } else if kind == EventKind::Account as u32 {
        account(record).map(Event::Account)
    } else if kind == EventKind::Exec as u32 {
        exec(record)
    } else if kind == EventKind::Fork as u32 {
        let (child, parent) = process(record)?;
        Some(Event::Fork { parent, child })
    } else if kind == EventKind::Exit as u32 {
        let (process, _) = process(record)?;
        Some(Event::Exit { process })
    } else {
        None
    }
}

// The offsets below follow the order of the fields in `SampleHeader`, `ExecEvent` and
// `ProcessEvent`; the tests compare with the structures themselves.
const _: () = assert!(size_of::<SampleHeader>() == 64);
const _: () = assert!(size_of::<ProcessEvent>() == 32);
const _: () = assert!(size_of::<ExecEvent>() == 288);
const _: () = assert!(size_of::<WaitDetail>() == 208);
const _: () = assert!(size_of::<TaskAccount>() == 64);

/// Where a `WaitDetail` has the woken thread.
const WOKEN_TID: usize = std::mem::offset_of!(WaitDetail, woken_tid);

/// The first record of several that lie one after the other, as an iterator writes them, and the
/// rest; `None` at the end, or when the record is not one that has a length.
pub fn split_first(records: &[u8]) -> Option<(&[u8], &[u8])> {
    let kind = Fields(records).u32()?;
    let length = if kind == EventKind::Account as u32 {
        size_of::<TaskAccount>()
    } else if kind == EventKind::Wait as u32 {
        let header = size_of::<WaitDetail>();
        let mut counts = Fields(records.get(header + size_of::<SampleHeader>() - 8..)?);
        let frames = counts.u32()?.saturating_add(counts.u32()?) as usize;
        header + size_of::<SampleHeader>() + frames.checked_mul(8)?
    } else {
        return None;
    };
    records.split_at_checked(length)
}

const NOBODY: ProcessKey = ProcessKey {
    pid: 0,
    start_time_nanos: 0,
};

fn wait(record: &[u8]) -> Option<Wait<'_>> {
    let (detail, rest) = record.split_at_checked(size_of::<WaitDetail>())?;
    let mut fields = Fields(detail);
    let _kind = fields.u32()?;
    let flags = fields.u32()?;
    let blocked_nanos = fields.u64()?;
    let queued_nanos = fields.u64()?;
    let mut behind = Behind {
        queued: fields.u64()?,
        throttled: fields.u64()?,
        own: fields.u64()?,
        other: fields.u64()?,
        kernel: fields.u64()?,
        idle: fields.u64()?,
        others: [(NOBODY, 0); NEIGHBOURS],
    };
    for neighbour in &mut behind.others {
        let pid = fields.u32()?;
        let _reserved = fields.u32()?;
        let start_time_nanos = fields.u64()?;
        let process = ProcessKey {
            pid,
            start_time_nanos,
        };
        *neighbour = (process, fields.u64()?);
    }
    let task_state = fields.u32()?;
    let system_call = fields.u32()?.cast_signed();
    let waker_pid = fields.u32()?;
    let _reserved = fields.u32()?;
    let arguments = [fields.u64()?, fields.u64()?];
    let waker = ProcessKey {
        pid: waker_pid,
        start_time_nanos: fields.u64()?,
    };
    Some(Wait {
        sample: sample(rest)?,
        flags,
        blocked_nanos,
        queued_nanos,
        behind,
        task_state,
        arguments,
        system_call: (system_call != NO_SYSTEM_CALL).then_some(system_call),
        waker: match waker_pid {
            0 => None,
            WAKER_INTERRUPT => Some(Waker::Interrupt),
            _ => Some(Waker::Process(waker)),
        },
    })
}

fn account(record: &[u8]) -> Option<Account<'_>> {
    let mut fields = Fields(record);
    let _kind = fields.u32()?;
    let pid = fields.u32()?;
    let _tid = fields.u32()?;
    let _reserved = fields.u32()?;
    let start_time_nanos = fields.u64()?;
    Some(Account {
        process: ProcessKey {
            pid,
            start_time_nanos,
        },
        voluntary: fields.u64()?,
        involuntary: fields.u64()?,
        queued_nanos: fields.u64()?,
        comm: text(fields.take(COMM_LEN)?),
    })
}

fn sample(record: &[u8]) -> Option<Sample<'_>> {
    let mut fields = Fields(record);
    let _kind = fields.u32()?;
    let _cpu = fields.u32()?;
    let pid = fields.u32()?;
    let tid = fields.u32()?;
    let start_time_nanos = fields.u64()?;
    let stolen_nanos = fields.u64()?;
    let comm = text(fields.take(COMM_LEN)?);
    let flags = fields.u32()?;
    let walk_end = fields.u32()?;
    let kernel_frames = fields.u32()? as usize;
    let user_frames = fields.u32()? as usize;
    if kernel_frames > MAX_KERNEL_FRAMES || user_frames > MAX_USER_FRAMES {
        return None;
    }
    let kernel = fields.take(kernel_frames * 8)?;
    let user = fields.take(user_frames * 8)?;
    Some(Sample {
        process: ProcessKey {
            pid,
            start_time_nanos,
        },
        tid,
        comm,
        walk_end,
        is_unverified: flags & FLAG_UNVERIFIED != 0,
        truncated: walk_end != WalkEnd::Complete as u32 && walk_end != WalkEnd::NoUserStack as u32,
        stolen_nanos,
        kernel,
        user,
    })
}

fn exec(record: &[u8]) -> Option<Event<'_>> {
    let mut fields = Fields(record);
    let _kind = fields.u32()?;
    let pid = fields.u32()?;
    let start_time_nanos = fields.u64()?;
    let comm = text(fields.take(COMM_LEN)?);
    let filename = text(fields.take(EXEC_FILENAME_LEN)?);
    Some(Event::Exec {
        process: ProcessKey {
            pid,
            start_time_nanos,
        },
        comm,
        filename,
    })
}

/// The process of a `ProcessEvent`, then its parent.
fn process(record: &[u8]) -> Option<(ProcessKey, ProcessKey)> {
    let mut fields = Fields(record);
    let _kind = fields.u32()?;
    let pid = fields.u32()?;
    let start_time_nanos = fields.u64()?;
    let parent_pid = fields.u32()?;
    let _reserved = fields.u32()?;
    let parent_start = fields.u64()?;
    Some((
        ProcessKey {
            pid,
            start_time_nanos,
        },
        ProcessKey {
            pid: parent_pid,
            start_time_nanos: parent_start,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [EventKind::Sample as u32, 1, 42, 43] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(7_u64.to_ne_bytes());
        bytes.extend(9_u64.to_ne_bytes());
        bytes.extend(*b"name\0\0\0\0\0\0\0\0\0\0\0\0");
        for word in [0, WalkEnd::Truncated as u32, 1, 2] {
            bytes.extend(word.to_ne_bytes());
        }
        for frame in [0xffff_ffff_8100_0000_u64, 0x1000, 0x2000] {
            bytes.extend(frame.to_ne_bytes());
        }
        bytes
    }

    /// A sample gives back what was put in.
    #[test]
    fn sample_is_parsed() {
        let record = record();
        let Some(Event::Sample(sample)) = parse(&record) else {
            panic!("not a sample");
        };
        assert_eq!((sample.process.pid, sample.tid), (42, 43));
        assert_eq!(sample.process.start_time_nanos, 7);
        assert_eq!(sample.stolen_nanos, 9);
        assert_eq!(sample.comm, b"name");
        assert!(sample.truncated);
        assert_eq!(
            sample.kernel_frames().collect::<Vec<_>>(),
            [0xffff_ffff_8100_0000]
        );
        assert_eq!(
            sample.user_frames().collect::<Vec<_>>(),
            [(0x1000, true), (0x2000, false)]
        );
    }

    /// A record cut at any byte is refused, never read beyond.
    #[test]
    fn cut_record_is_refused() {
        let record = record();
        for length in 0..record.len() {
            assert!(parse(&record[..length]).is_none(), "at {length}");
        }
    }

    /// A record that claims more frames than can be is refused.
    #[test]
    fn absurd_frame_count_is_refused() {
        let mut record = record();
        record[60..64].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert!(parse(&record).is_none());
    }
}
