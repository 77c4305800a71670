//! Another kernel: one of the distribution's, booted in an emulated machine whose whole file system is made here.
//!
//! Emulation without KVM is about ten times slower than the machine itself, so that times measured in it say
//! nothing; which stacks and names there are does.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

use crate::{
    child::run,
    evenkeel,
    folded::{self, Stack},
    suite::Skip,
    workload::{repository, target_folder},
};

/// Longest boot with programs of half a minute: measured at 35 s on a machine with other work to do.
const BOOT_LIMIT: Duration = Duration::from_secs(240);

/// Longest download of a kernel of 27 MB.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(180);

/// Longest of the small commands.
const COMMAND_LIMIT: Duration = Duration::from_secs(60);

/// Marks of the guest's first process around the stacks.
const MARKS: [&str; 2] = ["[stacks]", "[end]"];

/// A kernel of the distribution, by what its version begins with, such as `6.1`.
#[derive(Clone, Copy, Debug)]
pub struct Kernel(
    /// The beginning of the version, up to a dot.
    pub &'static str,
);

/// A file system in memory that boots into `tests/qemu/init`.
#[derive(Debug)]
pub struct Guest {
    folder: tempfile::TempDir,
}

impl Guest {
    /// One with the binary under test, a shell, and `programs`; `script` runs them, in `/programs`.
    pub fn new(programs: &[PathBuf], script: &str) -> Result<Self> {
        let guest = Self {
            folder: tempfile::tempdir()?,
        };
        let root = guest.root();
        for name in ["bin", "programs", "proc", "sys", "dev", "tmp"] {
            fs::create_dir_all(root.join(name))?;
        }
        fs::copy(repository().join("tests/qemu/init"), root.join("init"))?;
        fs::write(root.join("programs/script"), script)?;
        guest.add(&find_program("busybox")?, "bin/busybox")?;
        guest.add(evenkeel::binary()?, "bin/evenkeel")?;
        for program in programs {
            let name = program.file_name().context("a program's name")?;
            guest.add(program, &format!("programs/{}", name.to_string_lossy()))?;
        }
        Ok(guest)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Copies a program, and the libraries that it needs to where it looks for them.
    fn add(&self, program: &Path, place: &str) -> Result<()> {
        fs::copy(program, self.root().join(place))?;
        // Fails for what is linked statically, which needs none.
        let listed = run(Command::new("ldd").arg(program), COMMAND_LIMIT)?;
        let words = listed.stdout.split_whitespace();
        for library in words.filter(|word| word.starts_with('/')) {
            let place = self.root().join(library.trim_start_matches('/'));
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::copy(library, place)?;
        }
        Ok(())
    }

    /// Boots `kernel` and gives the stacks that were recorded, with what the guest printed before them.
    pub fn boot(&self, kernel: Kernel) -> Result<(Vec<Stack>, String)> {
        let image = kernel_image(kernel)?;
        let files = self.folder.path().join("files");
        let mut pack = Command::new("sh");
        pack.args([
            "-c",
            "find . | busybox cpio -o -H newc | gzip -1 > ../files",
        ]);
        run(pack.current_dir(self.root()), COMMAND_LIMIT)?.succeeded()?;

        let mut machine = Command::new("qemu-system-x86_64");
        machine.args(["-cpu", "max", "-accel", "tcg", "-smp", "2", "-m", "1024"]);
        machine.args(["-nographic", "-no-reboot", "-net", "none"]);
        machine.arg("-kernel").arg(image).arg("-initrd").arg(files);
        // Without `tsc=reliable` the guest's clock is a device, and each look at it a system call.
        let line = "console=ttyS0 quiet panic=-1 rdinit=/init tsc=reliable";
        machine.args(["-append", line]);
        let printed = run(&mut machine, BOOT_LIMIT)?.succeeded()?.stdout;
        let printed = printed.replace('\r', "");
        let stacks = between(&printed, MARKS)
            .with_context(|| format!("no stacks: {}", last_lines(&printed)))?;
        let before = printed.split(MARKS[0]).next().unwrap_or_default();
        Ok((folded::parse(stacks)?, before.to_owned()))
    }
}

/// The text between two lines, without them.
fn between<'a>(text: &'a str, [begin, end]: [&str; 2]) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("{begin}\n"))?;
    Some(rest.split_once(&format!("{end}\n"))?.0)
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

fn find_program(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").context("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .with_context(|| format!("no {name}"))
}

/// The kernel's file, downloaded once as its package and unpacked in the target directory; nothing is installed.
fn kernel_image(kernel: Kernel) -> Result<PathBuf> {
    let Kernel(version) = kernel;
    let folder = target_folder()?.join("kernels").join(version);
    if let Some(image) = image_in(&folder)? {
        return Ok(image);
    }
    fs::create_dir_all(&folder)?;
    // The newest of this version: the names hold the full one.
    let script = "package=$(apt-cache pkgnames \"linux-image-$1.\" | grep 'cloud-amd64-unsigned$' | sort -V | tail -n 1); \
                  apt-get -q download \"${package:?no package}\"; \
                  dpkg -x ./*.deb .; rm -r ./*.deb lib usr";
    let mut command = Command::new("sh");
    command.args(["-ec", script, "sh", version]);
    let finished = run(command.current_dir(&folder), DOWNLOAD_LIMIT)?;
    if !finished.status.success() {
        let reason = finished.stderr.lines().last().unwrap_or_default();
        return Err(Skip(format!("cannot get kernel {version}: {reason}")).into());
    }
    image_in(&folder)?.with_context(|| format!("no file in the package of kernel {version}"))
}

fn image_in(folder: &Path) -> Result<Option<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder.join("boot")) else {
        return Ok(None);
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("vmlinuz-") {
            ensure!(entry.metadata()?.len() > 0, "an empty kernel");
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the firmware and the kernel print around the marks is left out; without both there is nothing.
    #[test]
    fn stacks_are_between_the_marks() {
        let printed = "Booting\n[stacks]\na;b 1\n[end]\nreboot: Power down\n";
        assert_eq!(between(printed, MARKS), Some("a;b 1\n"));
        assert_eq!(between("[stacks]\na;b 1\n", MARKS), None);
    }
}
