//! Names of Go functions for the symbolizer, by executable.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use evenkeel_otlp::model::{FrameType, Line};
use lru::LruCache;

use super::{GoTable, GoTableError, table::GoCall};
use crate::symbol::{elf_names::FoundLines, executable::Executable, function_table::FunctionTable};

/// Files whose tables are held, the ones without any included.
const MAX_FILES: usize = 256;

/// Bytes of tables held: eight for each function. A kubelet takes 0.7 MB.
const MAX_BYTES: u64 = 32 << 20;

/// The tables of the files of one thread.
#[derive(Debug)]
pub(crate) struct GoNames {
    /// `None` for a file whose tables cannot be read.
    tables: LruCache<u32, Option<Arc<GoTable>>>,
    bytes: u64,
    lines: bool,
    read: u64,
    broken: u64,
}

impl GoNames {
    /// `lines` is whether frames have files and lines; inlined calls they always have.
    pub(crate) fn new(lines: bool) -> Self {
        Self {
            tables: LruCache::unbounded(),
            bytes: 0,
            lines,
            read: 0,
            broken: 0,
        }
    }

    /// Files whose tables were read.
    pub(crate) fn read(&self) -> u64 {
        self.read
    }

    /// Bytes of the tables held.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Files whose tables turned out to be unreadable or broken.
    pub(crate) fn broken(&self) -> u64 {
        self.broken
    }

    /// Names of ELF virtual addresses, in their order. Without lines where Go's tables know
    /// nothing: in the C code of a Go program, and everywhere in other programs.
    pub(crate) fn find(
        &mut self,
        executable: &Executable,
        addresses: &[u64],
        functions: &mut FunctionTable,
    ) -> Vec<FoundLines> {
        let nothing = || vec![FoundLines::default(); addresses.len()];
        let Some(table) = self.table(executable) else {
            return nothing();
        };
        // Broken tables are errors; this is for what was overlooked.
        let found = catch_unwind(AssertUnwindSafe(|| {
            addresses
                .iter()
                .map(|address| table.find(*address, self.lines))
                .collect::<Result<Vec<_>, _>>()
        }));
        let found = found.unwrap_or(Err(GoTableError::Broken("tables")));
        match found {
            Ok(found) => found
                .into_iter()
                .map(|calls| found_lines(&calls, functions))
                .collect(),
            Err(error) => {
                self.refuse(executable, &error);
                nothing()
            }
        }
    }

    /// Lets go of the tables of a file.
    pub(crate) fn forget(&mut self, id: u32) {
        if let Some(Some(table)) = self.tables.pop(&id) {
            self.bytes = self.bytes.saturating_sub(table.memory());
        }
    }

    fn table(&mut self, executable: &Executable) -> Option<Arc<GoTable>> {
        if !executable.may_be_go {
            return None;
        }
        let file = executable.file()?;
        if !executable.is_unchanged(&file) {
            self.forget(executable.id);
            return None;
        }
        if let Some(known) = self.tables.get(&executable.id) {
            return known.clone();
        }
        let opened = catch_unwind(AssertUnwindSafe(|| GoTable::open(file)));
        match opened.unwrap_or(Err(GoTableError::Broken("tables"))) {
            Ok(table) => {
                let table = Arc::new(table);
                self.read += 1;
                self.bytes = self.bytes.saturating_add(table.memory());
                self.keep(executable.id, Some(Arc::clone(&table)));
                Some(table)
            }
            // A C library that a Go program is linked with has a mark of Go's and no tables.
            Err(error @ (GoTableError::Missing(_) | GoTableError::Unsupported(_))) => {
                tracing::debug!(path = %executable.path.display(), %error, "No tables of Go's.");
                self.keep(executable.id, None);
                None
            }
            Err(error) => {
                self.refuse(executable, &error);
                None
            }
        }
    }

    fn refuse(&mut self, executable: &Executable, error: &GoTableError) {
        tracing::debug!(
            path = %executable.path.display(),
            %error,
            "The function tables of a Go program are unreadable."
        );
        self.broken += 1;
        self.forget(executable.id);
        self.keep(executable.id, None);
    }

    fn keep(&mut self, id: u32, table: Option<Arc<GoTable>>) {
        self.tables.put(id, table);
        while self.tables.len() > MAX_FILES || (self.bytes > MAX_BYTES && self.tables.len() > 1) {
            let Some((oldest, _)) = self.tables.peek_lru() else {
                break;
            };
            let oldest = *oldest;
            self.forget(oldest);
        }
    }
}

fn found_lines(calls: &[GoCall], functions: &mut FunctionTable) -> FoundLines {
    let lines: Vec<Line> = calls
        .iter()
        .filter_map(|call| {
            let function = functions.verbatim(&call.name, &call.file, FrameType::Go)?;
            Some(Line {
                function,
                line: call.line,
                column: 0,
            })
        })
        .collect();
    FoundLines {
        frame_type: (!lines.is_empty()).then_some(FrameType::Go),
        lines,
    }
}
