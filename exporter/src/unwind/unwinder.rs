//! The thread that keeps the unwind tables of the kernel programs.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded, select};
use evenkeel_abi::{CfaKind, FramePointerKind, NO_EXECUTABLE, UnwindMapping};

use super::{
    builder::{Builder, Made, Size},
    executables::{ExecutableRows, ExecutableRowsCounters},
    process_mappings::{ProcessEntries, ProcessMappings},
    space::GRACE,
    table_reader::TableReader,
    tables::{TableFill, Tables},
};
use crate::{identity::ProcessKey, kernel::part::unwind::UnwindArrays, symbol::Executable};

/// Requests that wait: a storm of 1,800 short processes a second for half a second.
const REQUESTS: usize = 1024;

/// How long nothing needs to be done when nobody asks.
const IDLE_WAIT: Duration = Duration::from_secs(3600);

/// Executables whose rows wait to be made.
const WANTED: usize = 4096;

/// Rows of files up to this size are made as soon as a process has them mapped, before a sample shows that
/// they are needed: a stack that passes through four libraries would be whole only at the fifth sample. One
/// of 60 MB takes 30 ms.
const EAGER_BYTES: u64 = 64 << 20;

/// Share of the time of one CPU that making rows may take, in the long run: programs that are made and run
/// once (a compiler's tests) would each be read.
const BUILD_SHARE: f64 = 0.02;

/// CPU time that may be spent at once: the start of the agent on a node with a hundred programs.
const BUILD_BURST: Duration = Duration::from_secs(3);

/// Where the caller's frame pointer is, from the CFA, where a frame is set up for them.
const FRAME_POINTER_OFFSET: i64 = -16;

/// An executable mapping of a process.
#[derive(Clone, Debug)]
pub struct CodeMapping {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// What is taken from an address in memory to get the ELF virtual address.
    pub bias: u64,
    /// What is mapped; `None` for code without a file.
    pub executable: Option<Arc<Executable>>,
}

#[derive(Debug)]
enum Request {
    Process(ProcessKey, Vec<CodeMapping>),
    Exit(ProcessKey),
    Sampled(Vec<u32>),
}

/// What the tables hold and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnwindAccount {
    /// Processes whose mappings are known to the kernel programs.
    pub processes: u64,
    /// Processes let go to make room, since the start.
    pub processes_evicted: u64,
    /// Processes for which there was no room, since the start.
    pub processes_refused: u64,
    /// Executables.
    pub executables: ExecutableRowsCounters,
    /// The arrays.
    pub fill: TableFill,
    /// CPU seconds that making rows took, since the start.
    pub build_seconds: f64,
    /// Times that rows were made later, to stay within their share of the CPU.
    pub deferred: u64,
    /// Requests for which there was no room, since the start.
    pub requests_lost: u64,
}

/// The asking side of the thread; it stops when this is dropped.
#[derive(Debug)]
pub struct Unwinder {
    requests: Option<Sender<Request>>,
    account: Arc<Mutex<UnwindAccount>>,
    reader: TableReader,
    /// Processes that were published, to forget no others.
    published: HashSet<ProcessKey>,
    /// Executables sampled that were not told yet, and those told since `told_at`.
    sampled: Vec<u32>,
    told: HashSet<u32>,
    told_at: Instant,
    lost: u64,
    thread: Option<JoinHandle<()>>,
}

/// How often it is told that an executable is still sampled.
const TELL_AGAIN_AFTER: Duration = Duration::from_secs(1);

impl Unwinder {
    /// Starts the thread. `processes` is the map of processes.
    ///
    /// # Errors
    /// When no thread can be had.
    pub(crate) fn start(
        arrays: UnwindArrays,
        processes: aya::maps::HashMap<aya::maps::MapData, u32, [u64; 2]>,
    ) -> std::io::Result<Self> {
        let (requests, inbox) = bounded(REQUESTS);
        let (made, results) = bounded(Size::Small.jobs());
        let account = Arc::new(Mutex::new(UnwindAccount::default()));
        let (tables, mappings) = Tables::new(arrays);
        let executables = ExecutableRows::new(tables);
        let reader = executables.reader();
        let state = UnwinderState {
            processes: ProcessMappings::new(processes, mappings),
            executables,
            sampled: Vec::new(),
            mapped: VecDeque::new(),
            builders: [
                Builder::start(Size::Small, made.clone())?,
                Builder::start(Size::Large, made)?,
            ],
            made: Vec::new(),
            account: Arc::clone(&account),
            started: Instant::now(),
            build_time: Duration::ZERO,
            deferred: 0,
        };
        let thread = thread::Builder::new()
            .name("unwinder".into())
            .spawn(move || state.run(&inbox, &results))?;
        Ok(Self {
            requests: Some(requests),
            account,
            reader,
            published: HashSet::new(),
            sampled: Vec::new(),
            told: HashSet::new(),
            told_at: Instant::now(),
            lost: 0,
            thread: Some(thread),
        })
    }

    fn request(&mut self, request: Request) -> bool {
        let sent =
            self.requests
                .as_ref()
                .is_some_and(|requests| match requests.try_send(request) {
                    Ok(()) => true,
                    Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
                });
        self.lost += u64::from(!sent);
        sent
    }

    /// Shows the executable mappings of a process to the kernel programs, in place of those it had.
    pub fn process(&mut self, process: ProcessKey, mappings: Vec<CodeMapping>) {
        if self.request(Request::Process(process, mappings)) {
            self.published.insert(process);
        }
    }

    /// A process is gone.
    pub fn exit(&mut self, process: ProcessKey) {
        if self.published.remove(&process) {
            self.request(Request::Exit(process));
        }
    }

    /// An executable was sampled.
    pub fn sampled(&mut self, executable: &Executable) {
        if self.told.insert(executable.id) {
            self.sampled.push(executable.id);
        }
    }

    /// Whether the caller of the code at an ELF virtual address is what the frame pointer says: a walk by
    /// frame pointers through code that has none leaves callers out, or makes them up. False while
    /// nothing is known of the code.
    pub fn has_frame_pointer(&self, executable: &Executable, address: u64) -> bool {
        let Some(rule) = self.reader.rule(executable.id, address) else {
            return false;
        };
        let is_saved = rule.frame_pointer_kind() == FramePointerKind::AtCfa as u8
            && rule.frame_pointer_offset() == FRAME_POINTER_OFFSET;
        if rule.cfa_kind() == CfaKind::FramePointer as u8 {
            is_saved && rule.cfa_offset() == -FRAME_POINTER_OFFSET
        } else if rule.cfa_kind() == CfaKind::StackPointer as u8 {
            // Go's rules go by the stack pointer, but a frame that is set up has a frame pointer. In
            // C a saved frame pointer is a register like any other.
            is_saved && executable.may_be_go
        } else {
            rule.cfa_kind() == CfaKind::None as u8 || rule.cfa_kind() == CfaKind::Outermost as u8
        }
    }

    /// Passes on what was sampled.
    pub fn end_turn(&mut self) {
        if !self.sampled.is_empty() {
            let sampled = std::mem::take(&mut self.sampled);
            self.request(Request::Sampled(sampled));
        }
        if self.told_at.elapsed() >= TELL_AGAIN_AFTER {
            self.told.clear();
            self.told_at = Instant::now();
        }
    }

    /// What the tables hold and what they cost.
    pub fn account(&self) -> UnwindAccount {
        let account = *self.account.lock().unwrap_or_else(PoisonError::into_inner);
        UnwindAccount {
            requests_lost: self.lost,
            ..account
        }
    }
}

impl Drop for Unwinder {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct UnwinderState<E> {
    processes: ProcessMappings<E>,
    executables: ExecutableRows,
    /// Executables whose rows wait to be made: those that were sampled, and those that are only mapped.
    sampled: Vec<Arc<Executable>>,
    mapped: VecDeque<Arc<Executable>>,
    builders: [Builder; 2],
    /// Rows that wait for room, no more than builders are given at a time.
    made: Vec<Made>,
    account: Arc<Mutex<UnwindAccount>>,
    started: Instant,
    build_time: Duration,
    deferred: u64,
}

impl<E: ProcessEntries> UnwinderState<E> {
    fn run(mut self, inbox: &Receiver<Request>, results: &Receiver<Made>) {
        loop {
            let wait = self.give_work();
            select! {
                recv(inbox) -> request => match request {
                    Ok(request) => self.handle(request),
                    Err(_) => return,
                },
                recv(results) -> made => {
                    if let Ok(made) = made {
                        self.build_time += made.cpu_time;
                        self.made.push(made);
                        self.place();
                    }
                },
                default(wait) => self.place(),
            }
            self.tell();
        }
    }

    /// Gives builders work; how long to wait for something else to happen.
    fn give_work(&mut self) -> Duration {
        let has_work = !self.sampled.is_empty() || !self.mapped.is_empty();
        if has_work && !self.may_build() {
            self.deferred += 1;
            return Duration::from_secs(1);
        }
        for index in 0..self.builders.len() {
            while let Some(size) = self
                .builders
                .get(index)
                .filter(|builder| !builder.is_busy())
                .map(|builder| builder.size)
            {
                let Some(executable) = self.next_of(size) else {
                    break;
                };
                self.executables.making(executable.id);
                if let Some(builder) = self.builders.get_mut(index) {
                    builder.make(executable);
                }
            }
        }
        if self.made.is_empty() {
            IDLE_WAIT
        } else {
            GRACE
        }
    }

    fn may_build(&self) -> bool {
        self.build_time < BUILD_BURST + self.started.elapsed().mul_f64(BUILD_SHARE)
    }

    /// The next executable of a size whose rows are to be made: the smallest of those that were sampled.
    fn next_of(&mut self, size: Size) -> Option<Arc<Executable>> {
        self.sampled
            .retain(|executable| self.executables.wanted(executable.id).is_some());
        let smallest = (0..)
            .zip(&self.sampled)
            .filter(|(_, executable)| Size::of(executable) == size)
            .min_by_key(|(_, executable)| executable.identity.size)
            .map(|(index, _)| index);
        if let Some(index) = smallest {
            return Some(self.sampled.swap_remove(index));
        }
        self.mapped
            .retain(|executable| self.executables.is_waiting(executable.id));
        let index = self
            .mapped
            .iter()
            .position(|executable| Size::of(executable) == size)?;
        self.mapped.remove(index)
    }

    /// Puts rows that were made into the tables, as far as there is room.
    fn place(&mut self) {
        let now = Instant::now();
        let Self {
            made,
            executables,
            builders,
            ..
        } = self;
        made.retain(|made| {
            let is_done = executables.place(made.id, &made.rows, now);
            if is_done {
                for builder in builders.iter_mut() {
                    let is_its = usize::from(builder.size == made.size);
                    builder.pending = builder.pending.saturating_sub(is_its);
                }
            }
            !is_done
        });
    }

    /// Notes that the rows of an executable are wanted.
    fn want(&mut self, executable: &Arc<Executable>, is_sampled: bool) {
        let same = |other: &Arc<Executable>| other.id == executable.id;
        if is_sampled {
            if self.sampled.len() < WANTED && !self.sampled.iter().any(same) {
                self.sampled.push(Arc::clone(executable));
            }
        } else if self.mapped.len() < WANTED && !self.mapped.iter().any(same) {
            self.mapped.push_back(Arc::clone(executable));
        }
    }

    fn handle(&mut self, request: Request) {
        let now = Instant::now();
        match request {
            Request::Process(process, mappings) => self.process(process, &mappings, now),
            Request::Exit(process) => {
                let hidden = self.processes.forget(process, now);
                self.hide(&hidden);
            }
            Request::Sampled(ids) => {
                for id in ids {
                    if self.executables.sampled(id, now)
                        && let Some(executable) = self.executables.wanted(id)
                    {
                        self.want(&executable, true);
                    }
                }
            }
        }
    }

    fn process(&mut self, process: ProcessKey, mappings: &[CodeMapping], now: Instant) {
        let mut shown = Vec::with_capacity(mappings.len());
        for mapping in mappings {
            let slot = mapping.executable.as_ref().and_then(|executable| {
                let slot = self.executables.map(executable, now);
                if executable.identity.size <= EAGER_BYTES
                    && self.executables.is_waiting(executable.id)
                {
                    self.want(executable, false);
                }
                slot
            });
            shown.push(UnwindMapping {
                start: mapping.start,
                end: mapping.end,
                bias: mapping.bias,
                executable: slot.unwrap_or(NO_EXECUTABLE),
                reserved: 0,
            });
        }
        let (pid, mappings) = (process.pid, shown.len());
        tracing::trace!(pid, mappings, "The mappings of a process are in place.");
        let hidden = self.processes.publish(process, shown, now);
        self.hide(&hidden);
    }

    fn hide(&mut self, mappings: &[UnwindMapping]) {
        for mapping in mappings {
            if mapping.executable != NO_EXECUTABLE {
                self.executables.unmap(mapping.executable);
            }
        }
    }

    fn tell(&self) {
        let account = UnwindAccount {
            processes: self.processes.len() as u64,
            processes_evicted: self.processes.evicted(),
            processes_refused: self.processes.refused(),
            executables: self.executables.counters(),
            fill: self.executables.fill(),
            build_seconds: self.build_time.as_secs_f64(),
            deferred: self.deferred,
            requests_lost: 0,
        };
        *self.account.lock().unwrap_or_else(PoisonError::into_inner) = account;
    }
}
