//! Which system calls are measured one by one, and what measuring them may cost.

use evenkeel_abi::LISTED_SYSCALLS;
use syscalls::Sysno;

use super::problem::{Problem, Problems};
use crate::signal::syscalls::Settings;

/// Options of the signal `syscalls`, as they were given.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SyscallArguments {
    /// System calls to measure one by one beside their families, separated by commas, at most 32; for
    /// the signal syscalls, which `--enable syscalls` turns on [env: EVENKEEL_SYSCALLS]
    #[arg(long, value_name = "LIST")]
    pub syscalls: Option<String>,
    /// Share of the node's CPU time that measuring system calls may cost, 0.1% to 100%; they are
    /// watched in bursts and sampled to keep to it [default: 1%] [env: EVENKEEL_SYSCALLS_BUDGET]
    #[arg(long, value_name = "PERCENT")]
    pub syscalls_budget: Option<String>,
}

/// Smallest budget in percent: bursts of 20 ms are then 30 s apart on the busiest hosts.
const SMALLEST_BUDGET: f64 = 0.1;

/// A setting: the option or variable, and the value given.
type Given = (&'static str, String);

/// Checks both settings.
pub(super) fn syscall_settings(
    listed: Option<Given>,
    budget: Option<Given>,
    problems: &mut Problems,
) -> Settings {
    let mut settings = Settings::default();
    if let Some((setting, value)) = listed {
        for name in value.split(',').map(str::trim) {
            match name.parse::<Sysno>() {
                Ok(call) if settings.listed.contains(&call) => {}
                Ok(call) => settings.listed.push(call),
                Err(_) => problems.0.push(Problem::value(
                    setting,
                    name,
                    "a list of system calls of this architecture, such as read,futex",
                )),
            }
        }
        if settings.listed.len() > LISTED_SYSCALLS {
            problems.push(format!(
                "{setting} names {} system calls; at most {LISTED_SYSCALLS} can be measured one by one",
                settings.listed.len()
            ));
        }
    }
    if let Some((setting, value)) = budget {
        let percent = value.trim().strip_suffix('%').map(str::parse::<f64>);
        match percent {
            Some(Ok(percent)) if (SMALLEST_BUDGET..=100.0).contains(&percent) => {
                settings.budget = percent / 100.0;
            }
            _ => problems.0.push(Problem::value(
                setting,
                &value,
                "a share from 0.1% to 100%, such as 1%",
            )),
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(listed: &str, budget: &str) -> (Settings, usize) {
        let mut problems = Problems::default();
        let given = |setting, value: &str| (!value.is_empty()).then(|| (setting, value.to_owned()));
        let settings = syscall_settings(
            given("--syscalls", listed),
            given("--syscalls-budget", budget),
            &mut problems,
        );
        (settings, problems.0.len())
    }

    /// Names are looked up once each, and the budget is a share.
    #[test]
    fn lists_and_budgets() {
        let (settings, problems) = resolve("read, futex,read", "2.5%");
        assert_eq!(settings.listed, [Sysno::read, Sysno::futex]);
        assert!((settings.budget - 0.025).abs() < 1e-12);
        assert_eq!(problems, 0);
        assert_eq!(resolve("", "").0, Settings::default());
    }

    /// What is no system call, too many of them, and budgets that are none are refused.
    #[test]
    fn nonsense_is_refused() {
        assert_eq!(resolve("read,reed", "").1, 1);
        for budget in ["0%", "101%", "1", "x%", "NaN%"] {
            assert_eq!(resolve("", budget).1, 1, "{budget}");
        }
        let names: Vec<_> = Sysno::iter().take(33).map(|call| call.name()).collect();
        assert_eq!(resolve(&names.join(","), "").1, 1);
    }
}
