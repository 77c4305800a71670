//! Entry points of the fuzz targets: any bytes, no panic, bounded time.

use std::{fs::File, io::Write as _};

use rustix::fs::MemfdFlags;

use crate::{
    ElfNames, Executable, FunctionTable, elf_image::ElfImage, elf_names::ElfLimits,
    executable::Provenance,
};

/// Addresses looked up in each segment: both ends and what lies between.
const LOOK_UPS: u64 = 8;

fn file(bytes: &[u8]) -> Option<File> {
    let mut file: File = rustix::fs::memfd_create("fuzz", MemfdFlags::CLOEXEC)
        .ok()?
        .into();
    file.write_all(bytes).ok()?;
    Some(file)
}

/// Headers, notes and sections of an ELF file.
pub fn elf_headers(bytes: &[u8]) {
    if let Some(file) = file(bytes) {
        let _ = ElfImage::read(&file, bytes.len() as u64);
    }
}

/// Names and lines of an ELF file, at addresses all over its segments.
pub fn elf_names(bytes: &[u8]) {
    let opened = file(bytes)
        .and_then(|file| Executable::from_file(1, file, b"fuzz", Provenance::Named).ok());
    let Some(executable) = opened else {
        return;
    };
    let addresses: Vec<u64> = executable
        .segments
        .iter()
        .flat_map(|segment| {
            (0..=LOOK_UPS).map(|part| {
                let offset = (segment.size / LOOK_UPS).saturating_mul(part);
                segment.address.saturating_add(offset)
            })
        })
        .collect();
    let mut names = ElfNames::new(ElfLimits {
        lines: true,
        files: 1,
        bytes: 64 << 20,
    });
    names.find(&executable, &addresses, &mut FunctionTable::new());
}

/// A mangled name.
pub fn demangle(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        let mut functions = FunctionTable::new();
        for may_be_go in [false, true] {
            let _ = functions.function(text, "", may_be_go);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The entry points run on what they are for, and on a program with single bytes changed all
    /// over it.
    #[test]
    fn damaged_programs() {
        let mut program = std::fs::read("/bin/true").expect("a small executable");
        elf_headers(&program);
        elf_names(&program);
        for at in (0..program.len()).step_by(1009) {
            let byte = std::mem::replace(&mut program[at], 0xff);
            elf_names(&program);
            program[at] = byte;
        }
        demangle(b"_ZN3foo3barEv");
        demangle("_R".repeat(10_000).as_bytes());
    }
}
