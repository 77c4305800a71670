//! `evenkeel man` and `evenkeel completion`: made from the same definitions as `--help`.

use std::io;

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::{
    Arguments,
    outcome::{Failure, Outcome},
};
use crate::settings::{Problem, Problems};

/// Arguments of `evenkeel completion`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  evenkeel completion bash > /etc/bash_completion.d/evenkeel")]
pub(super) struct CompletionArguments {
    /// bash, zsh, fish, elvish or powershell
    shell: String,
}

pub(super) fn completion(arguments: &CompletionArguments, mut problems: Problems) -> Outcome {
    let shell = arguments.shell.parse::<Shell>();
    if shell.is_err() {
        problems.0.push(Problem::value(
            "the shell",
            &arguments.shell,
            "one of bash, zsh, fish, elvish, powershell",
        ));
    }
    problems.or(()).map_err(Failure::Usage)?;
    if let Ok(shell) = shell {
        // Written to memory first: the generator panics when its output is closed.
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Arguments::command(), "evenkeel", &mut script);
        io::Write::write_all(&mut io::stdout().lock(), &script)?;
    }
    Ok(0)
}

pub(super) fn page(problems: Problems) -> Outcome {
    problems.or(()).map_err(Failure::Usage)?;
    let mut stdout = io::stdout().lock();
    let command = Arguments::command();
    clap_mangen::Man::new(command.clone()).render(&mut stdout)?;
    for subcommand in command.get_subcommands() {
        let man = clap_mangen::Man::new(subcommand.clone());
        writeln_section(&mut stdout, subcommand.get_name())?;
        man.render_description_section(&mut stdout)?;
        man.render_options_section(&mut stdout)?;
        man.render_extra_section(&mut stdout)?;
    }
    Ok(0)
}

/// A heading for a subcommand, in roff.
fn writeln_section(output: &mut dyn io::Write, name: &str) -> io::Result<()> {
    writeln!(output, ".SH \"EVENKEEL {}\"", name.to_uppercase())
}
