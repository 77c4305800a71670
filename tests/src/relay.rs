//! A real Collector that runs one of the configurations of `otel-collector-config/` and passes on what it
//! receives.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::Signal;

use crate::{
    child::{Running, run, wait_until},
    collector::{binary, free_ports},
    workload::repository,
};

const LIMIT: Duration = Duration::from_secs(30);

/// The alpha that profiles are behind.
const PROFILES_GATE: &str = "--feature-gates=service.profilesSupport";

/// What a configuration names and the tests' Collector lacks: file, component, and why it lacks it.
/// [`text`] takes these and nothing else out.
pub const NOT_BUILT: &[(&str, &str, &str)] = &[(
    "gateway.yaml",
    "resource_detection",
    "five modules of its cloud detectors are not to be had from the module proxy",
)];

/// The shipped configurations, by file name.
pub fn configurations() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(repository().join("otel-collector-config"))? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            let name = path.file_name().context("a file without a name")?;
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The text of a shipped configuration as it is.
pub fn original(name: &str) -> Result<String> {
    let path = repository().join("otel-collector-config").join(name);
    fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// The same without what [`NOT_BUILT`] says of it.
pub fn text(name: &str) -> Result<String> {
    let mut text = original(name)?;
    for (_, component, _) in NOT_BUILT.iter().filter(|(file, _, _)| *file == name) {
        text = without(&text, component)
            .with_context(|| format!("{name} has no {component}: NOT_BUILT is out of date"))?;
    }
    Ok(text)
}

/// Takes the block of a component and its mentions in pipelines out; `None` if either isn't there.
fn without(text: &str, component: &str) -> Option<String> {
    let head = format!("  {component}:");
    let mention = format!("{component}, ");
    let (mut inside, mut blocks, mut mentions) = (false, 0_usize, 0_usize);
    let mut kept = String::new();
    for line in text.lines() {
        let in_block = line.starts_with("    ");
        if line == head {
            inside = true;
            blocks += 1;
            continue;
        }
        inside = inside && in_block;
        if inside {
            continue;
        }
        if line.trim_start().starts_with("processors: [") && line.contains(&mention) {
            mentions += 1;
            kept.push_str(&line.replace(&mention, ""));
        } else {
            kept.push_str(line);
        }
        kept.push('\n');
    }
    (blocks == 1 && mentions > 0).then_some(kept)
}

/// What `otelcol validate` says of a configuration: nothing, or why it is none.
pub fn validate(text: &str) -> Result<Option<String>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("collector.yaml");
    fs::write(&path, text)?;
    let mut command = Command::new(binary()?);
    command.args(["validate", PROFILES_GATE, "--config"]);
    let finished = run(command.arg(path), LIMIT)?;
    match finished.code() {
        Some(0) => Ok(None),
        Some(_) => Ok(Some(finished.stderr)),
        None => bail!("otelcol validate died: {}", finished.stderr),
    }
}

/// A running one. Killed when dropped.
#[derive(Debug)]
pub struct Relay {
    _folder: tempfile::TempDir,
    grpc: u16,
    process: Running,
}

impl Relay {
    /// Starts the configuration `name` on free ports, with `settings` as its environment.
    pub fn start(name: &str, settings: &[(&str, &str)]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let path: PathBuf = folder.path().join(name);
        fs::write(&path, text(name)?)?;
        let [grpc, http] = free_ports()?;
        let mut process = Running::start(&mut Self::command(&path, [grpc, http], settings)?)?;
        wait_until("the relay is ready", LIMIT, || {
            let said = process.stderr_so_far()?;
            ensure!(process.is_running()?, "the relay ended: {said}");
            Ok(said.contains("Everything is ready"))
        })?;
        Ok(Self {
            _folder: folder,
            grpc,
            process,
        })
    }

    fn command(path: &Path, ports: [u16; 2], settings: &[(&str, &str)]) -> Result<Command> {
        let [grpc, http] = ports.map(|port| format!("127.0.0.1:{port}"));
        let mut command = Command::new(binary()?);
        command
            .args([PROFILES_GATE, "--config"])
            .arg(path)
            // Its own metrics would need a fixed port.
            .args(["--config", "yaml:service::telemetry::metrics::level: none"])
            .env("OTLP_GRPC_ENDPOINT", grpc)
            .env("OTLP_HTTP_ENDPOINT", http)
            .envs(settings.iter().copied());
        Ok(command)
    }

    /// Where it takes OTLP over gRPC.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.grpc)
    }

    /// Stops it in good order: what it holds is passed on first.
    pub fn stop(self) -> Result<String> {
        self.process.signal(Signal::TERM)?;
        Ok(self.process.finish(LIMIT)?.succeeded()?.stderr)
    }
}

#[cfg(test)]
mod tests {
    use super::without;

    const TEXT: &str = "processors:\n  a:\n    x: 1\n\n  b:\n    y:\n      - 2\nservice:\n  pipelines:\n    \
                        m:\n      processors: [a, b]\n";

    #[test]
    fn a_component_goes_with_its_mentions() {
        let kept = without(TEXT, "a").unwrap();
        assert_eq!(
            kept,
            "processors:\n\n  b:\n    y:\n      - 2\nservice:\n  pipelines:\n    m:\n      processors: [b]\n"
        );
    }

    #[test]
    fn what_is_not_there_is_said() {
        assert_eq!(without(TEXT, "c"), None);
    }
}
