//! Block I/O: what the kernel programs keep of each series, which is one operation of one disk.

/// Series of one disk and operation.
pub const DISK_SERIES: u32 = 60;

/// Series in a bank: after those of single disks comes one for each operation, for disks that found no
/// free one.
pub const DISK_BANK_SERIES: u32 = DISK_SERIES + DiskOperation::COUNT;

/// Most banks. Up to so many CPUs each has its own, written without atomic instructions; more CPUs
/// share them.
pub const DISK_BANKS: u32 = 16;

/// Durations from 2^7 ns (128 ns) on have a bucket of their own; shorter ones fall in the first.
pub const DISK_FIRST_OCTAVE: u32 = 7;

/// Octaves of nanoseconds kept: below 2^39 ns (9 minutes); longer durations fall in the last slot.
pub const DISK_OCTAVES: u32 = 32;

/// Slots of one octave, by the scale of all kernel histograms.
pub const DISK_OCTAVE_SLOTS: u32 = 1 << crate::HISTOGRAM_SCALE;

/// Words of one octave of all phases. The odd one at its end keeps the compiler from replacing an
/// addition by a bitwise or, whose bound the verifier does not see.
pub const DISK_OCTAVE_WORDS: u32 = DiskPhase::COUNT * DISK_OCTAVE_SLOTS + 1;

/// Slots of a distribution of durations.
pub const DISK_DURATION_SLOTS: u32 = DISK_OCTAVES * DISK_OCTAVE_SLOTS;

/// Sectors (512 bytes) up to which each size has a slot: slot `n` counts operations of `n` sectors.
/// 256 sectors are 128 KiB.
pub const DISK_EXACT_SECTORS: u32 = 256;

/// Scale of the slots of larger sizes.
pub const DISK_SIZE_SCALE: u32 = 3;

/// Slots of sizes: 0 to 128 KiB by the sector, then 8 an octave up to 4 GiB.
pub const DISK_SIZE_SLOTS: u32 = DISK_EXACT_SECTORS + 1 + (15 << DISK_SIZE_SCALE) + 7;

/// Values of `blk_status_t` that are told apart; larger ones are counted as the last.
pub const DISK_STATUSES: u32 = 16;

/// What an operation does, as the kernel groups them for `/proc/diskstats` (`op_stat_group`,
/// include/linux/blk_types.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum DiskOperation {
    /// Reads.
    Read = 0,
    /// Writes, with everything that is neither of the others.
    Write = 1,
    /// Flushes of the device's cache.
    Flush = 2,
    /// Discards.
    Discard = 3,
}

impl DiskOperation {
    /// How many there are.
    pub const COUNT: u32 = 4;

    /// All, by number.
    pub const ALL: [Self; Self::COUNT as usize] =
        [Self::Read, Self::Write, Self::Flush, Self::Discard];
}

/// A part of an operation's time that has a distribution of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum DiskPhase {
    /// From the bio's arrival to the last completion.
    Total = 0,
    /// From the bio's arrival to the issue to the driver.
    Queue = 1,
    /// From the issue to the last completion.
    Device = 2,
}

impl DiskPhase {
    /// How many there are.
    pub const COUNT: u32 = 3;
}

/// What was counted of a series in one bank. Counts of 32 bits wrap; user space looks often enough.
#[repr(C)]
pub struct DiskSeries {
    /// Sums of the durations in nanoseconds, by `DiskPhase`.
    pub nanos: [u64; DiskPhase::COUNT as usize],
    /// Bytes of the operations that were completed.
    pub bytes: u64,
    /// Completions of a part of an operation.
    pub partial: u32,
    /// Operations that the driver handed back before they were completed.
    pub requeued: u32,
    /// Operations that ended with an error, by `blk_status_t`.
    pub errors: [u32; DISK_STATUSES as usize],
    /// Operations by size.
    pub sizes: [u32; DISK_SIZE_SLOTS as usize],
    /// Durations, by octave and then by `DiskPhase` and slot in the octave: the phases of one
    /// operation are near one another, so they share pages.
    pub durations: [[u32; DISK_OCTAVE_WORDS as usize]; DISK_OCTAVES as usize],
}

impl DiskSeries {
    /// All of it, in 64-bit words.
    pub const WORDS: u32 = (size_of::<Self>() / 8) as u32;
    /// `nanos`, in 64-bit words; `bytes` follows.
    pub const NANOS_WORD: u32 = 0;
    /// `bytes`, in 64-bit words.
    pub const BYTES_WORD: u32 = DiskPhase::COUNT;
    /// `partial`, in 32-bit words; all that follows has 32 bits.
    pub const COUNTS: u32 = (Self::BYTES_WORD + 1) * 2;
    /// 32-bit words from `partial` on.
    pub const COUNT_LEN: u32 = Self::WORDS * 2 - Self::COUNTS;
    /// `requeued`, from `COUNTS` on.
    pub const REQUEUED: u32 = 1;
    /// `errors`, from `COUNTS` on.
    pub const ERRORS: u32 = 2;
    /// `sizes`, from `COUNTS` on.
    pub const SIZES: u32 = Self::ERRORS + DISK_STATUSES;
    /// `durations`, from `COUNTS` on.
    pub const DURATIONS: u32 = Self::SIZES + DISK_SIZE_SLOTS;

    /// The place of a duration's slot, from `DURATIONS` on.
    pub const fn duration(phase: u32, slot: u32) -> u32 {
        let octave = slot / DISK_OCTAVE_SLOTS;
        octave * DISK_OCTAVE_WORDS + phase * DISK_OCTAVE_SLOTS + slot % DISK_OCTAVE_SLOTS
    }
}

const _: () = assert!(
    size_of::<DiskSeries>()
        == (DiskSeries::COUNTS + DiskSeries::DURATIONS + DISK_OCTAVES * DISK_OCTAVE_WORDS) as usize
            * 4
);

/// Sets of each table of bios and requests on their way, for each four CPUs. A set is a cache line of
/// two entries; a table of so many still lies in one piece of the kernel's direct map, which saves
/// 15 ns a look-up over pages of its own.
pub const DISK_TABLE_SETS: u32 = 504;

/// Neighbouring sets, for addresses that are near one another.
pub const DISK_TABLE_BLOCK: u32 = 8;

/// Most of these for four CPUs each: 32 times 1,008 operations on their way.
pub const DISK_TABLE_LIMIT: u32 = 32;

/// Sets in which a CPU remembers the series of queues and operations; a power of two.
pub const DISK_CACHE_SETS: u32 = 32;

/// Bytes of a disk's name (`DISK_NAME_LEN`).
pub const DISK_NAME_LEN: usize = 32;

/// Whose a series is. A disk is a `gendisk` and the number of its medium (`diskseq`), which no two
/// share: neither its address nor its device number stays with it when it goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct DiskIdentity {
    /// 1 when the series is taken; set first, so that no two disks take one.
    pub taken: u64,
    /// Address of the `gendisk`; set last, 0 while the rest is not filled in.
    pub disk: u64,
    /// `gendisk.diskseq`.
    pub sequence: u64,
    /// `DiskOperation`.
    pub operation: u32,
    /// Padding.
    pub reserved: u32,
    /// When it was first seen (`bpf_ktime_get_ns`).
    pub first_seen: u64,
    /// `gendisk.disk_name`, ended by a zero.
    pub name: [u8; DISK_NAME_LEN],
}

/// 64-bit words of a `DiskIdentity`.
pub const DISK_IDENTITY_WORDS: usize = size_of::<DiskIdentity>() / 8;

const _: () = assert!(size_of::<DiskIdentity>() == 72);

/// Bytes that one charge of a submitter stands for. An operation of fewer is charged by chance, with a
/// probability that makes the sum right on average; one of more is charged as it is.
pub const DISK_CHARGE_BYTES: u32 = 256 << 10;

/// Processes whose I/O is told apart.
pub const DISK_SUBMITTERS: u32 = 512;

/// Who handed in an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct DiskSubmitter {
    /// Process id in the root namespace.
    pub pid: u64,
    /// Start of the process in nanoseconds since boot.
    pub start_time: u64,
}

/// What a submitter handed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct DiskSubmitted {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Name of the task at its first charge, ended by a zero.
    pub comm: [u8; crate::COMM_LEN],
}
