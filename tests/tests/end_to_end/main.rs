//! End-to-end tests: the release binary on this kernel, a real Collector, programs whose profile is known.
//!
//! One file a theme. All are one program, so that they run one after the other and close on one line.

mod agent;
mod cli;
mod collector;
mod depth;
mod formats;
mod harness;
mod names;
mod on_cpu;
mod record;
mod refusal;
mod run_queue;
mod stolen;
mod syscalls;

use std::process::ExitCode;

use evenkeel_tests::suite;

fn main() -> ExitCode {
    let themes = [
        harness::TESTS,
        cli::TESTS,
        refusal::TESTS,
        record::TESTS,
        on_cpu::TESTS,
        depth::TESTS,
        names::TESTS,
        run_queue::TESTS,
        stolen::TESTS,
        syscalls::TESTS,
        formats::TESTS,
        agent::TESTS,
        collector::TESTS,
    ];
    suite::run(&themes.concat())
}
