//! The whole way from a running process to names, with programs built on the spot.

use std::{
    fs,
    hint::black_box,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use evenkeel_otlp::model::{Frame, FrameType};

use super::{
    AddressSpace, AddressSpaceError, Executable, ExecutableTable, Location, Provenance, Symbolizer,
    SymbolizerSettings, inspect_address,
    maps::{MapsParser, read_maps},
    symbolizer::{Address, Batch, Names},
    test_program::{TestProgram, symbol_of},
};

const SPIN_C: &str = "
static volatile unsigned long n;
static inline __attribute__((always_inline)) void inner(void) { n += 1; }
__attribute__((noinline)) void outer(void) { for (;;) { inner(); n += 2; } }
int main(void) { outer(); return 0; }
";

const OTHER_C: &str = "
static volatile unsigned long n;
__attribute__((noinline)) void impostor(void) { for (;;) n += 3; }
int main(void) { impostor(); return 0; }
";

const SPIN_RUST: &str = "
mod deep {
    pub struct Wheel;
    pub trait Turn { fn turn(&self); }
    impl Turn for Wheel {
        #[inline(never)]
        fn turn(&self) { loop { std::hint::spin_loop(); } }
    }
}
fn main() { use deep::Turn; deep::Wheel.turn(); }
";

const SPIN_CPP: &str = "
namespace {
volatile unsigned long n;
__attribute__((noinline)) void single_thread(int step) { for (;;) n += step; }
}
int main() { single_thread(1); }
";

const PROC: &str = "/proc";
const TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn symbolizer(lines: bool) -> Symbolizer {
    Symbolizer::start(SymbolizerSettings::new(lines)).expect("a thread")
}

pub(super) fn leaf(value: u64) -> Address {
    Address {
        value,
        is_return: false,
    }
}

pub(super) fn frames(
    symbolizer: &Symbolizer,
    executable: &Arc<Executable>,
    addresses: &[Address],
) -> Vec<Arc<Frame>> {
    let batch = Arc::new(Batch {
        user: vec![(Arc::clone(executable), addresses.to_vec())],
        kernel: Vec::new(),
    });
    let mut names = symbolizer.symbolize(&batch, TIMEOUT).expect("an answer");
    names.user.remove(0)
}

fn function(frame: &Frame) -> &str {
    frame.lines.last().map_or("", |line| &line.function.name)
}

/// The address in the running process of an ELF virtual address of the file at `path`.
fn in_process(pid: u32, inode: u64, executable: &Executable, address: u64) -> u64 {
    let mut maps = Vec::new();
    read_maps(Path::new(PROC), pid, &mut maps).expect("maps");
    let segment = executable
        .segments
        .iter()
        .find(|segment| (segment.address..segment.address + segment.size).contains(&address))
        .expect("in a segment");
    let offset = address - segment.address + segment.offset;
    MapsParser::new(&maps)
        .find(|entry| {
            entry.inode == inode
                && entry.permissions.execute
                && (entry.offset..entry.offset + (entry.end - entry.start)).contains(&offset)
        })
        .map(|entry| entry.start + (offset - entry.offset))
        .expect("mapped")
}

/// Where `pid` has the code of `part`, a symbol of the program that it was started from.
fn locate(program: &TestProgram, pid: u32, part: &str) -> (Arc<Executable>, u64) {
    let (address, _) = program.symbol(part);
    let mut table = ExecutableTable::new(64, None);
    let space = AddressSpace::read(Path::new(PROC), pid, &mut table).expect("address space");
    let executable = space.executables().next().expect("the program");
    let absolute = in_process(pid, executable.identity.inode, executable, address);
    match space.locate(absolute) {
        Location::File {
            executable,
            address: found,
        } => {
            assert_eq!(found, address);
            (Arc::clone(executable), found)
        }
        other => panic!("{other:?}"),
    }
}

/// A function of this very test, found in our own address space, has its name, its module and
/// an address inside of its mapping.
#[test]
fn own_function() {
    #[inline(never)]
    fn a_function_of_this_test(value: u64) -> u64 {
        black_box(value) + 1
    }
    let pointer: fn(u64) -> u64 = a_function_of_this_test;
    black_box(pointer(1));
    let mut table = ExecutableTable::new(64, None);
    let space =
        AddressSpace::read(Path::new(PROC), std::process::id(), &mut table).expect("own maps");
    let Location::File {
        executable,
        address,
    } = space.locate(pointer as usize as u64)
    else {
        panic!("not in a file");
    };
    assert!(matches!(
        executable.provenance,
        Provenance::MapFiles | Provenance::ProcessExecutable
    ));
    let found = frames(&symbolizer(false), executable, &[leaf(address)]);
    assert!(
        function(&found[0]).ends_with("own_function::a_function_of_this_test"),
        "{:?}",
        found[0]
    );
    assert_eq!(found[0].frame_type, Some(FrameType::Rust));
    let mapping = found[0].mapping.as_ref().expect("mapping");
    assert!((mapping.start..mapping.limit).contains(&found[0].address));
    assert!(mapping.build_ids.htlhash.is_some());
}

/// The virtual shared object is found and has names and an identity like any file.
#[test]
fn vdso() {
    let mut table = ExecutableTable::new(64, None);
    let space =
        AddressSpace::read(Path::new(PROC), std::process::id(), &mut table).expect("own maps");
    let Some(executable) = space
        .executables()
        .find(|executable| &*executable.name == "[vdso]")
    else {
        panic!("no [vdso]");
    };
    let path = format!("/proc/self/fd/{}", {
        use std::os::fd::AsRawFd as _;
        executable.file().expect("held").as_raw_fd()
    });
    let data = fs::read(path).expect("image");
    let elf = object::read::elf::ElfFile64::<object::Endianness>::parse(&*data).expect("ELF");
    use object::{Object as _, ObjectSymbol as _};
    let clock = elf
        .dynamic_symbols()
        .find(|symbol| {
            symbol
                .name()
                .is_ok_and(|name| name.ends_with("clock_gettime"))
        })
        .expect("clock_gettime");
    let found = frames(&symbolizer(false), executable, &[leaf(clock.address() + 1)]);
    assert!(function(&found[0]).ends_with("clock_gettime"));
}

/// C without debug information has names; with `lines` it has files, lines and inlined functions,
/// innermost first.
#[test]
fn c_program() {
    let Some(program) = TestProgram::build("cc", "c", &["-O1", "-g"], SPIN_C) else {
        return;
    };
    let running = program.run();
    let (executable, address) = locate(&program, running.pid(), "outer");
    let (start, size) = program.symbol("outer");
    let plain = frames(&symbolizer(false), &executable, &[leaf(address)]);
    assert_eq!(function(&plain[0]), "outer");
    assert_eq!(plain[0].lines.len(), 1);
    assert_eq!(&*plain[0].lines[0].function.file, "");
    assert_eq!(plain[0].frame_type, Some(FrameType::Native));

    let every: Vec<Address> = (start..start + size).map(leaf).collect();
    let full = frames(&symbolizer(true), &executable, &every);
    assert!(full.iter().all(|frame| function(frame) == "outer"));
    let inlined = full
        .iter()
        .find(|frame| frame.lines.len() == 2)
        .expect("an inlined call");
    assert_eq!(&*inlined.lines[0].function.name, "inner");
    assert!(inlined.lines[0].function.file.ends_with("program.c"));
    assert_eq!(inlined.lines[0].line, 3);
    assert_eq!(inlined.lines[1].line, 4);

    let inspected =
        inspect_address(&program.path, &[inlined.address, 0xffff_ffff_0000]).expect("inspected");
    assert_eq!(inspected[0].address, format!("{:#x}", inlined.address));
    assert_eq!(inspected[0].frames[0].function.as_deref(), Some("inner"));
    assert!(inspected[0].frames[0].inlined);
    assert_eq!(inspected[0].frames[1].function.as_deref(), Some("outer"));
    assert!(!inspected[0].frames[1].inlined);
    assert_eq!(inspected[0].frames[1].module, "program");
    assert_eq!(inspected[1].frames.len(), 1);
    assert_eq!(inspected[1].frames[0].function, None);
}

/// A return address that is one past the end of the caller belongs to the caller.
#[test]
fn return_address() {
    let Some(program) = TestProgram::build("cc", "c", &["-O1"], SPIN_C) else {
        return;
    };
    let executable = Arc::new(Executable::open(1, &program.path).expect("executable"));
    let (start, size) = program.symbol("outer");
    let end = Address {
        value: start + size,
        is_return: true,
    };
    let found = frames(&symbolizer(false), &executable, &[end, leaf(end.value)]);
    assert_eq!(function(&found[0]), "outer");
    assert_eq!(found[0].address, end.value);
    assert_ne!(function(&found[1]), "outer");
}

/// Both manglings of Rust give the path of the function without a hash, and say that it is Rust.
#[test]
fn rust_program() {
    for mangling in ["legacy", "v0"] {
        let mangling_flag = format!("-Csymbol-mangling-version={mangling}");
        // Stable compilers hide the legacy mangling behind an unstable option.
        let arguments = [&*mangling_flag, "-Zunstable-options", "-Copt-level=1"];
        let Some(program) = build_rust(&arguments) else {
            return;
        };
        let running = program.run();
        let (executable, address) = locate(&program, running.pid(), "4turn");
        let found = frames(&symbolizer(false), &executable, &[leaf(address)]);
        assert_eq!(
            function(&found[0]),
            "<program::deep::Wheel as program::deep::Turn>::turn",
            "{mangling}"
        );
        assert_eq!(found[0].frame_type, Some(FrameType::Rust));
    }
}

fn build_rust(arguments: &[&str]) -> Option<TestProgram> {
    // The environment variable is what lets a stable compiler take an unstable option.
    let wrapper = tempfile::tempdir().expect("temporary directory");
    let path = wrapper.path().join("rustc");
    fs::write(&path, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustc \"$@\"\n").expect("write");
    if Command::new("rustc").arg("--version").output().is_err() {
        eprintln!("SKIPPED: rustc does not run here");
        return None;
    }
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod");
    TestProgram::build(path.to_str().expect("text"), "rs", arguments, SPIN_RUST)
}

/// C++ is demangled, and an anonymous namespace is not taken for Rust.
#[test]
fn cpp_program() {
    let Some(program) = TestProgram::build("c++", "cc", &["-O1"], SPIN_CPP) else {
        return;
    };
    let running = program.run();
    let (executable, address) = locate(&program, running.pid(), "single_thread");
    let found = frames(&symbolizer(false), &executable, &[leaf(address)]);
    assert!(
        function(&found[0]).starts_with("(anonymous namespace)::single_thread(int"),
        "{}",
        function(&found[0])
    );
    assert_eq!(found[0].frame_type, Some(FrameType::Native));
}

/// Go names are kept as they are and known to be Go; stripped, module and address remain.
#[test]
fn go_program() {
    let source = "package main\n\n//go:noinline\nfunc hot(n *int) { for { *n++ } }\n\nfunc main() { n := 0; hot(&n) }\n";
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("hot.go");
    fs::write(&path, source).expect("write");
    for (flags, name) in [("", "main.hot"), ("-s -w", "")] {
        let program = directory.path().join("hot");
        let built = Command::new("go")
            .args(["build", "-ldflags", flags, "-o"])
            .arg(&program)
            .arg(&path)
            .env("CGO_ENABLED", "0")
            .env("GOFLAGS", "-mod=mod")
            .output();
        let Ok(built) = built else {
            eprintln!("SKIPPED: go does not run here");
            return;
        };
        assert!(
            built.status.success(),
            "{}",
            String::from_utf8_lossy(&built.stderr)
        );
        let executable = Arc::new(Executable::open(1, &program).expect("executable"));
        let go = executable.build_ids.go.as_deref().expect("a Go build id");
        assert!(go.contains('/'), "{go}");
        let address = match name {
            "" => executable.mapping.start + 0x100,
            _ => symbol_of(&program, "main.hot").0,
        };
        let found = frames(&symbolizer(false), &executable, &[leaf(address)]);
        assert_eq!(function(&found[0]), name);
        if name.is_empty() {
            assert_eq!(found[0].address, address);
            assert_eq!(
                &*found[0].mapping.as_ref().expect("mapping").filename,
                "hot"
            );
        } else {
            assert_eq!(found[0].frame_type, Some(FrameType::Go));
        }
    }
}

/// A stripped executable gives a frame with module, build id and address, and no name.
#[test]
fn stripped_program() {
    let Some(program) = TestProgram::build("cc", "c", &["-O1"], SPIN_C) else {
        return;
    };
    let (address, _) = program.symbol("outer");
    let stripped = Command::new("strip").arg(&program.path).status();
    if !stripped.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: strip does not run here");
        return;
    }
    let executable = Arc::new(Executable::open(1, &program.path).expect("executable"));
    let found = frames(&symbolizer(false), &executable, &[leaf(address)]);
    assert!(found[0].lines.is_empty());
    assert_eq!(found[0].address, address);
    assert_eq!(
        &*found[0].mapping.as_ref().expect("mapping").filename,
        "program"
    );
}

/// A program that was deleted while it ran, and one whose path another program took, keep their
/// own names.
#[test]
fn deleted_and_replaced() {
    let Some(program) = TestProgram::build("cc", "c", &["-O1"], SPIN_C) else {
        return;
    };
    let Some(other) = TestProgram::build("cc", "c", &["-O1"], OTHER_C) else {
        return;
    };
    let (address, _) = program.symbol("outer");
    let running = program.run();
    for replace in [false, true] {
        if replace {
            fs::copy(&other.path, &program.path).expect("another program takes the path");
        } else {
            fs::remove_file(&program.path).expect("delete");
        }
        let mut table = ExecutableTable::new(64, None);
        let space =
            AddressSpace::read(Path::new(PROC), running.pid(), &mut table).expect("address space");
        let executable = space.executables().next().expect("the program");
        assert_eq!(&*executable.name, "program");
        assert_eq!(executable.path, program.path);
        let absolute = in_process(
            running.pid(),
            executable.identity.inode,
            executable,
            address,
        );
        let Location::File {
            executable,
            address: found,
        } = space.locate(absolute)
        else {
            panic!("not in a file");
        };
        let found = frames(&symbolizer(false), executable, &[leaf(found)]);
        assert_eq!(function(&found[0]), "outer", "replaced: {replace}");
    }
    // And after the process ended: the file is still held.
    let mut table = ExecutableTable::new(64, None);
    let space =
        AddressSpace::read(Path::new(PROC), running.pid(), &mut table).expect("address space");
    let pid = running.pid();
    drop(running);
    let executable = space.executables().next().expect("the program");
    let found = frames(&symbolizer(false), executable, &[leaf(address)]);
    assert_eq!(function(&found[0]), "outer");
    assert!(matches!(
        AddressSpace::read(Path::new(PROC), pid, &mut table),
        Err(AddressSpaceError::Ended { .. })
    ));
}

/// A file that was written over in place gives no names: those in it are of other code.
#[test]
fn overwritten_in_place() {
    let Some(program) = TestProgram::build("cc", "c", &["-O1"], SPIN_C) else {
        return;
    };
    let Some(other) = TestProgram::build("cc", "c", &["-O1"], OTHER_C) else {
        return;
    };
    let (address, _) = program.symbol("outer");
    let executable = Arc::new(Executable::open(1, &program.path).expect("executable"));
    let names = symbolizer(false);
    assert_eq!(
        function(&frames(&names, &executable, &[leaf(address)])[0]),
        "outer"
    );
    let bytes = fs::read(&other.path).expect("read");
    fs::write(&program.path, bytes).expect("write over");
    let found = frames(&names, &executable, &[leaf(address + 1)]);
    assert!(found[0].lines.is_empty(), "{:?}", found[0]);
    assert_eq!(names.counters().files_changed, 1);
}

/// More executables than the table holds: the oldest is closed, leaves the symbolizer, and gives
/// module and offset from then on.
#[test]
fn eviction() {
    let names = symbolizer(false);
    let mut table = ExecutableTable::new(1, Some(names.evictions()));
    let space =
        AddressSpace::read(Path::new(PROC), std::process::id(), &mut table).expect("own maps");
    assert_eq!(table.len(), 1);
    let executables: Vec<_> = space
        .executables()
        .filter(|executable| executable.provenance != Provenance::Vdso)
        .collect();
    assert!(executables.len() > 1, "libc is mapped too");
    assert_eq!(
        table.counters().evicted + 1,
        table.counters().opened,
        "all but one"
    );
    let first = executables[0];
    assert!(first.file().is_none());
    let found = frames(&names, first, &[leaf(first.mapping.start)]);
    assert!(found[0].lines.is_empty());
    assert!(found[0].mapping.is_some());
}

/// The budget of parsed files holds, and what was let go is read again when it is asked for.
#[test]
fn parsed_files_are_bounded() {
    let Some(program) = TestProgram::build("cc", "c", &["-O1"], SPIN_C) else {
        return;
    };
    let (address, _) = program.symbol("outer");
    let settings = SymbolizerSettings {
        files: 2,
        ..SymbolizerSettings::new(false)
    };
    let names = Symbolizer::start(settings).expect("a thread");
    let copies: Vec<Arc<Executable>> = (1..=5)
        .map(|id| {
            let path = program.directory.path().join(format!("copy{id}"));
            fs::copy(&program.path, &path).expect("copy");
            Arc::new(Executable::open(id, &path).expect("executable"))
        })
        .collect();
    for round in 0..2 {
        for copy in &copies {
            let found = frames(&names, copy, &[leaf(address + round)]);
            assert_eq!(function(&found[0]), "outer");
        }
    }
    let counters = names.counters();
    assert_eq!(counters.files, 2);
    assert_eq!(counters.files_parsed, 10);
    assert_eq!(counters.files_let_go, 8);
}

/// Kernel addresses have names, a mapping with the kernel's build id and a range that holds them.
#[test]
fn kernel() {
    let kallsyms = fs::read_to_string("/proc/kallsyms").expect("kallsyms");
    let Some(schedule) = kallsyms
        .lines()
        .find(|line| line.ends_with(" T schedule"))
        .and_then(|line| u64::from_str_radix(line.split(' ').next()?, 16).ok())
        .filter(|address| *address != 0)
    else {
        eprintln!("SKIPPED: kernel addresses are hidden here");
        return;
    };
    let batch = Arc::new(Batch {
        user: Vec::new(),
        kernel: vec![leaf(schedule + 4), leaf(8)],
    });
    let names = symbolizer(false)
        .symbolize(&batch, TIMEOUT)
        .expect("an answer");
    assert_eq!(function(&names.kernel[0]), "schedule");
    let mapping = names.kernel[0].mapping.as_ref().expect("mapping");
    assert_eq!(&*mapping.filename, "[kernel]");
    assert!(mapping.build_ids.gnu.is_some());
    assert!((mapping.start..mapping.limit).contains(&(schedule + 4)));
    assert!(names.kernel[1].lines.is_empty());
    assert_eq!(names.kernel[1].mapping, None);
}

/// Without an answer in time there is an error, and the frames that are left have addresses and
/// modules.
#[test]
fn timeout() {
    let executable =
        Arc::new(Executable::open(1, Path::new("/proc/self/exe")).expect("executable"));
    let batch = Arc::new(Batch {
        user: vec![(
            Arc::clone(&executable),
            vec![leaf(executable.mapping.start)],
        )],
        kernel: vec![leaf(u64::MAX - 1)],
    });
    let names = symbolizer(false);
    assert!(names.symbolize(&batch, Duration::ZERO).is_err());
    assert_eq!(names.counters().timeouts, 1);
    let left = Names::unnamed(&batch);
    assert_eq!(left.user[0][0].mapping.as_ref(), Some(&executable.mapping));
    assert_eq!(left.kernel[0].address, u64::MAX - 1);
}

/// A cached frame is the same allocation, and two thousand cached look-ups take less than the
/// 2 ms that a hundred uncached ones may.
#[test]
fn cache() {
    let executable =
        Arc::new(Executable::open(1, Path::new("/proc/self/exe")).expect("executable"));
    let names = symbolizer(false);
    let start = executable.mapping.start;
    let addresses: Vec<Address> = (0..2000).map(|index| leaf(start + index * 16)).collect();
    let first = frames(&names, &executable, &addresses);
    let started = Instant::now();
    let again = frames(&names, &executable, &addresses);
    let cached = started.elapsed();
    assert!(
        first
            .iter()
            .zip(&again)
            .all(|(first, again)| Arc::ptr_eq(first, again))
    );
    assert_eq!(names.counters().hits, 2000);
    // Generous: a build without optimisation on a busy machine.
    assert!(cached < Duration::from_millis(200), "{cached:?}");
}

/// Executables damaged in their tables and in their debug information cost their own names at
/// most: the symbolizer answers in time and goes on.
#[test]
fn damaged_executables() {
    let Some(program) = TestProgram::build("cc", "c", &["-O1", "-g"], SPIN_C) else {
        return;
    };
    let (address, _) = program.symbol("outer");
    let whole = fs::read(&program.path).expect("read");
    // Beyond the code: debug information, symbols, names of sections, section headers.
    let tables = whole.len() / 2;
    let names = symbolizer(true);
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = |limit: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as usize % limit
    };
    let mut opened = 0;
    for id in 1..=300 {
        let mut bytes = whole.clone();
        for _ in 0..=next(24) {
            let at = if next(2) == 0 {
                // Section headers stand at the end.
                bytes.len() - 1 - next(64 * 36)
            } else {
                tables + next(bytes.len() - tables)
            };
            bytes[at] = [0, 1, 0x7f, 0x80, 0xff][next(5)];
        }
        let path = program.directory.path().join("damaged");
        fs::write(&path, &bytes).expect("write");
        let executable = Arc::new(Executable::open(id, &path).expect("a file"));
        opened += usize::from(executable.readable);
        let found = frames(&names, &executable, &[leaf(address), leaf(address + 8)]);
        assert_eq!(found.len(), 2);
        fs::remove_file(&path).expect("unlink");
    }
    assert!(opened > 30, "{opened}");
    let executable = Arc::new(Executable::open(1000, &program.path).expect("executable"));
    let found = frames(&names, &executable, &[leaf(address)]);
    assert_eq!(function(&found[0]), "outer");
}

/// A symbol without a size names what is near it and not what is far; a label inside of a
/// function does not hide the function.
#[test]
fn symbols_without_size() {
    let source = "
__asm__(\".text\\n.globl bare\\nbare:\\n.skip 20000, 0x90\\n\");
__asm__(\".text\\n.globl whole\\n.type whole, @function\\nwhole:\\n.skip 64, 0x90\\n\"
        \"label_inside:\\n.skip 64, 0x90\\n.size whole, . - whole\\n\");
int main(void) { return 0; }
";
    let Some(program) = TestProgram::build("cc", "c", &["-O1"], source) else {
        return;
    };
    let (bare, size) = program.symbol("bare");
    let (inside, _) = program.symbol("label_inside");
    assert_eq!(size, 0);
    let executable = Arc::new(Executable::open(1, &program.path).expect("executable"));
    let found = frames(
        &symbolizer(false),
        &executable,
        &[leaf(bare + 16), leaf(bare + 10_000), leaf(inside + 8)],
    );
    assert_eq!(function(&found[0]), "bare");
    assert!(found[1].lines.is_empty(), "{:?}", found[1]);
    assert_eq!(function(&found[2]), "whole");
}

/// Code made at run time is a region of its own, and an address between mappings is unmapped.
#[test]
fn code_made_at_run_time() {
    let code = memmap2::MmapOptions::new()
        .len(4096)
        .map_anon()
        .and_then(memmap2::MmapMut::make_exec)
        .expect("memory");
    let address = code.as_ptr() as u64;
    let mut table = ExecutableTable::new(64, None);
    let space =
        AddressSpace::read(Path::new(PROC), std::process::id(), &mut table).expect("own maps");
    let Location::Anonymous { start, end } = space.locate(address + 100) else {
        panic!("not anonymous");
    };
    assert!(start <= address && address + 4096 <= end);
    assert!(matches!(space.locate(16), Location::Unmapped));
    assert!(matches!(space.locate(u64::MAX), Location::Unmapped));
    assert_eq!(space.dropped(), 0);
}

/// Without the right to follow `map_files`, the executable and the libraries are found by their
/// inodes all the same.
#[test]
fn without_privileges() {
    // A fake proc root whose process directory has everything but `map_files`.
    let root = tempfile::tempdir().expect("temporary directory");
    let process = root.path().join("7");
    fs::create_dir(&process).expect("directory");
    fs::copy("/proc/self/maps", process.join("maps")).expect("maps");
    let exe = fs::read_link("/proc/self/exe").expect("exe");
    std::os::unix::fs::symlink(exe, process.join("exe")).expect("link");
    std::os::unix::fs::symlink("/", process.join("root")).expect("link");
    let mut table = ExecutableTable::new(64, None);
    let space = AddressSpace::read(root.path(), 7, &mut table).expect("address space");
    let provenances: Vec<Provenance> = space
        .executables()
        .map(|executable| executable.provenance)
        .collect();
    assert!(provenances.contains(&Provenance::ProcessExecutable));
    assert!(
        provenances
            .iter()
            .any(|found| matches!(found, Provenance::Path | Provenance::PathOtherDevice))
    );
    assert_eq!(table.counters().unreadable, 0);
}
