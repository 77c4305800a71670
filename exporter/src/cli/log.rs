//! Messages on stderr.

use std::io::{IsTerminal as _, stderr};

use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use crate::settings::{Problem, Problems};

/// Form of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Levels by name; `none` is `off` in older uses of `OTEL_LOG_LEVEL`.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Sets messages up; a wrong setting is a problem, and the default is used meanwhile.
pub(super) fn start(
    level: Option<&str>,
    format: Option<&str>,
    lookup: &dyn Fn(&str) -> Option<String>,
    problems: &mut Problems,
) -> Format {
    let given = |argument: Option<&str>, option, variable| match argument {
        Some(value) => Some((option, value.to_owned())),
        None => lookup(variable)
            .filter(|value| !value.is_empty())
            .map(|value| (variable, value)),
    };
    let level = match given(level, "--log-level", "OTEL_LOG_LEVEL") {
        None => "info".to_owned(),
        Some((setting, value)) => match value.to_ascii_lowercase().as_str() {
            "none" => "off".into(),
            "warning" => "warn".into(),
            name if LEVELS.contains(&name) => name.into(),
            _ => {
                let allowed = format!("one of {}", LEVELS.join(", "));
                problems.0.push(Problem::value(setting, &value, &allowed));
                "info".into()
            }
        },
    };
    let format = match given(format, "--log-format", "EVENKEEL_LOG_FORMAT") {
        None => Format::Text,
        Some((setting, value)) => match value.as_str() {
            "text" => Format::Text,
            "json" => Format::Json,
            _ => {
                problems
                    .0
                    .push(Problem::value(setting, &value, "text or json"));
                Format::Text
            }
        },
    };
    // Libraries speak of every connection at info, and the one for Kubernetes warns of every failure
    // that is counted and told of once here.
    let filter = EnvFilter::new(match level.as_str() {
        "error" => "error,kube_client=off,kube_runtime=off",
        "warn" => "warn,kube_client=off,kube_runtime=off",
        "info" => "warn,evenkeel=info,kube_client=off,kube_runtime=off",
        other => other,
    });
    let registry = tracing_subscriber::registry().with(filter);
    let layer = fmt::layer()
        .with_writer(stderr)
        .with_target(level == "debug" || level == "trace");
    // A second start in one process (tests) keeps the first.
    let _ = match format {
        Format::Json => registry.with(layer.json().flatten_event(true)).try_init(),
        Format::Text => registry
            .with(layer.with_ansi(colours(stderr().is_terminal())))
            .try_init(),
    };
    format
}

/// Whether to colour output: on a terminal, unless `NO_COLOR` is set to anything
/// (<https://no-color.org>).
pub(super) fn colours(is_terminal: bool) -> bool {
    is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
