//! Build ids: what identifies the contents of an executable.

use std::{fmt::Write as _, fs::File, io, os::unix::fs::FileExt as _, sync::Arc};

use sha2::{Digest as _, Sha256};

/// Bytes hashed at each end of the file.
const PAGE: u64 = 4096;

/// Longest GNU build id taken, in bytes. SHA-1 has 20, `--build-id=0x...` may be anything.
const MAX_GNU_BYTES: usize = 64;

/// Longest Go build id taken, in bytes: four hashes of 20 characters and three slashes are 83.
const MAX_GO_BYTES: usize = 256;

/// The hash of head, tail and length: `SHA256(file[..4096] + file[-4096..] + be64(length))`, its
/// first 16 bytes in lower-case hex. Source: OpenTelemetry specification, `profiles/mappings.md`.
///
/// # Errors
/// As `pread`.
pub fn htlhash(file: &File, length: u64) -> io::Result<Arc<str>> {
    let mut page = [0u8; PAGE as usize];
    let size = usize::try_from(length.min(PAGE)).unwrap_or(PAGE as usize);
    let mut hash = Sha256::new();
    file.read_exact_at(&mut page[..size], 0)?;
    hash.update(&page[..size]);
    file.read_exact_at(&mut page[..size], length - size as u64)?;
    hash.update(&page[..size]);
    hash.update(length.to_be_bytes());
    let digest = hash.finalize();
    Ok(hex(digest.as_slice().get(..16).unwrap_or(&[])))
}

/// Takes the ids out of an ELF note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoteBuildIds {
    /// GNU build id in lower-case hex.
    pub gnu: Option<Arc<str>>,
    /// Go build id as its linker wrote it.
    pub go: Option<Arc<str>>,
}

impl NoteBuildIds {
    /// Looks at one note: name without trailing zeros, type, description. The first id of a kind
    /// wins.
    pub fn add(&mut self, name: &[u8], kind: u32, description: &[u8]) {
        const NT_GNU_BUILD_ID: u32 = 3;
        const NT_GO_BUILD_ID: u32 = 4;
        match (name, kind) {
            (b"GNU", NT_GNU_BUILD_ID)
                if self.gnu.is_none()
                    && !description.is_empty()
                    && description.len() <= MAX_GNU_BYTES =>
            {
                self.gnu = Some(hex(description));
            }
            (b"Go", NT_GO_BUILD_ID) if self.go.is_none() && description.len() <= MAX_GO_BYTES => {
                self.go = str::from_utf8(description)
                    .ok()
                    .map(|text| text.trim_end_matches('\0'))
                    .filter(|text| !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic()))
                    .map(Arc::from);
            }
            _ => {}
        }
    }

    /// Looks at a run of notes in this machine's byte order, as `/sys/kernel/notes` has them.
    pub fn from_native_notes(bytes: &[u8]) -> Self {
        let mut ids = Self::default();
        let mut rest = bytes;
        while let Some((header, tail)) = rest.split_first_chunk::<12>() {
            let word = |at: usize| {
                let mut word = [0u8; 4];
                word.copy_from_slice(&header[at..at + 4]);
                u32::from_ne_bytes(word)
            };
            let (name_size, description_size) = (word(0) as usize, word(4) as usize);
            let name_end = name_size.next_multiple_of(4);
            let description_end = name_end.saturating_add(description_size);
            let Some(name) = tail.get(..name_size) else {
                break;
            };
            let Some(description) = tail.get(name_end..description_end) else {
                break;
            };
            let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
            ids.add(&name[..end], word(8), description);
            let Some(next) = tail.get(description_end.next_multiple_of(4)..) else {
                break;
            };
            rest = next;
        }
        ids
    }
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> Arc<str> {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn hash_of(bytes: &[u8]) -> String {
        let mut file = tempfile::tempfile().expect("temporary file");
        file.write_all(bytes).expect("write");
        htlhash(&file, bytes.len() as u64)
            .expect("hash")
            .to_string()
    }

    /// The hash is that of the specification's formula, computed here by hand with other means:
    /// `sha256sum` of the parts.
    #[test]
    fn known_hashes() {
        // printf '\0\0\0\0\0\0\0\0' | sha256sum
        assert_eq!(hash_of(b""), "af5570f5a1810b7af78caf4bc70a660f");
        // (printf 'abcabc'; printf '\0\0\0\0\0\0\0\003') | sha256sum
        assert_eq!(hash_of(b"abc"), "a7e79e8a85da69bad5c3fea209342ac9");
    }

    /// The middle of a long file does not count, both ends and the length do.
    #[test]
    fn head_tail_length() {
        let base = vec![7u8; 20_000];
        let mut middle = base.clone();
        middle[10_000] = 8;
        assert_eq!(hash_of(&base), hash_of(&middle));
        for at in [0, 4095, 20_000 - 4096, 19_999] {
            let mut other = base.clone();
            other[at] = 8;
            assert_ne!(hash_of(&base), hash_of(&other));
        }
        assert_ne!(hash_of(&base), hash_of(&base[..19_999]));
    }

    /// Notes cut anywhere give an id or none, and never a panic.
    #[test]
    fn cut_notes() {
        let mut notes = Vec::new();
        for (name, kind, description) in [
            (&b"Linux\0\0\0"[..], 0u32, &b"6.18"[..]),
            (b"GNU\0", 3, b"\x01\xab"),
        ] {
            notes.extend((name.len() as u32).to_ne_bytes());
            notes.extend((description.len() as u32).to_ne_bytes());
            notes.extend(kind.to_ne_bytes());
            notes.extend(name);
            notes.extend(description);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        assert_eq!(
            NoteBuildIds::from_native_notes(&notes).gnu.as_deref(),
            Some("01ab")
        );
        for cut in 0..notes.len() - 2 {
            assert_eq!(NoteBuildIds::from_native_notes(&notes[..cut]).gnu, None);
        }
        assert_eq!(
            NoteBuildIds::from_native_notes(&[0xff; 64]),
            NoteBuildIds::default()
        );
    }
}
