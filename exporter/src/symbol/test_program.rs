//! Programs that tests build and run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use object::{Object as _, ObjectSymbol as _};

/// A compiled program in a directory of its own.
pub(crate) struct TestProgram {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

/// A running program, killed when dropped.
pub(crate) struct Running(Child);

impl TestProgram {
    /// Compiles `source` with `compiler arguments... -o PROGRAM SOURCE`; `None`, and a line that
    /// says so, where there is no such compiler.
    pub(crate) fn build(
        compiler: &str,
        extension: &str,
        arguments: &[&str],
        source: &str,
    ) -> Option<Self> {
        let directory = tempfile::tempdir().expect("temporary directory");
        let source_path = directory.path().join("program").with_extension(extension);
        fs::write(&source_path, source).expect("write the source");
        let path = directory.path().join("program");
        let output = Command::new(compiler)
            .args(arguments)
            .arg("-o")
            .arg(&path)
            .arg(&source_path)
            .output();
        match output {
            Err(error) => {
                eprintln!("SKIPPED: {compiler} does not run here: {error}");
                None
            }
            Ok(output) => {
                assert!(
                    output.status.success(),
                    "{compiler}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                Some(Self { directory, path })
            }
        }
    }

    /// The ELF virtual address and size of the symbol whose linker name contains `part`.
    pub(crate) fn symbol(&self, part: &str) -> (u64, u64) {
        symbol_of(&self.path, part)
    }

    /// Starts the program and waits until it is itself (and no longer the fork of this one).
    pub(crate) fn run(&self) -> Running {
        let child = Command::new(&self.path)
            .stdin(Stdio::null())
            .spawn()
            .expect("start the program");
        // The link to the executable changes before the executable is mapped.
        let maps = format!("/proc/{}/maps", child.id());
        let path = self.path.to_str().expect("text");
        let is_mapped = || {
            fs::read_to_string(&maps).is_ok_and(|maps| {
                maps.lines()
                    .any(|line| line.contains(" r-xp ") && line.ends_with(path))
            })
        };
        let started = Instant::now();
        while !is_mapped() {
            assert!(started.elapsed() < Duration::from_secs(10), "no exec");
            thread::sleep(Duration::from_millis(1));
        }
        Running(child)
    }
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The address and size of the symbol of `path` whose linker name contains `part`.
pub(crate) fn symbol_of(path: &Path, part: &str) -> (u64, u64) {
    let data = fs::read(path).expect("read the program");
    let elf = object::read::elf::ElfFile64::<object::Endianness>::parse(&*data).expect("ELF");
    elf.symbols()
        .find(|symbol| {
            symbol.is_definition() && symbol.name().is_ok_and(|name| name.contains(part))
        })
        .map(|symbol| (symbol.address(), symbol.size()))
        .unwrap_or_else(|| panic!("no symbol {part}"))
}
