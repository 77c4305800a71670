//! Frames for addresses, each made once.

use std::sync::Arc;

use evenkeel_otlp::model::{Frame, FrameType};
use lru::LruCache;

use super::{
    elf_names::{ElfLimits, ElfNames, FoundLines},
    executable::Executable,
    executable_table::open_file_limit,
    function_table::FunctionTable,
    go::GoNames,
    jit::JitNames,
    kernel::KernelNames,
    symbolizer::{Address, Batch, Names, SymbolizerCounters, SymbolizerSettings},
};

/// `FrameKey::executable` of kernel addresses; executables count from 1.
const KERNEL: u32 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FrameKey {
    executable: u32,
    address: Address,
}

/// Makes frames and keeps them; lives on the symbolizer's thread.
pub(super) struct FrameSource {
    go: GoNames,
    elf: ElfNames,
    jit: JitNames,
    kernel: KernelNames,
    kernel_generation: u64,
    functions: FunctionTable,
    frames: LruCache<FrameKey, Arc<Frame>>,
    counters: SymbolizerCounters,
}

impl FrameSource {
    pub(super) fn new(settings: &SymbolizerSettings) -> Self {
        Self {
            go: GoNames::new(settings.lines),
            elf: ElfNames::new(ElfLimits {
                lines: settings.lines,
                // Two descriptors each, a third for a debug file; half is the executable table's.
                files: settings.files.min(open_file_limit() / 8).max(1),
                bytes: settings.table_bytes,
            }),
            jit: JitNames::new(settings.lines),
            kernel: KernelNames::new(&settings.proc_root, &settings.sys_root),
            kernel_generation: 0,
            functions: FunctionTable::new(),
            frames: LruCache::sparse(settings.frames),
            counters: SymbolizerCounters::default(),
        }
    }

    /// The frames of a batch.
    pub(super) fn names(&mut self, batch: &Batch) -> Names {
        Names {
            user: batch
                .user
                .iter()
                .map(|(executable, addresses)| self.user(executable, addresses))
                .collect(),
            run_time: batch
                .run_time
                .iter()
                .map(|(code, addresses)| self.jit.find(code, addresses, &mut self.functions))
                .collect(),
            kernel: self.kernel(&batch.kernel),
        }
    }

    fn user(&mut self, executable: &Executable, addresses: &[Address]) -> Vec<Arc<Frame>> {
        let key = |address| FrameKey {
            executable: executable.id,
            address,
        };
        let mut found: Vec<Option<Arc<Frame>>> = addresses
            .iter()
            .map(|address| self.frames.get(&key(*address)).map(Arc::clone))
            .collect();
        let missing: Vec<Address> = addresses
            .iter()
            .zip(&found)
            .filter(|(_, frame)| frame.is_none())
            .map(|(address, _)| *address)
            .collect();
        self.counters.hits += (addresses.len() - missing.len()) as u64;
        self.counters.misses += missing.len() as u64;
        if !missing.is_empty() {
            let lookups: Vec<u64> = missing.iter().map(|address| address.lookup()).collect();
            let lines = self.look_up(executable, &lookups);
            let mut fresh = missing.iter().zip(lines);
            for slot in found.iter_mut().filter(|slot| slot.is_none()) {
                let Some((address, lines)) = fresh.next() else {
                    break;
                };
                let mut frame = unnamed(executable, *address);
                if lines.lines.is_empty() {
                    self.counters.unnamed += 1;
                } else {
                    frame.frame_type = lines.frame_type;
                    frame.lines = lines.lines;
                }
                let frame = Arc::new(frame);
                self.keep(key(*address), &frame);
                *slot = Some(frame);
            }
        }
        found
            .into_iter()
            .zip(addresses)
            .map(|(frame, address)| {
                frame.unwrap_or_else(|| Arc::new(unnamed(executable, *address)))
            })
            .collect()
    }

    /// Go's own tables first: they are there when symbols are not, and have inlined calls. They say
    /// nothing of the C code in a Go program.
    fn look_up(&mut self, executable: &Executable, addresses: &[u64]) -> Vec<FoundLines> {
        let mut found = self.go.find(executable, addresses, &mut self.functions);
        let rest: Vec<u64> = addresses
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.lines.is_empty())
            .map(|(address, _)| *address)
            .collect();
        if rest.is_empty() {
            return found;
        }
        let unnamed = found.iter_mut().filter(|found| found.lines.is_empty());
        let others = self.elf.find(executable, &rest, &mut self.functions);
        for (slot, other) in unnamed.zip(others) {
            *slot = other;
        }
        found
    }

    fn kernel(&mut self, addresses: &[Address]) -> Vec<Arc<Frame>> {
        if addresses.is_empty() {
            return Vec::new();
        }
        self.kernel.refresh();
        self.drop_old_kernel_frames();
        let frames = addresses
            .iter()
            .map(|address| {
                let key = FrameKey {
                    executable: KERNEL,
                    address: *address,
                };
                if let Some(frame) = self.frames.get(&key) {
                    self.counters.hits += 1;
                    return Arc::clone(frame);
                }
                self.counters.misses += 1;
                let frame = self.kernel.frame(*address, &mut self.functions);
                self.counters.unnamed += u64::from(frame.lines.is_empty());
                self.keep(key, &frame);
                frame
            })
            .collect();
        self.drop_old_kernel_frames();
        frames
    }

    /// After kallsyms was read again, an address may have another name.
    fn drop_old_kernel_frames(&mut self) {
        if self.kernel.generation() != self.kernel_generation {
            self.kernel_generation = self.kernel.generation();
            self.frames.retain(|key, _| key.executable != KERNEL);
        }
    }

    fn keep(&mut self, key: FrameKey, frame: &Arc<Frame>) {
        if let Some((dropped, _)) = self.frames.push(key, Arc::clone(frame))
            && dropped != key
        {
            self.counters.frames_evicted += 1;
        }
    }

    /// Lets go of what was read of an executable.
    pub(super) fn forget(&mut self, id: u32) {
        self.go.forget(id);
        self.elf.forget(id);
    }

    /// What was done so far.
    pub(super) fn counters(&self) -> SymbolizerCounters {
        let elf = self.elf.counters();
        let jit = self.jit.counters();
        SymbolizerCounters {
            frames: self.frames.len() as u64,
            files_parsed: elf.parsed + self.go.read(),
            files_let_go: elf.let_go + jit.let_go,
            files: self.elf.files() as u64,
            table_bytes: self.elf.bytes() + self.go.bytes() + self.jit.bytes(),
            files_changed: elf.changed,
            files_refused: elf.refused + self.go.broken(),
            code_maps_refused: jit.refused,
            code_map_lines_dropped: jit.dropped,
            kernel_symbols: self.kernel.len() as u64,
            ..self.counters
        }
    }
}

/// A frame with module and address only.
pub(super) fn unnamed(executable: &Executable, address: Address) -> Frame {
    Frame {
        mapping: Some(Arc::clone(&executable.mapping)),
        address: address.value,
        lines: Vec::new(),
        frame_type: Some(FrameType::Native),
    }
}
