//! Stacks that are deeper than other profilers keep.

use anyhow::{Result, ensure};
use evenkeel_semconv::{
    attribute::{EVENKEEL_STACK_END, value::evenkeel_stack_end::TRUNCATED},
    metric::EVENKEEL_STACK_WALKS,
};
use evenkeel_tests::{
    evenkeel::Recording, folded::sum, needs::RECORDING, received::Received, suite::Test,
    workload::Workload,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new("depth::a_stack_of_300_calls_is_whole", RECORDING, whole),
    Test::new(
        "depth::a_stack_of_5000_calls_is_cut_visibly",
        RECORDING,
        cut,
    ),
];

/// What stands after the process where the root side of a stack is missing.
const MARKER: &str = "[truncated]";

fn record(depth: &str) -> Result<Recording> {
    Recording::of(Workload::Recursion, &[depth, "5"])
}

/// At least 98 % of the samples have `main`, then exactly 300 calls, then `bottom`.
fn whole() -> Result<()> {
    let stacks = record("300")?.folded("on_cpu")?;
    let name = Workload::Recursion.name();
    let own = sum(&stacks, |stack| stack.process == name);
    let whole = sum(&stacks, |stack| {
        let calls = stack
            .frames
            .iter()
            .filter(|frame| *frame == "descend")
            .count();
        stack.process == name
            && calls == 300
            && stack.has_chain(&["main", "descend"])
            && stack.has_chain(&["descend", "bottom"])
    });
    println!("{whole} of {own} samples are whole");
    ensure!(own > 100, "only {own} samples in 5 s");
    ensure!(
        whole * 100 >= own * 98,
        "{whole} of {own} samples are whole"
    );
    Ok(())
}

/// At least 98 % of the samples begin with the marker, keep the leaf side, deeper than the 127 frames of
/// `bpf_get_stack`, and the counter of cut walks has them all.
fn cut() -> Result<()> {
    let recording = record("5000")?;
    let stacks = recording.folded("on_cpu")?;
    let name = Workload::Recursion.name();
    let own = sum(&stacks, |stack| stack.process == name);
    let marked = sum(&stacks, |stack| {
        let calls = stack
            .frames
            .iter()
            .filter(|frame| *frame == "descend")
            .count();
        stack.process == name
            && stack.frames.first().is_some_and(|frame| frame == MARKER)
            && stack.frames.iter().filter(|frame| *frame == MARKER).count() == 1
            && calls > 127
            && stack.has_chain(&["descend", "bottom"])
    });
    let counted = Received::from_recording(&recording)?
        .last_sum(&EVENKEEL_STACK_WALKS, &[(EVENKEEL_STACK_END, TRUNCATED)])?;
    println!("{marked} of {own} samples are marked, {counted} walks were cut");
    ensure!(own > 100, "only {own} samples in 5 s");
    ensure!(
        marked * 100 >= own * 98,
        "{marked} of {own} samples are marked as cut"
    );
    #[expect(
        clippy::cast_precision_loss,
        reason = "sample counts are far below 2^53"
    )]
    let marked = marked as f64;
    ensure!(
        counted >= marked,
        "{counted} walks are counted as cut, {marked} samples are marked"
    );
    Ok(())
}
