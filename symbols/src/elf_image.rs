//! The parts of an ELF file that are needed before any symbol is: executable segments, build ids,
//! and how much there is to read for names.
//!
//! The file belongs to a process that is profiled and may be made to harm: every table is checked
//! against a bound before it is read.

use std::fs::File;

use object::{
    Endianness, FileKind, ReadCache, ReadRef,
    elf::{FileHeader32, FileHeader64, PF_X, PT_LOAD, PT_NOTE, SHF_COMPRESSED, SHT_NOBITS},
    read::elf::{FileHeader, ProgramHeader as _, SectionHeader as _},
};

use super::build_id::NoteBuildIds;

/// Most executable segments kept; linkers write one or two.
const MAX_SEGMENTS: usize = 64;

/// Largest note segment or section read, in bytes. Build ids sit in notes of under 200 bytes.
const MAX_NOTE_BYTES: u64 = 64 << 10;

/// Most note segments looked at.
const MAX_NOTES: usize = 16;

/// Largest table of section names read, in bytes.
const MAX_SECTION_NAME_BYTES: u64 = 1 << 20;

/// Longest debug link read, in bytes: `PATH_MAX`.
const MAX_LINK_BYTES: u64 = 4096;

/// `PN_XNUM` and `SHN_LORESERVE`: larger counts stand elsewhere and are not followed, so that a
/// header table has at most 4 MiB.
const MAX_HEADERS: u16 = 0xff00;

/// Sections that hold names or lead to them: symbols, symbols of the dynamic linker, DWARF, a
/// compressed file with symbols (MiniDebugInfo), the name of a debug file.
pub const NAME_TABLES: [&str; 5] = [
    ".symtab",
    ".dynsym",
    ".debug_info",
    ".gnu_debugdata",
    ".gnu_debuglink",
];

/// An executable `PT_LOAD` segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// ELF virtual address of the first byte.
    pub address: u64,
    /// File offset of the first byte.
    pub offset: u64,
    /// Bytes taken from the file.
    pub size: u64,
}

/// What an ELF file says of itself.
#[derive(Clone, Debug, Default)]
pub struct ElfImage {
    /// Executable segments, in the order of the program headers.
    pub segments: Vec<Segment>,
    /// Build ids in the notes.
    pub build_ids: NoteBuildIds,
    /// Which of [`NAME_TABLES`] the file has.
    pub tables: Vec<&'static str>,
    /// Bytes of symbol and string tables: what reading the names costs.
    pub symbol_bytes: u64,
    /// Bytes of DWARF in the file itself, decompressed as far as the headers tell.
    pub debug_bytes: u64,
    /// Whether there are marks of the Go linker's, or no sections that could tell.
    pub may_be_go: bool,
    /// Why the symbol tables must not be read, if so.
    pub refused: Option<&'static str>,
    /// Whether a link to debug information leads where only a hostile file would lead.
    pub has_strange_debug_link: bool,
    /// Name of the file with its debug information, of `.gnu_debuglink`.
    pub debug_link: Option<Vec<u8>>,
}

impl ElfImage {
    /// Reads the headers of `file`, which is `length` bytes long.
    ///
    /// # Errors
    /// A plain-words reason when this is not an ELF file or its program headers are broken.
    /// Broken sections only cost the names.
    pub fn read(file: &File, length: u64) -> Result<Self, &'static str> {
        Self::read_from(&ReadCache::new(file), length)
    }

    /// The same from any place that can be read.
    pub fn read_from<'a, R: ReadRef<'a>>(data: R, length: u64) -> Result<Self, &'static str> {
        match FileKind::parse(data) {
            Ok(FileKind::Elf64) => read_as::<FileHeader64<Endianness>, R>(data, length),
            Ok(FileKind::Elf32) => read_as::<FileHeader32<Endianness>, R>(data, length),
            _ => Err("not an ELF file"),
        }
    }
}

fn read_as<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(
    data: R,
    length: u64,
) -> Result<ElfImage, &'static str> {
    let header = H::parse(data).map_err(|_| "broken ELF header")?;
    let endian = header.endian().map_err(|_| "unknown byte order")?;
    if header.e_phnum(endian) >= MAX_HEADERS {
        return Err("too many program headers");
    }
    let mut image = ElfImage::default();
    let mut notes = 0;
    for segment in header
        .program_headers(endian, data)
        .map_err(|_| "broken program headers")?
    {
        let size: u64 = segment.p_filesz(endian).into();
        let offset: u64 = segment.p_offset(endian).into();
        match segment.p_type(endian) {
            PT_LOAD if segment.p_flags(endian).contains(PF_X) => {
                let address: u64 = segment.p_vaddr(endian).into();
                // A segment that wraps around or leaves the file cannot have been mapped.
                if image.segments.len() < MAX_SEGMENTS
                    && size > 0
                    && address.checked_add(size).is_some()
                    && offset.checked_add(size).is_some_and(|end| end <= length)
                {
                    image.segments.push(Segment {
                        address,
                        offset,
                        size,
                    });
                }
            }
            PT_NOTE if notes < MAX_NOTES && size <= MAX_NOTE_BYTES => {
                notes += 1;
                if let Ok(Some(mut iterator)) = segment.notes(endian, data) {
                    while let Ok(Some(note)) = iterator.next() {
                        image
                            .build_ids
                            .add(note.name(), note.n_type(endian).0, note.desc());
                    }
                }
            }
            _ => {}
        }
    }
    if let Err(reason) = read_sections(header, endian, data, length, &mut image) {
        image.refused = Some(reason);
    }
    image.may_be_go |= image.build_ids.go.is_some();
    Ok(image)
}

fn read_sections<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(
    header: &H,
    endian: Endianness,
    data: R,
    length: u64,
    image: &mut ElfImage,
) -> Result<(), &'static str> {
    const BROKEN: &str = "broken section headers";
    if header.e_shoff(endian).into() == 0 {
        // Stripped of its sections altogether: no symbols, and nothing wrong.
        image.may_be_go = true;
        return Ok(());
    }
    if header.e_shnum(endian) == 0 || header.e_shnum(endian) >= MAX_HEADERS {
        return Err("too many sections");
    }
    let headers = header.section_headers(endian, data).map_err(|_| BROKEN)?;
    let names = headers
        .get(usize::from(header.e_shstrndx(endian).0))
        .ok_or(BROKEN)?;
    if names.sh_size(endian).into() > MAX_SECTION_NAME_BYTES {
        return Err("too long section names");
    }
    let names = data
        .read_bytes_at(names.sh_offset(endian).into(), names.sh_size(endian).into())
        .map_err(|()| BROKEN)?;
    for section in headers {
        let name = names
            .get(section.sh_name(endian) as usize..)
            .and_then(|tail| tail.split(|byte| *byte == 0).next())
            .ok_or(BROKEN)?;
        if section.sh_type(endian) == SHT_NOBITS {
            continue;
        }
        if let Some(table) = NAME_TABLES.iter().find(|table| table.as_bytes() == name)
            && !image.tables.contains(table)
        {
            image.tables.push(table);
        }
        let size: u64 = section.sh_size(endian).into();
        let offset: u64 = section.sh_offset(endian).into();
        let inside = offset.checked_add(size).is_some_and(|end| end <= length);
        let compressed = section.sh_flags(endian).contains(SHF_COMPRESSED);
        match name {
            b".symtab" | b".strtab" | b".dynsym" | b".dynstr" => {
                if !inside {
                    return Err("symbol table outside of the file");
                }
                if compressed {
                    return Err("compressed symbol table");
                }
                image.symbol_bytes = image.symbol_bytes.saturating_add(size);
            }
            name if name.starts_with(b".debug_") && name != b".debug_sup" => {
                if !inside {
                    return Err("debug information outside of the file");
                }
                let size = match section.compression(endian, data) {
                    Ok(Some((compression, ..))) => {
                        use object::read::elf::CompressionHeader as _;
                        compression.ch_size(endian).into()
                    }
                    Ok(None) if !compressed => size,
                    _ => return Err("broken compressed section"),
                };
                image.debug_bytes = image.debug_bytes.saturating_add(size);
            }
            b".gnu_debuglink" | b".gnu_debugaltlink" | b".debug_sup" => {
                match plain_link(data, name, offset, size) {
                    Some(link) if name == b".gnu_debuglink" => image.debug_link = Some(link),
                    Some(_) => {}
                    None => image.has_strange_debug_link = true,
                }
            }
            b".go.buildinfo" | b".gopclntab" | b".data.rel.ro.gopclntab" => image.may_be_go = true,
            // The Go linker's note is in no segment when the system linker wrote the file.
            b".note.go.buildid" | b".note.gnu.build-id"
                if inside && size <= MAX_NOTE_BYTES && !compressed =>
            {
                if let Ok(Some(mut iterator)) = section.notes(endian, data) {
                    while let Ok(Some(note)) = iterator.next() {
                        image
                            .build_ids
                            .add(note.name(), note.n_type(endian).0, note.desc());
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A debug link that is a bare file name or lies below the system's debug directories. The
/// reader of DWARF opens what the link says, and opening a pipe or a device could hang or do
/// worse. Real links of executables are bare names; the others stand in debug files.
fn plain_link<'a, R: ReadRef<'a>>(
    data: R,
    section: &[u8],
    offset: u64,
    size: u64,
) -> Option<Vec<u8>> {
    let bytes = data.read_bytes_at(offset, size.min(MAX_LINK_BYTES)).ok()?;
    // `.debug_sup`: version (2 bytes) and a flag come first (DWARF 5, section 7.3.6).
    let bytes = match section {
        b".debug_sup" => bytes.get(3..).unwrap_or(&[]),
        _ => bytes,
    };
    let link = bytes.split(|byte| *byte == 0).next().unwrap_or(&[]);
    let below_debug_directory =
        link.starts_with(b"/usr/lib/debug/") || link.starts_with(b"/lib/debug/");
    let is_plain = !link.windows(2).any(|pair| pair == b"..")
        && (below_debug_directory || !link.contains(&b'/'));
    is_plain.then(|| link.to_vec())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Our own executable has an executable segment, a symbol table and nothing against it.
    #[test]
    fn own_executable() {
        let file = File::open("/proc/self/exe").expect("own executable");
        let length = file.metadata().expect("metadata").len();
        let image = ElfImage::read(&file, length).expect("ELF");
        assert!(!image.segments.is_empty());
        assert!(image.symbol_bytes > 0);
        assert_eq!(image.refused, None);
    }

    /// An executable with any byte of its headers changed, or cut anywhere, is read or refused,
    /// and nothing panics.
    #[test]
    fn damaged() {
        let whole = std::fs::read("/bin/true").expect("a small executable");
        let mut file = tempfile::tempfile().expect("temporary file");
        file.write_all(&whole).expect("write");
        use std::os::unix::fs::FileExt as _;
        let headers = [
            0..64 * 14usize,
            whole.len().saturating_sub(64 * 30)..whole.len(),
        ];
        let mut refused = 0;
        for at in headers.into_iter().flatten() {
            for value in [0, 0x7f, 0xff] {
                file.write_all_at(&[value], at as u64).expect("write");
                refused += u32::from(match ElfImage::read(&file, whole.len() as u64) {
                    Ok(image) => image.refused.is_some(),
                    Err(_) => true,
                });
            }
            file.write_all_at(&whole[at..=at], at as u64)
                .expect("write");
        }
        assert!(refused > 0);
        for length in (0..whole.len() as u64).rev().step_by(997) {
            file.set_len(length).expect("truncate");
            let _ = ElfImage::read(&file, length);
        }
    }
}
