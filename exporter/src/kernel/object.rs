//! The kernel object: the same bytes on every host, built from `exporter-ebpf/`.

use std::{borrow::Cow, env, fs, path::PathBuf};

use sha2::{Digest as _, Sha256};

/// Names a file to load instead of the embedded object. For the project's own tests, which run
/// an object rebuilt by a newer toolchain.
pub const OBJECT_VARIABLE: &str = "EVENKEEL_BPF_OBJECT";

static EMBEDDED: &[u8] =
    aya::include_bytes_aligned!("../../../exporter-ebpf/prebuilt/evenkeel.bpf.o");

static TOOLCHAIN: &str = include_str!("../../../exporter-ebpf/prebuilt/toolchain.txt");

/// An object and its identity.
#[derive(Clone, Debug)]
pub struct Object {
    /// The ELF file.
    pub bytes: Cow<'static, [u8]>,
    /// SHA-256 of the bytes, lower-case hex.
    pub digest: String,
}

/// The object named by [`OBJECT_VARIABLE`] could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}, which {OBJECT_VARIABLE} names: {source}")]
pub struct ObjectError {
    path: PathBuf,
    source: std::io::Error,
}

impl Object {
    fn new(bytes: Cow<'static, [u8]>) -> Self {
        let digest = hex(&Sha256::digest(&bytes));
        Self { bytes, digest }
    }

    /// The object that this binary carries.
    pub fn embedded() -> Self {
        Self::new(Cow::Borrowed(EMBEDDED))
    }

    /// The embedded object, unless [`OBJECT_VARIABLE`] names another.
    pub fn from_environment() -> Result<Self, ObjectError> {
        match env::var_os(OBJECT_VARIABLE) {
            None => Ok(Self::embedded()),
            Some(path) => {
                let path = PathBuf::from(path);
                match fs::read(&path) {
                    Ok(bytes) => Ok(Self::new(Cow::Owned(bytes))),
                    Err(source) => Err(ObjectError { path, source }),
                }
            }
        }
    }

    /// Versions of the toolchain that built the embedded object, one a line.
    pub fn toolchain() -> &'static str {
        TOOLCHAIN.trim_end()
    }
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The embedded object is an ELF file for BPF, not an empty place-holder.
    #[test]
    fn embedded_object_is_bpf_elf() {
        let object = Object::embedded();
        assert_eq!(&object.bytes[..4], b"\x7fELF");
        assert_eq!(object.bytes[18], 247, "e_machine is EM_BPF");
        assert_eq!(object.digest.len(), 64);
    }
}
