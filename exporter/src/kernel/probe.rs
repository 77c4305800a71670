//! The kernel programs, what each needs and which signals it serves, and what became of each.

use evenkeel_abi::StackHook;

use super::globals::Globals;
use crate::signal::Signal;

/// Where a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A tracepoint, with arguments typed by BTF.
    Tracepoint(&'static str),
    /// The same, attached and detached again and again by the signal itself.
    Bursts(&'static str),
    /// The cpu-clock timer of every online CPU.
    CpuClock,
    /// An iterator over objects of the kernel, which runs when user space reads it.
    Iterator(&'static str),
}

/// A kernel program. The tables of all programs are in `kernel/part/`.
#[derive(Debug)]
pub struct Program {
    /// Name of its function in the object.
    pub name: &'static str,
    /// Where it is attached.
    pub hook: Hook,
    /// Globals without which it cannot run.
    pub needs: &'static [&'static str],
    /// Signals that it serves; it is loaded when one of them is on.
    pub serves: &'static [Signal],
    /// Signals that are nothing without it; the others are only partly measured.
    pub essential_to: &'static [Signal],
    /// What is missing without it.
    pub loss: &'static str,
}

impl Program {
    /// Whether it is part of how this kernel is measured: of hooks that do the same, one is.
    pub fn has_a_place(&self, globals: &Globals) -> bool {
        let hook = match self.name {
            "wait_interrupt" => StackHook::Interrupt,
            "sched_exit_tp" => StackHook::Exit,
            _ => return true,
        };
        globals.get("STACK_HOOK") == Some(hook as u64)
    }

    /// Why it cannot run on this kernel, if so.
    pub fn lacking(&self, globals: &Globals) -> Option<String> {
        let has_hook = globals.lacking(&[self.name]);
        has_hook
            .or_else(|| globals.lacking(self.needs))
            .or_else(|| {
                // Without the argument, the state is read from the task.
                let reads_state = self.name == "task_walk"
                    || self.name == "sched_switch"
                        && globals.get("HAS_PREV_STATE_ARGUMENT") != Some(1);
                reads_state
                    .then(|| globals.lacking(&["TASK_STATE"]))
                    .flatten()
            })
    }
}

/// What became of a program or a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Attached,
    /// Part of it runs; the reason says what is missing.
    Partial(String),
    /// It is not wanted, or cannot be had here.
    Off(String),
    /// It should run and does not.
    Failed(String),
}

impl State {
    /// Whether something is measured.
    pub fn is_on(&self) -> bool {
        matches!(self, Self::Attached | Self::Partial(_))
    }

    /// Name, as in `evenkeel.signal.state`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Attached => "attached",
            Self::Partial(_) => "partial",
            Self::Off(_) => "off",
            Self::Failed(_) => "failed",
        }
    }

    /// Why it is not attached.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Attached => None,
            Self::Partial(reason) | Self::Off(reason) | Self::Failed(reason) => Some(reason),
        }
    }
}

/// The state of a signal by the states of its programs.
pub fn signal_state(signal: Signal, programs: &[(&'static Program, State)]) -> State {
    let serving = || {
        programs
            .iter()
            .filter(|(program, _)| program.serves.contains(&signal))
    };
    if serving().next().is_none() {
        return State::Off("this version has no program for it".into());
    }
    if serving().all(|(_, state)| !state.is_on())
        && let Some((program, state)) = serving().next()
    {
        let reason = format!("{}: {}", program.name, state.reason().unwrap_or_default());
        return match state {
            State::Off(_) => State::Off(reason),
            _ => State::Failed(reason),
        };
    }
    let missing = || serving().filter(|(_, state)| *state != State::Attached);
    if let Some((program, state)) =
        missing().find(|(program, _)| program.essential_to.contains(&signal))
    {
        return match state {
            State::Partial(reason) => State::Partial(reason.clone()),
            State::Off(reason) => State::Off(format!("{}: {reason}", program.name)),
            other => State::Failed(format!(
                "{}: {}",
                program.name,
                other.reason().unwrap_or_default()
            )),
        };
    }
    match missing().next() {
        None => State::Attached,
        Some((program, state)) => State::Partial(format!(
            "{} ({}: {})",
            program.loss,
            program.name,
            state.reason().unwrap_or_default()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::part::programs;

    fn states(failed: &str) -> Vec<(&'static Program, State)> {
        programs()
            .map(|program| {
                let state = if program.name == failed {
                    State::Failed("refused".into())
                } else {
                    State::Attached
                };
                (program, state)
            })
            .collect()
    }

    /// A signal without one of its essential programs failed; without another it is partial; the
    /// signals that do not use the program are untouched.
    #[test]
    fn missing_program_shows_in_its_signals_only() {
        let failed = states("sched_switch");
        assert!(matches!(
            signal_state(Signal::Scheduler, &failed),
            State::Failed(_)
        ));
        assert!(matches!(
            signal_state(Signal::Stolen, &failed),
            State::Partial(_)
        ));
        assert_eq!(signal_state(Signal::OnCpu, &failed), State::Attached);
    }

    /// A signal that is nothing without any one program, but has none at all, is not partly measured.
    #[test]
    fn signal_without_programs_is_not_partial() {
        let states = |state: State| {
            programs()
                .map(|program| (program, state.clone()))
                .collect::<Vec<_>>()
        };
        assert!(matches!(
            signal_state(Signal::Network, &states(State::Failed("refused".into()))),
            State::Failed(_)
        ));
        assert!(matches!(
            signal_state(Signal::Network, &states(State::Off("no tracepoint".into()))),
            State::Off(_)
        ));
    }

    /// Every program serves a signal, and is essential only to signals that it serves.
    #[test]
    fn table_is_consistent() {
        for program in programs() {
            assert!(!program.serves.is_empty(), "{}", program.name);
            for signal in program.essential_to {
                assert!(program.serves.contains(signal), "{}", program.name);
            }
        }
    }
}
