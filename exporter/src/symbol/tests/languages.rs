//! Names of programs in C, C++, Rust and Go, as compilers write them.

use super::*;

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
    assert!(inspected[1].tables.contains(&".symtab"));
    assert_eq!(
        [inspected[0].reason, inspected[1].reason],
        [None, Some("no symbol covers the address")]
    );
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

/// Go names are kept as they are and known to be Go, stripped or not.
#[test]
fn go_program() {
    let source = "package main\n\n//go:noinline\nfunc hot(n *int) { for { *n++ } }\n\nfunc main() { n := 0; hot(&n) }\n";
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("hot.go");
    fs::write(&path, source).expect("write");
    let mut address = None;
    for flags in ["", "-s -w"] {
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
        // Stripping removes what is behind the code.
        let address = *address.get_or_insert_with(|| symbol_of(&program, "main.hot").0);
        let found = frames(&symbolizer(false), &executable, &[leaf(address)]);
        assert_eq!(function(&found[0]), "main.hot");
        assert_eq!(found[0].frame_type, Some(FrameType::Go));
        assert_eq!(found[0].lines[0].line, 0, "lines are off");
        let found = frames(&symbolizer(true), &executable, &[leaf(address)]);
        let line = &found[0].lines[0];
        assert!(line.function.file.ends_with("hot.go"), "{line:?}");
        assert_eq!(line.line, 4);
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
