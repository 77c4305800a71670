//! End-to-end tests: the release binary on this kernel, a real Collector, programs whose profile is known.
//!
//! One file a theme. All are one program, so that they run one after the other and close on one line.

mod agent;
mod blame;
mod block_io;
mod cli;
mod collector;
mod collector_configurations;
mod containers;
mod depth;
mod focus;
mod formats;
mod harness;
mod host;
mod interrupts;
mod jit;
mod lines;
mod many_binaries;
mod names;
mod network;
mod off_cpu;
mod on_cpu;
mod other_kernels;
mod pid_namespace;
mod prometheus;
mod record;
mod refusal;
mod run_queue;
mod stolen;
mod storm;
mod switches;
mod syscalls;
mod unwind_corpus;
mod unwind_programs;
mod wait_reasons;

use std::process::ExitCode;

use evenkeel_tests::suite;

fn main() -> ExitCode {
    let themes = [
        harness::TESTS,
        cli::TESTS,
        refusal::TESTS,
        record::TESTS,
        on_cpu::TESTS,
        pid_namespace::TESTS,
        prometheus::TESTS,
        depth::TESTS,
        names::TESTS,
        lines::TESTS,
        jit::TESTS,
        unwind_corpus::TESTS,
        unwind_programs::TESTS,
        other_kernels::TESTS,
        storm::TESTS,
        many_binaries::TESTS,
        run_queue::TESTS,
        off_cpu::TESTS,
        wait_reasons::TESTS,
        switches::TESTS,
        blame::TESTS,
        stolen::TESTS,
        syscalls::TESTS,
        host::TESTS,
        containers::TESTS,
        focus::TESTS,
        interrupts::TESTS,
        network::TESTS,
        block_io::TESTS,
        formats::TESTS,
        agent::TESTS,
        collector::TESTS,
        collector_configurations::TESTS,
    ];
    suite::run(&themes.concat())
}
