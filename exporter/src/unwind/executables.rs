//! Which executables have rows, which want them, and which make room.

use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use evenkeel_abi::UNWIND_EXECUTABLES;

use super::{
    Rows, RowsError,
    space::GRACE,
    table_reader::{Slots, TableReader},
    tables::{PlaceError, Placed, TableFill, Tables},
};
use crate::symbol::Executable;

/// An executable that was sampled in this time does not make room: two that want the same room would
/// take it from each other forever.
const IDLE: Duration = Duration::from_secs(3);

/// Part of the rows wanted that an executable must have to make room.
const LEAST_HELP: u64 = 8;

/// How long an executable that found no room is not tried again.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// What became of an executable.
#[derive(Debug)]
enum State {
    /// No rows were asked for, or they made room.
    Waiting,
    /// They are being made, or wait for room.
    Making,
    /// Its rows are in the tables.
    Placed(Placed),
    /// It has none: no call frame information, or what cannot be read. Tried once.
    WithoutRows,
    /// There was no room at this time.
    NoRoom(Instant),
}

#[derive(Debug)]
struct Entry {
    executable: Arc<Executable>,
    slot: u32,
    /// Published mappings of it.
    mappings: u32,
    used_at: Instant,
    state: State,
}

/// What was done so far, and what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutableRowsCounters {
    /// Executables that have rows.
    pub placed: u64,
    /// Executables known that have none, for whatever reason.
    pub without: u64,
    /// Executables whose rows were made, since the start.
    pub built: u64,
    /// Executables without usable call frame information, since the start.
    pub unusable: u64,
    /// Executables whose rows made room for others, since the start.
    pub evicted: u64,
    /// Times that there was no room, since the start.
    pub no_room: u64,
    /// Mappings of executables that found no slot, since the start.
    pub no_slot: u64,
}

/// Executables by id.
#[derive(Debug)]
pub(super) struct ExecutableRows {
    tables: Tables,
    entries: HashMap<u32, Entry>,
    slots: Slots,
    by_slot: HashMap<u32, u32>,
    next_slot: u32,
    /// Slots that nobody has any more, with the time.
    free_slots: Vec<(Instant, u32)>,
    counters: ExecutableRowsCounters,
}

impl ExecutableRows {
    /// None is known.
    pub(super) fn new(tables: Tables) -> Self {
        Self {
            tables,
            entries: HashMap::new(),
            slots: Slots::default(),
            by_slot: HashMap::new(),
            next_slot: 0,
            free_slots: Vec::new(),
            counters: ExecutableRowsCounters::default(),
        }
    }

    /// Finds rules from another thread.
    pub(super) fn reader(&self) -> TableReader {
        TableReader::new(self.tables.arrays(), Arc::clone(&self.slots))
    }

    /// What was done so far, and what there is.
    pub(super) fn counters(&self) -> ExecutableRowsCounters {
        ExecutableRowsCounters {
            without: (self.entries.len() as u64).saturating_sub(self.counters.placed),
            ..self.counters
        }
    }

    /// How full the tables are.
    pub(super) fn fill(&self) -> TableFill {
        self.tables.fill()
    }

    /// The slot of an executable for one more published mapping; `None` when all slots are taken.
    pub(super) fn map(&mut self, executable: &Arc<Executable>, now: Instant) -> Option<u32> {
        if let Some(entry) = self.entries.get_mut(&executable.id) {
            entry.mappings += 1;
            return Some(entry.slot);
        }
        let Some(slot) = self.free_slot(now) else {
            self.counters.no_slot += 1;
            return None;
        };
        self.by_slot.insert(slot, executable.id);
        self.slots
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(executable.id, slot);
        self.entries.insert(
            executable.id,
            Entry {
                executable: Arc::clone(executable),
                slot,
                mappings: 1,
                used_at: now,
                state: State::Waiting,
            },
        );
        Some(slot)
    }

    fn free_slot(&mut self, now: Instant) -> Option<u32> {
        if (self.next_slot as usize) < UNWIND_EXECUTABLES {
            self.next_slot += 1;
            return Some(self.next_slot - 1);
        }
        let is_free = |(since, _): &(Instant, u32)| now.duration_since(*since) >= GRACE;
        if let Some(index) = self.free_slots.iter().position(is_free) {
            return Some(self.free_slots.swap_remove(index).1);
        }
        // One that no process has mapped any more, whose rows were kept in case it comes back.
        let (id, _) = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.mappings == 0)
            .min_by_key(|(_, entry)| entry.used_at)?;
        let id = *id;
        let entry = self.entries.remove(&id)?;
        self.slots
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id);
        if let State::Placed(placed) = &entry.state {
            self.withdraw(placed, now);
        }
        self.tables.hide(entry.slot);
        self.by_slot.remove(&entry.slot);
        // Its mappings were hidden long ago or just now: the next one may have it after a while.
        self.free_slots.push((now, entry.slot));
        None
    }

    /// One published mapping less of the executable in a slot.
    pub(super) fn unmap(&mut self, slot: u32) {
        if let Some(entry) = self
            .by_slot
            .get(&slot)
            .and_then(|id| self.entries.get_mut(id))
        {
            entry.mappings = entry.mappings.saturating_sub(1);
        }
    }

    /// Notes that an executable was sampled; whether its rows are wanted.
    pub(super) fn sampled(&mut self, id: u32, now: Instant) -> bool {
        let Some(entry) = self.entries.get_mut(&id) else {
            return false;
        };
        entry.used_at = now;
        match entry.state {
            State::Waiting => true,
            State::NoRoom(since) => now.duration_since(since) >= RETRY_AFTER,
            State::Making | State::Placed(_) | State::WithoutRows => false,
        }
    }

    /// Whether nobody has tried to make the rows of an executable.
    pub(super) fn is_waiting(&self, id: u32) -> bool {
        let entry = self.entries.get(&id);
        entry.is_some_and(|entry| matches!(entry.state, State::Waiting))
    }

    /// The executable of an id, while its rows are wanted.
    pub(super) fn wanted(&self, id: u32) -> Option<Arc<Executable>> {
        let entry = self.entries.get(&id)?;
        let is_wanted = matches!(entry.state, State::Waiting | State::NoRoom(_));
        is_wanted.then(|| Arc::clone(&entry.executable))
    }

    /// Notes that somebody makes the rows of an executable.
    pub(super) fn making(&mut self, id: u32) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.state = State::Making;
        }
    }

    /// Puts rows that were made into the tables. `false` when room had to be made that is free only after
    /// [`GRACE`]: to be called again.
    pub(super) fn place(&mut self, id: u32, rows: &Result<Rows, RowsError>, now: Instant) -> bool {
        let Some(entry) = self.entries.get_mut(&id) else {
            return true;
        };
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => {
                let name = &entry.executable.name;
                tracing::debug!(%name, %error, "An executable has no unwind tables.");
                entry.state = State::WithoutRows;
                self.tables.publish_none(entry.slot);
                self.counters.unusable += 1;
                return true;
            }
        };
        let error = match self.tables.publish(entry.slot, rows, now) {
            Ok(placed) => {
                let (name, rows) = (&entry.executable.name, rows.rows.len());
                tracing::trace!(%name, rows, "Unwind tables of an executable are in place.");
                entry.state = State::Placed(placed);
                self.counters.built += 1;
                self.counters.placed += 1;
                return true;
            }
            Err(error) => error,
        };
        let wanted = rows.rows.len() as u64;
        let could_fit = wanted <= self.tables.fill().row_limit;
        if could_fit && (self.tables.has_retired(now) || self.make_room(wanted, error, now)) {
            return false;
        }
        if let Some(entry) = self.entries.get_mut(&id) {
            tracing::debug!(name = %entry.executable.name, %error, "An executable has no unwind tables.");
            entry.state = State::NoRoom(now);
            self.counters.no_room += 1;
        }
        true
    }

    /// Takes the rows of one executable away: of one that no process has mapped any more, or else of the one
    /// that was not sampled for the longest time, if that was long ago. Only rows that help are taken: a
    /// large file gains nothing from the rows of small ones, which come back at once.
    fn make_room(&mut self, wanted: u64, error: PlaceError, now: Instant) -> bool {
        if error == PlaceError::Rules {
            return false;
        }
        let rows = |entry: &Entry| match &entry.state {
            State::Placed(placed) => placed.rows(),
            _ => 0,
        };
        let may_go = |entry: &Entry| {
            rows(entry) >= (wanted / LEAST_HELP).max(1)
                && (entry.mappings == 0 || now.duration_since(entry.used_at) >= IDLE)
        };
        let fill = self.tables.fill();
        let gained: u64 = self
            .entries
            .values()
            .filter(|entry| may_go(entry))
            .map(rows)
            .sum();
        if fill.row_limit - fill.rows + gained < wanted {
            return false;
        }
        let Some(entry) = self
            .entries
            .values_mut()
            .filter(|entry| may_go(entry))
            .min_by_key(|entry| (entry.mappings > 0, entry.used_at))
        else {
            return false;
        };
        if let State::Placed(placed) = std::mem::replace(&mut entry.state, State::Waiting) {
            self.withdraw(&placed, now);
        }
        true
    }

    fn withdraw(&mut self, placed: &Placed, now: Instant) {
        self.tables.withdraw(placed, now);
        self.counters.evicted += 1;
        self.counters.placed -= 1;
    }
}
