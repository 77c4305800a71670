//! The file that a recording goes to. It may be the user's, and stays as it is until there is
//! something to write.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use evenkeel_otlp::recording::{RecordingError, RecordingWriter};
use rustix::fs::{Access, AtFlags, CWD, accessat};

/// A place for a recording.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    /// Whether there was nothing at this path before.
    is_new: bool,
}

impl Output {
    /// Checks that the file can be written, or made. Touches nothing, so that it can be asked before
    /// anything else is begun and a typo is said at once.
    pub(super) fn check(path: &Path) -> anyhow::Result<()> {
        writable(path).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Makes the file if there is none; leaves one that is there as it is.
    pub(super) fn reserve(path: PathBuf) -> anyhow::Result<Self> {
        let is_new = match File::create_new(&path) {
            Ok(_) => true,
            // A link that leads nowhere is there, too; what it leads to is made by `writer`.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot write {}", path.display()));
            }
        };
        Ok(Self { path, is_new })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins the recording: from here on, what was in the file is gone.
    pub(super) fn writer(&self) -> Result<RecordingWriter, RecordingError> {
        RecordingWriter::create(&self.path)
    }

    /// Nothing was recorded: an empty file would only be in the way. One that was there before is
    /// the user's, whatever it is.
    pub(super) fn discard(self) {
        if self.is_new
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "An empty file is left.");
        }
    }
}

fn writable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if metadata.is_file() => File::options().append(true).open(path).map(drop),
        // To open a device or a pipe may do something, or wait for a reader.
        Ok(_) => may(path, Access::WRITE_OK),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = match path.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => folder,
                _ => Path::new("."),
            };
            if !fs::metadata(folder)?.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            may(folder, Access::WRITE_OK | Access::EXEC_OK)
        }
        Err(error) => Err(error),
    }
}

/// Whether the effective user may, which is who will.
fn may(path: &Path, access: Access) -> io::Result<()> {
    Ok(accessat(CWD, path, access, AtFlags::EACCESS)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is there is neither changed nor removed before a writer is asked for.
    #[test]
    fn what_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.otlp");
        fs::write(&path, "precious").unwrap();
        Output::check(&path).unwrap();
        let output = Output::reserve(path.clone()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        output.discard();
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }

    /// Neither is a link, nor what is no regular file.
    #[test]
    fn links_and_devices_stay() {
        let folder = tempfile::tempdir().unwrap();
        for (name, target) in [("null", "/dev/null"), ("nowhere", "no-such-file")] {
            let path = folder.path().join(name);
            std::os::unix::fs::symlink(target, &path).unwrap();
            Output::check(&path).unwrap();
            Output::reserve(path.clone()).unwrap().discard();
            assert!(path.is_symlink(), "{name}");
        }
        let device = Path::new("/dev/full");
        Output::check(device).unwrap();
        let output = Output::reserve(device.to_owned()).unwrap();
        output.writer().unwrap_err();
        output.discard();
        assert!(device.exists());
    }

    /// A file that was made for a recording that did not begin is gone again; asking makes none.
    #[test]
    fn what_was_made_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.otlp");
        Output::check(&path).unwrap();
        assert!(!path.exists());
        let output = Output::reserve(path.clone()).unwrap();
        assert!(path.exists());
        output.discard();
        assert!(!path.exists());
    }

    /// Places where no file can be are named.
    #[test]
    fn impossible_places_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [
            folder.path().to_owned(),
            folder.path().join("no-such-folder/x.otlp"),
            file.join("x.otlp"),
        ] {
            let error = Output::check(&path).unwrap_err().to_string();
            assert!(error.contains(&path.display().to_string()), "{error}");
        }
    }
}
