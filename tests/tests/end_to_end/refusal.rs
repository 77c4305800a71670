//! What is refused, how fast, and whether the message says all of it.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command, time::Duration};

use anyhow::{Result, ensure};
use evenkeel_tests::{
    child::{Finished, run},
    evenkeel,
    needs::Need,
    suite::Test,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "refusal::all_bad_settings_are_listed_together",
        &[],
        bad_settings,
    ),
    Test::new(
        "refusal::an_unknown_option_is_bad_usage",
        &[],
        unknown_option,
    ),
    Test::new(
        "refusal::a_file_that_is_no_recording_is_refused",
        &[],
        no_recording,
    ),
    Test::new(
        "refusal::an_unprivileged_user_is_told_what_is_missing",
        PRIVILEGES,
        unprivileged,
    ),
    Test::new(
        "refusal::a_missing_capability_is_named",
        PRIVILEGES,
        missing_capability,
    ),
];

const PRIVILEGES: &[Need] = &[Need::Root, Need::Bpf, Need::Program("setpriv")];

const LIMIT: Duration = Duration::from_secs(20);

fn ensure_says(finished: &Finished, words: &[&str]) -> Result<()> {
    for word in words {
        ensure!(
            finished.stderr.contains(word),
            "`{}` does not mention {word}:\n{}",
            finished.what,
            finished.stderr
        );
    }
    Ok(())
}

/// Bad options and variables: exit 2, each of them named, nothing attached before.
fn bad_settings() -> Result<()> {
    for subcommand in ["record", "agent"] {
        let mut command = evenkeel::command(&[
            subcommand,
            "--frequency",
            "0",
            "--window",
            "never",
            "--enable",
            "no_such_signal",
        ])?;
        command
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier-pigeon")
            .env("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")
            .env(
                "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
                "sideways",
            );
        let finished = run(&mut command, LIMIT)?.ended_with(2)?;
        ensure_says(&finished, &["--frequency", "--window", "no_such_signal"])?;
        if subcommand == "agent" {
            ensure_says(
                &finished,
                &[
                    "OTEL_EXPORTER_OTLP_PROTOCOL",
                    "OTEL_EXPORTER_OTLP_TIMEOUT",
                    "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
                ],
            )?;
        }
        ensure!(
            finished.elapsed < Duration::from_secs(1),
            "it took {:.2} s",
            finished.elapsed.as_secs_f64()
        );
    }
    Ok(())
}

/// An option that doesn't exist: exit 2, and it is named.
fn unknown_option() -> Result<()> {
    let finished = run(
        &mut evenkeel::command(&["report", "--no-such-option", "x"])?,
        LIMIT,
    )?
    .ended_with(2)?;
    ensure_says(&finished, &["--no-such-option"])
}

/// A file of something else: exit 1, named, in the form that the contract has.
fn no_recording() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("holiday.otlp");
    fs::write(&file, "this is no recording\n".repeat(100))?;
    let mut command = evenkeel::command(&["report"])?;
    let finished = run(command.arg(&file), LIMIT)?.ended_with(1)?;
    ensure_says(&finished, &["evenkeel: ", "holiday.otlp"])?;
    let mut command = evenkeel::command(&["report"])?;
    let finished = run(command.arg(folder.path().join("absent.otlp")), LIMIT)?.ended_with(1)?;
    ensure_says(&finished, &["evenkeel: ", "absent.otlp"])
}

/// `evenkeel ARGUMENTS` under `setpriv OPTIONS`, from a copy that every user can run.
fn with_privileges(options: &[&str], arguments: &[&str]) -> Result<Finished> {
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
    let copy = folder.path().join("evenkeel");
    fs::copy(evenkeel::binary()?, &copy)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    let mut command = Command::new("setpriv");
    command.args(options).arg(copy).args(arguments);
    run(command.current_dir(folder.path()), LIMIT)
}

/// Another user than root: exit 1 in under a second, with the capabilities that are missing.
fn unprivileged() -> Result<()> {
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    for arguments in [&["record", "--duration", "1s"][..], &["agent"][..]] {
        let finished = with_privileges(&nobody, arguments)?.ended_with(1)?;
        ensure_says(&finished, &["evenkeel: ", "CAP_BPF", "CAP_PERFMON"])?;
        ensure!(
            finished.elapsed < Duration::from_secs(1),
            "it took {:.2} s",
            finished.elapsed.as_secs_f64()
        );
    }
    Ok(())
}

/// Root without one of the capabilities that nothing can do without: exit 1, and that one is named.
/// `CAP_SYS_ADMIN`, which stands for both, is taken away too.
fn missing_capability() -> Result<()> {
    for (dropped, name) in [
        ("-bpf,-sys_admin", "CAP_BPF"),
        ("-perfmon,-sys_admin", "CAP_PERFMON"),
    ] {
        let options = ["--bounding-set", dropped, "--inh-caps", dropped];
        let finished = with_privileges(&options, &["record", "--duration", "1s"])?.ended_with(1)?;
        ensure_says(&finished, &["evenkeel: ", name])?;
    }
    Ok(())
}
