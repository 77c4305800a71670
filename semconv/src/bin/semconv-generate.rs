//! Writes what is generated from the registry, or checks that it is current.

use std::{env, path::PathBuf, process::ExitCode};

use evenkeel_semconv::generate::{self, Error, Outdated, Upstream};

const USAGE: &str = "\
Usage: semconv-generate [--check] [--root DIRECTORY]

  --check           write nothing; exit with 1 when a committed file is not current
  --root DIRECTORY  directory with `registry` and `src`; the document goes to `docs` beside it
                    (default: the crate evenkeel-semconv, as cargo run sets it)";

struct Arguments {
    check: bool,
    root: PathBuf,
    /// The crate whose dependencies hold the upstream registry.
    package: PathBuf,
}

fn main() -> ExitCode {
    let arguments = match arguments(env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("semconv-generate: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&arguments) {
        Ok(outdated) if outdated.is_empty() => ExitCode::SUCCESS,
        Ok(outdated) => {
            for file in &outdated {
                eprint!("{file}");
            }
            eprintln!(
                "semconv-generate: {} committed file(s) differ from the registry (run it without \
                 --check and commit the result)",
                outdated.len()
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("semconv-generate: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `None` when help is asked for.
fn arguments(mut words: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let mut check = false;
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let mut root = package.clone();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--check" => check = true,
            "--root" => root = Some(words.next().ok_or("--root needs a directory")?.into()),
            "--help" | "-h" => return Ok(None),
            other => return Err(format!("unknown argument `{other}`")),
        }
    }
    let root = root.ok_or("no --root, and not run by cargo")?;
    let package = package.unwrap_or_else(|| root.clone());
    Ok(Some(Arguments {
        check,
        root,
        package,
    }))
}

fn run(arguments: &Arguments) -> Result<Vec<Outdated>, Error> {
    let upstream = Upstream::locate(&arguments.package.join("Cargo.toml"))?;
    let artefacts = generate::generate(&arguments.root, &upstream)?;
    if arguments.check {
        return Outdated::among(artefacts);
    }
    generate::write(&artefacts)?;
    Ok(Vec::new())
}
