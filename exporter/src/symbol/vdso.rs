//! The virtual shared object, as a file.
//!
//! The kernel maps the same image into every 64-bit process, so ours serves for all. It is copied
//! into a memory file: from there on it is an executable like any other, with build id and
//! symbols.

use std::{
    fs::File,
    io::{self, Write as _},
    os::unix::fs::FileExt as _,
    path::Path,
};

use rustix::fs::MemfdFlags;

use super::{
    executable::{Executable, ExecutableError, Provenance},
    maps::{Backing, MapsParser, read_maps},
};

/// Largest image copied; x86-64 and arm64 have 8 KiB.
const MAX_BYTES: u64 = 1 << 20;

/// Our own virtual shared object, and its length in bytes.
///
/// # Errors
/// When `/proc/self` is hidden, or the kernel was booted with `vdso=0`.
pub(crate) fn own_vdso(id: u32) -> Result<(Executable, u64), ExecutableError> {
    let (file, length) = copy().map_err(|source| ExecutableError::Io {
        path: "[vdso]".into(),
        source,
    })?;
    let executable = Executable::from_file(id, file, b"[vdso]", Provenance::Vdso)?;
    Ok((executable, length))
}

fn copy() -> io::Result<(File, u64)> {
    let mut maps = Vec::new();
    read_maps(Path::new("/proc"), std::process::id(), &mut maps)?;
    let entry = MapsParser::new(&maps)
        .find(|entry| entry.backing() == Backing::Vdso)
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no [vdso] is mapped"))?;
    let length = entry.end - entry.start;
    if length > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "[vdso] is larger than 1 MiB",
        ));
    }
    let mut image = vec![0; usize::try_from(length).unwrap_or(0)];
    File::open("/proc/self/mem")?.read_exact_at(&mut image, entry.start)?;
    let mut file: File = rustix::fs::memfd_create("evenkeel-vdso", MemfdFlags::CLOEXEC)?.into();
    file.write_all(&image)?;
    Ok((file, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The image has a segment and an identity, and its mapping is named as the kernel names it.
    #[test]
    fn own() {
        let (executable, length) = own_vdso(1).expect("a vdso");
        assert!(length >= 4096);
        assert_eq!(&*executable.mapping.filename, "[vdso]");
        assert!(executable.build_ids.htlhash.is_some());
        assert!(!executable.segments.is_empty());
    }
}
