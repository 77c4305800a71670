//! Names of run-time code for the symbolizer, by process.

use std::{io, sync::Arc};

use evenkeel_otlp::model::{Frame, FrameType, Function, Line};
use lru::LruCache;

use super::{
    code_table::{Code, CodeTable},
    dump::Dump,
    name::folded,
    perf_map::PerfMap,
    process_code::{PerfMapError, ProcessCode},
};
use crate::symbol::{function_table::FunctionTable, symbolizer::Address};

/// Processes whose functions are held.
const MAX_PROCESSES: usize = 512;

/// Bytes of functions held. A Node.js program with 50,000 functions takes 8 MB.
const MAX_BYTES: u64 = 48 << 20;

/// The frame of code that has no name.
pub(crate) const UNNAMED: &str = "[jit]";

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JitCounters {
    /// Maps that were not read: of another user, older than their process.
    pub(crate) refused: u64,
    /// Lines and records that could not be understood, and functions that found no room.
    pub(crate) dropped: u64,
    /// Processes whose functions made room for others.
    pub(crate) let_go: u64,
}

#[derive(Debug, Default)]
struct Followed {
    map: PerfMap,
    of_map: CodeTable,
    dump: Dump,
    of_dump: CodeTable,
    /// The map was refused once: it is counted once.
    refused: bool,
}

/// The functions of the processes that make code at run time.
#[derive(Debug)]
pub(crate) struct JitNames {
    processes: LruCache<u64, Followed>,
    bytes: u64,
    lines: bool,
    counters: JitCounters,
}

impl JitNames {
    /// `lines` is whether frames have lines, where there is a jitdump that has them.
    pub(crate) fn new(lines: bool) -> Self {
        Self {
            processes: LruCache::unbounded(),
            bytes: 0,
            lines,
            counters: JitCounters::default(),
        }
    }

    /// What happened so far.
    pub(crate) fn counters(&self) -> JitCounters {
        self.counters
    }

    /// Bytes of functions held.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The frames of addresses of a process, by the maps as they are now. What has no name has
    /// that of code without one.
    pub(crate) fn find(
        &mut self,
        code: &ProcessCode,
        addresses: &[Address],
        functions: &mut FunctionTable,
    ) -> Vec<Arc<Frame>> {
        let lines = self.lines;
        self.processes.get_or_insert_mut(code.id, Followed::default);
        let mut frames = Vec::with_capacity(addresses.len());
        if let Some(followed) = self.processes.get_mut(&code.id) {
            let before = (followed.bytes(), followed.lost());
            self.counters.refused += u64::from(followed.follow(code, lines));
            self.counters.dropped += followed.lost().saturating_sub(before.1);
            self.bytes = (self.bytes + followed.bytes()).saturating_sub(before.0);
            frames.extend(addresses.iter().map(|address| {
                let found = followed.find(address.lookup());
                Arc::new(frame(found, *address, code, functions))
            }));
        }
        self.make_room();
        frames
    }

    fn make_room(&mut self) {
        while self.processes.len() > MAX_PROCESSES
            || (self.bytes > MAX_BYTES && self.processes.len() > 1)
        {
            let Some((_, oldest)) = self.processes.pop_lru() else {
                break;
            };
            self.bytes = self.bytes.saturating_sub(oldest.bytes());
            self.counters.let_go += 1;
        }
    }
}

impl Followed {
    /// Reads on, and says whether a map was refused for the first time.
    fn follow(&mut self, code: &ProcessCode, lines: bool) -> bool {
        if let Some(dump) = &code.dump {
            let read = self.dump.follow(dump, &mut self.of_dump, lines);
            log(code, read);
        }
        match code.perf_map() {
            Ok(file) => {
                let read = self.map.follow(&file, &mut self.of_map);
                log(code, read);
                false
            }
            Err(error @ (PerfMapError::Foreign | PerfMapError::Stale)) => {
                tracing::debug!(code = code.id, %error, "A perf map is not read.");
                // What was read of another file before is of no use either.
                self.of_map.forget_all();
                !std::mem::replace(&mut self.refused, true)
            }
            Err(PerfMapError::Missing | PerfMapError::Io(_)) => false,
        }
    }

    /// The function at an address. A dump has lines, but V8 writes it in blocks and its map line by
    /// line: where the two differ, the map knows better.
    fn find(&self, address: u64) -> Option<&Code> {
        let in_dump = self.of_dump.find(address);
        match self.of_map.find(address) {
            Some(in_map) => in_dump
                .filter(|code| code.name == in_map.name)
                .or(Some(in_map)),
            None => in_dump,
        }
    }

    fn bytes(&self) -> u64 {
        self.of_map.bytes() + self.of_dump.bytes()
    }

    fn lost(&self) -> u64 {
        self.map.counters().malformed
            + self.map.counters().cut
            + self.of_map.dropped()
            + self.of_dump.dropped()
            + u64::from(self.dump.is_broken())
    }
}

fn log(code: &ProcessCode, read: io::Result<()>) {
    if let Err(error) = read {
        tracing::debug!(code = code.id, %error, "A map of run-time code is unreadable.");
    }
}

fn frame(
    found: Option<&Code>,
    address: Address,
    code: &ProcessCode,
    functions: &mut FunctionTable,
) -> Frame {
    let named = found.and_then(|found| {
        let (name, frame_type) = folded(&found.name, code.runtime);
        let after = found
            .lines
            .partition_point(|line| line.address <= address.lookup());
        let source = after
            .checked_sub(1)
            .and_then(|index| found.lines.get(index));
        let file = source.map_or("", |source| &source.file);
        let line = Line {
            function: functions.verbatim(name, file, frame_type)?,
            line: source.map_or(0, |source| source.line),
            column: 0,
        };
        Some((line, frame_type))
    });
    match named {
        Some((line, frame_type)) => with_line(address, line, Some(frame_type)),
        None => unnamed(address),
    }
}

/// The frame of code that has no name.
pub(crate) fn unnamed(address: Address) -> Frame {
    let function = Arc::new(Function {
        name: UNNAMED.into(),
        ..Function::default()
    });
    let line = Line {
        function,
        line: 0,
        column: 0,
    };
    with_line(address, line, None)
}

fn with_line(address: Address, line: Line, frame_type: Option<FrameType>) -> Frame {
    Frame {
        mapping: None,
        address: address.value,
        lines: vec![line],
        frame_type,
    }
}
