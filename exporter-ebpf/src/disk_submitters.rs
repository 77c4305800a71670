//! Who handed in the bytes of block I/O, by chance and so at a bounded cost.
//!
//! Cost: 3 ns an operation that is not charged, 150 ns one that is. Of operations of 4 KiB one in 64
//! is.

use aya_ebpf::{btf_maps::HashMap, helpers::bpf_get_current_comm, macros::btf_map};
use evenkeel_abi::{Counter, DISK_CHARGE_BYTES, DISK_SUBMITTERS, DiskSubmitted, DiskSubmitter};

use crate::{
    counters::{self, add_to},
    disk,
    task::Task,
};

#[btf_map]
static SUBMITTERS: HashMap<DiskSubmitter, DiskSubmitted, { DISK_SUBMITTERS as usize }> =
    HashMap::new();

/// Charges the running task with what it hands in.
///
/// `bytes` of less than `DISK_CHARGE_BYTES` are charged with the probability that makes the average
/// right; the coin is a hash of the time in nanoseconds.
#[inline(always)]
pub fn charge(flags: u32, bytes: u32, now: u64) {
    let amount = if bytes < DISK_CHARGE_BYTES {
        let coin = (now as u32).wrapping_mul(0x9e37_79b1) >> (32 - DISK_CHARGE_BYTES.ilog2());
        if coin >= bytes {
            return;
        }
        DISK_CHARGE_BYTES
    } else {
        bytes
    };
    match disk::group(flags) {
        Some(0) => charge_current(u64::from(amount), 0),
        Some(1) => charge_current(0, u64::from(amount)),
        _ => {}
    }
}

#[inline(never)]
fn charge_current(read_bytes: u64, write_bytes: u64) {
    let task = Task::current();
    let key = DiskSubmitter {
        pid: u64::from(task.pid()),
        start_time: task.process_start_time(),
    };
    if SUBMITTERS.get_ptr_mut(&key).is_none() {
        let empty = DiskSubmitted {
            read_bytes: 0,
            write_bytes: 0,
            comm: bpf_get_current_comm().unwrap_or_default(),
        };
        // Another CPU may have made it meanwhile, which is as good.
        let _ = SUBMITTERS.insert(&key, &empty, 1);
    }
    let Some(value) = SUBMITTERS.get_ptr_mut(&key) else {
        counters::count(Counter::DiskSubmittersFull);
        return;
    };
    // SAFETY: the look-up's.
    unsafe { add_to(&raw mut (*value).read_bytes, read_bytes) };
    // SAFETY: as above.
    unsafe { add_to(&raw mut (*value).write_bytes, write_bytes) };
}
