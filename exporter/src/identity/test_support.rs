//! What the tests of this module share: random bytes and a fake `/proc`.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use tempfile::TempDir;

use super::roots::Roots;

/// A small reproducible generator (xorshift64*): a failing seed fails again.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % bound.max(1)
    }

    pub(super) fn bytes(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1))
            .map(|_| u8::try_from(self.next() >> 56).unwrap_or(0))
            .collect()
    }
}

/// A process of a fake `/proc`.
pub(super) struct FakeProcess<'a> {
    pub(super) pid: u32,
    pub(super) ppid: u32,
    pub(super) start_ticks: u64,
    pub(super) comm: &'a str,
    pub(super) state: char,
    pub(super) flags: u32,
    pub(super) exe: Option<&'a str>,
    pub(super) cgroup: &'a str,
    pub(super) environ: &'a [u8],
}

impl Default for FakeProcess<'_> {
    fn default() -> Self {
        Self {
            pid: 100,
            ppid: 1,
            start_ticks: 1,
            comm: "worker",
            state: 'R',
            flags: 0x0040_0000,
            exe: Some("/usr/bin/worker"),
            cgroup: "0::/user.slice/session-1.scope\n",
            environ: b"",
        }
    }
}

/// A `/proc` in a temporary directory.
pub(super) struct FakeProc {
    directory: TempDir,
}

impl FakeProc {
    pub(super) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(super) fn roots(&self) -> Roots {
        let path = |name: &str| self.directory.path().join(name);
        Roots {
            proc: path("proc"),
            sys: path("sys"),
            cgroup: path("cgroup"),
            os_release: path("os-release"),
        }
    }

    /// Writes a file below the root that holds `proc`, `sys` and the others.
    pub(super) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(super) fn add(&self, process: &FakeProcess<'_>) {
        let FakeProcess {
            pid,
            ppid,
            start_ticks,
            comm,
            state,
            flags,
            exe,
            cgroup,
            environ,
        } = process;
        self.write(
            &format!("proc/{pid}/stat"),
            format!(
                "{pid} ({comm}) {state} {ppid} {pid} 0 0 -1 {flags} 0 0 0 0 1 2 0 0 20 0 1 0 \
                 {start_ticks} 4096 1 18446744073709551615 0 0 0 0 0\n"
            ),
        );
        self.write(&format!("proc/{pid}/cgroup"), cgroup);
        self.write(&format!("proc/{pid}/environ"), environ);
        if let Some(exe) = exe {
            let link = self.process_path(*pid).join("exe");
            let _ = fs::remove_file(&link);
            symlink(exe, link).unwrap();
        }
    }

    pub(super) fn remove(&self, pid: u32) {
        fs::remove_dir_all(self.process_path(pid)).unwrap();
    }

    fn process_path(&self, pid: u32) -> PathBuf {
        self.directory.path().join(format!("proc/{pid}"))
    }
}

pub(super) const MACHINE_ID: &str = "b08dfa6083e7567a1921a715000001fb";

/// A host of which everything but the hypervisor can be told.
pub(super) fn fake_host() -> FakeProc {
    let fake = FakeProc::new();
    fake.write("proc/sys/kernel/osrelease", "6.8.0-1021-aws\n");
    fake.write("proc/sys/kernel/version", "#23-Ubuntu SMP Wed Jan 15\n");
    fake.write("proc/sys/kernel/hostname", "node-1\n");
    fake.write("proc/1/root/etc/machine-id", format!("{MACHINE_ID}\n"));
    fake.write("os-release", "NAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\n");
    fake
}
