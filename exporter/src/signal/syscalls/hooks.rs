//! The two programs, attached or not, watching or not.

use std::io;

use evenkeel_abi::SKIP_BITS;

use crate::kernel::{
    mapped_array::WritableArray,
    raw_tracepoint::{Attachment, RawTracepoint},
};

/// The two programs and the word that turns them on.
#[derive(Debug)]
pub(super) struct Hooks {
    enter: RawTracepoint,
    exit: RawTracepoint,
    control: WritableArray,
    attachments: Option<[Attachment; 2]>,
    /// Number of the burst.
    burst: u64,
}

impl Hooks {
    /// The programs, neither attached nor watching.
    pub(super) fn new(enter: RawTracepoint, exit: RawTracepoint, control: WritableArray) -> Self {
        Self {
            enter,
            exit,
            control,
            attachments: None,
            burst: 0,
        }
    }

    /// Attaches both, unless they are. Calls are watched from [`Hooks::watch`] on.
    pub(super) fn attach(&mut self) -> io::Result<()> {
        if self.attachments.is_none() {
            let exit = self.exit.attach()?;
            let enter = self.enter.attach()?;
            self.attachments = Some([enter, exit]);
            self.burst += 1;
        }
        Ok(())
    }

    /// Watches calls, one sample for so many.
    pub(super) fn watch(&self, skip: u16) {
        self.control
            .set(0, self.burst << SKIP_BITS | u64::from(skip));
    }

    /// Does not watch any more.
    pub(super) fn pause(&self) {
        self.control.set(0, 0);
    }

    /// Detaches both.
    pub(super) fn detach(&mut self) {
        self.pause();
        self.attachments = None;
    }
}
