//! What ends a capture: a signal, or the recorded command.

use std::{
    io,
    process::{Child, ExitStatus},
    thread,
};

use crossbeam_channel::{Receiver, Sender, bounded};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

/// Something that happened.
#[derive(Debug)]
pub(super) enum Message {
    /// SIGINT or SIGTERM.
    Signal(i32),
    /// The recorded command ended.
    CommandEnded(io::Result<ExitStatus>),
}

/// Listens to signals from now on. SIGHUP is noted and ignored: there is nothing to reload.
pub(super) fn listen() -> io::Result<(Sender<Message>, Receiver<Message>)> {
    let (sender, receiver) = bounded(16);
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let to_loop = sender.clone();
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in signals.forever() {
                if signal == SIGHUP {
                    tracing::info!("SIGHUP: there is no file to read again.");
                } else if to_loop.send(Message::Signal(signal)).is_err() {
                    return;
                }
            }
        })?;
    Ok((sender, receiver))
}

/// Waits for a command in a thread of its own.
pub(super) fn wait_for(mut child: Child, sender: Sender<Message>) -> io::Result<()> {
    thread::Builder::new()
        .name("command".into())
        .spawn(move || {
            let status = child.wait();
            // The loop may have ended before the command did.
            let _ = sender.send(Message::CommandEnded(status));
        })
        .map(drop)
}
