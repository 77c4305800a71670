//! Where an ELF file has its call frame information, and the rows of it.
//!
//! The file may be made to harm: sizes are checked before anything is read, and the time it takes follows
//! from them.

use std::{cell::Cell, collections::HashMap, fs::File};

use evenkeel_abi::{CfaKind, UnwindRule};
use gimli::{
    BaseAddresses, CieOrFde, CommonInformationEntry, DebugFrame, EhFrame, EhFrameHdr, LittleEndian,
    UnwindContext, UnwindOffset, UnwindSection,
};
use object::{
    Endianness, ReadCache, ReadRef,
    elf::{
        EM_AARCH64, EM_X86_64, FileHeader64, PF_X, PT_GNU_EH_FRAME, PT_LOAD, SHF_COMPRESSED,
        SHT_NOBITS,
    },
    read::elf::{FileHeader as _, ProgramHeader as _, SectionHeader as _},
};

use super::{
    frame_rules::{self, Architecture, Bytes},
    rows::{Rows, RowsBuilder, RowsLimits},
};

/// Code in which the return from a signal handler is looked for, where no call frame information says
/// where it is: a C library of 700 KB, or a static program.
const SEARCHED_CODE: u64 = 16 << 20;

/// `mov $15, %rax; syscall`: `rt_sigreturn`, by which a signal handler returns on x86-64 in all C libraries.
const SIGNAL_RETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];

/// Broken entries after which no more of a section is read: each can take as long as the section is to be found
/// broken.
const MAX_REFUSED: u64 = 256;

/// `PN_XNUM` and `SHN_LORESERVE`: larger counts stand elsewhere and are not followed.
const MAX_HEADERS: u16 = 0xff00;

/// Bytes of the entry point that are taken for it where nothing says how long it is: of musl it has 22.
const ENTRY_BYTES: u64 = 48;

/// Segments of code that are looked at; linkers write one or two.
const CODE_SEGMENTS: usize = 64;

/// Longest common information entry, bytes: it is carried out anew for each of its functions. Those of compilers
/// have 24 to 40.
const COMMON_BYTES: usize = 256;

/// Why an executable has no rows.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// Too many files were open.
    #[error("the file is no longer open")]
    Closed,
    /// It cannot be read as ELF.
    #[error("{what}")]
    NotElf {
        /// In which way.
        what: &'static str,
    },
    /// For another processor, or of 32 bits.
    #[error("it is not for a processor that is known")]
    Processor,
    /// It says nothing of how callers are found.
    #[error("it has no call frame information")]
    Absent,
    /// It says more than is read.
    #[error("its call frame information is beyond a limit: {what}")]
    TooLarge {
        /// Which one.
        what: &'static str,
    },
}

/// What a file has.
struct Frames<'a> {
    architecture: Architecture,
    bases: BaseAddresses,
    /// The section and its address.
    eh_frame: Option<(&'a [u8], u64)>,
    debug_frame: Option<&'a [u8]>,
    /// Code of which it is known without a section: first address, one past the last, rule.
    additions: Vec<(u64, u64, UnwindRule)>,
    /// Segments of code: first address, one past the last.
    code: Vec<(u64, u64)>,
}

impl<'a> Frames<'a> {
    fn find<R: ReadRef<'a>>(data: R, length: u64, limits: &RowsLimits) -> Result<Self, RowsError> {
        let broken = |what| RowsError::NotElf { what };
        let header = FileHeader64::<Endianness>::parse(data)
            .map_err(|_| broken("it is not an ELF file of 64 bits"))?;
        let endian = header.endian().map_err(|_| broken("unknown byte order"))?;
        let architecture = match (endian, header.e_machine.get(endian)) {
            (Endianness::Little, EM_X86_64) => Architecture::X86_64,
            (Endianness::Little, EM_AARCH64) => Architecture::AARCH64,
            _ => return Err(RowsError::Processor),
        };
        let mut frames = Self {
            architecture,
            bases: BaseAddresses::default(),
            eh_frame: None,
            debug_frame: None,
            additions: Vec::new(),
            code: Vec::new(),
        };
        // Everything that is read stays in memory: sections of the same name, and segments, may overlap.
        let left = Cell::new(limits.section_bytes.saturating_add(SEARCHED_CODE));
        let read = |offset: u64, size: u64| {
            let is_inside = offset.checked_add(size).is_some_and(|end| end <= length);
            if !is_inside || size == 0 {
                return Ok(None);
            }
            let Some(rest) = left.get().checked_sub(size) else {
                return Err(RowsError::TooLarge { what: "bytes" });
            };
            left.set(rest);
            Ok(data.read_bytes_at(offset, size).ok())
        };
        if header.e_phnum.get(endian) >= MAX_HEADERS {
            return Err(broken("too many program headers"));
        }
        // A count of 0 stands elsewhere, and may be any.
        let has_sections = (1..MAX_HEADERS).contains(&header.e_shnum.get(endian));
        let sections = has_sections
            .then(|| header.sections(endian, data).ok())
            .flatten();
        for section in sections.iter().flat_map(|table| table.iter()) {
            let Some(Ok(name)) = sections
                .as_ref()
                .map(|table| table.section_name(endian, section))
            else {
                continue;
            };
            let address = section.sh_addr(endian);
            let bases = std::mem::take(&mut frames.bases);
            frames.bases = match name {
                b".text" => bases.set_text(address),
                b".got" => bases.set_got(address),
                _ => bases,
            };
            let is_plain = section.sh_type(endian) != SHT_NOBITS
                && !section.sh_flags(endian).contains(SHF_COMPRESSED);
            if !is_plain || !matches!(name, b".eh_frame" | b".debug_frame") {
                continue;
            }
            let bytes = read(section.sh_offset(endian), section.sh_size(endian))?;
            match (name, bytes) {
                (b".eh_frame", Some(bytes)) => frames.eh_frame = Some((bytes, address)),
                (b".debug_frame", Some(bytes)) => frames.debug_frame = Some(bytes),
                _ => {}
            }
        }
        let segments = header
            .program_headers(endian, data)
            .map_err(|_| broken("broken program headers"))?;
        if frames.eh_frame.is_none() {
            frames.eh_frame = eh_frame_by_header(segments, endian, &read)?;
        }
        let entry = header.e_entry.get(endian);
        if entry != 0 {
            let outermost = UnwindRule::of_kind(CfaKind::Outermost);
            frames
                .additions
                .push((entry, entry.saturating_add(ENTRY_BYTES), outermost));
        }
        let is_searched = header.e_machine.get(endian) == EM_X86_64 && length <= SEARCHED_CODE;
        let code = segments
            .iter()
            .filter(|segment| segment.p_type(endian) == PT_LOAD)
            .filter(|segment| segment.p_flags(endian).contains(PF_X))
            .take(CODE_SEGMENTS);
        for segment in code {
            let (start, size) = (segment.p_vaddr(endian), segment.p_filesz(endian));
            frames.code.push((start, start.saturating_add(size)));
            if is_searched && let Some(code) = read(segment.p_offset(endian), size)? {
                frames.add_signal_returns(code, start);
            }
        }
        Ok(frames)
    }

    /// Where signal handlers return to. Its first instruction is a return address, so the byte before
    /// it belongs to it too.
    fn add_signal_returns(&mut self, code: &[u8], address: u64) {
        const MOST: usize = 16;
        let places = code
            .windows(SIGNAL_RETURN.len())
            .enumerate()
            .filter(|(_, window)| *window == SIGNAL_RETURN)
            .take(MOST);
        for (offset, _) in places {
            let start = address.saturating_add(offset as u64);
            let Some(rule) = UnwindRule::with_cfa(CfaKind::Signal, 0) else {
                return;
            };
            let end = start.saturating_add(SIGNAL_RETURN.len() as u64);
            self.additions.push((start.saturating_sub(1), end, rule));
        }
    }
}

/// A file without a table of sections has its call frame information found as a running program finds it:
/// the segment `PT_GNU_EH_FRAME` says where it begins, and it ends by itself.
fn eh_frame_by_header<'a, H: object::read::elf::ProgramHeader<Endian = Endianness, Word = u64>>(
    segments: &[H],
    endian: Endianness,
    read: &impl Fn(u64, u64) -> Result<Option<&'a [u8]>, RowsError>,
) -> Result<Option<(&'a [u8], u64)>, RowsError> {
    let Some(index) = segments
        .iter()
        .find(|segment| segment.p_type(endian) == PT_GNU_EH_FRAME)
    else {
        return Ok(None);
    };
    let Some(bytes) = read(index.p_offset(endian), index.p_filesz(endian))? else {
        return Ok(None);
    };
    let bases = BaseAddresses::default().set_eh_frame_hdr(index.p_vaddr(endian));
    let Ok(parsed) = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8) else {
        return Ok(None);
    };
    let address = parsed.eh_frame_ptr().pointer();
    for segment in segments {
        let (start, size) = (segment.p_vaddr(endian), segment.p_filesz(endian));
        let Some(inside) = address.checked_sub(start).filter(|inside| *inside < size) else {
            continue;
        };
        if segment.p_type(endian) != PT_LOAD {
            continue;
        }
        let offset = segment.p_offset(endian).saturating_add(inside);
        return Ok(read(offset, size - inside)?.map(|bytes| (bytes, address)));
    }
    Ok(None)
}

/// The rows of an ELF file that is `length` bytes long, and of further code by address: first address, one
/// past the last, rule. The further code goes before the call frame information of the file: that
/// of Go's linker does not know of changes of stack, and code at an entry point may be short.
pub(super) fn rows(
    file: &File,
    length: u64,
    limits: &RowsLimits,
    further: impl Iterator<Item = (u64, u64, UnwindRule)>,
) -> Result<Rows, RowsError> {
    rows_of(&ReadCache::new(file), length, limits, further)
}

/// The same of an ELF file in any place that can be read.
pub(crate) fn rows_of<'a, R: ReadRef<'a>>(
    data: R,
    length: u64,
    limits: &RowsLimits,
    further: impl Iterator<Item = (u64, u64, UnwindRule)>,
) -> Result<Rows, RowsError> {
    let frames = Frames::find(data, length, limits)?;
    let mut functions = Functions {
        code: frames.code.clone(),
        ..Functions::default()
    };
    let mut context = UnwindContext::new();
    let eh_frame = frames.eh_frame.map(|(bytes, address)| {
        let mut section = EhFrame::new(bytes, LittleEndian);
        section.set_address_size(8);
        section.set_vendor(frames.architecture.vendor());
        (section, frames.bases.clone().set_eh_frame(address))
    });
    let debug_frame = frames.debug_frame.map(|bytes| {
        let mut section = DebugFrame::new(bytes, LittleEndian);
        section.set_address_size(8);
        section.set_vendor(frames.architecture.vendor());
        section
    });
    if let Some((section, bases)) = &eh_frame {
        functions.collect(section, bases, Source::EhFrame, limits)?;
    }
    if let Some(section) = &debug_frame {
        functions.collect(section, &frames.bases, Source::DebugFrame, limits)?;
    }
    let mut further = further.peekable();
    if functions.list.is_empty() && frames.additions.is_empty() && further.peek().is_none() {
        return Err(RowsError::Absent);
    }
    functions.add(&frames.additions);
    let mut builder = RowsBuilder::new(limits);
    builder.refuse(functions.refused);
    let (mut cies, mut debug_cies) = (HashMap::new(), HashMap::new());
    let functions = functions.sorted();
    for (index, function) in functions.iter().enumerate() {
        // These go first where both say something.
        while let Some((start, end, rule)) = further.next_if(|(start, ..)| *start < function.end) {
            builder.add(start, end, rule);
        }
        match function.source {
            // A guess: what is stated about this code, or begins within it, holds. The byte before a signal
            // return may be the last one of the function before.
            Source::Rule(_) if builder.end() > function.start.saturating_add(1) => {}
            Source::Rule(rule) => {
                let next = functions.get(index + 1).map_or(u64::MAX, |next| next.start);
                builder.add(function.start, function.end.min(next), rule);
            }
            Source::EhFrame => {
                if let Some((section, bases)) = &eh_frame {
                    let entry = (section, bases);
                    add_rows(
                        &mut builder,
                        function,
                        entry,
                        &mut cies,
                        &mut context,
                        frames.architecture,
                    );
                }
            }
            Source::DebugFrame => {
                if let Some(section) = &debug_frame {
                    let entry = (section, &frames.bases);
                    add_rows(
                        &mut builder,
                        function,
                        entry,
                        &mut debug_cies,
                        &mut context,
                        frames.architecture,
                    );
                }
            }
        }
    }
    for (start, end, rule) in further {
        builder.add(start, end, rule);
    }
    builder.finish().ok_or(RowsError::TooLarge { what: "rows" })
}

/// Common entries by offset, and what is wrong with them: to find that out can take as long as the section is.
type Cies<'a> = HashMap<usize, gimli::Result<CommonInformationEntry<Bytes<'a>>>>;

/// Adds the rows of one function.
fn add_rows<'a, S: UnwindSection<Bytes<'a>>>(
    builder: &mut RowsBuilder,
    function: &Function,
    (section, bases): (&S, &BaseAddresses),
    cies: &mut Cies<'a>,
    context: &mut UnwindContext<usize>,
    architecture: Architecture,
) {
    if function.end <= builder.end() {
        return;
    }
    let offset = S::Offset::from(function.offset as usize);
    let entry = section.fde_from_offset(bases, offset, |section, bases, offset| {
        cie(cies, section, bases, offset)
    });
    let Ok(entry) = entry else {
        builder.refuse(1);
        return;
    };
    let is_signal_frame = entry.is_signal_trampoline();
    let Ok(mut table) = entry.rows(section, bases, context) else {
        builder.refuse(1);
        return;
    };
    let unknown = UnwindRule::of_kind(CfaKind::Unknown);
    loop {
        match table.next_row() {
            Ok(Some(row)) => {
                let rule = frame_rules::rule(row, section, &architecture, is_signal_frame);
                let end = row.end_address().min(function.end);
                builder.add(row.start_address(), end, rule);
            }
            Ok(None) => break,
            Err(_) => {
                // What came before is right; of the rest nothing is known but that there is a rule.
                builder.refuse(1);
                builder.add(function.start, function.end, unknown);
                break;
            }
        }
    }
}

fn cie<'a, S: UnwindSection<Bytes<'a>>>(
    cies: &mut Cies<'a>,
    section: &S,
    bases: &BaseAddresses,
    offset: S::Offset,
) -> gimli::Result<CommonInformationEntry<Bytes<'a>>> {
    cies.entry(UnwindOffset::into(offset))
        .or_insert_with(|| section.cie_from_offset(bases, offset))
        .clone()
}

#[derive(Clone, Copy, Debug)]
enum Source {
    EhFrame,
    DebugFrame,
    Rule(UnwindRule),
}

#[derive(Clone, Copy, Debug)]
struct Function {
    start: u64,
    end: u64,
    /// Of its entry in the section.
    offset: u32,
    source: Source,
}

#[derive(Debug, Default)]
struct Functions {
    list: Vec<Function>,
    /// Segments of code.
    code: Vec<(u64, u64)>,
    refused: u64,
}

impl Functions {
    /// Lists the functions that a section is about.
    fn collect<'a, S: UnwindSection<Bytes<'a>>>(
        &mut self,
        section: &S,
        bases: &BaseAddresses,
        source: Source,
        limits: &RowsLimits,
    ) -> Result<(), RowsError> {
        let mut cies = HashMap::new();
        let mut entries = section.entries(bases);
        loop {
            let entry = match entries.next() {
                Ok(Some(CieOrFde::Fde(entry))) => entry,
                Ok(Some(CieOrFde::Cie(_))) => continue,
                Ok(None) => return Ok(()),
                Err(_) => {
                    self.refused += 1;
                    return Ok(());
                }
            };
            if self.list.len() >= limits.functions {
                return Err(RowsError::TooLarge { what: "functions" });
            }
            if self.refused >= MAX_REFUSED {
                return Ok(());
            }
            let parsed =
                entry.parse(|section, bases, offset| cie(&mut cies, section, bases, offset));
            let Ok(parsed) = parsed else {
                self.refused += 1;
                continue;
            };
            let start = parsed.initial_address();
            // A linker that drops a function leaves its entry at address 0, or at the last ones.
            let Some(segment_end) = self.end_of_code(start) else {
                continue;
            };
            if start == 0 || parsed.len() == 0 {
                continue;
            }
            let Ok(offset) = u32::try_from(parsed.offset()) else {
                self.refused += 1;
                continue;
            };
            if parsed.cie().entry_len() > COMMON_BYTES {
                self.refused += 1;
                continue;
            }
            self.list.push(Function {
                start,
                end: start.saturating_add(parsed.len()).min(segment_end),
                offset,
                source,
            });
        }
    }

    /// One past the last address of the segment of code that has an address.
    fn end_of_code(&self, address: u64) -> Option<u64> {
        let holds = |(start, end): &&(u64, u64)| (*start..*end).contains(&address);
        self.code.iter().find(holds).map(|(_, end)| *end)
    }

    fn add(&mut self, additions: &[(u64, u64, UnwindRule)]) {
        for (start, end, rule) in additions {
            self.list.push(Function {
                start: *start,
                end: *end,
                offset: 0,
                source: Source::Rule(*rule),
            });
        }
    }

    /// By address; of those that begin together, the one that was added first.
    fn sorted(&mut self) -> &[Function] {
        self.list.sort_by_key(|function| function.start);
        &self.list
    }
}

#[cfg(test)]
mod tests;
