//! The file that was mapped is the file that is read.

use super::*;

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
