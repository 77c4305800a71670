//! Which series an operation belongs to, and what is counted in it.
//!
//! A disk is known by its `gendisk` and the number of its medium, which is counted up for every new
//! disk and at every change of medium (a loop device that gets another file): neither an address
//! nor a device number is taken for a disk for longer than a millisecond.
//!
//! Cost: 7 ns to find the series, 20 ns to count three durations and a size.

use core::{
    ffi::c_void,
    intrinsics::{AtomicOrdering, atomic_cxchg, atomic_xadd},
    ptr,
};

use aya_ebpf::{btf_maps::Array, helpers::generated::bpf_probe_read_kernel_str, macros::btf_map};
use evenkeel_abi::{
    Counter, DISK_BANK_SERIES, DISK_BANKS, DISK_CACHE_SETS, DISK_DURATION_SLOTS,
    DISK_EXACT_SECTORS, DISK_FIRST_OCTAVE, DISK_NAME_LEN, DISK_OCTAVE_SLOTS, DISK_SERIES,
    DISK_SIZE_SCALE, DISK_SIZE_SLOTS, DISK_STATUSES, DiskIdentity, DiskPhase, DiskSeries,
};

use crate::{
    counters::{self, MMAPABLE, add_to, current_cpu},
    globals, histogram,
    task::field,
};

/// How long a disk's queue is taken for the same disk without another look.
const TRUST_NANOS: u64 = 1_000_000;

/// The series of a queue without a disk.
const NO_DISK: u32 = DISK_SERIES + 1;

/// Operations from this number on are commands that pass through (`REQ_OP_SCSI_IN` was 32,
/// `REQ_OP_DRV_IN` is 34); the block layer's own are far below.
const FIRST_PASSTHROUGH: u32 = 32;

/// `DISK_BANK_SERIES` for each bank; user space sets the size at load.
#[btf_map]
static DISK_IO: Array<DiskSeries, 1, MMAPABLE> = Array::new();

/// Whose each series is. Programs take free ones, user space frees those of disks that have gone.
#[btf_map]
static DISKS: Array<DiskIdentity, { DISK_SERIES as usize }> = Array::new();

/// What a CPU remembers: `DISK_CACHE_SETS` for each; user space sets the size at load.
#[btf_map]
static DISK_CACHE: Array<CacheSet, 1> = Array::new();

/// Two queues that share a place.
#[repr(C)]
pub struct CacheSet {
    ways: [Cached; 2],
}

/// The series of an operation of a queue.
#[derive(Clone, Copy)]
#[repr(C)]
struct Cached {
    /// Address of the `request_queue`.
    queue: u64,
    operation: u32,
    series: u32,
    /// When the disk was looked at last.
    seen: u64,
    reserved: u64,
}

/// The group of an operation, by `op_stat_group` (include/linux/blk_types.h): discards and flushes are
/// their own, odd numbers go to the device. `None` for commands that pass through.
#[inline(always)]
pub fn group(flags: u32) -> Option<u32> {
    let operation = flags & 0xff;
    if operation >= FIRST_PASSTHROUGH {
        return None;
    }
    Some(if operation == 2 || operation == 3 {
        operation
    } else {
        operation & 1
    })
}

/// The series of an operation of a queue; `None` for a queue without a disk.
#[inline(always)]
fn find(queue: *const c_void, operation: u32, now: u64, shared: bool) -> Option<*mut DiskSeries> {
    let hash = ((queue as u32) >> 6).wrapping_mul(0x9e37_79b1) >> 16;
    let set = current_cpu() * DISK_CACHE_SETS + ((hash + operation) & (DISK_CACHE_SETS - 1));
    let set = DISK_CACHE.get_ptr_mut(set)?;
    // SAFETY: both ways are parts of the map value.
    let first = unsafe { &raw mut (*set).ways[0] };
    // SAFETY: as above.
    let second = unsafe { &raw mut (*set).ways[1] };
    // SAFETY: as above.
    let way = if unsafe { holds(first, queue, operation) } {
        first
    } else {
        second
    };
    // SAFETY: as above.
    let is_known = unsafe { holds(way, queue, operation) };
    if !is_known {
        // SAFETY: as above.
        let older = if unsafe { (*first).seen <= (*second).seen } {
            first
        } else {
            second
        };
        // SAFETY: as above.
        unsafe {
            (*older).queue = queue as u64;
            (*older).operation = operation;
            (*older).series = DISK_SERIES;
            (*older).seen = 0;
        }
        renew(older, queue, operation, now);
        // SAFETY: as above.
        return bank(unsafe { (*older).series }, operation, shared);
    }
    // SAFETY: as above.
    let seen = unsafe { (*way).seen };
    if now.wrapping_sub(seen) > TRUST_NANOS {
        renew(way, queue, operation, now);
    }
    // SAFETY: as above.
    bank(unsafe { (*way).series }, operation, shared)
}

/// Whether a way is that of an operation of a queue.
///
/// # Safety
///
/// `way` points into a map value.
#[inline(always)]
unsafe fn holds(way: *const Cached, queue: *const c_void, operation: u32) -> bool {
    // SAFETY: by the caller's promise.
    unsafe { (*way).queue == queue as u64 && (*way).operation == operation }
}

/// This CPU's part of a series.
#[derive(Clone, Copy)]
pub struct Series {
    counts: *mut DiskSeries,
    /// Whether other CPUs write it too.
    ///
    /// A CPU's own needs no atomic instruction (20 ns less an operation): a program that is
    /// interrupted by itself on the same CPU is skipped by the kernel.
    shared: bool,
}

#[inline(always)]
fn bank(series: u32, operation: u32, shared: bool) -> Option<*mut DiskSeries> {
    let series = if series < DISK_SERIES {
        series
    } else if series == DISK_SERIES {
        counters::count(Counter::DiskSeriesFull);
        DISK_SERIES + (operation & 3)
    } else {
        return None;
    };
    let cpu = current_cpu();
    let bank = if shared { cpu & (DISK_BANKS - 1) } else { cpu };
    DISK_IO.get_ptr_mut(bank * DISK_BANK_SERIES + series)
}

/// Looks at the disk again: at most a thousand times a second for each CPU, queue and operation.
#[inline(never)]
fn renew(way: *mut Cached, queue: *const c_void, operation: u32, now: u64) {
    // SAFETY: `queue` is typed, and so are pointers loaded from typed pointers.
    let disk: *const c_void = unsafe { field(queue, globals::QUEUE_DISK.load()) };
    let series = if disk.is_null() {
        NO_DISK
    } else {
        // SAFETY: as above.
        let sequence: u64 = unsafe { field(disk, globals::DISK_SEQUENCE.load()) };
        // SAFETY: `way` is a part of a map value.
        let series = unsafe { (*way).series };
        if is_of(series, disk, sequence, operation) {
            series
        } else {
            find_or_take(disk, sequence, operation, now)
        }
    };
    // SAFETY: as above.
    unsafe {
        (*way).series = series;
        (*way).seen = now;
    }
}

/// Whether a series is that of an operation of a disk.
#[inline(always)]
fn is_of(series: u32, disk: *const c_void, sequence: u64, operation: u32) -> bool {
    DISKS.get_ptr(series).is_some_and(|identity| {
        // SAFETY: the look-up's.
        unsafe {
            (*identity).disk == disk as u64
                && (*identity).sequence == sequence
                && (*identity).operation == operation
        }
    })
}

/// The number of the series of a disk, which takes a free one if it has none; `DISK_SERIES` when there
/// is none left. Two CPUs that see a disk for the first time at once give it two: user space adds up
/// what is the same.
#[inline(always)]
fn find_or_take(disk: *const c_void, sequence: u64, operation: u32, now: u64) -> u32 {
    let mut series = 0;
    while series < DISK_SERIES {
        if is_of(series, disk, sequence, operation) {
            return series;
        }
        series += 1;
    }
    series = 0;
    while series < DISK_SERIES {
        if let Some(identity) = DISKS.get_ptr_mut(series)
            // SAFETY: the look-up's.
            && unsafe { take(&raw mut (*identity).taken) }
        {
            // SAFETY: as above; the offset is that of an array of as many bytes.
            unsafe {
                (*identity).sequence = sequence;
                (*identity).operation = operation;
                (*identity).first_seen = now;
                bpf_probe_read_kernel_str(
                    (&raw mut (*identity).name).cast(),
                    DISK_NAME_LEN as u32,
                    disk.byte_add(globals::DISK_NAME.load() as usize),
                );
                (*identity).disk = disk as u64;
            }
            return series;
        }
        series += 1;
    }
    DISK_SERIES
}

/// Sets a word that was 0 to 1; whether it was.
///
/// # Safety
///
/// `word` points into a map value.
#[inline(always)]
unsafe fn take(word: *mut u64) -> bool {
    // SAFETY: by the caller's promise.
    if unsafe { *word } != 0 {
        return false;
    }
    // SAFETY: as above.
    let (before, _) = unsafe {
        atomic_cxchg::<u64, { AtomicOrdering::SeqCst }, { AtomicOrdering::SeqCst }>(word, 0, 1)
    };
    before == 0
}

impl Series {
    /// The series of an operation of a queue. One whose `counts` are null is that of a queue without a
    /// disk: an `Option` of this type has a layout that the kernel's type information cannot say.
    #[inline(always)]
    pub fn of(queue: *const c_void, operation: u32, now: u64) -> Self {
        let shared = globals::DISK_BANKS_SHARED.load() != 0;
        Self {
            counts: find(queue, operation, now, shared).unwrap_or(ptr::null_mut()),
            shared,
        }
    }

    /// Whether there is none.
    #[inline(always)]
    pub fn is_none(self) -> bool {
        self.counts.is_null()
    }

    /// Adds to a word of it.
    ///
    /// # Safety
    ///
    /// `word` points into it.
    #[inline(always)]
    unsafe fn add(self, word: *mut u64, amount: u64) {
        if self.shared {
            // SAFETY: by the caller's promise.
            unsafe { add_to(word, amount) };
        } else {
            // SAFETY: as above.
            unsafe { *word = (*word).wrapping_add(amount) };
        }
    }

    /// Adds one to a count of it.
    ///
    /// # Safety
    ///
    /// `word` points into it.
    #[inline(always)]
    unsafe fn count(self, word: *mut u32) {
        if self.shared {
            // SAFETY: by the caller's promise.
            unsafe { atomic_xadd::<u32, u32, { AtomicOrdering::Relaxed }>(word, 1) };
        } else {
            // SAFETY: as above.
            unsafe { *word = (*word).wrapping_add(1) };
        }
    }

    /// Records the time of a phase.
    #[inline(always)]
    pub fn record(self, phase: DiskPhase, nanos: u64) {
        const BELOW: u32 = DISK_FIRST_OCTAVE * DISK_OCTAVE_SLOTS;
        let slot = histogram::slot(nanos).saturating_sub(BELOW);
        let slot = if slot < DISK_DURATION_SLOTS {
            slot
        } else {
            DISK_DURATION_SLOTS - 1
        };
        let place = DiskSeries::duration(phase as u32, slot) as usize;
        // SAFETY: the series comes from a look-up.
        let durations = unsafe { &raw mut (*self.counts).durations }.cast::<u32>();
        // SAFETY: the place is within the durations.
        unsafe { self.count(durations.add(place)) };
        // SAFETY: a word of the series.
        unsafe { self.add(&raw mut (*self.counts).nanos[phase as usize], nanos) };
    }

    /// Records the size of an operation.
    #[inline(always)]
    pub fn record_size(self, bytes: u32) {
        let sectors = bytes >> 9;
        let slot = if sectors <= DISK_EXACT_SECTORS {
            sectors
        } else {
            large_size_slot(sectors)
        };
        let slot = if slot < DISK_SIZE_SLOTS {
            slot
        } else {
            DISK_SIZE_SLOTS - 1
        };
        // SAFETY: the series comes from a look-up.
        let sizes = unsafe { &raw mut (*self.counts).sizes }.cast::<u32>();
        // SAFETY: the slot is within the sizes.
        unsafe { self.count(sizes.add(slot as usize)) };
        // SAFETY: a word of the series.
        unsafe { self.add(&raw mut (*self.counts).bytes, u64::from(bytes)) };
    }

    /// Counts an operation that ended with an error.
    #[inline(always)]
    pub fn record_error(self, status: u8) {
        let status = u32::from(status);
        let status = if status < DISK_STATUSES {
            status
        } else {
            DISK_STATUSES - 1
        };
        // SAFETY: the series comes from a look-up.
        let errors = unsafe { &raw mut (*self.counts).errors }.cast::<u32>();
        // SAFETY: the status is within the errors.
        unsafe { self.count(errors.add(status as usize)) };
    }

    /// Counts a completion of a part of an operation.
    #[inline(always)]
    pub fn record_partial(self) {
        // SAFETY: a word of the series.
        unsafe { self.count(&raw mut (*self.counts).partial) };
    }

    /// Counts an operation that the driver handed back.
    #[inline(always)]
    pub fn record_requeue(self) {
        // SAFETY: a word of the series.
        unsafe { self.count(&raw mut (*self.counts).requeued) };
    }
}

/// The slot of more than `DISK_EXACT_SECTORS` sectors, on the exponential scale itself.
#[inline(always)]
fn large_size_slot(sectors: u32) -> u32 {
    /// `floor(2^63 * 2^(i/8))`.
    const BOUNDS: [u64; 1 << DISK_SIZE_SCALE] = [
        0x8000_0000_0000_0000,
        0x8b95_c1e3_ea8b_d6e6,
        0x9837_f051_8db8_a96f,
        0xa5fe_d6a9_b151_38ea,
        0xb504_f333_f9de_6484,
        0xc567_2a11_5506_dadd,
        0xd744_fcca_d69d_6af4,
        0xeac0_c6e7_dd24_392e,
    ];
    let exponent = histogram::log2(u64::from(sectors));
    let mantissa = u64::from(sectors) << (63 - exponent);
    let mut above = 0;
    let mut bound = 0;
    while bound < BOUNDS.len() {
        above += (mantissa > BOUNDS[bound]) as u32;
        bound += 1;
    }
    // The first bucket above `DISK_EXACT_SECTORS`, which is 2^8, is 8 << scale.
    (exponent << DISK_SIZE_SCALE) + above - 1 - (8 << DISK_SIZE_SCALE) + DISK_EXACT_SECTORS + 1
}
