//! The thread that empties the ring buffer.
//!
//! It turns addresses into places at once, while the process still has its mappings, and asks
//! `/proc` for a process when it sees it for the first time: later it may be gone.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, bounded};
use evenkeel_abi::WALK_ENDS;
use lru::LruCache;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

mod waits;

use self::waits::WAKER_STACKS;
use super::focus::Focus;
use crate::{
    identity::{
        HostIdentity, Process, ProcessTable, ProcessTableStatistics, process_table::Renewal,
    },
    kernel::{
        Events,
        event::{self, Event, Sample},
    },
    profile::{
        AddressSpaces, Cause, NO_STACK, Place, RawFrame, SampleTable, SampleTotals, Samples,
        TRUNCATED,
    },
    signal::workload::{WorkloadDeeds, WorkloadKey},
    symbol::{ExecutableTable, ExecutableTableCounters},
    unwind::{UnwindAccount, Unwinder},
};

/// Longest time that a record waits. The kernel programs wake the thread early for a process that
/// was not seen before; the rest can wait, and is cheaper in bulk: ten wake-ups a second cost
/// 0.02 % of a CPU.
const TURN: Duration = Duration::from_millis(100);

/// Records handled before requests are looked at: a storm of records must not hold up the end of a
/// window. The smallest ring buffer holds about this many samples.
const RECORDS_A_TURN: usize = 4096;

/// How long the records of an iterator are handled before the ring buffer is looked at.
const LOOK_AHEAD_AFTER: Duration = Duration::from_millis(5);

/// Thread names kept, so that equal names are one allocation.
const THREAD_NAMES: usize = 4096;

/// What the thread works with.
#[derive(Debug)]
pub struct ReaderSettings {
    /// Root of procfs.
    pub proc_root: PathBuf,
    /// Processes to which samples are limited; empty for all.
    pub pids: HashSet<u32>,
    /// Whether samples carry the thread's name.
    pub thread_names: bool,
    /// Whether samples without stolen time are wanted.
    pub on_cpu: bool,
    /// Length of a window: a wait that has lasted longer filled one.
    pub window: Duration,
}

/// What the thread gives at the end of a window.
#[derive(Debug)]
pub struct ReaderWindow {
    /// The samples.
    pub samples: Samples,
    /// What the tasks of each owner did.
    pub deeds: WorkloadDeeds,
    /// Records that could not be parsed, since the start.
    pub malformed: u64,
    /// Frames that were cut since the start, because the address was not code: the frame pointer
    /// was not one.
    pub frames_refused: u64,
    /// Process table, since the start.
    pub processes: ProcessTableStatistics,
    /// Processes in the table.
    pub process_count: usize,
    /// Processes that found no place in the table of those in focus, since the start.
    pub focus_refused: u64,
    /// Executables, since the start.
    pub executables: ExecutableTableCounters,
    /// Unwind tables; `None` where stacks are not walked by them.
    pub unwind: Option<UnwindAccount>,
    /// How the walks of the samples ended that were wanted, by number of the `WalkEnd`, since the start.
    pub walks: [u64; WALK_ENDS as usize],
}

enum Request {
    Records(Vec<u8>),
    EndWindow(Option<Box<HostIdentity>>, Sender<ReaderWindow>),
    ExpectCommand(u32, Sender<()>),
    MarkCommandTree(u32),
}

/// The asking side of the thread.
#[derive(Debug)]
pub struct Reader {
    requests: Option<Sender<Request>>,
    wake: rustix::fd::OwnedFd,
    thread: Option<JoinHandle<()>>,
}

/// The reader could not be started or has stopped.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    /// No thread or descriptor could be had.
    #[error("cannot start the reader of samples: {0}")]
    Start(#[source] std::io::Error),
    /// The thread ended early.
    #[error("the reader of samples has stopped")]
    Stopped,
}

impl Reader {
    /// Starts the thread.
    pub(super) fn start(
        settings: ReaderSettings,
        events: Events,
        processes: ProcessTable,
        executables: ExecutableTable,
        focus: Option<Focus>,
        unwinder: Option<Unwinder>,
    ) -> Result<Self, ReaderError> {
        let (requests, inbox) = bounded(16);
        let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
        let wake =
            rustix::event::eventfd(0, flags).map_err(|errno| ReaderError::Start(errno.into()))?;
        let woken = wake.try_clone().map_err(ReaderError::Start)?;
        let state = ReaderState {
            address_spaces: AddressSpaces::new(settings.proc_root.clone(), unwinder),
            settings,
            processes,
            executables,
            table: SampleTable::default(),
            deeds: WorkloadDeeds::new(),
            focus,
            waker_stacks: LruCache::new(WAKER_STACKS),
            thread_names: HashMap::new(),
            frames: Vec::new(),
            malformed: 0,
            frames_refused: 0,
            walks: [0; WALK_ENDS as usize],
            deferred: Vec::new(),
        };
        let thread = thread::Builder::new()
            .name("reader".into())
            .spawn(move || state.run(events, &inbox, &woken))
            .map_err(ReaderError::Start)?;
        Ok(Self {
            requests: Some(requests),
            wake,
            thread: Some(thread),
        })
    }

    fn request(&self, request: Request) -> Result<(), ReaderError> {
        self.requests
            .as_ref()
            .ok_or(ReaderError::Stopped)?
            .send(request)
            .map_err(|_| ReaderError::Stopped)?;
        // The counter of the eventfd only wakes; when it is full, the thread is awake.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        Ok(())
    }

    /// Takes records that an iterator wrote, before those of the ring buffer that come later.
    pub fn records(&self, records: Vec<u8>) -> Result<(), ReaderError> {
        self.request(Request::Records(records))
    }

    /// Ends the window and gives what it holds. `host` is what has been learned of the host
    /// meanwhile: all owners have it from this window on.
    pub fn end_window(&self, host: Option<HostIdentity>) -> Result<ReaderWindow, ReaderError> {
        let (reply, answer) = bounded(1);
        self.request(Request::EndWindow(host.map(Box::new), reply))?;
        answer.recv().map_err(|_| ReaderError::Stopped)
    }

    /// The next child of a process will be the recorded command. When this returns, it can be born.
    pub fn expect_command(&self, parent: u32) -> Result<(), ReaderError> {
        let (reply, answer) = bounded(1);
        self.request(Request::ExpectCommand(parent, reply))?;
        answer.recv().map_err(|_| ReaderError::Stopped)
    }

    /// Marks a process and its descendants as the recorded command.
    pub fn mark_command_tree(&self, pid: u32) -> Result<(), ReaderError> {
        self.request(Request::MarkCommandTree(pid))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.requests = None;
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The deeds under the names that their owners have now.
fn renewed(deeds: WorkloadDeeds, renewal: &Renewal) -> WorkloadDeeds {
    let mut renewed = WorkloadDeeds::with_capacity(deeds.len());
    for (WorkloadKey(owner), deeds) in deeds {
        let owner = renewal.owner(&owner).cloned().unwrap_or(owner);
        renewed.entry(WorkloadKey(owner)).or_default().add(&deeds);
    }
    renewed
}

struct ReaderState {
    settings: ReaderSettings,
    processes: ProcessTable,
    executables: ExecutableTable,
    address_spaces: AddressSpaces,
    table: SampleTable,
    deeds: WorkloadDeeds,
    focus: Option<Focus>,
    /// What woke threads, leaf last, by thread.
    waker_stacks: LruCache<u32, Vec<RawFrame>>,
    thread_names: HashMap<Box<[u8]>, Arc<str>>,
    frames: Vec<RawFrame>,
    malformed: u64,
    frames_refused: u64,
    walks: [u64; WALK_ENDS as usize],
    /// Records that were looked at while others were handled, at most [`RECORDS_A_TURN`].
    deferred: Vec<Vec<u8>>,
}

impl ReaderState {
    fn run(mut self, mut events: Events, inbox: &Receiver<Request>, woken: &rustix::fd::OwnedFd) {
        if let Some(focus) = &mut self.focus {
            focus.scan(&self.settings.proc_root, &mut self.processes);
        }
        let turn = Timespec {
            tv_sec: 0,
            tv_nsec: i64::try_from(TURN.as_nanos()).unwrap_or(100_000_000),
        };
        loop {
            let mut sources = [
                PollFd::new(&events, PollFlags::IN),
                PollFd::new(woken, PollFlags::IN),
            ];
            // An interrupted wait is a turn like any other.
            let _ = poll(&mut sources, Some(&turn));
            for record in std::mem::take(&mut self.deferred) {
                self.record(&record);
            }
            for _ in 0..RECORDS_A_TURN {
                let Some(record) = events.next() else {
                    break;
                };
                self.record(&record);
            }
            self.address_spaces.end_turn();
            let mut counter = [0; 8];
            let _ = rustix::io::read(woken, &mut counter);
            loop {
                match inbox.try_recv() {
                    Ok(Request::EndWindow(host, reply)) => {
                        // The asking side may have given up; the window is over all the same.
                        let _ = reply.send(self.end_window(host.as_deref()));
                    }
                    Ok(Request::Records(records)) => self.records(&records, &mut events),
                    Ok(Request::ExpectCommand(parent, reply)) => {
                        self.processes.expect_command(parent);
                        let _ = reply.send(());
                    }
                    Ok(Request::MarkCommandTree(pid)) => self.processes.mark_command_tree(pid),
                    Err(crossbeam_channel::TryRecvError::Empty) => break,
                    Err(crossbeam_channel::TryRecvError::Disconnected) => return,
                }
            }
        }
    }

    fn end_window(&mut self, host: Option<&HostIdentity>) -> ReaderWindow {
        let mut samples = self.table.take();
        let mut deeds = std::mem::take(&mut self.deeds);
        let renewal = self.processes.end_window();
        if let Some(focus) = &mut self.focus {
            renewal.changed().for_each(|process| focus.assign(process));
        }
        if !renewal.is_empty() {
            for (key, _) in &mut samples.samples {
                renewal.process(&mut key.process);
            }
            deeds = renewed(deeds, &renewal);
        }
        if let Some(host) = host {
            self.processes.set_host(host);
            self.give_new_owners(&mut samples);
            deeds = self.with_new_owners(deeds);
        }
        ReaderWindow {
            samples,
            deeds,
            malformed: self.malformed,
            frames_refused: self.frames_refused,
            processes: self.processes.statistics(),
            process_count: self.processes.len(),
            focus_refused: self.focus.as_ref().map_or(0, Focus::refused),
            executables: self.executables.counters(),
            unwind: self.address_spaces.unwind_account(),
            walks: self.walks,
        }
    }

    /// The samples on what is known of the host now.
    fn give_new_owners(&mut self, samples: &mut Samples) {
        // By address of the old one, which lives here so that no other takes its place.
        let mut known: HashMap<*const Process, (Arc<Process>, Arc<Process>)> = HashMap::new();
        for (key, _) in &mut samples.samples {
            let (_, new) = known.entry(Arc::as_ptr(&key.process)).or_insert_with(|| {
                let mut new = Process::clone(&key.process);
                new.owner = self.processes.renewed_owner(&new.owner);
                (Arc::clone(&key.process), Arc::new(new))
            });
            key.process = Arc::clone(new);
        }
    }

    /// The deeds on what is known of the host now.
    fn with_new_owners(&mut self, deeds: WorkloadDeeds) -> WorkloadDeeds {
        deeds
            .into_iter()
            .map(|(WorkloadKey(owner), deeds)| {
                (WorkloadKey(self.processes.renewed_owner(&owner)), deeds)
            })
            .collect()
    }

    fn handle(&mut self, event: &Event<'_>) {
        match event {
            Event::Sample(sample) => self.sample(sample),
            Event::Stolen(sample) => self.stolen(sample),
            Event::Fork { parent, child } => self.processes.fork(*parent, *child),
            Event::Exec {
                process,
                comm,
                filename,
            } => {
                self.processes.exec(*process, filename, comm);
                if let Some(focus) = &mut self.focus {
                    focus.assign(&self.processes.observe(*process, comm));
                }
            }
            Event::Exit { process } => {
                self.processes.exit(*process);
                self.address_spaces.exit(*process);
                if let Some(focus) = &mut self.focus {
                    focus.forget(process.pid);
                }
            }
            Event::Wait(wait) => self.wait(wait),
            Event::Account(account) => self.account(account),
            Event::Waker(waker, woken_tid) => self.waker(waker, *woken_tid),
        }
    }

    fn record(&mut self, record: &[u8]) {
        match event::parse(record) {
            Some(event) => self.handle(&event),
            None => self.malformed += 1,
        }
    }

    /// Handles what an iterator wrote. Whoever waited all the time may be seen for the first time here, so that
    /// what it has mapped is read: for a hundred processes that takes 0.15 s, in which those that begin to run
    /// must not wait.
    fn records(&mut self, mut records: &[u8], events: &mut Events) {
        let mut looked = Instant::now();
        while let Some((record, rest)) = event::split_first(records) {
            self.record(record);
            records = rest;
            if looked.elapsed() >= LOOK_AHEAD_AFTER {
                self.look_ahead(events);
                looked = Instant::now();
            }
        }
        self.malformed += u64::from(!records.is_empty());
    }

    /// Reads what processes have mapped that were sampled meanwhile. Their samples are of the next window: they
    /// are handled after the end of this one.
    fn look_ahead(&mut self, events: &mut Events) {
        while self.deferred.len() < RECORDS_A_TURN {
            let Some(record) = events.next() else {
                break;
            };
            if let Some(Event::Sample(sample)) = event::parse(&record)
                && self.wanted(&sample)
            {
                let process = self.processes.observe(sample.process, sample.comm);
                let addresses: Vec<u64> =
                    sample.user_frames().map(|(address, _)| address).collect();
                self.address_spaces
                    .locate(&process, addresses.into_iter(), &mut self.executables);
            }
            self.deferred.push(record.to_vec());
        }
        self.address_spaces.end_turn();
    }

    fn wanted(&self, sample: &Sample<'_>) -> bool {
        self.settings.pids.is_empty() || self.settings.pids.contains(&sample.process.pid)
    }

    fn sample(&mut self, sample: &Sample<'_>) {
        if !self.wanted(sample) || !self.settings.on_cpu && sample.stolen_nanos == 0 {
            return;
        }
        let process = self.processes.observe(sample.process, sample.comm);
        self.collect_frames(sample, &process);
        let thread = self.thread_name(sample.comm);
        self.add_stolen(&process, sample.stolen_nanos);
        self.table.add(
            &process,
            thread,
            Cause::Running,
            &self.frames,
            SampleTotals {
                ticks: 1,
                stolen_nanos: sample.stolen_nanos,
                ..SampleTotals::default()
            },
        );
    }

    fn add_stolen(&mut self, process: &Process, stolen_nanos: u64) {
        if stolen_nanos > 0 {
            self.deeds
                .entry(WorkloadKey(process.owner.clone()))
                .or_default()
                .stolen_nanos += stolen_nanos;
        }
    }

    /// Fills `frames` with the places of a stack.
    fn collect_frames(&mut self, sample: &Sample<'_>, process: &Process) {
        if let Some(count) = self.walks.get_mut(sample.walk_end as usize) {
            *count += 1;
        }
        self.frames.clear();
        self.frames.extend(
            sample
                .kernel_frames()
                .enumerate()
                .map(|(index, address)| RawFrame {
                    place: Place::Kernel(address),
                    exact: index == 0,
                }),
        );
        let cut = self.user_frames(sample, process);
        if sample.truncated || cut {
            self.frames.push(RawFrame::marker(TRUNCATED));
        }
    }

    /// Adds the user frames of a sample; true when outer ones were left out. Walking code without frame pointers by them leaves callers out or ends at words that are
    /// no return addresses: what is not known to be the caller is left out.
    fn user_frames(&mut self, sample: &Sample<'_>, process: &Process) -> bool {
        let frames: Vec<_> = sample.user_frames().collect();
        let addresses: Vec<_> = frames.iter().map(|(address, _)| *address).collect();
        if addresses.is_empty() {
            return false;
        }
        let places =
            self.address_spaces
                .locate(process, addresses.iter().copied(), &mut self.executables);
        for (index, (place, (address, exact))) in places.into_iter().zip(frames).enumerate() {
            match place {
                Some(place) => {
                    let has_caller = index + 1 == addresses.len()
                        || !sample.is_unverified
                        || self.address_spaces.has_frame_pointer(&place, exact);
                    self.frames.push(RawFrame { place, exact });
                    if !has_caller {
                        return true;
                    }
                }
                // The CPU was there, so there is code: mapped since, or unmapped already.
                None if index == 0 => self.frames.push(RawFrame {
                    place: Place::Unknown(address),
                    exact,
                }),
                None => {
                    self.frames_refused += (addresses.len() - index) as u64;
                    return true;
                }
            }
        }
        false
    }

    fn stolen(&mut self, sample: &Sample<'_>) {
        if !self.wanted(sample) {
            return;
        }
        let process = self.processes.observe(sample.process, sample.comm);
        let thread = self.thread_name(sample.comm);
        self.add_stolen(&process, sample.stolen_nanos);
        self.table.add(
            &process,
            thread,
            Cause::Running,
            &[RawFrame::marker(NO_STACK)],
            SampleTotals {
                stolen_nanos: sample.stolen_nanos,
                ..SampleTotals::default()
            },
        );
    }

    fn thread_name(&mut self, comm: &[u8]) -> Option<Arc<str>> {
        if !self.settings.thread_names {
            return None;
        }
        if let Some(name) = self.thread_names.get(comm) {
            return Some(name.clone());
        }
        if self.thread_names.len() >= THREAD_NAMES {
            self.thread_names.clear();
        }
        let name: Arc<str> = crate::identity::text::printable(comm, 64).into();
        self.thread_names.insert(comm.into(), name.clone());
        Some(name)
    }
}
