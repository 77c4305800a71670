//! The loaded parts of an ELF file, read where they lie in it.
//!
//! The unwinder and the symbolizer read the same open file from two threads, so every read says
//! where it reads. Nothing is kept: the page cache has it.

use std::{fs::File, ops::Range, os::unix::fs::FileExt as _, sync::Arc};

use object::elf::{
    DT_NULL, DT_RELA, DT_RELASZ, ELFCLASS64, ELFDATA2LSB, ELFMAG, EM_AARCH64, EM_X86_64, PF_W,
    PF_X, PT_DYNAMIC, PT_LOAD, R_AARCH64_RELATIVE, R_X86_64_RELATIVE, SHT_NOBITS,
};

use super::{
    GoTableError,
    bytes::{u16_at, u32_at, u64_at},
};

/// Most program headers read; linkers write about ten.
const MAX_PROGRAM_HEADERS: u16 = 512;

/// Most section headers read; Go files have about thirty.
const MAX_SECTIONS: u16 = 4096;

/// Largest table of section names read, in bytes.
const MAX_SECTION_NAME_BYTES: u64 = 1 << 20;

/// Largest dynamic section read, in bytes.
const MAX_DYNAMIC_BYTES: u64 = 64 << 10;

/// Largest table of relocations gone through, in bytes: 24 for each pointer in a file's data. A
/// position-independent program of 100 MB has about 10 MiB.
const MAX_RELOCATION_BYTES: u64 = 256 << 20;

/// Bytes read at a time of what is gone through; whole words and whole relocations.
const CHUNK: usize = 24 << 13;

// System V ABI, "Object files": the sizes of the 64-bit headers.
const HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;
const SECTION_HEADER_BYTES: usize = 64;
const DYNAMIC_BYTES: usize = 16;
const RELOCATION_BYTES: usize = 24;

/// A part of the file that is loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// ELF virtual address of its first byte.
    pub(super) address: u64,
    /// Bytes taken from the file.
    pub(super) size: u64,
    pub(super) executable: bool,
    pub(super) writable: bool,
    offset: u64,
}

/// Where the section headers are.
#[derive(Clone, Copy, Debug)]
struct Sections {
    offset: u64,
    count: u16,
    names: u16,
}

/// A pointer that the loader writes: the number at `place` becomes `value`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relocation {
    pub(super) place: u64,
    pub(super) value: u64,
}

/// A 64-bit little-endian ELF file.
#[derive(Debug)]
pub(super) struct Image {
    file: Arc<File>,
    loads: Vec<Load>,
    dynamic: Option<(u64, u64)>,
    x86: bool,
    sections: Sections,
}

impl Image {
    /// Reads the program headers.
    pub(super) fn open(file: Arc<File>) -> Result<Self, GoTableError> {
        const BROKEN: GoTableError = GoTableError::Broken("ELF headers");
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0)?;
        if header.get(..6)
            != Some(&[
                ELFMAG[0],
                ELFMAG[1],
                ELFMAG[2],
                ELFMAG[3],
                ELFCLASS64.0,
                ELFDATA2LSB.0,
            ])
        {
            return Err(GoTableError::Unsupported("ELF file"));
        }
        let machine = u16_at(&header, 18).ok_or(BROKEN)?;
        let x86 = machine == EM_X86_64.0;
        if !x86 && machine != EM_AARCH64.0 {
            return Err(GoTableError::Unsupported("machine"));
        }
        let count = u16_at(&header, 56).ok_or(BROKEN)?;
        if count > MAX_PROGRAM_HEADERS {
            return Err(BROKEN);
        }
        let mut image = Self {
            loads: Vec::new(),
            dynamic: None,
            x86,
            sections: Sections {
                offset: u64_at(&header, 40).ok_or(BROKEN)?,
                count: u16_at(&header, 60).ok_or(BROKEN)?,
                names: u16_at(&header, 62).ok_or(BROKEN)?,
            },
            file,
        };
        let mut headers = vec![0; usize::from(count) * PROGRAM_HEADER_BYTES];
        let offset = u64_at(&header, 32).ok_or(BROKEN)?;
        image.file.read_exact_at(&mut headers, offset)?;
        for header in headers.chunks_exact(PROGRAM_HEADER_BYTES) {
            image.add(header).ok_or(BROKEN)?;
        }
        Ok(image)
    }

    fn add(&mut self, header: &[u8]) -> Option<()> {
        let kind = u32_at(header, 0)?;
        let flags = u32_at(header, 4)?;
        let load = Load {
            offset: u64_at(header, 8)?,
            address: u64_at(header, 16)?,
            size: u64_at(header, 32)?,
            executable: flags & PF_X.0 != 0,
            writable: flags & PF_W.0 != 0,
        };
        load.address.checked_add(load.size)?;
        load.offset.checked_add(load.size)?;
        if kind == PT_LOAD.0 {
            self.loads.push(load);
        } else if kind == PT_DYNAMIC.0 {
            self.dynamic = Some((load.address, load.size.min(MAX_DYNAMIC_BYTES)));
        }
        Some(())
    }

    /// Whether the code is x86-64's; else it is arm64's.
    pub(super) fn is_x86(&self) -> bool {
        self.x86
    }

    /// The parts, as the file lists them.
    pub(super) fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// Whether code is loaded at `address`.
    pub(super) fn is_code(&self, address: u64) -> bool {
        self.load_of(address).is_some_and(|load| load.executable)
    }

    /// Fills `buffer` with what is loaded at `address`, and says how much of it there was.
    pub(super) fn read(&self, address: u64, buffer: &mut [u8]) -> Result<usize, GoTableError> {
        let Some(load) = self.load_of(address) else {
            return Ok(0);
        };
        let skipped = address - load.address;
        let available = usize::try_from(load.size - skipped).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(available);
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..wanted)
            && !rest.is_empty()
        {
            let read = self
                .file
                .read_at(rest, load.offset + skipped + done as u64)?;
            if read == 0 {
                break;
            }
            done += read;
        }
        Ok(done)
    }

    /// As many bytes as are asked for, or an error.
    pub(super) fn read_all(&self, address: u64, length: usize) -> Result<Vec<u8>, GoTableError> {
        let available = self
            .load_of(address)
            .map_or(0, |load| load.size.saturating_sub(address - load.address));
        // Checked first: the length may be anybody's.
        if available < length as u64 {
            return Err(GoTableError::Broken("addresses"));
        }
        let mut bytes = vec![0; length];
        if self.read(address, &mut bytes)? < length {
            return Err(GoTableError::Broken("file, which ends early"));
        }
        Ok(bytes)
    }

    fn load_of(&self, address: u64) -> Option<&Load> {
        self.loads
            .iter()
            .find(|load| address >= load.address && address - load.address < load.size)
    }

    /// Addresses in `load`, up to `most`, of 8-byte words for which `is_wanted`.
    pub(super) fn find_words(
        &self,
        load: &Load,
        most: usize,
        is_wanted: impl Fn(u64) -> bool,
    ) -> Result<Vec<u64>, GoTableError> {
        let mut found = Vec::new();
        let mut chunk = vec![0; CHUNK];
        let mut address = load.address.next_multiple_of(8);
        while found.len() < most {
            let read = self.read(address, &mut chunk)?;
            if read < 8 {
                break;
            }
            let words = chunk.get(..read).unwrap_or(&[]).as_chunks::<8>().0;
            found.extend(
                words
                    .iter()
                    .zip((address..).step_by(8))
                    .filter(|(word, _)| is_wanted(u64::from_le_bytes(**word)))
                    .map(|(_, place)| place),
            );
            address = address.saturating_add(words.len() as u64 * 8);
        }
        found.truncate(most);
        Ok(found)
    }

    /// The address of the first section that is called one of `names` and is in the file.
    pub(super) fn section(&self, names: &[&[u8]]) -> Option<u64> {
        let Sections {
            offset,
            count,
            names: names_index,
        } = self.sections;
        if offset == 0 || count > MAX_SECTIONS {
            return None;
        }
        let mut headers = vec![0; usize::from(count) * SECTION_HEADER_BYTES];
        self.file.read_exact_at(&mut headers, offset).ok()?;
        let headers = headers.as_chunks::<SECTION_HEADER_BYTES>().0;
        let strings = headers.get(usize::from(names_index))?;
        let size = u64_at(strings, 32).filter(|size| *size <= MAX_SECTION_NAME_BYTES)?;
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        self.file
            .read_exact_at(&mut bytes, u64_at(strings, 24)?)
            .ok()?;
        headers.iter().find_map(|header| {
            let name = bytes.get(u32_at(header, 0)? as usize..)?;
            let name = name.split(|byte| *byte == 0).next()?;
            (names.contains(&name) && u32_at(header, 4)? != SHT_NOBITS.0)
                .then(|| u64_at(header, 16))?
        })
    }

    /// Calls `each` for every pointer that the loader moves with the file. Files that are loaded
    /// where they say have none.
    pub(super) fn relocations(&self, mut each: impl FnMut(Relocation)) -> Result<(), GoTableError> {
        let Some(table) = self.relocation_table()? else {
            return Ok(());
        };
        let kind = if self.x86 {
            u64::from(R_X86_64_RELATIVE.0)
        } else {
            u64::from(R_AARCH64_RELATIVE.0)
        };
        let mut chunk = vec![0; CHUNK];
        let mut address = table.start;
        while address < table.end {
            let read = self.read(address, &mut chunk)?;
            let wanted = usize::try_from(table.end - address).unwrap_or(usize::MAX);
            let entries = chunk
                .get(..read.min(wanted))
                .unwrap_or(&[])
                .as_chunks::<RELOCATION_BYTES>()
                .0;
            if entries.is_empty() {
                break;
            }
            for entry in entries {
                if let (Some(place), Some(info), Some(value)) =
                    (u64_at(entry, 0), u64_at(entry, 8), u64_at(entry, 16))
                    && info == kind
                {
                    each(Relocation { place, value });
                }
            }
            address += (entries.len() * RELOCATION_BYTES) as u64;
        }
        Ok(())
    }

    /// The addresses of the relocations with addends. Packed ones (`DT_RELR`) leave what they
    /// relocate in its place, so that they need not be read.
    fn relocation_table(&self) -> Result<Option<Range<u64>>, GoTableError> {
        let Some((address, size)) = self.dynamic else {
            return Ok(None);
        };
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        let read = self.read(address, &mut bytes)?;
        let (mut start, mut length) = (None, None);
        for entry in bytes
            .get(..read)
            .unwrap_or(&[])
            .as_chunks::<DYNAMIC_BYTES>()
            .0
        {
            let (Some(tag), Some(value)) = (u64_at(entry, 0), u64_at(entry, 8)) else {
                break;
            };
            match tag.cast_signed() {
                tag if tag == DT_NULL.0 => break,
                tag if tag == DT_RELA.0 => start = Some(value),
                tag if tag == DT_RELASZ.0 => length = Some(value.min(MAX_RELOCATION_BYTES)),
                _ => {}
            }
        }
        let (Some(start), Some(length)) = (start, length) else {
            return Ok(None);
        };
        Ok(Some(start..start.saturating_add(length)))
    }
}
