//! A BPF array map in our address space: reading a counter costs a load, not a system call.

use std::{
    os::fd::AsFd as _,
    sync::atomic::{AtomicU64, Ordering},
};

use aya::maps::Map;
use memmap2::{MmapOptions, MmapRaw};

/// The map could not be mapped.
#[derive(Debug, thiserror::Error)]
pub enum MappedArrayError {
    /// The object has no such array of 64-bit words.
    #[error("the kernel object has no array {name} of 64-bit words")]
    Missing {
        /// Name of the map.
        name: &'static str,
    },
    /// The kernel refused.
    #[error("cannot map the array {name}: {source}")]
    Map {
        /// Name of the map.
        name: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
}

/// An array of 64-bit words that kernel programs write and we read.
#[derive(Debug)]
pub struct MappedArray {
    // A mapping keeps the map alive without its descriptor (kernel/bpf/syscall.c, bpf_map_mmap).
    memory: MmapRaw,
    words: usize,
}

impl MappedArray {
    /// Maps `words` words of an array that was made with `BPF_F_MMAPABLE`. The array may hold
    /// structures of whole words.
    pub fn new(
        name: &'static str,
        map: Option<Map>,
        words: usize,
    ) -> Result<Self, MappedArrayError> {
        let Some(Map::Array(map)) = map else {
            return Err(MappedArrayError::Missing { name });
        };
        let memory = MmapOptions::new()
            .len(words * size_of::<u64>())
            .map_raw_read_only(&map.fd().as_fd())
            .map_err(|source| MappedArrayError::Map { name, source })?;
        Ok(Self { memory, words })
    }

    /// The word at an index; 0 beyond the end.
    pub fn load(&self, index: usize) -> u64 {
        if index >= self.words {
            return 0;
        }
        let word = self.memory.as_ptr().cast::<AtomicU64>();
        // SAFETY: `index` is below the number of words mapped, and the mapping starts at a page.
        let word = unsafe { word.add(index) };
        // SAFETY: valid for the life of `self`; the kernel writes it atomically.
        let word = unsafe { &*word };
        word.load(Ordering::Relaxed)
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.words
    }

    /// True for an array without words.
    pub fn is_empty(&self) -> bool {
        self.words == 0
    }
}

/// An array of 64-bit words that we write and kernel programs read: they see each word at once.
#[derive(Debug)]
pub struct WritableArray {
    memory: MmapRaw,
    words: usize,
}

impl WritableArray {
    /// Maps `words` words of an array that was made with `BPF_F_MMAPABLE`. The array may hold
    /// structures of whole words.
    pub fn new(
        name: &'static str,
        map: Option<Map>,
        words: usize,
    ) -> Result<Self, MappedArrayError> {
        let Some(Map::Array(map)) = map else {
            return Err(MappedArrayError::Missing { name });
        };
        let memory = MmapOptions::new()
            .len(words * size_of::<u64>())
            .map_raw(&map.fd().as_fd())
            .map_err(|source| MappedArrayError::Map { name, source })?;
        Ok(Self { memory, words })
    }

    /// Memory that no kernel program reads.
    #[cfg(test)]
    pub(crate) fn anonymous(words: usize) -> std::io::Result<Self> {
        let memory = memmap2::MmapMut::map_anon(words * size_of::<u64>())?.into();
        Ok(Self { memory, words })
    }

    /// Sets a word, after all that was set before; beyond the end nothing.
    pub fn set(&self, index: usize, value: u64) {
        if let Some(word) = self.word(index) {
            word.store(value, Ordering::Release);
        }
    }

    /// The word at an index; 0 beyond the end.
    pub fn load(&self, index: usize) -> u64 {
        self.word(index)
            .map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// Number of words.
    pub fn len(&self) -> usize {
        self.words
    }

    /// True for an array without words.
    pub fn is_empty(&self) -> bool {
        self.words == 0
    }

    fn word(&self, index: usize) -> Option<&AtomicU64> {
        if index >= self.words {
            return None;
        }
        let word = self.memory.as_mut_ptr().cast::<AtomicU64>();
        // SAFETY: `index` is below the number of words mapped, and the mapping starts at a page.
        let word = unsafe { word.add(index) };
        // SAFETY: writable, and valid for the life of `self`; all access is atomic.
        Some(unsafe { &*word })
    }
}
