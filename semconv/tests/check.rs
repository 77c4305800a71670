//! `semconv-generate` as CI calls it.
#![expect(
    clippy::unwrap_used,
    reason = "the helpers of a test may panic as the test may"
)]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn run(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_semconv-generate"))
        .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
        .arg("--root")
        .arg(root)
        .args(arguments)
        .output()
        .unwrap()
}

fn code_and_errors(output: &Output) -> (Option<i32>, String) {
    (
        output.status.code(),
        String::from_utf8(output.stderr.clone()).unwrap(),
    )
}

/// A copy of the project's registry.
fn copy(root: &Path) {
    let registry = root.join("registry");
    fs::create_dir_all(&registry).unwrap();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("registry")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), registry.join(entry.file_name())).unwrap();
    }
}

/// The committed files are current.
#[test]
fn committed_files_are_current() {
    let output = run(Path::new(env!("CARGO_MANIFEST_DIR")), &["--check"]);
    assert_eq!(code_and_errors(&output), (Some(0), String::new()));
}

/// What was written is current; after an edit of a generated file or of the registry it is not:
/// exit 1, the differing lines are shown, and nothing is written.
#[test]
fn check_sees_edits_on_both_sides() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("semconv");
    copy(&root);

    let (code, errors) = code_and_errors(&run(&root, &["--check"]));
    assert_eq!(code, Some(1));
    assert!(errors.contains("4 committed file(s) differ"), "{errors}");
    assert!(!root.join("src").exists());

    assert_eq!(run(&root, &[]).status.code(), Some(0));
    assert_eq!(run(&root, &["--check"]).status.code(), Some(0));

    let document = directory.path().join("docs/semconv.md");
    let edited = fs::read_to_string(&document).unwrap() + "one more line\n";
    fs::write(&document, &edited).unwrap();
    let (code, errors) = code_and_errors(&run(&root, &["--check"]));
    assert_eq!(code, Some(1));
    assert!(errors.contains("semconv.md (committed)\n"), "{errors}");
    assert!(errors.contains("\n-one more line\n"), "{errors}");
    assert_eq!(fs::read_to_string(&document).unwrap(), edited);
    assert_eq!(run(&root, &[]).status.code(), Some(0));

    let metrics = root.join("registry/metrics.yaml");
    let text = fs::read_to_string(&metrics).unwrap();
    fs::write(
        &metrics,
        text.replace("evenkeel.stack.walks", "evenkeel.stack.rambles"),
    )
    .unwrap();
    let (code, errors) = code_and_errors(&run(&root, &["--check"]));
    assert_eq!(code, Some(1));
    assert!(
        errors.contains("+pub static EVENKEEL_STACK_RAMBLES"),
        "{errors}"
    );
}

/// A registry that breaks a rule or has an unknown key is refused, and nothing is written.
#[test]
fn bad_registries_are_refused() {
    for (from, to, expected) in [
        (
            "unit: \"{walk}\"",
            "unit: \"{walks}\"",
            "[unit] evenkeel.stack.walks",
        ),
        (
            "    unit: \"{walk}\"",
            "    units: \"{walk}\"",
            "metrics.yaml",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        copy(directory.path());
        let metrics = directory.path().join("registry/metrics.yaml");
        let text = fs::read_to_string(&metrics).unwrap();
        fs::write(&metrics, text.replace(from, to)).unwrap();
        let (code, errors) = code_and_errors(&run(directory.path(), &[]));
        assert_eq!(code, Some(1));
        assert!(errors.contains(expected), "{errors}");
        assert!(!directory.path().join("src").exists());
    }
}

/// Unknown arguments are bad usage.
#[test]
fn bad_usage_is_told_apart() {
    let (code, errors) = code_and_errors(&run(Path::new("nowhere"), &["--chekc"]));
    assert_eq!(code, Some(2));
    assert!(errors.contains("`--chekc`"), "{errors}");
}
