use std::process::Command;

use super::*;
use crate::{
    FunctionTable,
    elf_names::{ElfLimits, ElfNames},
};

const PROGRAM: &str = "\
__attribute__((noinline)) int inner(int x) { return x * 7; }
int main(int argc, char **argv) { return inner(argc) + (argv == 0); }
";

/// A program without symbols or debug information, its build id, the address of `inner`, and the
/// debug file with what was taken from it.
struct Split {
    directory: tempfile::TempDir,
    build_id: Arc<str>,
    inner: u64,
}

fn run(program: &str, arguments: &[&str], directory: &Path) {
    let status = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .status();
    assert!(status.expect(program).success(), "{program} {arguments:?}");
}

fn split(options: &[&str]) -> Split {
    use object::{Object as _, ObjectSymbol as _};
    let directory = tempfile::tempdir().expect("temporary directory");
    let at = directory.path();
    fs::write(at.join("p.c"), PROGRAM).expect("source");
    let base = ["-O1", "-g", "-Wl,--build-id=sha1", "-o", "p", "p.c"];
    run("cc", &[options, &base].concat(), at);
    let bytes = fs::read(at.join("p")).expect("program");
    let object = object::File::parse(&*bytes).expect("ELF");
    let inner = object
        .symbols()
        .find(|symbol| symbol.name() == Ok("inner"))
        .expect("inner")
        .address();
    run("objcopy", &["--only-keep-debug", "p", "p.debug"], at);
    run("strip", &["p"], at);
    let program = Executable::open(1, &at.join("p")).expect("program");
    let build_id = program.build_ids.gnu.clone().expect("build id");
    fs::create_dir(at.join("debug")).expect("folder");
    Split {
        directory,
        build_id,
        inner,
    }
}

impl Split {
    fn place(&self, path: &str) {
        let to = self.directory.path().join("debug").join(path);
        fs::create_dir_all(to.parent().expect("parent")).expect("folders");
        fs::copy(self.directory.path().join("p.debug"), to).expect("copy");
    }

    fn find(&self) -> Option<Arc<Executable>> {
        DebugFiles::new(vec![self.directory.path().join("debug")]).find(&self.build_id)
    }
}

/// A debug file is found in each layout, and one of another program in the right place is not
/// believed.
#[test]
fn layouts() {
    let program = split(&[]);
    assert!(program.find().is_none());
    let (head, tail) = program.build_id.split_at(2);
    for path in [
        format!(".build-id/{head}/{tail}.debug"),
        format!("{head}/{tail}.debug"),
        format!("{}/debuginfo", program.build_id),
        "some/where/p".to_owned(),
    ] {
        program.place(&path);
        assert!(program.find().is_some(), "{path}");
        fs::remove_file(program.directory.path().join("debug").join(&path)).expect("remove");
    }
    let other = split(&["-DOTHER", "-O2"]);
    assert_ne!(other.build_id, program.build_id);
    let path = program.directory.path().join(format!("debug/{head}"));
    fs::create_dir_all(&path).expect("folder");
    fs::copy(
        other.directory.path().join("p.debug"),
        path.join(format!("{tail}.debug")),
    )
    .expect("copy");
    assert!(program.find().is_none());
}

/// A debug file gives function, file and line of an address of the stripped program, compressed
/// or not.
#[test]
fn names_and_lines() {
    for options in [&[][..], &["-gz=zlib"], &["-gdwarf-4"]] {
        let program = split(options);
        program.place("p.debug");
        let file = program.find().expect("debug file");
        let mut names = ElfNames::new(ElfLimits {
            lines: true,
            files: 1,
            bytes: u64::MAX,
        });
        let found = names.find(&file, &[program.inner], &mut FunctionTable::new());
        let line = &found[0].lines[0];
        assert_eq!(&*line.function.name, "inner", "{options:?}");
        assert!(line.function.file.ends_with("p.c"), "{options:?}");
        assert_eq!(line.line, 1, "{options:?}");
    }
}

/// What is no build id is not made a path of.
#[test]
fn strange_build_ids() {
    let mut files = DebugFiles::new(vec!["/".into()]);
    for id in ["", "ab", "../../etc", "a/b/c/d", "é́éé", &"0".repeat(130)] {
        assert!(files.find(id).is_none(), "{id}");
    }
    assert_eq!(files.index, None);
}
