//! Block I/O: how long each operation waited, how long the device took, and both together.
//!
//! Hooks: tp_btf `block_bio_queue`, `block_split`, `block_rq_issue`, `block_rq_requeue`,
//! `block_rq_complete`, and `block_bio_complete` for disks that have no requests. Maps:
//! `DISK_ARRIVALS`, `DISK_ISSUES`, `DISK_CACHE`, `DISKS`, `DISK_IO`, `DISK_SUBMITTERS`, `COUNTERS`.
//!
//! Cost on the development machine, an empty program (55 ns) included: 120 ns at the arrival, 105 at
//! the issue, 140 at the completion. The three clock reads are 33 ns each, and 20 more where the clock's
//! data are not in the cache.
//!
//! An operation is a request, as in `/proc/diskstats`: bios that were merged are one, a bio that was
//! split is several. Its queue time begins when the first of its bios arrives, so that waiting for a
//! tag counts (`start_time_ns` is set after that wait), and ends when the driver gets it for the
//! last time. Its device time ends at its last completion. The kernel's own stamps are only used
//! where ours are missing: from 6.9 on they are those of the task's first look at the clock since
//! it began to plug (`blk_time_get_ns`, block/blk.h), which makes most queue times 0.

use core::ffi::c_void;

use aya_ebpf::{helpers::bpf_ktime_get_ns, macros::btf_tracepoint, programs::BtfTracePointContext};
use evenkeel_abi::{Counter, DiskPhase, FocusDistribution};

use crate::{
    counters,
    disk::{self, Series},
    disk_submitters,
    disk_tables::{self as tables, Issue},
    focus, globals,
    task::{Task, field},
};

/// `REQ_OP_WRITE`.
const WRITE: u32 = 1;

/// `BLK_STS_AGAIN` (include/linux/blk_types.h).
const AGAIN: u8 = 12;

/// Reads a field of a request, a bio or a queue.
#[inline(always)]
fn read<T: Copy>(base: *const c_void, offset: u64) -> T {
    // SAFETY: callers pass pointers that the verifier knows the types of.
    unsafe { field(base, offset) }
}

/// A bio arrived at a disk.
#[btf_tracepoint(function = "block_bio_queue")]
pub fn block_bio_queue(context: BtfTracePointContext) -> i32 {
    let bio = context.arg::<*const c_void>(0);
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() };
    let bytes = read(bio, globals::BIO_SIZE.load());
    let group = if focus::is_used() {
        focus::of_process(Task::current().pid())
    } else {
        0
    };
    let sector = read(bio, globals::BIO_SECTOR.load());
    tables::remember_arrival(bio, sector, bytes, now, group);
    disk_submitters::charge(read(bio, globals::BIO_FLAGS.load()), bytes, now);
    0
}

/// The front of a bio was cut off as a bio of its own; both arrived when the whole did.
#[btf_tracepoint(function = "block_split")]
pub fn block_split(context: BtfTracePointContext) -> i32 {
    let front = context.arg::<*const c_void>(0);
    let sector = context.arg::<u64>(1) as u32;
    let rest: u64 = read(front, globals::BIO_PRIVATE.load());
    let Some(arrival) = tables::arrival_of(rest, rest as u32) else {
        return 0;
    };
    let bytes: u32 = read(front, globals::BIO_SIZE.load());
    // SAFETY: the look-up's.
    let (nanos, group) = unsafe { ((*arrival).nanos, (*arrival).group) };
    // SAFETY: as above.
    unsafe {
        (*arrival).sector = sector;
        (*arrival).bytes = (*arrival).bytes.wrapping_sub(bytes);
    }
    let first = read(front, globals::BIO_SECTOR.load());
    tables::remember_arrival(front, first, bytes, nanos, group);
    0
}

/// When the first bio of a request arrived, which is forgotten then, and whose it is in focus; 0 when that
/// is not known.
#[inline(always)]
fn take_arrival(request: *const c_void) -> (u64, u32) {
    let bio: *const c_void = read(request, globals::REQUEST_BIO.load());
    if bio.is_null() {
        return (0, 0);
    }
    let Some(arrival) = tables::arrival_of(bio as u64, bio as u32) else {
        return (0, 0);
    };
    let sector: u64 = read(request, globals::REQUEST_SECTOR.load());
    // SAFETY: the look-up's.
    let (nanos, group, first) = unsafe { ((*arrival).nanos, (*arrival).group, (*arrival).sector) };
    // SAFETY: as above.
    unsafe { tables::forget_arrival(arrival) };
    if first == sector as u32 {
        (nanos, group)
    } else {
        (0, 0)
    }
}

/// The earlier of two times of which either may be unknown (0).
#[inline(always)]
fn earlier(a: u64, b: u64) -> u64 {
    if a == 0 || (b != 0 && b < a) { b } else { a }
}

/// The driver gets a request.
#[btf_tracepoint(function = "block_rq_issue")]
pub fn block_rq_issue(context: BtfTracePointContext) -> i32 {
    let request = context.arg::<*const c_void>(0);
    if disk::group(read(request, globals::REQUEST_FLAGS.load())).is_none() {
        return 0;
    }
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() };
    let bytes: u32 = read(request, globals::REQUEST_LENGTH.load());
    let (arrived, group) = take_arrival(request);
    let started: u64 = read(request, globals::REQUEST_START.load());
    let Some(issue) = tables::issue_place(request as u64, request as u32) else {
        return 0;
    };
    // SAFETY: a part of a map value, which nobody else uses while this request is on its way.
    let issue = unsafe { &mut *issue };
    if issue.is_of(request) {
        if arrived == 0 && started <= issue.nanos {
            // It was handed back: it arrived when it did, with all its bytes.
            issue.nanos = now;
            return 0;
        }
        counters::count(Counter::DiskCompletionUnseen);
    }
    // A flush has no bio of its own.
    if arrived == 0 && bytes != 0 {
        counters::count(Counter::DiskArrivalUnknown);
    }
    *issue = Issue::new(request, earlier(arrived, started), bytes, now, group);
    0
}

/// The driver hands a request back.
#[btf_tracepoint(function = "block_rq_requeue")]
pub fn block_rq_requeue(context: BtfTracePointContext) -> i32 {
    let request = context.arg::<*const c_void>(0);
    let Some(operation) = disk::group(read(request, globals::REQUEST_FLAGS.load())) else {
        return 0;
    };
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() };
    let series = Series::of(read(request, globals::REQUEST_QUEUE.load()), operation, now);
    if !series.is_none() {
        series.record_requeue();
    }
    0
}

/// The device is done with a request, or with a part of it.
#[btf_tracepoint(function = "block_rq_complete")]
pub fn block_rq_complete(context: BtfTracePointContext) -> i32 {
    let request = context.arg::<*const c_void>(0);
    let status = context.arg::<u64>(1) as u8;
    let done = context.arg::<u64>(2) as u32;
    let Some(operation) = disk::group(read(request, globals::REQUEST_FLAGS.load())) else {
        return 0;
    };
    let left: u32 = read(request, globals::REQUEST_LENGTH.load());
    // A write that asks for a flush ends a second time, with nothing left of it, when the flush has
    // ended; so does an empty one, which was never issued. The flush is an operation of its own.
    if operation == WRITE && left == 0 {
        return 0;
    }
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() };
    let series = Series::of(read(request, globals::REQUEST_QUEUE.load()), operation, now);
    if series.is_none() {
        return 0;
    }
    if done < left {
        series.record_partial();
        return 0;
    }
    if status != 0 {
        series.record_error(status);
    }
    let (arrived, issued, bytes, group) = match tables::issue_of(request as u64, request as u32) {
        Some(issue) => {
            // SAFETY: the look-up's.
            let seen = unsafe {
                (
                    (*issue).arrived,
                    (*issue).nanos,
                    (*issue).bytes,
                    (*issue).group,
                )
            };
            // SAFETY: as above.
            unsafe { tables::forget_issue(issue) };
            seen
        }
        None => {
            counters::count(Counter::DiskUnmatched);
            (
                read(request, globals::REQUEST_START.load()),
                read(request, globals::REQUEST_ISSUE.load()),
                done,
                0,
            )
        }
    };
    series.record_size(bytes);
    if now < issued || now < arrived {
        counters::count(Counter::DiskNegative);
        return 0;
    }
    if arrived != 0 {
        series.record(DiskPhase::Total, now - arrived);
        focus::record(group, FocusDistribution::BlockIo, now - arrived);
    }
    if issued != 0 {
        series.record(DiskPhase::Device, now - issued);
        if arrived != 0 {
            // The kernel's stamps can be in the wrong order by a little.
            series.record(DiskPhase::Queue, issued.saturating_sub(arrived));
        }
    }
    0
}

/// A bio ended that did not become a request: the disk has none, or refused it.
#[btf_tracepoint(function = "block_bio_complete")]
pub fn block_bio_complete(context: BtfTracePointContext) -> i32 {
    let queue = context.arg::<*const c_void>(0);
    let bio = context.arg::<*const c_void>(1);
    let Some(operation) = disk::group(read(bio, globals::BIO_FLAGS.load())) else {
        return 0;
    };
    let status: u8 = read(bio, globals::BIO_STATUS.load());
    let requests: *const c_void = read(queue, globals::QUEUE_OPERATIONS.load());
    if !requests.is_null() {
        refused(queue, bio, operation, status);
        return 0;
    }
    let Some(arrival) = tables::arrival_of(bio as u64, bio as u32) else {
        counters::count(Counter::DiskUnmatched);
        return 0;
    };
    // SAFETY: the look-up's.
    let (arrived, bytes, group) = unsafe { ((*arrival).nanos, (*arrival).bytes, (*arrival).group) };
    // SAFETY: as above.
    unsafe { tables::forget_arrival(arrival) };
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() };
    let series = Series::of(queue, operation, now);
    if series.is_none() {
        return 0;
    }
    if status != 0 {
        series.record_error(status);
    }
    series.record_size(bytes);
    if now < arrived {
        counters::count(Counter::DiskNegative);
    } else {
        series.record(DiskPhase::Total, now - arrived);
        focus::record(group, FocusDistribution::BlockIo, now - arrived);
    }
    0
}

/// A disk with requests ended a bio without one: it is no operation, but the error is one, unless the
/// caller only did not want to wait.
#[inline(always)]
fn refused(queue: *const c_void, bio: *const c_void, operation: u32, status: u8) {
    if let Some(arrival) = tables::arrival_of(bio as u64, bio as u32) {
        // SAFETY: the look-up's.
        unsafe { tables::forget_arrival(arrival) };
    }
    if status == 0 || status == AGAIN {
        return;
    }
    // SAFETY: the helper takes nothing.
    let now = unsafe { bpf_ktime_get_ns() };
    let series = Series::of(queue, operation, now);
    if !series.is_none() {
        series.record_error(status);
    }
}
