//! What is bounded stays bounded, and what is broken breaks nothing else.

use super::*;

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
        kernel: vec![leaf(schedule + 4), leaf(8)],
        ..Batch::default()
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
        ..Batch::default()
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
