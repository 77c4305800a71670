//! Why a task was not running, as far as a sample tells apart.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use crate::identity::Process;

/// What a sample is of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A task that was running.
    #[default]
    Running,
    /// A task that was blocked.
    Blocked(Block),
    /// A task that was ready and waited for a CPU.
    Queued(Ahead),
}

/// Why a task was blocked, before the names of its stack are known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// State in which it left the CPU (`TASK_*`, include/linux/sched.h).
    pub task_state: u32,
    /// The futex operation and the value that it waits on, when it is in that system call.
    pub futex: Option<Futex>,
    /// It was blocked for the whole window and longer.
    pub whole_window: bool,
    /// It was blocked for a second or longer.
    pub a_second: bool,
    /// Who woke it.
    pub waker: Option<Waker>,
}

/// A wait on a futex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Futex {
    /// `FUTEX_*` without flags (include/uapi/linux/futex.h).
    pub operation: u32,
    /// It waits until the word is no longer 2: the value of a contended mutex of glibc, musl's and Rust's
    /// are no other.
    pub is_contended_mutex: bool,
}

/// Who woke a task.
#[derive(Clone, Debug)]
pub enum Waker {
    /// A process.
    Process(Arc<Process>),
    /// An interrupt.
    Interrupt,
}

impl Waker {
    /// Processes with one name are one waker.
    pub fn name(&self) -> &str {
        match self {
            Self::Process(process) => &process.executable_name,
            Self::Interrupt => INTERRUPT,
        }
    }
}

/// Name of a waker that is no process.
const INTERRUPT: &str = "[interrupt]";

impl PartialEq for Waker {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Waker {}

impl Hash for Waker {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

/// Who had the CPU meanwhile (`evenkeel.run_queue.behind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ahead {
    /// Nobody had to: the own quota was used up.
    Throttled,
    /// The same process or container.
    Own,
    /// Another one.
    Other,
    /// The kernel, or a CPU that woke up from idle.
    Kernel,
}

impl Ahead {
    /// All of them, in the order of `Split`.
    pub const ALL: [Self; 4] = [Self::Throttled, Self::Own, Self::Other, Self::Kernel];
}
