//! Rows against what binutils reads in the same files, and of sections made to be hard.

use std::{path::Path, process::Command, time::Instant};

use evenkeel_abi::{FramePointerKind, ReturnKind};

use super::*;
use crate::symbol::Executable;

/// Rows of a file.
fn rows_of_file(path: &Path) -> Rows {
    let executable = Executable::open(1, path).expect("executable");
    Rows::build(&executable, &RowsLimits::default()).expect("rows")
}

/// Rows of an ELF file in memory.
fn rows_of_bytes(bytes: &[u8]) -> Result<Rows, RowsError> {
    let length = bytes.len() as u64;
    rows_of(bytes, length, &RowsLimits::default(), std::iter::empty())
}

/// `REGISTER+OFFSET` as readelf writes it.
fn register_and_offset(text: &str) -> Option<(&str, i64)> {
    let at = text.find(['+', '-'])?;
    Some((&text[..at], text[at..].parse().ok()?))
}

/// Compares one line of readelf's table, of which `columns` are the names, with the rule at its address.
fn compare(rows: &Rows, columns: &[String], line: &str) {
    // `r1 (rdx)` is one cell.
    let line = line.replace(" (", "(");
    let cells: Vec<&str> = line.split_whitespace().collect();
    let cell = |name: &str| {
        let index = columns.iter().position(|column| column == name)?;
        cells.get(index).copied()
    };
    let address = u64::from_str_radix(cells[0], 16).expect("address");
    let rule = rows.rule_at(address);
    let kind = rule.cfa_kind();
    if cell("ra") == Some("u") {
        assert_eq!(kind, CfaKind::Outermost as u8, "{line}");
        return;
    }
    if kind == CfaKind::Unknown as u8 || kind == CfaKind::Signal as u8 {
        // `longjmp` has the return address in a register.
        assert!(
            cell("CFA") == Some("exp") || cell("ra") != Some("c-8"),
            "{line}"
        );
        return;
    }
    match cell("ra") {
        Some("c-8") => assert_eq!(rule.return_kind(), ReturnKind::BelowCfa as u8, "{line}"),
        // `setcontext` finds it in a `ucontext`.
        saved => {
            let saved = saved.and_then(register_and_offset);
            let (_, offset) = saved.unwrap_or_else(|| panic!("{line}: {rule:?}"));
            assert_eq!(rule.return_kind(), ReturnKind::AtCfa as u8, "{line}");
            assert_eq!(rule.return_offset(), offset, "{line}");
        }
    }
    match cell("CFA").expect("CFA") {
        "exp" => assert!(
            [
                CfaKind::LinkageTable as u8,
                CfaKind::FramePointerWord as u8,
                CfaKind::StackPointerWord as u8
            ]
            .contains(&kind),
            "{line}: {rule:?}"
        ),
        cfa => {
            let (register, offset) = register_and_offset(cfa).expect("CFA");
            let expected = match register {
                "rsp" => CfaKind::StackPointer,
                "rbp" => CfaKind::FramePointer,
                _ => CfaKind::Register,
            };
            assert_eq!(
                (kind, rule.cfa_offset()),
                (expected as u8, offset),
                "{line}"
            );
        }
    }
    let frame_pointer = match cell("rbp") {
        None | Some("u" | "s") => FramePointerKind::Same,
        Some("exp") => FramePointerKind::AtFramePointer,
        Some(saved) => {
            let (_, offset) = register_and_offset(saved).expect("saved");
            assert_eq!(rule.frame_pointer_offset(), offset, "{line}");
            FramePointerKind::AtCfa
        }
    };
    assert_eq!(rule.frame_pointer_kind(), frame_pointer as u8, "{line}");
}

/// Every row that binutils reads in the libraries of this system has our rule at its address.
#[test]
#[cfg(target_arch = "x86_64")]
fn binutils_reads_the_same_rows() {
    let directory = Path::new("/lib/x86_64-linux-gnu");
    let mut compared = 0;
    for name in [
        "libc.so.6",
        "ld-linux-x86-64.so.2",
        "libgcc_s.so.1",
        "libstdc++.so.6",
        "libcrypto.so.3",
    ] {
        let path = directory.join(name);
        if !path.exists() {
            continue;
        }
        let output = Command::new("readelf")
            .args(["--debug-dump=frames-interp", "-W"])
            .arg(&path)
            .env("DEBUGINFOD_URLS", "")
            .output()
            .expect("binutils");
        let rows = rows_of_file(&path);
        assert_eq!(rows.refused, 0, "{name}");
        let text = String::from_utf8_lossy(&output.stdout);
        let mut columns = Vec::new();
        let mut is_function = false;
        for line in text.lines() {
            if line.contains(" CIE ") || line.contains(" FDE ") {
                is_function = line.contains(" FDE ");
            } else if line.trim_start().starts_with("LOC") {
                columns = line.split_whitespace().map(str::to_owned).collect();
            } else if is_function
                && line.len() > 16
                && line.as_bytes()[..16].iter().all(u8::is_ascii_hexdigit)
            {
                compare(&rows, &columns, line);
                compared += 1;
            }
        }
    }
    assert!(compared > 20_000, "{compared}");
}

/// A shared object of functions of 16 bytes each with these directives, and the address of the first one.
#[cfg(target_arch = "x86_64")]
fn functions(section: &str, directives: &[&str]) -> (Vec<u8>, u64) {
    use object::{Object as _, ObjectSymbol as _};
    let mut source = format!(".cfi_sections {section}\n.text\n.balign 16\n.globl first\nfirst:\n");
    for directive in directives {
        source += &format!(".cfi_startproc\n{directive}\n.skip 16, 0x90\n.cfi_endproc\n");
    }
    source += ".skip 16, 0x90\n";
    let directory = tempfile::tempdir().expect("temporary directory");
    let (input, output) = (
        directory.path().join("input.s"),
        directory.path().join("output.so"),
    );
    std::fs::write(&input, source).expect("write");
    let result = Command::new("cc")
        .args(["-shared", "-nostdlib", "-o"])
        .args([&output, &input])
        .output()
        .expect("a C compiler");
    assert!(result.status.success(), "{result:?}");
    let bytes = std::fs::read(&output).expect("read");
    let file = object::File::parse(bytes.as_slice()).expect("ELF");
    let first = file
        .dynamic_symbols()
        .find(|symbol| symbol.name() == Ok("first"))
        .expect("symbol")
        .address();
    (bytes, first)
}

#[cfg(target_arch = "x86_64")]
fn with_cfa(kind: CfaKind, offset: i64) -> UnwindRule {
    UnwindRule::with_cfa(kind, offset).expect("fits")
}

/// Each form that compilers and linkers write has its rule, in `.eh_frame` and in `.debug_frame`; what
/// cannot be said in a rule is unknown, never wrong; and behind the last function nothing is known.
#[test]
#[cfg(target_arch = "x86_64")]
fn forms_have_their_rules() {
    let forms = [
        ("", with_cfa(CfaKind::StackPointer, 8)),
        // Realigned stacks: `r10 + 0`; then the word at `rbp - 8`, with `rbp` saved at itself.
        (
            ".cfi_def_cfa r10, 0",
            with_cfa(CfaKind::Register, 0)
                .with_register(10)
                .expect("r10"),
        ),
        (
            ".cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06\n.cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00",
            with_cfa(CfaKind::FramePointerWord, -8)
                .with_frame_pointer(FramePointerKind::AtFramePointer, 0)
                .expect("rbp"),
        ),
        // The word at `rsp + 16`, and 24 more.
        (
            ".cfi_escape 0x0f, 0x05, 0x77, 0x10, 0x06, 0x23, 0x18",
            with_cfa(CfaKind::StackPointerWord, 16)
                .with_addend(3)
                .expect("24"),
        ),
        // A procedure linkage table.
        (
            ".cfi_escape 0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22",
            with_cfa(CfaKind::LinkageTable, 8)
                .with_addend(11)
                .expect("11"),
        ),
        (
            ".cfi_undefined rip",
            UnwindRule::of_kind(CfaKind::Outermost),
        ),
        // The kernel's frame: the stack pointer of what was interrupted is at 160 of the `ucontext`.
        (
            ".cfi_signal_frame\n.cfi_escape 0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06",
            with_cfa(CfaKind::Signal, 0),
        ),
        // The return address in a register, a word at a register that is not followed, an endless sum.
        (
            ".cfi_register rip, rax",
            UnwindRule::of_kind(CfaKind::Unknown),
        ),
        (
            ".cfi_escape 0x0f, 0x03, 0x73, 0x00, 0x06",
            UnwindRule::of_kind(CfaKind::Unknown),
        ),
        (
            ".cfi_def_cfa_offset 0x7fffffff",
            UnwindRule::of_kind(CfaKind::Unknown),
        ),
        // An instruction that there is not.
        (".cfi_escape 0x3f", UnwindRule::of_kind(CfaKind::Unknown)),
        // More states remembered than any compiler does.
        (
            ".rept 100\n.cfi_remember_state\n.endr",
            UnwindRule::of_kind(CfaKind::Unknown),
        ),
    ];
    let directives = forms.map(|(directive, _)| directive);
    for section in [".eh_frame", ".debug_frame"] {
        let (bytes, first) = functions(section, &directives);
        let rows = rows_of_bytes(&bytes).expect("rows");
        for (start, (directive, rule)) in (first..).step_by(16).zip(&forms) {
            for address in [start, start + 15] {
                assert_eq!(rows.rule_at(address), *rule, "{section} {directive}");
            }
        }
        let end = first + 16 * forms.len() as u64;
        assert_eq!(rows.rule_at(end), UnwindRule::default(), "{section}");
    }
}

/// Without a table of sections the rows are found as a running program finds them, and are the same.
#[test]
#[cfg(target_arch = "x86_64")]
fn sections_are_not_needed() {
    let (mut bytes, _) = functions(".eh_frame", &["", ".cfi_def_cfa_offset 32", ""]);
    let with_sections = rows_of_bytes(&bytes).expect("rows");
    // `e_shoff`, and `e_shentsize`, `e_shnum`, `e_shstrndx`.
    bytes[0x28..0x30].fill(0);
    bytes[0x3a..0x40].fill(0);
    assert_eq!(rows_of_bytes(&bytes).expect("rows"), with_sections);
}

/// With any bytes of its headers or its call frame information changed, or cut anywhere, a file is read or
/// refused in a time that follows from its size, and nothing panics.
#[test]
#[cfg(target_arch = "x86_64")]
fn damaged() {
    let forms = [
        "",
        ".cfi_def_cfa_offset 32\n.cfi_offset rbp, -16",
        ".cfi_remember_state\n.cfi_def_cfa r10, 0\n.cfi_restore_state",
        ".cfi_signal_frame\n.cfi_escape 0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06",
        ".cfi_escape 0x0f, 0x05, 0x77, 0x10, 0x06, 0x23, 0x18",
    ];
    let begin = Instant::now();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut refused = 0;
    for section in [".eh_frame", ".debug_frame"] {
        let (whole, _) = functions(section, &forms);
        use object::{Object as _, ObjectSection as _};
        let file = object::File::parse(whole.as_slice()).expect("ELF");
        let place = file.section_by_name(section).expect("section");
        let (start, size) = place.file_range().expect("in the file");
        for round in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..=random(4) {
                let at = match round % 4 {
                    0 => random(64 * 10),
                    1 => random(bytes.len()),
                    _ => start as usize + random(size as usize),
                };
                bytes[at] = [0, 1, 0x7f, 0x80, 0xff, random(256) as u8][random(6)];
            }
            if round % 16 == 0 {
                bytes.truncate(random(whole.len()));
            }
            match rows_of_bytes(&bytes) {
                Ok(rows) => refused += u64::from(rows.refused > 0),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 1000, "{refused}");
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

/// A segment that ends beyond the last address is looked at without counting past it.
#[test]
fn found_by_fuzzing() {
    let _ = rows_of_bytes(include_bytes!("../../../../fuzz/corpus/eh_frame/crash-1"));
}
