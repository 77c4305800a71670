//! Start, and nothing else.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    evenkeel::cli::run(std::env::args_os())
}
