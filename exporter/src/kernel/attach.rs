//! Attaching one program, and what the states of programs make of signals.

use aya::{
    Ebpf,
    programs::{BtfTracePoint, Iter, PerfEvent, ProgramError},
};

use evenkeel_abi::StackHook;

use super::{
    globals::Globals,
    part::scheduler::{WAIT_FIELDS, WAIT_SIGNALS},
    probe::{Hook, Program, State, signal_state},
    sampling::Sampling,
};
use crate::signal::Signal;

/// Lines of the verifier's log that are kept of a refused program: the last ones say why.
const VERIFIER_LOG_LINES: usize = 6;

/// Fields that stolen time rests on.
pub(super) const STEAL_FIELDS: &[&str] = &["TASK_CFS_RQ", "CFS_RQ_RQ", "RQ_PREV_STEAL_TIME"];
/// Fields that walking user stacks rests on.
pub(super) const REGISTERS: &[&str] = &["REGS_IP", "REGS_SP", "REGS_FP", "REGISTERS_BY_NUMBER"];

/// What attaching takes.
pub(super) struct Attaching<'a> {
    pub(super) ebpf: &'a mut Ebpf,
    pub(super) globals: &'a Globals,
    pub(super) btf: &'a aya::Btf,
    pub(super) online: &'a [u32],
    pub(super) sampling: &'a mut Sampling,
}

/// Loads and attaches a program.
pub(super) fn attach(program: &'static Program, attaching: &mut Attaching<'_>) -> State {
    let Attaching {
        ebpf,
        globals,
        btf,
        online,
        sampling,
    } = attaching;
    if let Some(reason) = program.lacking(globals) {
        return State::Off(reason);
    }
    let Some(loaded) = ebpf.program_mut(program.name) else {
        return State::Failed("the object has no such program".into());
    };
    match program.hook {
        Hook::Tracepoint(name) => {
            let attached = <&mut BtfTracePoint>::try_from(loaded).and_then(|tracepoint| {
                tracepoint.load(name, btf)?;
                tracepoint.attach()
            });
            match attached {
                Ok(_) => State::Attached,
                Err(ProgramError::Btf(aya::BtfError::UnknownBtfTypeName { .. })) => {
                    State::Off(format!("this kernel has no tracepoint {name}"))
                }
                Err(error) => State::Failed(in_short(&error)),
            }
        }
        Hook::Bursts(name) => {
            // Once for a trial: whoever attaches it later has no more to fear than want of memory.
            let tried = <&mut BtfTracePoint>::try_from(loaded).and_then(|tracepoint| {
                tracepoint.load(name, btf)?;
                let link = tracepoint.attach()?;
                tracepoint.detach(link)
            });
            match tried {
                Ok(()) => State::Attached,
                Err(error) => State::Failed(in_short(&error)),
            }
        }
        Hook::Iterator(object) => {
            let ready =
                <&mut Iter>::try_from(loaded).and_then(|iterator| iterator.load(object, btf));
            match ready {
                Ok(()) => State::Attached,
                Err(error) => State::Failed(in_short(&error)),
            }
        }
        Hook::CpuClock => {
            if let Err(error) = <&mut PerfEvent>::try_from(&mut *loaded).and_then(PerfEvent::load) {
                return State::Failed(in_short(&error));
            }
            let refused = sampling.follow(loaded, online);
            match refused {
                None => State::Attached,
                Some(reason) if sampling.cpus() == 0 => State::Failed(reason),
                Some(reason) => State::Partial(reason),
            }
        }
    }
}

/// What the states of signals rest on besides those of the programs.
#[derive(Debug)]
pub(super) struct Basis {
    /// Signals that are on.
    pub(super) wanted: Vec<Signal>,
    /// Values of the globals.
    pub(super) globals: Globals,
    /// Why the offsets are not proved, if so.
    pub(super) unproved: Option<String>,
    /// Why stolen time cannot be measured.
    pub(super) steal_lacking: Option<String>,
    /// Why zero stolen time would say nothing.
    pub(super) steal_doubt: Option<String>,
}

impl Basis {
    /// The states of the signals of the kernel's side.
    pub(super) fn signal_states(
        &self,
        programs: &[(&'static Program, State)],
    ) -> Vec<(Signal, State)> {
        Signal::ALL
            .into_iter()
            .filter(|signal| *signal != Signal::Host)
            .map(|signal| (signal, self.signal_state(signal, programs)))
            .collect()
    }

    fn signal_state(&self, signal: Signal, programs: &[(&'static Program, State)]) -> State {
        if !self.wanted.contains(&signal) {
            return State::Off("not enabled".into());
        }
        if signal == Signal::Stolen && self.globals.get("HAS_STEAL") != Some(1) {
            let reason = self
                .steal_lacking
                .clone()
                .or_else(|| self.globals.lacking(STEAL_FIELDS))
                .unwrap_or_else(|| "the kernel keeps no account of stolen time".into());
            return State::Off(reason);
        }
        if WAIT_SIGNALS.contains(&signal)
            && let Some(reason) = self.globals.lacking(WAIT_FIELDS)
        {
            return State::Off(reason);
        }
        let doubt = match signal {
            Signal::OnCpu => self
                .globals
                .lacking(REGISTERS)
                .map(|reason| format!("user stacks are not walked: {reason}")),
            Signal::Stolen => self.steal_doubt.clone(),
            Signal::OffCpu | Signal::RunQueue
                if self.globals.get("STACK_HOOK") == Some(StackHook::None as u64) =>
            {
                Some("this kernel has no hook at which user stacks of waits could be taken".into())
            }
            _ => None,
        };
        let unproved = || {
            let reason = self.unproved.as_ref()?;
            Some(format!("kernel fields are not proved: {reason}"))
        };
        match signal_state(signal, programs) {
            State::Attached => doubt
                .or_else(unproved)
                .map_or(State::Attached, State::Partial),
            other => other,
        }
    }
}

/// An error in one line: of a verifier's log only the end, which says what it did not like.
pub(super) fn in_short(error: &ProgramError) -> String {
    match error {
        ProgramError::LoadError {
            io_error,
            verifier_log,
        } => {
            let log = verifier_log.to_string();
            let lines: Vec<_> = log
                .lines()
                .filter(|line| !line.trim().is_empty() && !line.starts_with("processed "))
                .collect();
            let last = &lines[lines.len().saturating_sub(VERIFIER_LOG_LINES)..];
            format!("the kernel refused it: {io_error}: {}", last.join(" | "))
        }
        ProgramError::SyscallError(error) => format!("{}: {}", error.call, error.io_error),
        other => other.to_string(),
    }
}
