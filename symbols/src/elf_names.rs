//! Names out of ELF and DWARF, by blazesym.
//!
//! blazesym maps whole files, keeps what it parsed for ever, and its parsers see files that
//! processes made. So: files are let go in order of use within a budget, a file that was written
//! over is not read, and a panic in a parser costs the names of that one file.

use std::{
    ffi::OsStr,
    fs::{self, File},
    num::NonZeroUsize,
    os::{fd::AsRawFd as _, unix::ffi::OsStrExt as _},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use blazesym::symbolize::{
    CodeInfo, Input, Sym, Symbolized, Symbolizer,
    evict::{Elf as EvictElf, Evict},
    source::{Elf, Source},
};
use evenkeel_otlp::model::{FrameType, Line};
use lru::LruCache;

use super::{executable::Executable, function_table::FunctionTable};

/// Farthest from its start that a symbol without a size is believed, in bytes. Such symbols are
/// hand-written assembly (`_start`, `memcpy`) and marks of the linker (`_etext`); blazesym extends
/// them to the next symbol, however far that is.
const MAX_SIZELESS_BYTES: usize = 4096;

/// Steps back over symbols without a size to one that covers the address: labels inside of
/// functions, and on arm64 the marks `$x` and `$d` where code and data alternate.
const MAX_STEPS_BACK: usize = 8;

/// Files remembered that made a parser panic.
const MAX_REFUSED: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// What names were found for an address.
#[derive(Clone, Debug, Default)]
pub struct FoundLines {
    /// Innermost inlined function first; empty without a name.
    pub lines: Vec<Line>,
    /// What the physical function is written in.
    pub frame_type: Option<FrameType>,
}

/// How much may be read.
#[derive(Clone, Copy, Debug)]
pub struct ElfLimits {
    /// Whether to read DWARF.
    pub lines: bool,
    /// Files parsed at a time.
    pub files: usize,
    /// Bytes of tables of the files parsed.
    pub bytes: u64,
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct ElfCounters {
    /// Files parsed.
    pub parsed: u64,
    /// Parsed files let go.
    pub let_go: u64,
    /// Look-ups refused because the file had been written over.
    pub changed: u64,
    /// Look-ups refused because the tables are too large or broke their reader.
    pub refused: u64,
}

#[derive(Debug)]
struct Parsed {
    /// Held so that the number in `path` stays this file's.
    _file: Arc<File>,
    path: PathBuf,
    bytes: u64,
    debug: bool,
}

/// The parsed files of one thread.
#[derive(Debug)]
pub struct ElfNames {
    symbolizer: Symbolizer,
    parsed: LruCache<u32, Parsed>,
    refused: LruCache<u32, ()>,
    bytes: u64,
    limits: ElfLimits,
    counters: ElfCounters,
}

impl ElfNames {
    /// Nothing parsed yet.
    pub fn new(limits: ElfLimits) -> Self {
        Self {
            symbolizer: symbolizer(limits.lines),
            parsed: LruCache::unbounded(),
            refused: LruCache::sparse(MAX_REFUSED),
            bytes: 0,
            limits,
            counters: ElfCounters::default(),
        }
    }

    /// What happened so far.
    pub fn counters(&self) -> ElfCounters {
        self.counters
    }

    /// Bytes of tables of the files that are parsed now.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Files parsed now.
    pub fn files(&self) -> usize {
        self.parsed.len()
    }

    /// Names of ELF virtual addresses, in their order.
    pub fn find(
        &mut self,
        executable: &Executable,
        addresses: &[u64],
        functions: &mut FunctionTable,
    ) -> Vec<FoundLines> {
        let nothing = || vec![FoundLines::default(); addresses.len()];
        let Some((path, debug)) = self.prepare(executable) else {
            return nothing();
        };
        let may_be_go = executable.build_ids.go.is_some();
        let search = Search {
            symbolizer: &self.symbolizer,
            plain: source(path.clone(), false),
            full: debug.then(|| source(path, true)),
        };
        // The parsers meet files that someone may have made to break them.
        let found = catch_unwind(AssertUnwindSafe(|| {
            search.find(addresses, |sym| lines(sym, functions, may_be_go))
        }));
        match found {
            Ok(found) => found,
            Err(_) => {
                tracing::warn!(
                    path = %executable.path.display(),
                    "The symbol tables of a file broke their reader; it is left alone from now on."
                );
                self.counters.refused += 1;
                self.refused.put(executable.id, ());
                self.start_over();
                nothing()
            }
        }
    }

    /// Forgets a file, so that its memory and its descriptor are free.
    pub fn forget(&mut self, id: u32) {
        if let Some(parsed) = self.parsed.pop(&id) {
            self.let_go(parsed);
        }
    }

    /// The path under which blazesym reads the held file, and whether to read its DWARF.
    fn prepare(&mut self, executable: &Executable) -> Option<(PathBuf, bool)> {
        if !executable.readable || self.refused.contains(&executable.id) {
            return None;
        }
        let file = executable.file()?;
        if !executable.is_unchanged(&file) {
            self.counters.changed += 1;
            self.forget(executable.id);
            return None;
        }
        if let Some(parsed) = self.parsed.get(&executable.id) {
            return Some((parsed.path.clone(), parsed.debug));
        }
        let with_debug = executable
            .symbol_bytes
            .saturating_add(executable.debug_bytes);
        let linked = match &executable.debug_link {
            Some(link) => linked_bytes(&file, link),
            None => Some(0),
        };
        let with_debug = with_debug.saturating_add(linked.unwrap_or(0));
        let debug = self.limits.lines
            && executable.has_safe_debug_links
            && linked.is_some()
            && with_debug <= self.limits.bytes;
        let bytes = if debug {
            with_debug
        } else {
            executable.symbol_bytes
        };
        if bytes > self.limits.bytes {
            self.counters.refused += 1;
            return None;
        }
        while self.bytes.saturating_add(bytes) > self.limits.bytes
            || self.parsed.len() >= self.limits.files
        {
            let (_, oldest) = self.parsed.pop_lru()?;
            self.let_go(oldest);
        }
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        self.parsed.put(
            executable.id,
            Parsed {
                _file: file,
                path: path.clone(),
                bytes,
                debug,
            },
        );
        self.bytes += bytes;
        self.counters.parsed += 1;
        Some((path, debug))
    }

    fn let_go(&mut self, parsed: Parsed) {
        self.bytes -= parsed.bytes;
        self.counters.let_go += 1;
        if let Err(error) = self
            .symbolizer
            .evict(&Evict::Elf(EvictElf::new(&parsed.path)))
        {
            tracing::debug!(%error, "A parsed file could not be let go.");
        }
    }

    fn start_over(&mut self) {
        self.symbolizer = symbolizer(self.limits.lines);
        self.parsed.clear();
        self.bytes = 0;
    }
}

fn symbolizer(lines: bool) -> Symbolizer {
    Symbolizer::builder()
        // A path stands for one held file until it is evicted: no need to look each time.
        .enable_auto_reload(false)
        .enable_code_info(lines)
        .enable_inlined_fns(lines)
        // Ours, bounded: see `demangle`.
        .enable_demangling(false)
        .build()
}

fn source(path: PathBuf, debug_syms: bool) -> Source<'static> {
    Source::Elf(Elf {
        debug_syms,
        ..Elf::new(path)
    })
}

/// One look-up in one file.
struct Search<'a> {
    symbolizer: &'a Symbolizer,
    plain: Source<'static>,
    full: Option<Source<'static>>,
}

impl<'a> Search<'a> {
    fn find(
        &self,
        addresses: &[u64],
        mut lines: impl FnMut(&Sym<'_>) -> FoundLines,
    ) -> Vec<FoundLines> {
        let batch = self.full.as_ref().and_then(|full| {
            self.symbolizer
                .symbolize(full, Input::VirtOffset(addresses))
                .inspect_err(|error| tracing::debug!(%error, "Debug information is unreadable."))
                .ok()
        });
        let batch = batch.or_else(|| {
            self.symbolizer
                .symbolize(&self.plain, Input::VirtOffset(addresses))
                .inspect_err(|error| tracing::debug!(%error, "Symbols are unreadable."))
                .ok()
        });
        let batch = batch.unwrap_or_default();
        addresses
            .iter()
            .enumerate()
            .map(|(index, address)| {
                let sym = match batch.get(index) {
                    Some(Symbolized::Sym(sym)) => {
                        Some(self.with_linker_name(sym.clone(), *address))
                    }
                    // Broken debug information of one unit does not cost the name.
                    _ if self.full.is_some() => self.single(*address),
                    _ => None,
                };
                sym.and_then(|sym| self.believable(sym, *address))
                    .map(|sym| lines(&sym))
                    .unwrap_or_default()
            })
            .collect()
    }

    /// The symbol table's name where debug information gave another: Rust's line tables name
    /// functions without their crate and module.
    fn with_linker_name(&self, sym: Sym<'a>, address: u64) -> Sym<'a> {
        if self.full.is_none() {
            return sym;
        }
        match self.single(address) {
            Some(symbol) if symbol.size.is_some() => Sym {
                code_info: sym.code_info,
                inlined: sym.inlined,
                ..symbol
            },
            _ => sym,
        }
    }

    fn single(&self, address: u64) -> Option<Sym<'a>> {
        self.symbolizer
            .symbolize_single(&self.plain, Input::VirtOffset(address))
            .ok()?
            .into_sym()
    }

    /// The symbol itself if it has a size; else the one around it that has; else the symbol if it
    /// is near.
    fn believable(&self, sym: Sym<'a>, address: u64) -> Option<Sym<'a>> {
        if sym.size.is_some() {
            return Some(sym);
        }
        let mut start = sym.addr;
        for _ in 0..MAX_STEPS_BACK {
            let Some(before) = start.checked_sub(1).and_then(|before| self.single(before)) else {
                break;
            };
            if let Some(size) = before.size {
                let covers = address.wrapping_sub(before.addr) < size as u64;
                if covers {
                    return Some(Sym {
                        code_info: sym.code_info,
                        ..before
                    });
                }
                break;
            }
            start = before.addr;
        }
        let near = sym.offset < MAX_SIZELESS_BYTES;
        (near && !sym.name.starts_with('$')).then_some(sym)
    }
}

/// blazesym lists the physical function first and the innermost one last; OTLP wants the reverse.
fn lines(sym: &Sym<'_>, functions: &mut FunctionTable, may_be_go: bool) -> FoundLines {
    let mut line = |name: &str, code: Option<&CodeInfo<'_>>| {
        let file = code.map(CodeInfo::to_path);
        let file = file.as_ref().map(|file| file.to_string_lossy());
        let named = functions.function(name, file.as_deref().unwrap_or(""), may_be_go)?;
        let line = Line {
            function: named.function,
            line: code.and_then(|code| code.line).unwrap_or(0),
            column: code.and_then(|code| code.column).map_or(0, u32::from),
        };
        Some((line, named.frame_type))
    };
    let Some((physical, frame_type)) = line(&sym.name, sym.code_info.as_deref()) else {
        return FoundLines::default();
    };
    let mut lines: Vec<Line> = sym
        .inlined
        .iter()
        .rev()
        .filter_map(|inlined| line(&inlined.name, inlined.code_info.as_ref()))
        .map(|(line, _)| line)
        .collect();
    lines.push(physical);
    FoundLines {
        lines,
        frame_type: Some(frame_type),
    }
}

/// Bytes of the files that a debug link may be of, beside the program and below the system's debug directory;
/// `None` when one is not a regular file: the reader of DWARF opens it, and a pipe would hold it up for
/// ever.
fn linked_bytes(file: &File, link: &[u8]) -> Option<u64> {
    let link = Path::new(OsStr::from_bytes(link));
    let program = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let below_root = folder.strip_prefix("/").unwrap_or(folder);
    let places = [
        folder.join(link),
        folder.join(".debug").join(link),
        Path::new("/usr/lib/debug").join(below_root).join(link),
        Path::new("/lib/debug").join(below_root).join(link),
    ];
    let mut bytes = 0_u64;
    for place in places {
        match fs::metadata(place) {
            Ok(found) if found.is_file() => bytes = bytes.saturating_add(found.len()),
            Ok(_) => return None,
            Err(_) => {}
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    /// A pipe where debug information should be is not opened; a file is, and its size counts.
    #[test]
    fn only_files_are_followed() {
        let folder = tempfile::tempdir().expect("folder");
        let program = folder.path().join("program");
        fs::write(&program, b"").expect("program");
        let program = File::open(&program).expect("program");
        assert_eq!(linked_bytes(&program, b"d.debug"), Some(0));
        let link = folder.path().join("d.debug");
        mknodat(CWD, &link, FileType::Fifo, Mode::RUSR, 0).expect("pipe");
        assert_eq!(linked_bytes(&program, b"d.debug"), None);
        fs::remove_file(&link).expect("pipe");
        fs::write(&link, b"12345").expect("file");
        assert_eq!(linked_bytes(&program, b"d.debug"), Some(5));
    }
}
