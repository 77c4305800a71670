//! What ends a capture: a signal, or the recorded command.

use std::{
    io,
    process::{Child, ExitStatus},
    thread,
};

use crossbeam_channel::{Receiver, Sender, bounded};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::{SignalsInfo, exfiltrator::WithOrigin},
    low_level::siginfo::{Cause, Origin},
};

/// A signal that asks to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StopSignal {
    /// SIGINT or SIGTERM.
    pub(super) number: i32,
    /// Whether it is a Ctrl-C: the terminal sent it, and to every process of our group.
    ///
    /// The sender says so (`si_code`: the kernel itself, or a process by `kill`). What else could be
    /// asked is a guess: standard input may be a file on a terminal, and a process in the
    /// terminal's foreground group may be signalled by `kill` too.
    pub(super) from_terminal: bool,
}

impl From<Origin> for StopSignal {
    fn from(origin: Origin) -> Self {
        Self {
            number: origin.signal,
            from_terminal: origin.signal == SIGINT && matches!(origin.cause, Cause::Kernel),
        }
    }
}

/// Something that happened.
#[derive(Debug)]
pub(super) enum Message {
    /// A signal.
    Signal(StopSignal),
    /// The recorded command ended.
    CommandEnded(io::Result<ExitStatus>),
}

/// Listens to signals from now on. SIGHUP is noted and ignored: there is nothing to reload.
pub(super) fn listen() -> io::Result<(Sender<Message>, Receiver<Message>)> {
    let (sender, receiver) = bounded(16);
    let mut signals = SignalsInfo::<WithOrigin>::new([SIGINT, SIGTERM, SIGHUP])?;
    let to_loop = sender.clone();
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for origin in signals.forever() {
                if origin.signal == SIGHUP {
                    tracing::info!("SIGHUP: there is no file to read again.");
                } else if to_loop.send(Message::Signal(origin.into())).is_err() {
                    return;
                }
            }
        })?;
    Ok((sender, receiver))
}

/// Starts a thread that waits for a command, and gives where to hand the command over: once it
/// runs, nothing can fail any more that would leave nobody to wait for it.
pub(super) fn command_waiter(sender: Sender<Message>) -> io::Result<Sender<Child>> {
    let (to_waiter, children) = bounded::<Child>(1);
    thread::Builder::new()
        .name("command".into())
        .spawn(move || {
            for mut child in children {
                let status = child.wait();
                // The loop may have ended before the command did.
                let _ = sender.send(Message::CommandEnded(status));
            }
        })?;
    Ok(to_waiter)
}

#[cfg(test)]
mod tests {
    use std::{process::Command, time::Duration};

    use super::*;

    /// How a command ended comes as a message.
    #[test]
    fn the_end_of_a_command_is_a_message() {
        let (sender, messages) = bounded(1);
        let waiter = command_waiter(sender).unwrap();
        let child = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        waiter.send(child).unwrap();
        let message = messages.recv_timeout(Duration::from_secs(10)).unwrap();
        let Message::CommandEnded(status) = message else {
            panic!("{message:?}");
        };
        assert_eq!(status.unwrap().code(), Some(7));
    }
}
