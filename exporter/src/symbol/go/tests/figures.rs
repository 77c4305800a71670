//! Time and memory for a large program: `cargo test --release -p evenkeel --lib go::tests::figures -- --ignored
//! --nocapture`, with the program in `EVENKEEL_TEST_GO_FILE`.

use std::time::Instant;

use super::*;
use crate::{
    symbol::{Executable, go::stack_rules::stack_rules},
    unwind::{Rows, RowsLimits},
};

#[test]
#[ignore = "prints figures, checks nothing"]
fn figures() {
    let Some(path) = std::env::var_os("EVENKEEL_TEST_GO_FILE").map(PathBuf::from) else {
        eprintln!("SKIPPED: no EVENKEEL_TEST_GO_FILE");
        return;
    };
    let started = Instant::now();
    let table = open(&path).expect("Go's tables");
    let functions = table.entries.len();
    println!(
        "open: {:?}, {functions} functions, {} bytes",
        started.elapsed(),
        table.memory()
    );
    let addresses: Vec<u64> = table
        .entries
        .iter()
        .step_by((functions / 1000).max(1))
        .map(|entry| table.text + u64::from(entry.start) + 1)
        .collect();
    for lines in [false, true] {
        let started = Instant::now();
        for address in &addresses {
            table.find(*address, lines).expect("readable");
        }
        let each = started.elapsed() / u32::try_from(addresses.len()).expect("few");
        println!("find, lines {lines}: {each:?} each");
    }
    let started = Instant::now();
    let count = stack_rules(&table).expect("rules").count();
    println!("rules: {count} in {:?}", started.elapsed());
    let executable = Executable::open(1, &path).expect("executable");
    let started = Instant::now();
    let rows = Rows::build(&executable, &RowsLimits::default()).expect("rows");
    println!(
        "rows: {} of {} rules in {:?}",
        rows.rows.len(),
        rows.rules.len(),
        started.elapsed()
    );
}
