//! The kernel and its modules as mappings.

use std::{fs, path::Path, sync::Arc};

use evenkeel_otlp::model::{BuildIds, Mapping};

use super::build_id::NoteBuildIds;

/// Largest file of notes read; a kernel's have some hundred bytes.
const MAX_NOTE_BYTES: u64 = 64 << 10;

/// Most modules kept; the largest distributions load under 300 of the 6,000 they ship.
const MAX_MODULES: usize = 4096;

/// One loaded module.
#[derive(Clone, Debug)]
pub(crate) struct KernelModule {
    pub(crate) name: Box<str>,
    pub(crate) mapping: Arc<Mapping>,
}

/// The mapping of the kernel itself. Without a build id (no `/sys/kernel/notes`) there is none:
/// a mapping must say what it is of.
pub(crate) fn kernel_mapping(
    sys_root: &Path,
    text: Option<std::ops::Range<u64>>,
) -> Option<Arc<Mapping>> {
    let text = text.unwrap_or(0..0);
    mapping(
        "[kernel]",
        &sys_root.join("kernel/notes"),
        text.start,
        text.end,
    )
}

/// The modules in `modules` (the contents of `/proc/modules`) that have a build id, by address.
/// Line: `NAME SIZE USES USERS STATE 0xADDRESS`; the address is zero for readers without
/// `CAP_SYSLOG`.
pub(crate) fn kernel_modules(modules: &str, sys_root: &Path) -> Vec<KernelModule> {
    let mut found: Vec<KernelModule> = modules
        .lines()
        .take(MAX_MODULES)
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let name = words.next()?;
            // A name is a file name below; the kernel allows no slash, a fixture might.
            if name.contains('/') || name.starts_with('.') {
                return None;
            }
            let size: u64 = words.next()?.parse().ok()?;
            let address = words
                .nth(3)
                .and_then(|word| word.strip_prefix("0x"))
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .unwrap_or(0);
            let notes = sys_root
                .join("module")
                .join(name)
                .join("notes/.note.gnu.build-id");
            let (start, limit) = match address {
                0 => (0, 0),
                address => (address, address.checked_add(size)?),
            };
            Some(KernelModule {
                name: name.into(),
                mapping: mapping(&format!("[{name}]"), &notes, start, limit)?,
            })
        })
        .collect();
    found.sort_by_key(|module| module.mapping.start);
    found
}

fn mapping(name: &str, notes: &Path, start: u64, limit: u64) -> Option<Arc<Mapping>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    fs::File::open(notes)
        .ok()?
        .take(MAX_NOTE_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    let ids = NoteBuildIds::from_native_notes(&bytes);
    Some(Arc::new(Mapping {
        start,
        limit,
        file_offset: 0,
        filename: name.into(),
        build_ids: BuildIds {
            gnu: Some(ids.gnu?),
            go: None,
            htlhash: None,
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(id: u8) -> Vec<u8> {
        let mut note = Vec::new();
        for word in [4u32, 2, 3] {
            note.extend(word.to_ne_bytes());
        }
        note.extend(b"GNU\0");
        note.extend([id, 0xcd, 0, 0]);
        note
    }

    /// Modules carry their own build ids and ranges; one without an id has no mapping.
    #[test]
    fn modules() {
        let sys = tempfile::tempdir().expect("temporary directory");
        let notes = sys.path().join("module/nfsd/notes");
        fs::create_dir_all(&notes).expect("directory");
        fs::write(notes.join(".note.gnu.build-id"), note(0xab)).expect("write");
        let text = "nfsd 1000 0 - Live 0xffffffffc0ab0000\n\
                    noid 4096 1 nfsd, Live 0xffffffffc0aa0000\n\
                    ../nfsd 1 0 - Live 0x1\nshort\n";
        let modules = kernel_modules(text, sys.path());
        assert_eq!(modules.len(), 1);
        let mapping = &modules[0].mapping;
        assert_eq!(&*mapping.filename, "[nfsd]");
        assert_eq!(mapping.build_ids.gnu.as_deref(), Some("abcd"));
        assert_eq!(mapping.limit - mapping.start, 1000);
    }

    /// The running kernel has a build id, and a tree without notes gives no mapping.
    #[test]
    fn kernel() {
        let mapping = kernel_mapping(Path::new("/sys"), Some(1..2)).expect("build id");
        assert!(
            mapping
                .build_ids
                .gnu
                .as_ref()
                .is_some_and(|id| id.len() >= 16)
        );
        let empty = tempfile::tempdir().expect("temporary directory");
        assert!(kernel_mapping(empty.path(), None).is_none());
    }
}
