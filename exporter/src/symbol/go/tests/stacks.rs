//! Depths of the stack against what the code does.

use evenkeel_abi::{CfaKind, FramePointerKind, UnwindRule};

use super::*;
use crate::{
    symbol::{
        Executable,
        go::stack_rules::{StackRule, stack_rules},
    },
    unwind::{Rows, RowsLimits},
};

fn rule_at(rules: &[StackRule], address: u64) -> Option<UnwindRule> {
    let after = rules.partition_point(|rule| rule.start <= address);
    rules[..after]
        .last()
        .filter(|rule| address < rule.end)
        .map(|rule| rule.rule)
}

fn rules(program: &GoProgram) -> Vec<StackRule> {
    let table = program.table();
    stack_rules(&table).expect("rules").collect()
}

/// Rules are in order and do not overlap, all functions of the symbol table that have code of
/// Go's have one at their first byte, and it is that of a function just entered.
#[test]
fn every_function() {
    for root in toolchains() {
        let program = GoProgram::build(&root, PROGRAM_WITH_C, &[("CGO_ENABLED", "1")], &[]);
        let rules = rules(&program);
        assert!(rules.len() > 5000, "{}", rules.len());
        assert!(
            rules
                .windows(2)
                .all(|pair| pair[0].start < pair[0].end && pair[0].end <= pair[1].start)
        );
        let table = program.table();
        let entered = UnwindRule::with_cfa(CfaKind::StackPointer, 8).expect("fits");
        let mut other = Vec::new();
        for (name, (address, size)) in program.symbols() {
            if size == 0
                || name.starts_with("go:text")
                || table.find(address, false).expect("readable").is_empty()
            {
                continue;
            }
            match rule_at(&rules, address) {
                Some(rule) if rule == entered => {}
                Some(rule) => other.push((name, rule.cfa_kind())),
                None => panic!("no rule for {name}"),
            }
        }
        let of_kind = |kind: CfaKind| -> Vec<&str> {
            other
                .iter()
                .filter(|(_, found)| *found == kind as u8)
                .map(|(name, _)| name.as_str())
                .collect()
        };
        let outermost = of_kind(CfaKind::Outermost);
        for name in [
            "runtime.goexit",
            "runtime.mstart",
            "runtime.mcall",
            "runtime.rt0_go",
        ] {
            let found = outermost
                .iter()
                .any(|found| found.trim_end_matches(".abi0") == name);
            assert!(found, "{name} in {outermost:?}");
        }
        assert!(outermost.len() < 10, "{outermost:?}");
        assert_eq!(of_kind(CfaKind::Signal).len(), 1, "{other:?}");
        // Those that come from where they do not say.
        let unknown = of_kind(CfaKind::Unknown);
        assert!(
            unknown.contains(&"runtime.morestack.abi0") || unknown.contains(&"runtime.morestack")
        );
        assert!(unknown.len() < 20, "{unknown:?}");
    }
}

/// Against the code itself, as Go's disassembler shows it: at a return the stack is as it was at
/// the call, and behind the push of the frame pointer the caller's is there.
#[test]
fn same_as_the_code() {
    let saved = FramePointerKind::AtCfa as u8;
    for root in toolchains() {
        let program = GoProgram::build(&root, PROGRAM, &[("CGO_ENABLED", "0")], &[]);
        let rules = rules(&program);
        let listing = Command::new(root.join("bin/go"))
            .args(["tool", "objdump"])
            .arg(&program.path)
            .output()
            .expect("objdump");
        let listing = String::from_utf8_lossy(&listing.stdout);
        let (mut returns, mut frames, mut wrong) = (0, 0, Vec::new());
        let mut function = "";
        let mut before = "";
        for line in listing.lines() {
            if let Some(head) = line.strip_prefix("TEXT ") {
                function = head;
                continue;
            }
            let mut fields = line.split('\t').filter(|field| !field.is_empty());
            let (Some(_), Some(address), Some(_), Some(code)) =
                (fields.next(), fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let code = code.trim();
            let address = address
                .strip_prefix("0x")
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .expect("an address");
            let rule = rule_at(&rules, address).unwrap_or_default();
            if code == "RET" {
                returns += 1;
                let entered = rule.cfa_kind() == CfaKind::StackPointer as u8
                    && rule.cfa_offset() == 8
                    && rule.frame_pointer_kind() == FramePointerKind::Same as u8;
                if !entered {
                    wrong.push((function, address, rule));
                }
            }
            // Either sequence: the frame pointer was pushed or stored by the instruction before.
            let is_pushed = before == "PUSHQ BP" && code == "MOVQ SP, BP";
            let is_stored = before.starts_with("MOVQ BP, ")
                && code.starts_with("LEAQ ")
                && code.ends_with("(SP), BP");
            if is_pushed || is_stored {
                frames += 1;
                if rule.frame_pointer_kind() != saved || rule.frame_pointer_offset() != -16 {
                    wrong.push((function, address, rule));
                }
            }
            before = code;
        }
        assert!(returns > 1500 && frames > 1000, "{returns} {frames}");
        // What goes to another stack has no rule where it has no frame.
        wrong.retain(|(_, _, rule)| {
            let kind = rule.cfa_kind();
            kind != CfaKind::Unknown as u8 && kind != CfaKind::Outermost as u8
        });
        assert!(wrong.is_empty(), "{}: {wrong:x?}", root.display());
    }
}

/// Where the runtime goes to another stack, its frame pointer leads back since Go 1.21; before,
/// the stack ends there.
#[test]
fn stack_switches() {
    for root in toolchains() {
        let program = GoProgram::build(&root, PROGRAM_WITH_C, &[("CGO_ENABLED", "1")], &[]);
        let rules = rules(&program);
        let symbols = program.symbols();
        let version = fs::read_to_string(root.join("VERSION")).expect("a version");
        let minor = version
            .strip_prefix("go1.")
            .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next())
            .and_then(|minor| minor.parse::<u32>().ok())
            .expect("a minor version");
        let pushes = minor >= 21;
        for name in ["runtime.systemstack", "runtime.asmcgocall"] {
            // What the compiler makes to call it by its own convention has the bare name.
            let (address, size) = *symbols
                .get(&format!("{name}.abi0"))
                .or_else(|| symbols.get(name))
                .expect("a symbol");
            let within = rules
                .iter()
                .filter(|rule| rule.start >= address && rule.end <= address + size);
            let most = within.max_by_key(|rule| rule.end - rule.start);
            let most = most.expect("a rule").rule;
            let expected = if pushes {
                CfaKind::OtherStack
            } else {
                CfaKind::Unknown
            };
            assert_eq!(most.cfa_kind(), expected as u8, "{name}");
        }
    }
}

/// The rows that the kernel program gets are these rules, also where the file has call frame
/// information for the same code, and that of the C code is there too.
#[test]
fn rows_of_a_program() {
    for root in toolchains() {
        for arguments in [&[][..], &["-ldflags", "-s -w"]] {
            let environment = [("CGO_ENABLED", "1")];
            let program = GoProgram::build(&root, PROGRAM_WITH_C, &environment, arguments);
            let executable = Executable::open(1, &program.path).expect("executable");
            let rows = Rows::build(&executable, &RowsLimits::default()).expect("rows");
            for rule in rules(&program) {
                assert_eq!(rows.rule_at(rule.start), rule.rule, "{:x}", rule.start);
                assert_eq!(rows.rule_at(rule.end - 1), rule.rule, "{:x}", rule.end);
            }
            if let Some((c, size)) = program.symbols().get("turn_in_c") {
                let rule = rows.rule_at(c + size - 1);
                assert_eq!(rule.cfa_offset(), 8, "{rule:?}");
            }
        }
    }
}
