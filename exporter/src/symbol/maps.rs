//! `/proc/PID/maps`, byte for byte.
//!
//! Format: `proc_pid_maps(5)` and `show_map_vma` in the kernel's `fs/proc/task_mmu.c`.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Most bytes read from one `maps` file. A process at the default `vm.max_map_count` (65,530)
/// with paths of 200 bytes has 18 MiB.
pub const MAX_MAPS_BYTES: u64 = 64 << 20;

/// What the kernel appends to the path of a file whose directory entry is gone.
const DELETED: &[u8] = b" (deleted)";

/// Permissions of a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// `r`
    pub read: bool,
    /// `w`
    pub write: bool,
    /// `x`
    pub execute: bool,
    /// `s`: changes are shared; `p`: private.
    pub shared: bool,
}

/// Device number as `maps` prints it: both halves hexadecimal, of any width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Device {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

/// One line of `maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapsEntry<'a> {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub end: u64,
    /// Permissions.
    pub permissions: Permissions,
    /// Offset of `start` in the file, in bytes.
    pub offset: u64,
    /// Device of the file; zero without one.
    pub device: Device,
    /// Inode of the file; zero without one.
    pub inode: u64,
    /// The name as the kernel printed it, `\012` still escaped; empty for anonymous memory.
    pub raw_path: &'a [u8],
}

/// What stands behind a mapping, judged by its name and inode alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// A file with a path, perhaps deleted.
    File,
    /// A `memfd_create` file: executables (container runtimes clone themselves so) and the double
    /// mapped code of just-in-time compilers look the same.
    MemoryFile,
    /// No file: the heap, a stack, `[anon:..]`, `anon_inode:[..]`, shared anonymous memory. Code here was made at
    /// run time.
    Anonymous,
    /// The virtual shared object that the kernel maps into every process.
    Vdso,
    /// Anything else that has a name but no file to read: `[vsyscall]`, `[uprobes]`.
    Special,
}

impl MapsEntry<'_> {
    /// What stands behind this mapping.
    pub fn backing(&self) -> Backing {
        let path = self.raw_path;
        if path.is_empty()
            || path.starts_with(b"[anon:")
            || path.starts_with(b"[anon_shmem:")
            || path.starts_with(b"[stack")
            || path == b"[heap]"
            || path.starts_with(b"/dev/zero")
            || path.starts_with(b"/SYSV")
            || path.starts_with(b"anon_inode:")
        {
            Backing::Anonymous
        } else if path == b"[vdso]" {
            Backing::Vdso
        } else if path.starts_with(b"/memfd:") {
            Backing::MemoryFile
        } else if path.starts_with(b"/") {
            Backing::File
        } else {
            Backing::Special
        }
    }

    /// The path with newlines restored. A trailing ` (deleted)` is kept: it may be part of the
    /// name, see [`without_deleted`].
    pub fn path(&self) -> Vec<u8> {
        unescape(self.raw_path)
    }
}

/// The path without a trailing ` (deleted)`, or `None` where it has none. The caller must have
/// made sure, by inode, that no file of the full name is the mapped one.
pub fn without_deleted(path: &[u8]) -> Option<&[u8]> {
    path.strip_suffix(DELETED)
}

/// The part of a path after its last slash, for display.
pub fn base_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Parses what `maps` says.
///
/// Lines that do not have the form are skipped; their number is [`MapsParser::malformed`].
#[derive(Clone, Debug)]
pub struct MapsParser<'a> {
    rest: &'a [u8],
    malformed: u64,
}

impl<'a> MapsParser<'a> {
    /// A parser over the bytes of a `maps` file.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            malformed: 0,
        }
    }

    /// Lines skipped so far.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }
}

impl<'a> Iterator for MapsParser<'a> {
    type Item = MapsEntry<'a>;

    fn next(&mut self) -> Option<MapsEntry<'a>> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|byte| *byte == b'\n');
            let (line, rest) = match end {
                Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
                None => (self.rest, &[][..]),
            };
            self.rest = rest;
            if line.is_empty() {
                continue;
            }
            match parse_line(line) {
                Some(entry) => return Some(entry),
                None => self.malformed += 1,
            }
        }
        None
    }
}

/// Reads `PROC/PID/maps` into `buffer`, which is cleared first.
///
/// # Errors
/// As `open` and `read`: `ENOENT` or `ESRCH` when the process is gone, `EACCES` without
/// `CAP_SYS_PTRACE`. More than [`MAX_MAPS_BYTES`] is `InvalidData`.
pub fn read_maps(proc_root: &Path, pid: u32, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    let file = File::open(proc_root.join(pid.to_string()).join("maps"))?;
    file.take(MAX_MAPS_BYTES + 1).read_to_end(buffer)?;
    if buffer.len() as u64 > MAX_MAPS_BYTES {
        buffer.clear();
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "maps is longer than 64 MiB",
        ));
    }
    Ok(())
}

fn parse_line(line: &[u8]) -> Option<MapsEntry<'_>> {
    let (range, rest) = split(line, b' ')?;
    let (start, end) = split(range, b'-')?;
    let (permissions, rest) = split(rest, b' ')?;
    let (offset, rest) = split(rest, b' ')?;
    let (device, rest) = split(rest, b' ')?;
    let (major, minor) = split(device, b':')?;
    // The inode ends the line when nothing is mapped there.
    let (inode, rest) = split(rest, b' ').unwrap_or((rest, &[]));
    // The kernel pads with spaces up to a column; no name begins with one.
    let padding = rest.iter().take_while(|byte| **byte == b' ').count();
    let entry = MapsEntry {
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        permissions: parse_permissions(permissions)?,
        offset: hexadecimal(offset)?,
        device: Device {
            major: u32::try_from(hexadecimal(major)?).ok()?,
            minor: u32::try_from(hexadecimal(minor)?).ok()?,
        },
        inode: str::from_utf8(inode).ok()?.parse().ok()?,
        raw_path: &rest[padding..],
    };
    (entry.start < entry.end).then_some(entry)
}

fn split(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let position = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..position], &bytes[position + 1..]))
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0u64, |value, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some((value << 4) | u64::from(digit))
    })
}

fn parse_permissions(text: &[u8]) -> Option<Permissions> {
    let &[read, write, execute, shared] = text else {
        return None;
    };
    Some(Permissions {
        read: read == b'r',
        write: write == b'w',
        execute: execute == b'x',
        shared: shared == b's',
    })
}

/// The kernel escapes the newline and nothing else (`seq_path(m, path, "\n")`), so a name with a
/// backslash followed by `012` cannot be told from one with a newline.
fn unescape(raw: &[u8]) -> Vec<u8> {
    const NEWLINE: &[u8] = b"\\012";
    let mut path = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((first, tail)) = rest.split_first() {
        match rest.strip_prefix(NEWLINE) {
            Some(tail) => {
                path.push(b'\n');
                rest = tail;
            }
            None => {
                path.push(*first);
                rest = tail;
            }
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIRKS: &[u8] = include_bytes!("../../tests/cases/maps_quirks.txt");

    /// Every odd line of the fixture is read, with the path as it was written.
    #[test]
    fn odd_lines() {
        let mut parser = MapsParser::new(QUIRKS);
        let entries: Vec<_> = parser.by_ref().collect();
        assert_eq!(parser.malformed(), 0);
        let seen: Vec<(Vec<u8>, Backing)> = entries
            .iter()
            .map(|entry| (entry.path(), entry.backing()))
            .collect();
        assert_eq!(
            seen,
            [
                (b"/srv/sp ace/my  prog (deleted)".to_vec(), Backing::File),
                (b"/srv/new\nline".to_vec(), Backing::File),
                (
                    b"/memfd:doublemapper (deleted)".to_vec(),
                    Backing::MemoryFile
                ),
                (b"anon_inode:[perf_event]".to_vec(), Backing::Anonymous),
                (b"/pg/bin/postgres".to_vec(), Backing::File),
                (b"[anon:v8]".to_vec(), Backing::Anonymous),
                (b"[vdso]".to_vec(), Backing::Vdso),
                (b"[vsyscall]".to_vec(), Backing::Special),
            ]
        );
        assert_eq!(
            entries[4].device,
            Device {
                major: 0x103,
                minor: 3
            }
        );
        assert_eq!(entries[4].inode, 49_684_469);
        assert_eq!(entries[0].offset, 0x1000);
        assert!(entries[3].permissions.shared && !entries[3].permissions.execute);
        assert_eq!(entries[7].start, 0xffff_ffff_ff60_0000);
    }

    /// A line without a path is anonymous memory, with or without the kernel's padding.
    #[test]
    fn anonymous() {
        for line in [
            &b"7f0000400000-7f0000500000 r-xp 00000000 00:00 0 \n"[..],
            b"7f0000400000-7f0000500000 r-xp 00000000 00:00 0",
        ] {
            let entry = MapsParser::new(line).next().expect("a mapping");
            assert_eq!(entry.raw_path, b"");
            assert_eq!(entry.backing(), Backing::Anonymous);
        }
    }

    /// Only one suffix goes, and only the exact one.
    #[test]
    fn deleted_suffix() {
        assert_eq!(without_deleted(b"/a (deleted)"), Some(&b"/a"[..]));
        assert_eq!(
            without_deleted(b"/a (deleted) (deleted)"),
            Some(&b"/a (deleted)"[..])
        );
        assert_eq!(without_deleted(b"/a(deleted)"), None);
    }

    /// Whatever the bytes, every line is either an entry or counted, and nothing panics.
    #[test]
    fn random_bytes() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let alphabet = b"0123456789abcdef- rwxps:/[]\\\n\xff\0";
        for _ in 0..2_000 {
            // Half of the rounds are noise, half are the fixture with a few bytes changed.
            let mut bytes: Vec<u8> = if next() % 2 == 0 {
                (0..next() % 300)
                    .map(|_| alphabet[(next() as usize) % alphabet.len()])
                    .collect()
            } else {
                QUIRKS.to_vec()
            };
            if !bytes.is_empty() {
                for _ in 0..next() % 8 {
                    let at = next() as usize % bytes.len();
                    bytes[at] = next() as u8;
                }
            }
            let lines = bytes
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .count() as u64;
            let mut parser = MapsParser::new(&bytes);
            let entries = parser.by_ref().count() as u64;
            assert_eq!(entries + parser.malformed(), lines);
        }
    }

    /// Our own maps has no line that the parser refuses.
    #[test]
    fn own_maps() {
        let mut buffer = Vec::new();
        read_maps(Path::new("/proc"), std::process::id(), &mut buffer).expect("own maps");
        let mut parser = MapsParser::new(&buffer);
        assert!(parser.by_ref().any(|entry| entry.permissions.execute));
        assert_eq!(parser.by_ref().count().min(1), 1);
        assert_eq!(parser.malformed(), 0);
    }
}
