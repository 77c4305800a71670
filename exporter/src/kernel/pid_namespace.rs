//! The PID namespace whose process ids our procfs has.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

/// Inode of the initial PID namespace: `PROC_PID_INIT_INO` (include/linux/proc_ns.h).
const INITIAL: u64 = 4_026_531_836;

/// A PID namespace that is not the kernel's first one: that of a pod, for an agent that is one of its containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PidNamespace {
    /// Its inode number.
    pub inode: u64,
    /// Minor number of the device that the inode is on, which has no major one.
    pub device: u64,
}

impl PidNamespace {
    /// The namespace of a procfs, by its first process or, where we may not look at that one, by ourselves; `None` for
    /// the kernel's first namespace, and where nothing can be told.
    pub fn of(proc_root: &Path) -> Option<Self> {
        let (path, inode) = ["1/ns/pid", "self/ns/pid"].iter().find_map(|file| {
            let path = proc_root.join(file);
            // `pid:[4026531836]`, namespaces(7).
            let link = fs::read_link(&path).ok()?;
            let inode = link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?;
            Some((path, inode.parse().ok()?))
        })?;
        (inode != INITIAL).then(|| Self {
            inode,
            device: fs::metadata(path)
                .map_or(0, |metadata| rustix::fs::minor(metadata.dev()).into()),
        })
    }
}

/// Our process id in a procfs.
pub(super) fn own_id(proc_root: &Path) -> Option<u32> {
    let link = fs::read_link(proc_root.join("self")).ok()?;
    link.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A procfs that cannot be read says nothing; our own id is what the kernel calls us.
    #[test]
    fn own_procfs() {
        assert_eq!(PidNamespace::of(Path::new("/nowhere")), None);
        assert_eq!(own_id(Path::new("/proc")), Some(std::process::id()));
        assert_eq!(own_id(Path::new("/nowhere")), None);
    }
}
