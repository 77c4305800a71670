//! System calls: how they are sampled and what is counted of them.

/// Numbers that have a row in the tables: a power of two above the highest of x86-64 and arm64
/// (469 in 6.17). Calls beyond it are `SyscallFamily::Other`.
pub const SYSCALL_NUMBERS: usize = 512;

/// Families: the length of what is counted by family; a power of two, so that a masked index is
/// in bounds.
pub const SYSCALL_FAMILIES: usize = 16;

/// System calls that can be listed to be counted one by one.
pub const LISTED_SYSCALLS: usize = 32;

/// Classes of errors; a power of two.
pub const ERROR_CLASSES: usize = 16;

/// Error numbers that have a row in the table of classes; those of the ABI end at 133.
pub const ERROR_NUMBERS: usize = 256;

/// Bits of the control word that hold the mean skip; the burst's number is above them.
pub const SKIP_BITS: u32 = 16;

/// What system calls are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SyscallFamily {
    /// None of the others, and numbers that are not in the table.
    Other = 0,
    /// Data from a file, pipe, socket or device by `read` and its kin.
    Read,
    /// Data to one by `write` and its kin.
    Write,
    /// Data to stable storage.
    Sync,
    /// Data between two descriptors.
    Copy,
    /// Waiting for descriptors to be ready.
    Poll,
    /// Submission of and waiting for asynchronous I/O.
    AsyncIo,
    /// Sockets.
    Network,
    /// Names, descriptors and attributes of files.
    File,
    /// Address spaces.
    Memory,
    /// Processes, threads, and their scheduling and identity.
    Process,
    /// Signals.
    Signal,
    /// Clocks, timers and sleeping.
    Time,
    /// Locks, condition variables and whatever else waits by futex.
    Lock,
    /// Pipes, message queues, semaphores and shared memory.
    Ipc,
    /// Calls of the 32-bit ABI, which have other numbers.
    Compat,
}

/// A call that makes a thread's last sample and this one a run has at most so many nanoseconds for
/// each call in between, on average. What 4 µs are lengthened by does not matter (4 %).
pub const RUN_NANOS: u64 = 4096;

/// Calls of threads that do next to nothing else: a thread was sampled twice in a row on a CPU,
/// with less than `RUN_NANOS` for each of the calls between. Such threads make fewer calls while
/// they are watched, which the estimate puts right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CallRuns {
    /// Samples that were the later one of two.
    pub samples: u64,
    /// Calls from one to the other.
    pub calls: u64,
    /// Time from one to the other, nanoseconds.
    pub nanos: u64,
}

/// State of the sampling on one CPU and what was counted there. Written only by programs on that
/// CPU, with preemption off.
#[repr(C)]
pub struct SyscallBank {
    /// Calls to go until one is sampled, that one included.
    pub remaining: u64,
    /// What `remaining` began with.
    pub drawn: u64,
    /// Calls that were counted down to the samples so far.
    pub seen: u64,
    /// Calls sampled.
    pub sampled: u64,
    /// When the last sample was taken (`bpf_ktime_get_ns`).
    pub sampled_at: u64,
    /// Thread of the last sample.
    pub sampled_tid: u64,
    /// Padding to a cache line.
    pub reserved: [u64; 2],
    /// Calls entered, by family, each sample counting for the mean skip.
    pub calls: [u64; SYSCALL_FAMILIES],
    /// The same for the listed calls.
    pub listed: [u64; LISTED_SYSCALLS],
    /// Runs of calls, by family: see `CallRuns`.
    pub runs: [CallRuns; SYSCALL_FAMILIES],
    /// Calls that failed, by family and class; all of a burst, not samples.
    pub errors: [u64; SYSCALL_FAMILIES * ERROR_CLASSES],
}

/// Words of a `SyscallBank`.
pub const SYSCALL_BANK_WORDS: u32 = (size_of::<SyscallBank>() / 8) as u32;

/// Word of `SyscallBank::calls` in the bank.
pub const CALLS_WORD: usize = core::mem::offset_of!(SyscallBank, calls) / 8;
/// Word of `SyscallBank::listed` in the bank.
pub const LISTED_WORD: usize = core::mem::offset_of!(SyscallBank, listed) / 8;
/// Word of `SyscallBank::runs` in the bank; three for each family.
pub const RUNS_WORD: usize = core::mem::offset_of!(SyscallBank, runs) / 8;
/// Word of `SyscallBank::errors` in the bank.
pub const ERRORS_WORD: usize = core::mem::offset_of!(SyscallBank, errors) / 8;
/// Word of `SyscallBank::seen` in the bank.
pub const SEEN_WORD: usize = core::mem::offset_of!(SyscallBank, seen) / 8;
/// Word of `SyscallBank::sampled` in the bank.
pub const SAMPLED_WORD: usize = core::mem::offset_of!(SyscallBank, sampled) / 8;

/// A call that a task is in, as the iterator over tasks writes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CallInFlight {
    /// Row of the call in the table of numbers: its family in the low 8 bits.
    pub row: u32,
    /// `KnownAge`.
    pub known: u32,
    /// The age, nanoseconds.
    pub age: u64,
}

/// What is known of the age of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum KnownAge {
    /// Nothing.
    Not = 0,
    /// Time since it was entered.
    SinceEntry,
    /// Time since its task left the CPU in it: it is at least as old.
    SinceLeft,
}

const _: () = assert!(size_of::<CallInFlight>() == 16);
const _: () = assert!(SyscallFamily::Compat as usize == SYSCALL_FAMILIES - 1);
const _: () = assert!(SYSCALL_NUMBERS.is_power_of_two() && ERROR_NUMBERS.is_power_of_two());
const _: () = assert!(LISTED_SYSCALLS.is_power_of_two() && ERROR_CLASSES.is_power_of_two());
