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
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, SendTimeoutError, Sender, TrySendError};
use evenkeel_otlp::model::{Frame, FrameType};
use lru::LruCache;

use super::{
    elf_names::{ElfLimits, ElfNames},
    executable::Executable,
    function_table::FunctionTable,
    kernel::KernelNames,
};

/// Batches and evictions that wait; each batch is one window's new addresses.
const QUEUE: usize = 64;

/// `FrameKey::executable` of kernel addresses; executables count from 1.
const KERNEL: u32 = 0;

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
    /// Frames kept. One takes about 200 bytes with its share of names; a busy node showed some
    /// ten thousand distinct addresses.
    pub frames: NonZeroUsize,
    /// Files whose symbol tables are held at a time; each costs two descriptors.
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
    /// Addresses in the kernel.
    pub kernel: Vec<Address>,
}

/// The frames of a [`Batch`], in the same shape and order.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Frames by executable; `lines` is empty where there is no name.
    pub user: Vec<Vec<Arc<Frame>>>,
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
    latest: std::sync::Mutex<SymbolizerCounters>,
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
            .spawn(move || Worker::new(&settings, shared).run(&incoming))?;
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
            .unwrap_or_else(std::sync::PoisonError::into_inner);
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FrameKey {
    executable: u32,
    address: Address,
}

/// What the thread owns.
struct Worker {
    elf: ElfNames,
    kernel: KernelNames,
    kernel_generation: u64,
    functions: FunctionTable,
    frames: LruCache<FrameKey, Arc<Frame>>,
    counters: SymbolizerCounters,
    shared: Arc<SharedCounters>,
}

impl Worker {
    fn new(settings: &SymbolizerSettings, shared: Arc<SharedCounters>) -> Self {
        Self {
            elf: ElfNames::new(ElfLimits {
                lines: settings.lines,
                files: settings.files.max(1),
                bytes: settings.table_bytes,
            }),
            kernel: KernelNames::new(&settings.proc_root, &settings.sys_root),
            kernel_generation: 0,
            functions: FunctionTable::new(),
            frames: LruCache::sparse(settings.frames),
            counters: SymbolizerCounters::default(),
            shared,
        }
    }

    fn run(mut self, incoming: &Receiver<Message>) {
        for message in incoming {
            match message {
                Message::Batch { batch, reply } => {
                    let names = self.names(&batch);
                    self.publish();
                    // The asker may have given up; the frames are in the cache all the same.
                    let _ = reply.send(names);
                }
                Message::Forget(id) => self.elf.forget(id),
            }
        }
    }

    fn names(&mut self, batch: &Batch) -> Names {
        Names {
            user: batch
                .user
                .iter()
                .map(|(executable, addresses)| self.user(executable, addresses))
                .collect(),
            kernel: self.kernel(&batch.kernel),
        }
    }

    fn user(&mut self, executable: &Executable, addresses: &[Address]) -> Vec<Arc<Frame>> {
        let key = |address| FrameKey {
            executable: executable.id,
            address,
        };
        let mut found: Vec<Option<Arc<Frame>>> = addresses
            .iter()
            .map(|address| self.frames.get(&key(*address)).map(Arc::clone))
            .collect();
        let missing: Vec<Address> = addresses
            .iter()
            .zip(&found)
            .filter(|(_, frame)| frame.is_none())
            .map(|(address, _)| *address)
            .collect();
        self.counters.hits += (addresses.len() - missing.len()) as u64;
        self.counters.misses += missing.len() as u64;
        if !missing.is_empty() {
            let lookups: Vec<u64> = missing.iter().map(|address| address.lookup()).collect();
            let lines = self.elf.find(executable, &lookups, &mut self.functions);
            let mut fresh = missing.iter().zip(lines);
            for slot in found.iter_mut().filter(|slot| slot.is_none()) {
                let Some((address, lines)) = fresh.next() else {
                    break;
                };
                let mut frame = unnamed(executable, *address);
                if lines.lines.is_empty() {
                    self.counters.unnamed += 1;
                } else {
                    frame.frame_type = lines.frame_type;
                    frame.lines = lines.lines;
                }
                let frame = Arc::new(frame);
                self.keep(key(*address), &frame);
                *slot = Some(frame);
            }
        }
        found
            .into_iter()
            .zip(addresses)
            .map(|(frame, address)| {
                frame.unwrap_or_else(|| Arc::new(unnamed(executable, *address)))
            })
            .collect()
    }

    fn kernel(&mut self, addresses: &[Address]) -> Vec<Arc<Frame>> {
        if addresses.is_empty() {
            return Vec::new();
        }
        self.kernel.refresh();
        self.drop_old_kernel_frames();
        let frames = addresses
            .iter()
            .map(|address| {
                let key = FrameKey {
                    executable: KERNEL,
                    address: *address,
                };
                if let Some(frame) = self.frames.get(&key) {
                    self.counters.hits += 1;
                    return Arc::clone(frame);
                }
                self.counters.misses += 1;
                let frame = self.kernel.frame(*address, &mut self.functions);
                self.counters.unnamed += u64::from(frame.lines.is_empty());
                self.keep(key, &frame);
                frame
            })
            .collect();
        self.drop_old_kernel_frames();
        frames
    }

    /// After kallsyms was read again, an address may have another name.
    fn drop_old_kernel_frames(&mut self) {
        if self.kernel.generation() != self.kernel_generation {
            self.kernel_generation = self.kernel.generation();
            self.frames.retain(|key, _| key.executable != KERNEL);
        }
    }

    fn keep(&mut self, key: FrameKey, frame: &Arc<Frame>) {
        if let Some((dropped, _)) = self.frames.push(key, Arc::clone(frame))
            && dropped != key
        {
            self.counters.frames_evicted += 1;
        }
    }

    fn publish(&mut self) {
        let elf = self.elf.counters();
        self.counters = SymbolizerCounters {
            frames: self.frames.len() as u64,
            files_parsed: elf.parsed,
            files_let_go: elf.let_go,
            files: self.elf.files() as u64,
            table_bytes: self.elf.bytes(),
            files_changed: elf.changed,
            files_refused: elf.refused,
            kernel_symbols: self.kernel.len() as u64,
            ..self.counters
        };
        *self
            .shared
            .latest
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = self.counters;
    }
}

fn unnamed(executable: &Executable, address: Address) -> Frame {
    Frame {
        mapping: Some(Arc::clone(&executable.mapping)),
        address: address.value,
        lines: Vec::new(),
        frame_type: Some(FrameType::Native),
    }
}
