//! Against what Go's own tools and runtime say of real programs.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use object::{Object as _, ObjectSymbol as _};

use super::{GoTable, GoTableError};

mod broken;
mod figures;
mod names;
mod stacks;

/// A program with inlined calls, type parameters, methods, closures and a package path that Go
/// escapes. It prints, for each of its own calls, what `runtime.CallersFrames` says of the address.
const PROGRAM: &str = include_str!("tests/program.go");

/// C code on the stack between Go code.
const PROGRAM_WITH_C: &str = include_str!("tests/program_with_c.go");

/// The Go installations to build with: the one in `PATH`, and those that
/// `EVENKEEL_TEST_GO_ROOTS` lists with `:` between them.
fn toolchains() -> Vec<PathBuf> {
    let mut found = Vec::new();
    match Command::new("go").args(["env", "GOROOT"]).output() {
        Ok(output) if output.status.success() => {
            let root = String::from_utf8(output.stdout).expect("text");
            found.push(PathBuf::from(root.trim()));
        }
        _ => eprintln!("SKIPPED: go does not run here"),
    }
    let more = std::env::var_os("EVENKEEL_TEST_GO_ROOTS").unwrap_or_default();
    found.extend(std::env::split_paths(&more).filter(|root| !root.as_os_str().is_empty()));
    found
}

/// A built program.
struct GoProgram {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl GoProgram {
    fn build(root: &Path, source: &str, environment: &[(&str, &str)], arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("temporary directory");
        fs::write(directory.path().join("main.go"), source).expect("write the source");
        fs::write(
            directory.path().join("go.mod"),
            "module example.com/rig.test\n\ngo 1.18\n",
        )
        .expect("write go.mod");
        let path = directory.path().join("program");
        let output = Command::new(root.join("bin/go"))
            .current_dir(directory.path())
            .env("GOROOT", root)
            .env("GOTOOLCHAIN", "local")
            .env("GOFLAGS", "-mod=mod")
            .env("GOPROXY", "off")
            .envs(environment.iter().copied())
            .arg("build")
            .args(arguments)
            .arg("-o")
            .arg(&path)
            .output()
            .expect("go");
        assert!(
            output.status.success(),
            "{}: {}",
            root.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        Self {
            _directory: directory,
            path,
        }
    }

    fn table(&self) -> GoTable {
        open(&self.path).expect("Go's tables")
    }

    /// What the program prints.
    fn output(&self) -> String {
        let output = Command::new(&self.path).output().expect("run");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Addresses of the functions in the symbol table.
    fn symbols(&self) -> BTreeMap<String, (u64, u64)> {
        let data = fs::read(&self.path).expect("read");
        let elf = object::File::parse(&*data).expect("ELF");
        elf.symbols()
            .filter(|symbol| symbol.kind() == object::SymbolKind::Text)
            .filter_map(|symbol| {
                Some((
                    symbol.name().ok()?.to_owned(),
                    (symbol.address(), symbol.size()),
                ))
            })
            .collect()
    }

    /// Removes the section headers, as `sstrip` does.
    fn without_sections(&self) -> PathBuf {
        let mut data = fs::read(&self.path).expect("read");
        data[40..48].fill(0);
        data[58..64].fill(0);
        let path = self.path.with_extension("sectionless");
        fs::write(&path, data).expect("write");
        path
    }
}

fn open(path: &Path) -> Result<GoTable, GoTableError> {
    GoTable::open(Arc::new(File::open(path).expect("open")))
}
