//! The mappings of the processes that are sampled, read when they are needed.
//!
//! Only sampled processes cost anything: reading and parsing `/proc/PID/maps` takes 50 to 200 µs.

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use lru::LruCache;

use super::stack::Place;
use crate::{
    identity::{Process, ProcessKey},
    symbol::{AddressSpace, ExecutableTable, Location, ProcessCode},
    unwind::{CodeMapping, UnwindAccount, Unwinder},
};

/// Processes whose mappings are kept. One takes 50 bytes for each executable mapping.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// Processes whose run-time code is known; each costs a descriptor of its root.
const CODE_CAPACITY: NonZeroUsize = NonZeroUsize::new(512).unwrap();

/// Shortest time between two readings of one process that runs code where none was mapped: it is loading
/// libraries, one after the other. A reading takes 0.2 ms.
const RETRY_AFTER: Duration = Duration::from_millis(10);
/// The same where only a caller is in none: more often than not it was found by a wrong frame pointer.
const RETRY_FOR_CALLER_AFTER: Duration = Duration::from_millis(200);
/// Longest time between readings, reached by doubling while they bring nothing.
const RETRY_AT_MOST: Duration = Duration::from_secs(10);

/// Mappings older than this are read again: a library can be unloaded and another one loaded in its
/// place without any address being unmapped when we look.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct Known {
    /// `None` when the process was gone before it could be read.
    space: Option<AddressSpace>,
    retry_after: Duration,
    read_at: Instant,
}

/// Address spaces by process and program.
#[derive(Debug)]
pub struct AddressSpaces {
    proc_root: PathBuf,
    known: LruCache<(ProcessKey, u32), Known>,
    code: LruCache<(ProcessKey, u32), Arc<ProcessCode>>,
    next_code: u64,
    unwinder: Option<Unwinder>,
}

impl AddressSpaces {
    /// No process is known yet.
    /// `unwinder` shows the kernel programs what is read.
    pub fn new(proc_root: PathBuf, unwinder: Option<Unwinder>) -> Self {
        Self {
            proc_root,
            known: LruCache::new(CAPACITY),
            code: LruCache::new(CODE_CAPACITY),
            next_code: 0,
            unwinder,
        }
    }

    /// A process is gone. Samples of it hold its root until the window ends, and nothing longer: the
    /// file systems of a container could not be unmounted.
    pub fn exit(&mut self, process: ProcessKey) {
        let gone: Vec<_> = self
            .code
            .iter()
            .filter(|((key, _), _)| *key == process)
            .map(|(key, _)| *key)
            .collect();
        for key in gone {
            self.code.pop(&key);
        }
        if let Some(unwinder) = &mut self.unwinder {
            unwinder.exit(process);
        }
    }

    /// The records that there were are handled.
    pub fn end_turn(&mut self) {
        if let Some(unwinder) = &mut self.unwinder {
            unwinder.end_turn();
        }
    }

    /// Whether the caller of code that was found by the frame pointer is its caller.
    pub fn has_frame_pointer(&self, place: &Place, is_exact: bool) -> bool {
        match (place, &self.unwinder) {
            (Place::File(executable, address), Some(unwinder)) => {
                let address = address.wrapping_sub(u64::from(!is_exact));
                unwinder.has_frame_pointer(executable, address)
            }
            // Code made at run time, and what there is no other way for.
            _ => true,
        }
    }

    /// What the unwind tables hold and what they cost.
    pub fn unwind_account(&self) -> Option<UnwindAccount> {
        self.unwinder.as_ref().map(Unwinder::account)
    }

    /// Finds the places of user addresses of a process; reads its mappings when an address is in
    /// none of those known. An address that cannot be code is `None`.
    pub fn locate(
        &mut self,
        process: &Process,
        addresses: impl Iterator<Item = u64> + Clone,
        table: &mut ExecutableTable,
    ) -> Vec<Option<Place>> {
        let key = (process.key, process.image);
        let now = Instant::now();
        if !self.known.contains(&key) {
            let known = self.read(process.key, table, RETRY_AFTER);
            self.known.put(key, known);
        }
        let places = self.look_up(&key, addresses.clone());
        let is_leaf_unmapped = places.first().is_some_and(Option::is_none);
        let is_caller_unmapped = places.iter().skip(1).any(Option::is_none);
        let due = |known: &Known| {
            let age = now.duration_since(known.read_at);
            let retry_after = if is_leaf_unmapped || known.space.is_none() {
                known.retry_after
            } else if is_caller_unmapped {
                known.retry_after.max(RETRY_FOR_CALLER_AFTER)
            } else {
                READ_AGAIN_AFTER
            };
            age >= retry_after.min(READ_AGAIN_AFTER)
        };
        if !self.known.get(&key).is_some_and(due) {
            self.note_executables(&places);
            return places;
        }
        let retry_after = self.known.get(&key).map_or(RETRY_AFTER, |known| {
            (known.retry_after * 2).min(RETRY_AT_MOST)
        });
        let length = |known: &Known| known.space.as_ref().map(AddressSpace::len);
        let before = self.known.get(&key).and_then(length);
        let mut known = self.read(process.key, table, retry_after);
        // A program that begins maps one library after the other: there is more to come.
        if length(&known).is_some_and(|now| before != Some(now)) {
            known.retry_after = RETRY_AFTER;
        }
        // What was read while the process lived is worth more than nothing.
        if known.space.is_none()
            && let Some(before) = self.known.pop(&key)
        {
            known.space = before.space;
        }
        self.known.put(key, known);
        let places = self.look_up(&key, addresses);
        if is_leaf_unmapped
            && places.first().is_some_and(Option::is_some)
            && let Some(known) = self.known.get_mut(&key)
        {
            known.retry_after = RETRY_AFTER;
        }
        self.note_executables(&places);
        places
    }

    fn note_executables(&mut self, places: &[Option<Place>]) {
        let Some(unwinder) = &mut self.unwinder else {
            return;
        };
        for place in places.iter().flatten() {
            if let Place::File(executable, _) = place {
                unwinder.sampled(executable);
            }
        }
    }

    fn read(
        &mut self,
        process: ProcessKey,
        table: &mut ExecutableTable,
        retry_after: Duration,
    ) -> Known {
        let pid = process.pid;
        let space = match AddressSpace::read(&self.proc_root, pid, table) {
            // The id has gone to another process, whose mappings these may be.
            Ok(_) if !process.is_current(&self.proc_root) => None,
            Ok(space) => {
                self.show(process, &space);
                Some(space)
            }
            Err(error) => {
                tracing::trace!(pid, %error, "The mappings of a process could not be read.");
                None
            }
        };
        Known {
            space,
            retry_after,
            read_at: Instant::now(),
        }
    }

    /// Shows the kernel programs what code a process has mapped.
    fn show(&mut self, process: ProcessKey, space: &AddressSpace) {
        let Some(unwinder) = &mut self.unwinder else {
            return;
        };
        let code = space.code().map(|(start, end, file)| CodeMapping {
            start,
            end,
            bias: file.map_or(0, |(_, bias)| bias),
            executable: file.map(|(executable, _)| Arc::clone(executable)),
        });
        unwinder.process(process, code.collect());
    }

    fn look_up(
        &mut self,
        key: &(ProcessKey, u32),
        addresses: impl Iterator<Item = u64>,
    ) -> Vec<Option<Place>> {
        let Self {
            proc_root,
            known,
            code,
            next_code,
            ..
        } = self;
        let space = known.get(key).and_then(|known| known.space.as_ref());
        addresses
            .map(|address| {
                let Some(space) = space else {
                    return Some(Place::Unknown(address));
                };
                place(space, address, || {
                    if let Some(known) = code.get(key)
                        && !known.lacks_dump_of(space)
                    {
                        return Arc::clone(known);
                    }
                    *next_code += 1;
                    let made = ProcessCode::new(*next_code, proc_root, key.0, space);
                    let made = Arc::new(made);
                    code.put(*key, Arc::clone(&made));
                    made
                })
            })
            .collect()
    }
}

/// What is at an address; `code` is the run-time code of the process.
fn place(
    space: &AddressSpace,
    address: u64,
    code: impl FnOnce() -> Arc<ProcessCode>,
) -> Option<Place> {
    match space.locate(address) {
        Location::File {
            executable,
            address,
        } => Some(Place::File(executable.clone(), address)),
        Location::Anonymous { .. } => Some(Place::Anonymous(code(), address)),
        Location::Special { name } => Some(Place::Special(name.clone(), address)),
        Location::Unreadable { name, offset } => Some(Place::Unreadable(name.clone(), offset)),
        Location::Unmapped => None,
    }
}
