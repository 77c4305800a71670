//! Names of kernel threads.

use super::text::{MAX_NAME_BYTES, printable};

/// `service.name` of everything that the kernel runs on its own account. The brackets keep it apart
/// from a program that is called so.
pub const KERNEL_SERVICE_NAME: &str = "[kernel]";

/// The name of a kernel thread without the CPU, pool and work item in it, so that one kind of
/// thread is one name on every host: `kworker/0:1-events` is `kworker`, `ksoftirqd/1` is
/// `ksoftirqd`, `irq/24-nvme0q1` is `irq`. A device in the name stays: `jbd2/vda1-8`.
pub fn fold_name(comm: &[u8]) -> String {
    let end = comm
        .iter()
        .position(|byte| *byte == b'/')
        .filter(|slash| {
            let (name, rest) = comm.split_at(*slash);
            // `kworker/u8:2`, `kworker/R-netns`: a worker's name has nothing but its pool there.
            name == b"kworker" || rest.get(1).is_some_and(u8::is_ascii_digit)
        })
        .unwrap_or(comm.len());
    printable(comm.get(..end).unwrap_or(comm), MAX_NAME_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What varies by CPU or work item goes; what names a device stays.
    #[test]
    fn folds_suffixes() {
        for (comm, expected) in [
            ("kworker/0:1-events", "kworker"),
            ("kworker/u8:2-flush-254:0", "kworker"),
            ("kworker/R-netns", "kworker"),
            ("ksoftirqd/1", "ksoftirqd"),
            ("migration/0", "migration"),
            ("swapper/3", "swapper"),
            ("irq/24-nvme0q1", "irq"),
            ("jbd2/vda1-8", "jbd2/vda1-8"),
            ("kswapd0", "kswapd0"),
            ("", ""),
            ("/", "/"),
        ] {
            assert_eq!(fold_name(comm.as_bytes()), expected);
        }
    }
}
