//! Frames for addresses, from one thread behind a bounded queue.
//!
//! blazesym's symbolizer belongs to one thread, and creating it anew costs what it parsed. The
//! thread keeps the frames it made, so that an address costs a look-up in a table after its first
//! time, and equal frames are one allocation.

use std::{
    io,
    num::NonZeroUsize,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, TrySendError};
use evenkeel_otlp::model::{Frame, FrameType};

use super::{
    executable::Executable,
    frame_source::{FrameSource, unnamed},
    jit::{self, ProcessCode},
};

/// Batches and evictions that wait; each batch is one window's new addresses.
const QUEUE: usize = 64;

/// How names are looked up.
#[derive(Clone, Debug)]
pub struct SymbolizerSettings {
    /// Root of procfs.
    pub proc_root: PathBuf,
    /// Root of sysfs.
    pub sys_root: PathBuf,
    /// Whether to read DWARF for files, lines and inlined functions, out of the executables and
    /// out of the debug files installed on this host.
    pub lines: bool,
    /// Frames kept. 65,536 frames of a Rust program, with their long names, took 24 MiB; C takes
    /// half of that.
    pub frames: NonZeroUsize,
    /// Files whose symbol tables are held at a time, and at most an eighth of the files that this
    /// process may have open; each costs two or three descriptors.
    pub files: usize,
    /// Bytes of symbol tables (with `lines`, of debug information too) held at a time. They are
    /// mapped from their files; the index made from them is about a tenth of it.
    pub table_bytes: u64,
}

impl SymbolizerSettings {
    /// The defaults: with `lines`, more is read and more is held.
    pub fn new(lines: bool) -> Self {
        const FRAMES: NonZeroUsize = NonZeroUsize::new(64 << 10).unwrap();
        Self {
            proc_root: "/proc".into(),
            sys_root: "/sys".into(),
            lines,
            frames: FRAMES,
            files: 256,
            table_bytes: if lines { 1 << 30 } else { 96 << 20 },
        }
    }
}

/// An address to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// ELF virtual address in an executable; absolute address in the kernel.
    pub value: u64,
    /// Whether this is a return address: every frame but the leaf, and that too where it was
    /// interrupted in a signal handler's caller. The call is the instruction before, which may be
    /// the last of its function, so the byte before is looked up.
    pub is_return: bool,
}

impl Address {
    /// The address that is looked up.
    pub(crate) fn lookup(self) -> u64 {
        if self.is_return {
            self.value.saturating_sub(1)
        } else {
            self.value
        }
    }
}

/// Addresses to look up together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Addresses by executable.
    pub user: Vec<(Arc<Executable>, Vec<Address>)>,
    /// Addresses in code made at run time, by process.
    pub run_time: Vec<(Arc<ProcessCode>, Vec<Address>)>,
    /// Addresses in the kernel.
    pub kernel: Vec<Address>,
}

/// The frames of a [`Batch`], in the same shape and order.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Frames by executable; `lines` is empty where there is no name.
    pub user: Vec<Vec<Arc<Frame>>>,
    /// Frames in code made at run time, by process.
    pub run_time: Vec<Vec<Arc<Frame>>>,
    /// Frames in the kernel.
    pub kernel: Vec<Arc<Frame>>,
}

impl Names {
    /// Frames with module and address but no names: what is left when the symbolizer fails.
    pub fn unnamed(batch: &Batch) -> Self {
        let kernel = |address: &Address| {
            Arc::new(Frame {
                mapping: None,
                address: address.value,
                lines: Vec::new(),
                frame_type: Some(FrameType::Kernel),
            })
        };
        Self {
            user: batch
                .user
                .iter()
                .map(|(executable, addresses)| {
                    addresses
                        .iter()
                        .map(|address| Arc::new(unnamed(executable, *address)))
                        .collect()
                })
                .collect(),
            run_time: batch
                .run_time
                .iter()
                .map(|(_, addresses)| {
                    addresses
                        .iter()
                        .map(|address| Arc::new(jit::unnamed(*address)))
                        .collect()
                })
                .collect(),
            kernel: batch.kernel.iter().map(kernel).collect(),
        }
    }
}

/// Why there are no names.
#[derive(Debug, thiserror::Error)]
pub enum SymbolizerError {
    /// The answer did not come in time; the work goes on and fills the cache.
    #[error("symbols were not read within {0:?}")]
    Timeout(Duration),
    /// The thread has ended.
    #[error("the symbolizer has stopped")]
    Stopped,
}

/// What the symbolizer did and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SymbolizerCounters {
    /// Addresses answered from the cache.
    pub hits: u64,
    /// Addresses looked up.
    pub misses: u64,
    /// Looked-up addresses that have no name.
    pub unnamed: u64,
    /// Frames dropped from the cache to make room.
    pub frames_evicted: u64,
    /// Frames in the cache.
    pub frames: u64,
    /// Files parsed.
    pub files_parsed: u64,
    /// Parsed files let go.
    pub files_let_go: u64,
    /// Files held parsed.
    pub files: u64,
    /// Bytes of tables of the files held.
    pub table_bytes: u64,
    /// Look-ups refused because the file had been written over.
    pub files_changed: u64,
    /// Look-ups refused because the file's tables are too large or broke their reader.
    pub files_refused: u64,
    /// Maps of run-time code that were not read: of another user, or older than their process.
    pub code_maps_refused: u64,
    /// Lines of such maps that could not be understood, and functions that found no room.
    pub code_map_lines_dropped: u64,
    /// Kernel symbols held.
    pub kernel_symbols: u64,
    /// Evictions that found the queue full; the bounds above hold without them.
    pub evictions_lost: u64,
    /// Batches that were not answered in time.
    pub timeouts: u64,
}

/// The counters as both sides see them.
#[derive(Debug, Default)]
struct SharedCounters {
    latest: Mutex<SymbolizerCounters>,
    evictions_lost: AtomicU64,
    timeouts: AtomicU64,
}

enum Message {
    Batch {
        batch: Arc<Batch>,
        reply: Sender<Names>,
    },
    Forget(u32),
}

/// The asking side.
#[derive(Clone, Debug)]
pub struct Symbolizer {
    queue: Sender<Message>,
    counters: Arc<SharedCounters>,
}

/// Tells the symbolizer which executables are gone.
#[derive(Clone, Debug)]
pub struct Evictions {
    queue: Sender<Message>,
    counters: Arc<SharedCounters>,
}

impl Symbolizer {
    /// Starts the thread. It ends when the symbolizer and all its [`Evictions`] are dropped.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(settings: SymbolizerSettings) -> io::Result<Self> {
        let (queue, incoming) = crossbeam_channel::bounded(QUEUE);
        let counters = Arc::new(SharedCounters::default());
        let shared = Arc::clone(&counters);
        thread::Builder::new()
            .name("symbolizer".into())
            .spawn(move || serve(&settings, &incoming, &shared))?;
        Ok(Self { queue, counters })
    }

    /// Looks a batch up and waits for the answer.
    ///
    /// # Errors
    /// [`SymbolizerError::Timeout`] after `timeout`; [`Names::unnamed`] serves then.
    pub fn symbolize(
        &self,
        batch: &Arc<Batch>,
        timeout: Duration,
    ) -> Result<Names, SymbolizerError> {
        let deadline = Instant::now() + timeout;
        let (reply, answer) = crossbeam_channel::bounded(1);
        let message = Message::Batch {
            batch: Arc::clone(batch),
            reply,
        };
        let timed_out = || {
            self.counters.timeouts.fetch_add(1, Ordering::Relaxed);
            SymbolizerError::Timeout(timeout)
        };
        self.queue
            .send_deadline(message, deadline)
            .map_err(|error| match error {
                SendTimeoutError::Timeout(_) => timed_out(),
                SendTimeoutError::Disconnected(_) => SymbolizerError::Stopped,
            })?;
        answer.recv_deadline(deadline).map_err(|error| match error {
            RecvTimeoutError::Timeout => timed_out(),
            RecvTimeoutError::Disconnected => SymbolizerError::Stopped,
        })
    }

    /// The handle by which an executable table tells what it dropped.
    pub fn evictions(&self) -> Evictions {
        Evictions {
            queue: self.queue.clone(),
            counters: Arc::clone(&self.counters),
        }
    }

    /// What was done up to the last finished batch.
    pub fn counters(&self) -> SymbolizerCounters {
        let latest = *self
            .counters
            .latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        SymbolizerCounters {
            evictions_lost: self.counters.evictions_lost.load(Ordering::Relaxed),
            timeouts: self.counters.timeouts.load(Ordering::Relaxed),
            ..latest
        }
    }
}

impl Evictions {
    /// The executable with this id will not be asked for again.
    pub(crate) fn forget(&self, id: u32) {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Message::Forget(id)) {
            self.counters.evictions_lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn serve(settings: &SymbolizerSettings, incoming: &Receiver<Message>, counters: &SharedCounters) {
    let mut source = FrameSource::new(settings);
    for message in incoming {
        match message {
            Message::Batch { batch, reply } => {
                let names = source.names(&batch);
                *counters
                    .latest
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner) = source.counters();
                // The asker may have given up; the frames are kept all the same.
                let _ = reply.send(names);
            }
            Message::Forget(id) => source.forget(id),
        }
    }
}
