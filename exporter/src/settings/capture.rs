//! What to capture.

use std::{collections::HashSet, ops::RangeInclusive, time::Duration};

use super::{
    problem::{Problem, Problems},
    syscalls::{SyscallArguments, syscall_settings},
};
use crate::{
    capture::{CaptureOptions, FocusTarget},
    identity::{
        cloud::CloudSettings,
        kubernetes::{KubernetesArguments, KubernetesSettings},
    },
    kernel::part::focus::GROUPS as FOCUS_TARGETS,
    signal::Signal,
};

/// Samples a second. Above 1,000 the samples themselves would be a load (5 µs each).
const FREQUENCIES: RangeInclusive<u64> = 1..=1000;
/// Samples a second on each CPU.
pub const DEFAULT_FREQUENCY: u64 = 99;

/// Windows. Shorter ones are mostly overhead; of longer ones too much is lost when one is lost, and
/// Pyroscope refuses profiles that began more than an hour ago.
const WINDOWS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
const DEFAULT_WINDOW: Duration = Duration::from_secs(10);

/// Waiting for which one sample is taken. Shorter periods cost more than they show: the kernel stretches
/// them anyway where more than 150 samples a second would fall on a CPU.
const WAIT_PERIODS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(1);
const DEFAULT_WAIT_PERIOD: Duration = Duration::from_millis(10);

/// Processes that can be named by `--pid`.
const PIDS: usize = 1024;

/// Capture options as they were given, by the command line or else the environment.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Capture options")]
pub struct CaptureArguments {
    /// Samples a second on each CPU, 1 to 1000 [default: 99] [env: EVENKEEL_FREQUENCY]
    #[arg(long, value_name = "HZ")]
    pub frequency: Option<String>,
    /// Length of a window, 1s to 10m [default: 10s] [env: EVENKEEL_WINDOW]
    #[arg(long, value_name = "TIME")]
    pub window: Option<String>,
    /// Signals to turn on, of the whole node, separated by commas: on_cpu, off_cpu, run_queue, stolen,
    /// scheduler, interrupts, network, syscalls, block_io, host, or all
    /// [default: all but syscalls] [env: EVENKEEL_ENABLE]
    #[arg(long, value_name = "LIST")]
    pub enable: Option<String>,
    /// Signals to turn off, of the whole node; `--disable all --enable on_cpu` leaves one
    /// [env: EVENKEEL_DISABLE]
    #[arg(long, value_name = "LIST")]
    pub disable: Option<String>,
    /// Sample one wait for so much waiting, 1ms to 1s [default: 10ms] [env: EVENKEEL_WAIT_PERIOD]
    #[arg(long, value_name = "TIME")]
    pub wait_period: Option<String>,
    /// Put the stack of who woke a blocked task above its own in the off_cpu profile
    /// [env: EVENKEEL_WAKER_STACKS]
    #[arg(long)]
    pub waker_stacks: bool,
    /// Services and containers with distributions of their own, up to 20: service=NAME or
    /// container=ID; may be repeated or separated by commas [env: EVENKEEL_FOCUS]
    #[arg(long, value_name = "TARGET", value_delimiter = ',')]
    pub focus: Vec<String>,
    /// Keep profile samples of these processes only, separated by commas; metrics are of the whole
    /// node all the same
    #[arg(long, value_name = "PIDS")]
    pub pid: Option<String>,
    /// Add source files, lines and inlined functions to names, from debug information
    /// [default: true in record, false in agent] [env: EVENKEEL_LINES]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub lines: Option<bool>,
    /// The same as --lines=false
    #[arg(long, conflicts_with = "lines")]
    pub no_lines: bool,
    /// Whose metadata service tells what this host is: auto (that of the provider that the firmware
    /// names, if any), off, or a provider such as aws, gcp, azure [default: auto]
    /// [env: EVENKEEL_CLOUD]
    #[arg(long, value_name = "PROVIDER")]
    pub cloud: Option<String>,
    /// Options about Kubernetes.
    #[command(flatten)]
    pub kubernetes: KubernetesArguments,
    /// Options of the signal `syscalls`.
    #[command(flatten)]
    pub syscalls: SyscallArguments,
}

/// How much samples say of themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// No process and thread: a backend makes a series of each value.
    Aggregated,
    /// With process id and thread name: a file has no series.
    Full,
}

/// Checks the arguments and the `EVENKEEL_*` variables behind them.
pub fn capture_options(
    arguments: &CaptureArguments,
    detail: Detail,
    lookup: &dyn Fn(&str) -> Option<String>,
    problems: &mut Problems,
) -> CaptureOptions {
    let given = |argument: &Option<String>, option: &'static str, variable: &'static str| {
        argument.clone().map(|value| (option, value)).or_else(|| {
            let value = lookup(variable)?;
            (!value.is_empty()).then_some((variable, value))
        })
    };
    let mut refuse = |setting: &str, value: &str, allowed: &str| {
        problems.0.push(Problem::value(setting, value, allowed));
    };

    let frequency = match given(&arguments.frequency, "--frequency", "EVENKEEL_FREQUENCY") {
        None => DEFAULT_FREQUENCY,
        Some((setting, value)) => match value.parse() {
            Ok(frequency) if FREQUENCIES.contains(&frequency) => frequency,
            _ => {
                refuse(setting, &value, "a whole number from 1 to 1000");
                DEFAULT_FREQUENCY
            }
        },
    };
    let window = match given(&arguments.window, "--window", "EVENKEEL_WINDOW") {
        None => DEFAULT_WINDOW,
        Some((setting, value)) => match humantime::parse_duration(&value) {
            Ok(window) if WINDOWS.contains(&window) => window,
            _ => {
                refuse(setting, &value, "a time from 1s to 10m, such as 10s");
                DEFAULT_WINDOW
            }
        },
    };
    let wait_period = match given(
        &arguments.wait_period,
        "--wait-period",
        "EVENKEEL_WAIT_PERIOD",
    ) {
        None => DEFAULT_WAIT_PERIOD,
        Some((setting, value)) => match humantime::parse_duration(&value) {
            Ok(period) if WAIT_PERIODS.contains(&period) => period,
            _ => {
                refuse(setting, &value, "a time from 1ms to 1s, such as 10ms");
                DEFAULT_WAIT_PERIOD
            }
        },
    };
    let mut list = |setting: Option<(&'static str, String)>| -> Option<Vec<Signal>> {
        let (setting, value) = setting?;
        if value.trim() == "all" {
            return Some(Signal::ALL.to_vec());
        }
        let mut signals = Vec::new();
        for name in value.split(',').map(str::trim) {
            match name.parse() {
                Ok(signal) => signals.push(signal),
                Err(_) => {
                    let allowed = format!("a list of {}", Signal::names().replace(' ', ", "));
                    refuse(setting, name, &allowed);
                }
            }
        }
        Some(signals)
    };
    let off = list(given(&arguments.disable, "--disable", "EVENKEEL_DISABLE")).unwrap_or_default();
    let on = list(given(&arguments.enable, "--enable", "EVENKEEL_ENABLE")).unwrap_or_default();
    let signals: Vec<_> = Signal::ALL
        .into_iter()
        .filter(|signal| on.contains(signal) || signal.is_default() && !off.contains(signal))
        .collect();

    let mut focus: Vec<FocusTarget> = Vec::new();
    let (setting, targets) = if arguments.focus.is_empty() {
        let value = lookup("EVENKEEL_FOCUS").unwrap_or_default();
        let targets = value.split(',').filter(|target| !target.is_empty());
        ("EVENKEEL_FOCUS", targets.map(str::to_owned).collect())
    } else {
        ("--focus", arguments.focus.clone())
    };
    for target in targets {
        match target.trim().parse() {
            Ok(parsed) if focus.contains(&parsed) => {}
            Ok(parsed) if focus.len() < FOCUS_TARGETS => focus.push(parsed),
            _ => refuse(
                setting,
                &target,
                "service=NAME or container=ID with 12 or more hexadecimal digits, at most 20 of them",
            ),
        }
    }

    let mut pids = HashSet::new();
    for pid in arguments.pid.iter().flat_map(|list| list.split(',')) {
        match pid.trim().parse::<u32>() {
            Ok(pid) if pid > 0 && pids.len() < PIDS => {
                pids.insert(pid);
            }
            _ => refuse("--pid", pid, "a list of process ids, at most 1024"),
        }
    }
    let mut is_set = |given: Option<bool>, variable: &str, default: bool| {
        given.unwrap_or_else(|| {
            let value = lookup(variable).unwrap_or_default();
            match value.as_str() {
                "" => default,
                "0" | "false" => false,
                "1" | "true" => true,
                _ => {
                    refuse(variable, &value, "true or false");
                    default
                }
            }
        })
    };
    // In a recording of every program of a node, debug information took 111 MiB where symbols
    // took 42: what one run may cost, an agent must not.
    let lines = arguments.no_lines.then_some(false).or(arguments.lines);
    let lines = is_set(lines, "EVENKEEL_LINES", detail == Detail::Full);
    let waker_stacks = arguments.waker_stacks.then_some(true);
    let waker_stacks = is_set(waker_stacks, "EVENKEEL_WAKER_STACKS", false);
    let syscalls = syscall_settings(
        given(
            &arguments.syscalls.syscalls,
            "--syscalls",
            "EVENKEEL_SYSCALLS",
        ),
        given(
            &arguments.syscalls.syscalls_budget,
            "--syscalls-budget",
            "EVENKEEL_SYSCALLS_BUDGET",
        ),
        problems,
    );
    let kubernetes =
        KubernetesSettings::read(&arguments.kubernetes, lookup).unwrap_or_else(|wrong| {
            problems.0.extend(wrong.0);
            KubernetesSettings::default()
        });
    let cloud = CloudSettings::new(arguments.cloud.as_deref(), lookup, problems);
    if signals.is_empty() {
        problems.push("every signal is turned off, so there is nothing to capture");
    }
    CaptureOptions {
        frequency,
        window,
        signals,
        wait_period,
        waker_stacks,
        focus,
        pids,
        lines,
        syscalls,
        cloud,
        kubernetes,
        detailed_samples: detail == Detail::Full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(
        arguments: &CaptureArguments,
        variables: &[(&str, &str)],
    ) -> (CaptureOptions, Vec<String>) {
        let lookup = |name: &str| {
            variables
                .iter()
                .find(|(variable, _)| *variable == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let mut problems = Problems::default();
        let options = capture_options(arguments, Detail::Full, &lookup, &mut problems);
        (
            options,
            problems.0.into_iter().map(|problem| problem.text).collect(),
        )
    }

    /// The command line wins over the environment, and that over the defaults.
    #[test]
    fn precedence() {
        let (options, problems) = resolve(&CaptureArguments::default(), &[]);
        assert_eq!(
            (options.frequency, options.window),
            (99, Duration::from_secs(10))
        );
        let defaults: Vec<_> = Signal::ALL
            .into_iter()
            .filter(|signal| *signal != Signal::Syscalls)
            .collect();
        assert_eq!(options.signals, defaults);
        assert_eq!(problems, Vec::<String>::new());

        let arguments = CaptureArguments {
            frequency: Some("49".into()),
            ..CaptureArguments::default()
        };
        let variables = [("EVENKEEL_FREQUENCY", "19"), ("EVENKEEL_WINDOW", "5s")];
        let (options, _) = resolve(&arguments, &variables);
        assert_eq!(
            (options.frequency, options.window),
            (49, Duration::from_secs(5))
        );
    }

    /// All problems are listed, each with the setting's name and what is allowed.
    #[test]
    fn all_problems_at_once() {
        let arguments = CaptureArguments {
            frequency: Some("fast".into()),
            enable: Some("on_cpu,gpu".into()),
            pid: Some("12,x".into()),
            ..CaptureArguments::default()
        };
        let (_, problems) = resolve(
            &arguments,
            &[("EVENKEEL_WINDOW", "0"), ("EVENKEEL_LINES", "maybe")],
        );
        for part in [
            "--frequency",
            "\"gpu\"",
            "--pid",
            "EVENKEEL_WINDOW",
            "EVENKEEL_LINES",
        ] {
            assert!(
                problems.iter().any(|text| text.contains(part)),
                "{part}: {problems:?}"
            );
        }
        assert_eq!(problems.len(), 5);
    }

    /// Lines are on in a recording and off in the agent, until either says otherwise.
    #[test]
    fn lines() {
        let lines = |given, no_lines, detail, variable: &str| {
            let arguments = CaptureArguments {
                lines: given,
                no_lines,
                ..CaptureArguments::default()
            };
            let lookup = |name: &str| (name == "EVENKEEL_LINES").then(|| variable.to_owned());
            capture_options(&arguments, detail, &lookup, &mut Problems::default()).lines
        };
        assert!(lines(None, false, Detail::Full, ""));
        assert!(!lines(None, false, Detail::Aggregated, ""));
        assert!(!lines(None, false, Detail::Full, "false"));
        assert!(lines(None, false, Detail::Aggregated, "1"));
        assert!(lines(Some(true), false, Detail::Aggregated, "0"));
        assert!(!lines(Some(false), false, Detail::Full, "1"));
        assert!(!lines(None, true, Detail::Full, "1"));
    }

    /// What is disabled and enabled is on: one signal can be picked out.
    #[test]
    fn enable_wins_over_disable() {
        let arguments = CaptureArguments {
            disable: Some("all".into()),
            enable: Some("host".into()),
            ..CaptureArguments::default()
        };
        assert_eq!(resolve(&arguments, &[]).0.signals, [Signal::Host]);
        let arguments = CaptureArguments {
            disable: Some("all".into()),
            ..CaptureArguments::default()
        };
        assert_eq!(resolve(&arguments, &[]).1.len(), 1);
    }
}
