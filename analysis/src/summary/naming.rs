//! Names for recorded frames, from debug files that came later.

use std::collections::{BTreeMap, HashMap};

use evenkeel_otlp::model::FrameType;
use evenkeel_symbols::{
    DebugFiles, ElfNames, FunctionTable,
    elf_names::{ElfLimits, FoundLines},
};

use super::{Frame, FrameKind, Function, Line, Stacks, Summary};

/// Modules looked for; the debug files of a node's programs are fewer.
const MAX_MODULES: usize = 4096;

/// Bytes of symbol tables and DWARF read of one file: a browser's are 3 GiB. They are mapped, not
/// copied.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// What debug files added to a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// Frames that have names or lines which the recording did not have.
    pub frames: u64,
    /// Debug files that gave them.
    pub files: u64,
    /// Modules with frames lacking names or lines, for which there was no debug file.
    pub missing: u64,
    /// Files and modules beyond the bounds.
    pub left_out: u64,
}

impl Summary {
    /// Names frames by build id and address out of `files`: those without a name, and those
    /// without lines.
    pub fn name_from(&mut self, files: &mut DebugFiles) -> Naming {
        let mut naming = Naming::default();
        let mut functions = FunctionTable::new();
        let mut modules = BTreeMap::<_, Vec<usize>>::new();
        for (index, frame) in self.stacks.frames().enumerate() {
            if let Some(mapping) = frame.mapping.filter(|_| is_lacking(frame)) {
                modules.entry(mapping.build_id).or_default().push(index);
            }
        }
        let calls = self.stacks.frames_that_call();
        let mut named = HashMap::new();
        naming.left_out = modules.len().saturating_sub(MAX_MODULES) as u64;
        for (build_id, frames) in modules.into_iter().take(MAX_MODULES) {
            let Some(file) = files.find(self.stacks.resolve(build_id)) else {
                naming.missing += 1;
                continue;
            };
            let addresses: Vec<u64> = frames
                .iter()
                .filter_map(|index| {
                    let address = self.stacks.frames.get_index(*index)?.address;
                    let is_call = calls.get(*index).copied().unwrap_or(false);
                    Some(address.saturating_sub(u64::from(is_call)))
                })
                .collect();
            // One file at a time, so that each is let go before the next.
            let mut names = ElfNames::new(ElfLimits {
                lines: true,
                files: 1,
                bytes: MAX_FILE_BYTES,
            });
            let before = named.len();
            let found = names.find(&file, &addresses, &mut functions);
            for (index, found) in frames.into_iter().zip(found) {
                if let Some(frame) = self.stacks.renamed(index, &found) {
                    named.insert(index, frame);
                }
            }
            naming.files += u64::from(named.len() > before);
        }
        naming.left_out += files.unread();
        naming.frames = self.stacks.replace(named);
        naming
    }
}

/// Whether a debug file could say more of a frame. Kernel code has names of its own kind, and code
/// made at run time has no file.
fn is_lacking(frame: &Frame) -> bool {
    frame.address != 0
        && !matches!(frame.kind, FrameKind::Kernel | FrameKind::Marker)
        && frame.lines.iter().all(|line| line.line == 0)
}

impl Stacks {
    /// Whether each frame called another one somewhere. Its address is then the one after the
    /// call, which may belong to the next line or the next function.
    fn frames_that_call(&self) -> Vec<bool> {
        let mut calls = vec![false; self.frames.len()];
        for (parent, frame) in &self.nodes {
            let is_user = self
                .frame_at(*frame)
                .is_some_and(|frame| frame.kind != FrameKind::Kernel);
            // A system call leaves its caller at the instruction itself.
            if let Some((_, caller)) = self.caller(*parent).filter(|_| is_user)
                && let Some(entry) = calls.get_mut(caller.index())
            {
                *entry = true;
            }
        }
        calls
    }

    /// The frame at `index` with what was found for it; `None` when that says no more.
    fn renamed(&mut self, index: usize, found: &FoundLines) -> Option<Frame> {
        let old = self.frames.get_index(index)?.clone();
        let has_lines = found.lines.iter().any(|line| line.line != 0);
        if found.lines.is_empty() || !(old.lines.is_empty() || has_lines) {
            return None;
        }
        let lines = found
            .lines
            .iter()
            .map(|line| Line {
                function: Function {
                    name: self.text(&line.function.name),
                    system_name: self.text(&line.function.system_name),
                    file: self.text(&line.function.file),
                },
                line: line.line,
            })
            .collect();
        let kind = match found.frame_type {
            Some(FrameType::Kernel | FrameType::Native) | None => old.kind,
            Some(language) => FrameKind::Language(self.text(language.as_str())),
        };
        Some(Frame { lines, kind, ..old })
    }

    /// Puts frames in the place of others and gives how many. A position is a frame's identity, so
    /// one that would become equal to another (of a recording that had the names) stays as it is.
    fn replace(&mut self, mut by_index: HashMap<usize, Frame>) -> u64 {
        let old = std::mem::take(&mut self.frames);
        let mut replaced = 0;
        for (index, frame) in old.iter().enumerate() {
            let new = by_index
                .remove(&index)
                .filter(|new| !old.contains(new) && !self.frames.contains(new));
            replaced += u64::from(new.is_some());
            self.frames.insert(new.unwrap_or_else(|| frame.clone()));
        }
        replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Limits, Mapping, TextId};

    fn frame(address: u64, lines: &[Line]) -> Frame {
        Frame {
            mapping: Some(Mapping::default()),
            address,
            lines: lines.into(),
            kind: FrameKind::Native,
        }
    }

    /// A frame keeps its position whatever it becomes, and none becomes equal to another.
    #[test]
    fn positions_stay() {
        let mut stacks = Stacks::new(&Limits::default());
        let line = |line| Line {
            function: Function {
                name: TextId(1),
                ..Function::default()
            },
            line,
        };
        let unnamed = stacks.frame(frame(1, &[])).unwrap();
        let other = stacks.frame(frame(2, &[])).unwrap();
        let known = stacks.frame(frame(1, &[line(7)])).unwrap();
        let new = HashMap::from([
            (unnamed.index(), frame(1, &[line(7)])),
            (other.index(), frame(2, &[line(8)])),
        ]);
        assert_eq!(stacks.replace(new), 1);
        assert_eq!(stacks.frame_at(unnamed), Some(&frame(1, &[])));
        assert_eq!(stacks.frame_at(other), Some(&frame(2, &[line(8)])));
        assert_eq!(stacks.frame_at(known), Some(&frame(1, &[line(7)])));
    }

    /// Callers are looked up at their call, leaves at their instruction, and so is what the kernel
    /// was called by.
    #[test]
    fn callers() {
        let mut stacks = Stacks::new(&Limits::default());
        let main = stacks.frame(frame(1, &[])).unwrap();
        let read = stacks.frame(frame(2, &[])).unwrap();
        let kernel = Frame {
            kind: FrameKind::Kernel,
            ..frame(3, &[])
        };
        let kernel = stacks.frame(kernel).unwrap();
        let node = stacks.node(crate::summary::NodeId::ROOT, main).unwrap();
        let node = stacks.node(node, read).unwrap();
        stacks.node(node, kernel).unwrap();
        let calls = stacks.frames_that_call();
        let of = |frame: crate::summary::FrameId| calls[frame.index()];
        assert_eq!([of(main), of(read), of(kernel)], [true, false, false]);
    }
}
