//! Tables that someone damaged.

use super::*;
use crate::symbol::go::stack_rules;

/// Tables damaged anywhere cost names or give wrong ones; nothing panics, hangs or takes memory
/// without bound.
#[test]
fn damaged() {
    let Some(root) = toolchains().into_iter().next() else {
        return;
    };
    let program = GoProgram::build(&root, PROGRAM, &[("CGO_ENABLED", "0")], &[]);
    let whole = fs::read(&program.path).expect("read");
    let elf = object::File::parse(&*whole).expect("ELF");
    use object::ObjectSection as _;
    let (start, length) = elf
        .section_by_name(".gopclntab")
        .and_then(|section| section.file_range())
        .expect("a section");
    let functions: Vec<u64> = program
        .symbols()
        .values()
        .step_by(37)
        .map(|(address, size)| address + size / 2)
        .collect();
    let path = program.path.with_extension("damaged");
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |limit: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    };
    let mut refused = 0;
    for round in 0..60 {
        let mut bytes = whole.clone();
        // The header and the first entries matter most.
        let reach = if round % 2 == 0 { 4096 } else { length };
        for _ in 0..=next(if round % 3 == 0 { 2 } else { 4000 }) {
            let at = usize::try_from(start + next(reach)).expect("an offset");
            bytes[at] = [0, 1, 0x7f, 0x80, 0xff][next(5) as usize];
        }
        fs::write(&path, &bytes).expect("write");
        match open(&path) {
            Err(_) => refused += 1,
            Ok(table) => {
                for address in &functions {
                    if let Ok(calls) = table.find(*address, true) {
                        assert!(calls.len() < 200);
                    }
                }
                if let Ok(rules) = stack_rules(&table) {
                    rules.for_each(drop);
                }
            }
        }
    }
    assert!((5..60).contains(&refused), "{refused}");
    for cut in [0, 64, 4096, start + 100, start + length / 2] {
        fs::write(&path, &whole[..usize::try_from(cut).expect("a length")]).expect("write");
        assert!(open(&path).is_err(), "{cut}");
    }
}
