//! The recorded command.

use std::{
    ffi::OsString,
    io,
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Command, ExitStatus},
};

use anyhow::Context as _;
use crossbeam_channel::{Receiver, Sender};
use rustix::process::{Pid, Signal, getpgid, getpgrp, kill_process};

use super::limits::Limits;
use crate::cli::stop::{self, Message, StopSignal};

/// Exit code of a command that a signal ended, as shells have it.
const SIGNALLED: i32 = 128;

/// A command that was started.
#[derive(Debug)]
pub(super) struct RecordedCommand {
    pid: u32,
    /// Whether a signal has come; the next one does not wait for the command.
    signalled: bool,
    /// The exit code to end with, once it is known.
    code: Option<u8>,
}

impl RecordedCommand {
    /// Starts a command under the limits that this process was started with. `expect` is called
    /// right before.
    pub(super) fn start(
        (program, arguments): (&OsString, &[OsString]),
        limits: &Limits,
        sender: &Sender<Message>,
        expect: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let waiter = stop::command_waiter(sender.clone())?;
        let mut command = Command::new(program);
        command.args(arguments);
        expect()?;
        let child = limits
            .around(|| command.spawn())
            .with_context(|| format!("cannot run {}", Path::new(program).display()))?;
        let pid = child.id();
        // The thread waits for exactly this.
        let _ = waiter.send(child);
        Ok(Self {
            pid,
            signalled: false,
            code: None,
        })
    }

    /// The process id.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Does what a message asks for; true when this is the end. The command decides when it has
    /// ended: the first signal is passed on, only the second one is an end.
    pub(super) fn handle(&mut self, message: Message) -> bool {
        match message {
            Message::CommandEnded(status) => self.code = Some(exit_code(status)),
            Message::Signal(signal) if self.signalled => {
                self.code = Some(u8::try_from(SIGNALLED + signal.number).unwrap_or(1));
            }
            Message::Signal(signal) => {
                self.signalled = true;
                self.pass_on(signal);
            }
        }
        self.code.is_some()
    }

    /// Waits for the end, if it has not come; the exit code.
    pub(super) fn wait(mut self, messages: &Receiver<Message>) -> u8 {
        loop {
            if let Some(code) = self.code {
                return code;
            }
            match messages.recv() {
                Ok(message) => {
                    self.handle(message);
                }
                // Nobody is left to say how it ended.
                Err(_) => self.code = Some(1),
            }
        }
    }

    /// Passes a signal on, unless the command has it: a terminal signals all of a group, of which
    /// the command is one if it has not left it.
    fn pass_on(&self, signal: StopSignal) {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return;
        };
        if signal.from_terminal && getpgid(Some(pid)) == Ok(getpgrp()) {
            return;
        }
        let unix = if signal.number == signal_hook::consts::SIGINT {
            Signal::INT
        } else {
            Signal::TERM
        };
        // It may have ended just now.
        let _ = kill_process(pid, unix);
    }
}

fn exit_code(status: io::Result<ExitStatus>) -> u8 {
    let code = match status {
        Ok(status) => status
            .code()
            .or_else(|| status.signal().map(|signal| SIGNALLED + signal)),
        Err(error) => {
            tracing::error!(%error, "How the command ended cannot be told.");
            None
        }
    };
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::bounded;
    use signal_hook::consts::{SIGINT, SIGTERM};

    use super::*;

    fn start(script: &str) -> (RecordedCommand, Receiver<Message>, Sender<Message>) {
        let (sender, messages) = bounded(16);
        let line = ["sh", "-c", script].map(OsString::from);
        let limits = Limits::current();
        let parts = (&line[0], &line[1..]);
        let command = RecordedCommand::start(parts, &limits, &sender, || Ok(())).unwrap();
        (command, messages, sender)
    }

    fn signal(number: i32, from_terminal: bool) -> Message {
        Message::Signal(StopSignal {
            number,
            from_terminal,
        })
    }

    /// The command's code is ours, and 128 and the number that of a signal.
    #[test]
    fn codes_are_passed_on() {
        for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)] {
            let (command, messages, _sender) = start(script);
            assert_eq!(command.wait(&messages), code, "{script}");
        }
    }

    /// The first signal goes to the command, whose end is waited for.
    #[test]
    fn the_first_signal_is_passed_on() {
        let (mut command, messages, _sender) = start("exec sleep 60");
        assert!(!command.handle(signal(SIGTERM, false)));
        assert_eq!(command.wait(&messages), 128 + 15);
    }

    /// What the terminal sent to the whole group is not sent once more; the second signal is an end.
    #[test]
    fn what_the_terminal_sent_is_not_sent_twice() {
        let (mut command, messages, _sender) = start("exec sleep 1");
        assert!(!command.handle(signal(SIGINT, true)));
        assert_eq!(command.wait(&messages), 0);

        let (mut command, messages, sender) = start("exec sleep 1");
        assert!(!command.handle(signal(SIGINT, true)));
        sender.send(signal(SIGINT, true)).unwrap();
        assert_eq!(command.wait(&messages), 128 + 2);
    }

    /// A program that is not there is named.
    #[test]
    fn a_missing_program_is_an_error() {
        let (sender, _messages) = bounded(16);
        let program = OsString::from("no-such-command-here");
        let error = RecordedCommand::start((&program, &[]), &Limits::current(), &sender, || Ok(()));
        assert_eq!(
            error.unwrap_err().to_string(),
            "cannot run no-such-command-here"
        );
    }
}
