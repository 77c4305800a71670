//! Memory of the kernel maps, as the kernel accounts it.

use std::{fs, os::fd::AsRawFd as _, path::Path};

use aya::{Ebpf, maps::Map};

/// Bytes of each map, by name, from `memlock` in `/proc/self/fdinfo` (kernel/bpf/syscall.c,
/// `bpf_map_show_fdinfo`). A map whose size cannot be read is left out.
pub(super) fn by_map(ebpf: &Ebpf, proc_root: &Path) -> Vec<(String, u64)> {
    ebpf.maps()
        .filter_map(|(name, map)| {
            let data = match map {
                Map::Array(data)
                | Map::PerCpuArray(data)
                | Map::RingBuf(data)
                | Map::HashMap(data)
                | Map::LruHashMap(data)
                | Map::Unsupported(data) => data,
                _ => return None,
            };
            let fd = std::os::fd::AsFd::as_fd(data.fd()).as_raw_fd();
            let info =
                fs::read_to_string(proc_root.join("self/fdinfo").join(fd.to_string())).ok()?;
            let bytes = info
                .lines()
                .find_map(|line| line.strip_prefix("memlock:"))?
                .trim()
                .parse()
                .ok()?;
            Some((name.to_owned(), bytes))
        })
        .collect()
}
