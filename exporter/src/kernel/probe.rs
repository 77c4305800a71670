//! The kernel programs, what each needs and which signals it serves, and what became of each.

use super::globals::Globals;
use crate::signal::Signal;

/// Where a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A tracepoint, with arguments typed by BTF.
    Tracepoint(&'static str),
    /// The cpu-clock timer of every online CPU.
    CpuClock,
}

/// A kernel program.
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

const TASK: &[&str] = &[
    "TASK_PID",
    "TASK_TGID",
    "TASK_FLAGS",
    "TASK_GROUP_LEADER",
    "TASK_START_BOOTTIME",
];

/// Every program, in the order in which they are attached: whoever makes a task known comes before
/// whoever samples it, and `sched_switch`, which ends waits, before the programs that begin them: a
/// wait begun and never ended would hold the sleep that follows.
pub const PROGRAMS: &[Program] = &[
    Program {
        name: "sched_process_fork",
        hook: Hook::Tracepoint("sched_process_fork"),
        needs: TASK,
        serves: &[Signal::OnCpu, Signal::Stolen],
        essential_to: &[],
        loss: "short-lived processes may lack their owner",
    },
    Program {
        name: "sched_process_exec",
        hook: Hook::Tracepoint("sched_process_exec"),
        needs: &[
            "TASK_TGID",
            "TASK_GROUP_LEADER",
            "TASK_START_BOOTTIME",
            "BINPRM_FILENAME",
        ],
        serves: &[Signal::OnCpu, Signal::Stolen],
        essential_to: &[],
        loss: "short-lived processes may lack their name",
    },
    Program {
        name: "sched_process_exit",
        hook: Hook::Tracepoint("sched_process_exit"),
        needs: TASK,
        serves: &[Signal::OnCpu, Signal::Stolen],
        essential_to: &[],
        loss: "processes that are gone are forgotten late",
    },
    Program {
        name: "sched_switch",
        hook: Hook::Tracepoint("sched_switch"),
        needs: TASK,
        serves: &[Signal::Scheduler, Signal::Stolen],
        essential_to: &[Signal::Scheduler],
        loss: "time stolen shortly before a switch can fall to the next task",
    },
    Program {
        name: "sched_wakeup",
        hook: Hook::Tracepoint("sched_wakeup"),
        needs: &[],
        serves: &[Signal::Scheduler],
        essential_to: &[],
        loss: "waits after a wake-up are not measured",
    },
    Program {
        name: "sched_wakeup_new",
        hook: Hook::Tracepoint("sched_wakeup_new"),
        needs: &[],
        serves: &[Signal::Scheduler],
        essential_to: &[],
        loss: "first waits of new tasks are not measured",
    },
    Program {
        name: "on_cpu",
        hook: Hook::CpuClock,
        needs: TASK,
        serves: &[Signal::OnCpu, Signal::Stolen],
        essential_to: &[Signal::OnCpu, Signal::Stolen],
        loss: "nothing is sampled",
    },
];

impl Program {
    /// Why it cannot run on this kernel, if so.
    pub fn lacking(&self, globals: &Globals) -> Option<String> {
        globals.lacking(self.needs).or_else(|| {
            // Without the argument, the state is read from the task.
            let reads_state =
                self.name == "sched_switch" && globals.get("HAS_PREV_STATE_ARGUMENT") != Some(1);
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

    fn states(failed: &str) -> Vec<(&'static Program, State)> {
        PROGRAMS
            .iter()
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

    /// Every program serves a signal, and is essential only to signals that it serves.
    #[test]
    fn table_is_consistent() {
        for program in PROGRAMS {
            assert!(!program.serves.is_empty(), "{}", program.name);
            for signal in program.essential_to {
                assert!(program.serves.contains(signal), "{}", program.name);
            }
        }
    }
}
