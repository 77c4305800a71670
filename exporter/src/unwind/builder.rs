//! Threads that make rows: reading a large file from a busy disk takes seconds, in which small files and new
//! processes must not wait.

use std::{sync::Arc, thread, time::Duration};

use crossbeam_channel::{Sender, bounded};
use rustix::time::{ClockId, clock_gettime};

use super::{Rows, RowsError, RowsLimits};
use crate::symbol::Executable;

/// Size of a file up to which it is small: its rows take 5 ms at most.
const SMALL_BYTES: u64 = 8 << 20;

/// Rows that were made.
#[derive(Debug)]
pub(super) struct Made {
    /// Of which executable, by id.
    pub(super) id: u32,
    /// The rows.
    pub(super) rows: Result<Rows, RowsError>,
    /// CPU time that it took.
    pub(super) cpu_time: Duration,
    /// By which thread.
    pub(super) size: Size,
}

/// What a thread is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    /// Files up to 8 MiB.
    Small,
    /// All others.
    Large,
}

impl Size {
    /// Executables given to a thread at a time: on a busy machine each turn of two threads costs as much time
    /// as a hundred small files.
    pub(super) fn jobs(self) -> usize {
        match self {
            Self::Small => 16,
            Self::Large => 1,
        }
    }

    /// Of a file.
    pub(super) fn of(executable: &Executable) -> Self {
        if executable.identity.size <= SMALL_BYTES {
            Self::Small
        } else {
            Self::Large
        }
    }
}

/// A thread that makes rows, one executable after the other.
#[derive(Debug)]
pub(super) struct Builder {
    jobs: Sender<Arc<Executable>>,
    pub(super) size: Size,
    /// Executables whose rows were asked for and are not in the tables yet.
    pub(super) pending: usize,
}

impl Builder {
    /// Starts a thread; it ends when this is dropped and its last rows are made.
    ///
    /// # Errors
    /// When no thread can be had.
    pub(super) fn start(size: Size, made: Sender<Made>) -> std::io::Result<Self> {
        let (jobs, inbox) = bounded::<Arc<Executable>>(size.jobs());
        let name = match size {
            Size::Small => "small rows",
            Size::Large => "large rows",
        };
        thread::Builder::new().name(name.into()).spawn(move || {
            for executable in inbox {
                let before = thread_time();
                let rows = Rows::build(&executable, &RowsLimits::default());
                let done = Made {
                    id: executable.id,
                    rows,
                    cpu_time: thread_time().saturating_sub(before),
                    size,
                };
                if made.send(done).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self {
            jobs,
            size,
            pending: 0,
        })
    }

    /// Whether it has as much to do as it takes.
    pub(super) fn is_busy(&self) -> bool {
        self.pending >= self.size.jobs()
    }

    /// Has the rows of an executable made, unless it is busy.
    pub(super) fn make(&mut self, executable: Arc<Executable>) {
        self.pending += usize::from(self.jobs.try_send(executable).is_ok());
    }
}

/// CPU time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}
