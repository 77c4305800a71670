//! The functions of one file.

use std::{fs::File, sync::Arc};

use super::{
    GoTableError,
    bytes::u32_at,
    header::{HEADER_BYTES, Header},
    image::Image,
    module_data::ModuleData,
    pc_values::{PcValue, PcValues},
    record::{RECORD_BYTES, Record},
};

/// Names that linkers give the section. In a position-independent file that the system's linker
/// wrote, it is a part of `.data.rel.ro`.
const SECTIONS: [&[u8]; 2] = [b".gopclntab", b".data.rel.ro.gopclntab"];

/// Most places tried that begin like a header, in a file that has no such section.
const MAX_HEADERS: usize = 16;

/// Longest name or path, in bytes; the rest is cut. Those of Kubernetes are under 300.
const MAX_TEXT_BYTES: usize = 4096;

/// Bytes first read of a name and of a table of values: enough for most.
const FIRST_READ: usize = 512;

/// Longest table of values of a function, in bytes. A function of 1 MB of code has some 100 kB.
const MAX_VALUES_BYTES: usize = 1 << 20;

/// Most calls inlined into each other; the compiler's budget ends at about 40.
const MAX_INLINED: usize = 128;

/// A function at an address: inlined or physical.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GoCall {
    /// As Go prints it: package path, type arguments as `[...]`.
    pub(crate) name: String,
    /// Empty when unknown or not asked for.
    pub(crate) file: String,
    /// 0 when unknown or not asked for.
    pub(crate) line: u32,
}

/// A part of the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) address: u64,
    pub(super) size: u64,
}

/// A function in the order of its code.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// From the start of the text.
    pub(super) start: u32,
    /// Place of its record among the records.
    pub(super) record: u32,
}

/// The tables of one file. Reads the file at each look-up.
#[derive(Debug)]
pub(crate) struct GoTable {
    pub(super) image: Image,
    pub(super) header: Header,
    /// By start; the last one is where the code ends.
    pub(super) entries: Vec<Entry>,
    pub(super) text: u64,
    pub(super) names: Part,
    units: Part,
    files: Part,
    pub(super) values: Part,
    pub(super) records: Part,
    /// `None` where no inlined calls are found there.
    pub(super) function_data: Option<u64>,
}

impl GoTable {
    /// Finds the tables of a file.
    ///
    /// # Errors
    /// [`GoTableError::Missing`] when the file has none.
    pub(crate) fn open(file: Arc<File>) -> Result<Self, GoTableError> {
        let image = Image::open(file)?;
        let places = match image.section(&SECTIONS) {
            Some(address) => vec![address],
            None => headers_by_their_look(&image)?,
        };
        let mut failure = GoTableError::Missing("pclntab");
        for address in places {
            let mut bytes = [0; HEADER_BYTES];
            let read = image.read(address, &mut bytes)?;
            let Some(header) = bytes.get(..read).and_then(Header::parse) else {
                continue;
            };
            match ModuleData::find(&image, &header, address) {
                Ok(module) => return Self::read(image, header, address, &module),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn read(
        image: Image,
        header: Header,
        address: u64,
        module: &ModuleData,
    ) -> Result<Self, GoTableError> {
        let part = |offset: u64, size: u64| Part {
            address: address.saturating_add(offset),
            size,
        };
        let mut table = Self {
            image,
            header,
            entries: Vec::new(),
            text: module.text,
            names: part(header.names, module.names_size),
            units: part(header.units, module.units_size),
            files: part(header.files, module.files_size),
            values: part(header.values, module.values_size),
            records: part(header.records, module.records_size),
            function_data: None,
        };
        table.entries = table.read_entries(module)?;
        table.function_data = Some(module.function_data);
        if !table.has_inlined_calls() {
            table.function_data = None;
        }
        Ok(table)
    }

    /// Two numbers a function, and one for the end of the last.
    fn read_entries(&self, module: &ModuleData) -> Result<Vec<Entry>, GoTableError> {
        const BROKEN: GoTableError = GoTableError::Broken("table of functions");
        let count = self.header.functions as usize;
        let bytes = self.image.read_all(self.records.address, count * 8 + 4)?;
        let mut entries: Vec<Entry> = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .filter_map(|entry| {
                Some(Entry {
                    start: u32_at(entry, 0)?,
                    record: u32_at(entry, 4)?,
                })
            })
            .collect();
        entries.push(Entry {
            start: u32_at(&bytes, count * 8).ok_or(BROKEN)?,
            record: u32::MAX,
        });
        let address = |entry: Option<&Entry>| {
            entry.and_then(|entry| self.text.checked_add(u64::from(entry.start)))
        };
        // What the runtime itself insists on at start (`moduledataverify1`).
        let ends_agree = address(entries.first()) == Some(module.first_code)
            && address(entries.last()) == Some(module.end_of_code);
        if !ends_agree || !entries.is_sorted_by_key(|entry| entry.start) {
            return Err(BROKEN);
        }
        Ok(entries)
    }

    /// Bytes of memory that the table takes.
    pub(crate) fn memory(&self) -> u64 {
        (self.entries.capacity() * size_of::<Entry>()) as u64
    }

    /// The functions at an ELF virtual address, innermost first, the physical one last. Empty
    /// outside of Go's code.
    ///
    /// # Errors
    /// When the tables contradict themselves, or the file cannot be read.
    pub(crate) fn find(&self, address: u64, lines: bool) -> Result<Vec<GoCall>, GoTableError> {
        let Some((record, offset)) = self.code_at(address)? else {
            return Ok(Vec::new());
        };
        let mut calls = Vec::new();
        let mut at = offset;
        while let Some(inlined) = self.inlined_at(&record, at)? {
            if calls.len() >= MAX_INLINED {
                return Err(GoTableError::Broken("inlined calls"));
            }
            calls.push(self.call(&record, inlined.name, at, lines)?);
            at = u64::from(inlined.parent);
        }
        calls.push(self.call(&record, record.name, at, lines)?);
        Ok(calls)
    }

    /// As [`GoTable::function_at`], but nothing runs between functions. A return address found
    /// there is the start of the next function: a signal handler returns to one that nobody
    /// called, and addresses to look up are those before the return.
    fn code_at(&self, address: u64) -> Result<Option<(Record, u64)>, GoTableError> {
        let found = self.function_at(address)?;
        if let Some((record, offset)) = &found
            && record.lines != 0
            && self.value_at(record.lines, *offset)?.is_none()
        {
            let next = self.function_at(address.saturating_add(1))?;
            return Ok(next.filter(|(_, offset)| *offset == 0));
        }
        Ok(found)
    }

    /// The record of the function at an address, and how far the address is from its start.
    pub(super) fn function_at(&self, address: u64) -> Result<Option<(Record, u64)>, GoTableError> {
        let Some(offset) = address
            .checked_sub(self.text)
            .and_then(|offset| u32::try_from(offset).ok())
        else {
            return Ok(None);
        };
        let after = self.entries.partition_point(|entry| entry.start <= offset);
        // Before the first function, or past the end of the last.
        if after == 0 || after >= self.entries.len() {
            return Ok(None);
        }
        let Some(entry) = self.entries.get(after - 1) else {
            return Ok(None);
        };
        let mut bytes = [0; RECORD_BYTES];
        let read = self.read_part(self.records, u64::from(entry.record), &mut bytes)?;
        let record = bytes
            .get(..read)
            .and_then(|bytes| Record::parse(bytes, self.header.version))
            .filter(|record| record.entry == entry.start)
            .ok_or(GoTableError::Broken("record of a function"))?;
        Ok(Some((record, u64::from(offset - entry.start))))
    }

    fn call(
        &self,
        record: &Record,
        name: u32,
        at: u64,
        lines: bool,
    ) -> Result<GoCall, GoTableError> {
        let mut call = GoCall {
            name: self.name(name)?,
            file: String::new(),
            line: 0,
        };
        if lines
            && let Some(line) = self.value_at(record.lines, at)?
            && let Ok(line) = u32::try_from(line.value)
        {
            call.line = line;
            call.file = self.file(record, at)?;
        }
        Ok(call)
    }

    /// The value at an address, counted from the start of the function.
    pub(super) fn value_at(&self, table: u32, at: u64) -> Result<Option<PcValue>, GoTableError> {
        self.with_values(table, |value| (at < value.end).then_some(value))
    }

    /// The first thing that `find` finds in a table of values.
    pub(super) fn with_values<T>(
        &self,
        table: u32,
        mut find: impl FnMut(PcValue) -> Option<T>,
    ) -> Result<Option<T>, GoTableError> {
        if table == 0 {
            return Ok(None);
        }
        let mut wanted = FIRST_READ;
        loop {
            let mut bytes = vec![0; wanted];
            let read = self.read_part(self.values, u64::from(table), &mut bytes)?;
            let mut values = PcValues::new(bytes.get(..read).unwrap_or(&[]), self.header.quantum);
            if let Some(found) = values.find_map(&mut find) {
                return Ok(Some(found));
            }
            if !values.is_cut() {
                return Ok(None);
            }
            if read < wanted || wanted >= MAX_VALUES_BYTES {
                return Err(GoTableError::Broken("table of values"));
            }
            wanted = (wanted * 16).min(MAX_VALUES_BYTES);
        }
    }

    /// The path of the file at an address.
    fn file(&self, record: &Record, at: u64) -> Result<String, GoTableError> {
        let Some(index) = self
            .value_at(record.files, at)?
            .and_then(|index| u64::try_from(index.value).ok())
        else {
            return Ok(String::new());
        };
        let mut bytes = [0; 4];
        let place = (u64::from(record.unit) + index) * 4;
        let read = self.read_part(self.units, place, &mut bytes)?;
        match u32_at(&bytes, 0) {
            // The linker leaves out files that no code is from.
            Some(u32::MAX) => Ok(String::new()),
            Some(file) if read == 4 => self.text_at(self.files, file),
            _ => Err(GoTableError::Broken("table of files")),
        }
    }

    /// The name at a place among the names, as Go prints it.
    pub(super) fn name(&self, place: u32) -> Result<String, GoTableError> {
        let mut name = self.text_at(self.names, place)?;
        // As `funcNameForPrint` in runtime/symtab.go: Go 1.18 to 1.20 may have the arguments.
        if let (Some(open), Some(close)) = (name.find('['), name.rfind(']'))
            && open < close
        {
            name.replace_range(open..=close, "[...]");
        }
        Ok(name)
    }

    fn text_at(&self, part: Part, place: u32) -> Result<String, GoTableError> {
        let mut wanted = FIRST_READ;
        loop {
            let mut bytes = vec![0; wanted];
            let read = self.read_part(part, u64::from(place), &mut bytes)?;
            let bytes = bytes.get(..read).unwrap_or(&[]);
            let end = bytes.iter().position(|byte| *byte == 0);
            match end {
                Some(0) => return Err(GoTableError::Broken("empty name")),
                None if read < wanted => return Err(GoTableError::Broken("name without end")),
                None if wanted < MAX_TEXT_BYTES => wanted = MAX_TEXT_BYTES,
                _ => {
                    let text = bytes.get(..end.unwrap_or(read)).unwrap_or(&[]);
                    return Ok(String::from_utf8_lossy(text).into_owned());
                }
            }
        }
    }

    /// Reads what there is of a part from `offset` on, and says how much that is.
    pub(super) fn read_part(
        &self,
        part: Part,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize, GoTableError> {
        let available = part
            .size
            .checked_sub(offset)
            .and_then(|available| usize::try_from(available).ok())
            .unwrap_or(0);
        let wanted = buffer.len().min(available);
        match buffer.get_mut(..wanted) {
            Some(buffer) if !buffer.is_empty() => {
                self.image.read(part.address.saturating_add(offset), buffer)
            }
            _ => Ok(0),
        }
    }
}

/// Addresses that may have a header, in what is loaded but is no code.
fn headers_by_their_look(image: &Image) -> Result<Vec<u64>, GoTableError> {
    let mut places = Vec::new();
    for load in image.loads().iter().filter(|load| !load.executable) {
        places.extend(image.find_words(
            load,
            MAX_HEADERS - places.len(),
            Header::may_begin_with,
        )?);
    }
    Ok(places)
}
