//! Process ids in the agent's PID namespace.
//!
//! An agent that is one container of a pod (`shareProcessNamespace`) has a `/proc` of its own, in which a process has
//! another number than in the kernel's first namespace. A `struct pid` has the numbers of all namespaces that
//! see it (include/linux/pid.h), the first namespace's first.

use core::ffi::c_void;

use aya_ebpf::helpers::generated::bpf_probe_read_kernel;
use evenkeel_abi::OUTSIDE;

use crate::globals;

/// Namespaces within each other that are looked at; `MAX_PID_NS_LEVEL` is 32. A pod's is the second, with nodes that are
/// containers the third.
const LEVELS: u64 = 4;

/// Reads a number or pointer at an address of the kernel; zero where it cannot be read.
#[inline(always)]
fn read<T: Copy + Default>(address: u64) -> T {
    let mut value = T::default();
    // SAFETY: the helper checks the address, and writes no more than the value's size.
    unsafe {
        bpf_probe_read_kernel(
            (&raw mut value).cast(),
            size_of::<T>() as u32,
            address as *const c_void,
        );
    }
    value
}

/// The number of a `struct pid` in the agent's namespace, or `root_id` with [`OUTSIDE`]. 15 ns a read, four reads at level 1;
/// by `bpf_probe_read_kernel`, as the verifier follows arrays of unknown length only since 6.5.
#[inline(never)]
pub fn own_id(pid: *const c_void, root_id: u32) -> u32 {
    let pid = pid as u64;
    let level: u32 = read(pid + globals::PID_LEVEL.load());
    let upid_size = globals::UPID_NAMESPACE.load() + size_of::<u64>() as u64;
    for number in 1..=LEVELS {
        if number > u64::from(level) {
            break;
        }
        let upid = pid + globals::PID_NUMBERS.load() + number * upid_size;
        let namespace: u64 = read(upid + globals::UPID_NAMESPACE.load());
        let inode: u32 = read(namespace + globals::NAMESPACE_NUMBER.load());
        if u64::from(inode) == globals::PID_NAMESPACE.load() {
            return read(upid + globals::UPID_NUMBER.load());
        }
    }
    root_id | OUTSIDE
}
