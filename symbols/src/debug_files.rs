//! Separate debug files, found by build id.
//!
//! The folders are those that the user named. What is found there is believed only when the file
//! itself carries the build id that was asked for.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Executable, elf_image::ElfImage};

/// Most files looked into, over all folders: the debug files of a whole distribution's base system
/// are 20,000.
const MAX_FILES: usize = 65_536;

/// Deepest folder looked into.
const MAX_DEPTH: usize = 16;

/// Shortest and longest build id looked for, in hex digits. The layout splits off the first two.
const BUILD_ID_DIGITS: std::ops::RangeInclusive<usize> = 4..=128;

/// Folders with debug files.
#[derive(Debug)]
pub struct DebugFiles {
    directories: Vec<PathBuf>,
    /// Every file of the folders by build id, once one was not where it is looked for first.
    index: Option<HashMap<Arc<str>, Vec<PathBuf>>>,
    unread: u64,
    next_id: u32,
}

impl DebugFiles {
    /// Looks in `directories`, in their order.
    pub fn new(directories: Vec<PathBuf>) -> Self {
        Self {
            directories,
            index: None,
            unread: 0,
            next_id: 1,
        }
    }

    /// The file with the most debug information among those with this GNU build id (lower-case
    /// hex): at `.build-id/xx/yyyy.debug` or `xx/yyyy.debug` as distributions lay them out, at
    /// `BUILD-ID/debuginfo` as caches do, or else anywhere in the folders.
    pub fn find(&mut self, build_id: &str) -> Option<Arc<Executable>> {
        if !BUILD_ID_DIGITS.contains(&build_id.len())
            || !build_id.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return None;
        }
        let (head, tail) = build_id.split_at(2);
        let usual: Vec<PathBuf> = self
            .directories
            .iter()
            .flat_map(|directory| {
                [
                    directory.join(format!(".build-id/{head}/{tail}.debug")),
                    directory.join(format!("{head}/{tail}.debug")),
                    directory.join(build_id).join("debuginfo"),
                ]
            })
            .collect();
        let placed = usual.iter().find_map(|path| self.open(path, build_id));
        placed.or_else(|| {
            let elsewhere = self.indexed(build_id);
            elsewhere
                .iter()
                .filter_map(|path| self.open(path, build_id))
                .max_by_key(|file| (file.debug_bytes, file.symbol_bytes))
        })
    }

    /// Files that the bounds left unread.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    fn open(&mut self, path: &Path, build_id: &str) -> Option<Arc<Executable>> {
        let file = Executable::open(self.next_id, path).ok()?;
        (file.build_ids.gnu.as_deref() == Some(build_id)).then(|| {
            self.next_id = self.next_id.saturating_add(1);
            Arc::new(file)
        })
    }

    fn indexed(&mut self, build_id: &str) -> Vec<PathBuf> {
        let (directories, unread) = (&self.directories, &mut self.unread);
        let index = self.index.get_or_insert_with(|| {
            let mut walk = Walk::default();
            for directory in directories {
                walk.folder(directory, 0);
            }
            *unread = walk.unread;
            walk.found
        });
        index.get(build_id).cloned().unwrap_or_default()
    }
}

#[derive(Default)]
struct Walk {
    found: HashMap<Arc<str>, Vec<PathBuf>>,
    looked_into: usize,
    unread: u64,
}

impl Walk {
    /// Links are not followed: what they lead to is in its own place, or was not meant.
    fn folder(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => self.folder(&path, depth + 1),
                Ok(kind) if kind.is_dir() => self.unread += 1,
                Ok(kind) if kind.is_file() && self.looked_into < MAX_FILES => self.file(path),
                Ok(kind) if kind.is_file() => self.unread += 1,
                _ => {}
            }
        }
    }

    fn file(&mut self, path: PathBuf) {
        self.looked_into += 1;
        let Ok(file) = fs::File::open(&path) else {
            return;
        };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let image = ElfImage::read(&file, length).ok();
        if let Some(id) = image.and_then(|image| image.build_ids.gnu) {
            self.found.entry(id).or_default().push(path);
        }
    }
}

#[cfg(test)]
mod tests;
