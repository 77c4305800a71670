//! Names, frames and stacks, each stored once.

use std::sync::Arc;

use indexmap::IndexSet;

use super::Limits;

/// Index of a text in [`Stacks`]; 0 is the empty text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextId(pub(super) u32);

/// Index of a frame in [`Stacks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub(super) u32);

/// Index of a node of the tree of stacks; [`NodeId::ROOT`] is the empty stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

impl NodeId {
    /// The empty stack.
    pub const ROOT: Self = Self(0);

    /// Position among all nodes, for tables on the side.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl FrameId {
    /// Position among all frames, for tables on the side.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function as the recording names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Function {
    /// Name for people.
    pub name: TextId,
    /// Name of the linker; empty when it equals `name`.
    pub system_name: TextId,
    /// Source file; empty when unknown.
    pub file: TextId,
}

/// A function and a place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// The function.
    pub function: Function,
    /// Line in the file; 0 when unknown.
    pub line: u32,
}

/// A mapped file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// Lowest ELF virtual address; 0 when unknown.
    pub start: u64,
    /// One past the highest address; 0 when unknown.
    pub limit: u64,
    /// File offset of `start`.
    pub file_offset: u64,
    /// Name of the file.
    pub filename: TextId,
    /// Build id, the most widely understood one that there is (gnu, go, htlhash).
    pub build_id: TextId,
}

/// What kind of code a frame is (`profile.frame.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// Kernel code.
    Kernel,
    /// Machine code, language unknown.
    Native,
    /// Code of a known language or runtime (`go`, `rust`, `jvm`).
    Language(TextId),
    /// Not code: markers such as `[idle]` and `[truncated]`.
    Marker,
}

/// A physical frame and what was inlined into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The file that the code came from.
    pub mapping: Option<Mapping>,
    /// ELF virtual address (kernel: absolute); 0 when unknown.
    pub address: u64,
    /// Innermost inlined function first, the physical function last; empty when unnamed.
    pub lines: Box<[Line]>,
    /// What kind of code.
    pub kind: FrameKind,
}

/// All texts, frames and stacks of a summary.
///
/// Stacks are a tree from the root: stacks that share callers share nodes, so a recording of many
/// distinct stacks costs its branches, not its total depth.
#[derive(Debug)]
pub struct Stacks {
    texts: IndexSet<Arc<str>>,
    pub(super) frames: IndexSet<Frame>,
    pub(super) nodes: IndexSet<(NodeId, FrameId)>,
    max_texts: usize,
    max_frames: usize,
    max_nodes: usize,
}

impl Stacks {
    /// The frame that stands for what no longer fitted.
    pub const OTHER: FrameId = FrameId(0);

    /// The text `[other]`.
    pub(super) const OTHER_TEXT: TextId = TextId(1);

    pub(super) fn new(limits: &Limits) -> Self {
        let mut stacks = Self {
            texts: IndexSet::new(),
            frames: IndexSet::new(),
            nodes: IndexSet::new(),
            // A function name, its linker name, its file, a module; four texts an owner.
            max_texts: limits
                .frames
                .saturating_mul(4)
                .saturating_add(limits.owners * 4),
            max_frames: limits.frames.min(u32::MAX as usize),
            max_nodes: limits.nodes.min(u32::MAX as usize),
        };
        stacks.text("");
        let other = stacks.text("[other]");
        stacks.frames.insert(Frame {
            mapping: None,
            address: 0,
            lines: Box::new([Line {
                function: Function {
                    name: other,
                    ..Function::default()
                },
                line: 0,
            }]),
            kind: FrameKind::Marker,
        });
        // Node 0 is its own parent, which ends every walk to the root.
        stacks.nodes.insert((NodeId::ROOT, Self::OTHER));
        stacks
    }

    /// The id of a text; that of `[other]` when no further text fits.
    pub(super) fn text(&mut self, text: &str) -> TextId {
        if let Some(index) = self.texts.get_index_of(text) {
            return TextId(index as u32);
        }
        if self.texts.len() >= self.max_texts.clamp(2, u32::MAX as usize) {
            return Self::OTHER_TEXT;
        }
        TextId(self.texts.insert_full(text.into()).0 as u32)
    }

    /// The id of a frame; `None` when no further frame fits.
    pub(super) fn frame(&mut self, frame: Frame) -> Option<FrameId> {
        if self.frames.len() >= self.max_frames {
            return self.frames.get_index_of(&frame).map(|i| FrameId(i as u32));
        }
        Some(FrameId(self.frames.insert_full(frame).0 as u32))
    }

    /// The node for `frame` called by `parent`; `None` when no further node fits.
    pub(super) fn node(&mut self, parent: NodeId, frame: FrameId) -> Option<NodeId> {
        if self.nodes.len() >= self.max_nodes {
            return self
                .nodes
                .get_index_of(&(parent, frame))
                .map(|i| NodeId(i as u32));
        }
        Some(NodeId(self.nodes.insert_full((parent, frame)).0 as u32))
    }

    /// A text.
    pub fn resolve(&self, id: TextId) -> &str {
        self.texts.get_index(id.0 as usize).map_or("", |t| t)
    }

    /// Shared handle to a text.
    pub fn shared(&self, id: TextId) -> Arc<str> {
        self.texts
            .get_index(id.0 as usize)
            .cloned()
            .unwrap_or_else(|| "".into())
    }

    /// All frames; a [`FrameId`] is a position in it.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.frames.iter()
    }

    /// A frame.
    pub fn frame_at(&self, id: FrameId) -> Option<&Frame> {
        self.frames.get_index(id.0 as usize)
    }

    /// Number of nodes, the root included.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The caller of a node and the node's own frame; `None` for the root.
    pub fn caller(&self, node: NodeId) -> Option<(NodeId, FrameId)> {
        if node == NodeId::ROOT {
            return None;
        }
        self.nodes.get_index(node.0 as usize).copied()
    }

    /// Frames from the leaf to the root.
    pub fn leaf_first(&self, node: NodeId) -> impl Iterator<Item = FrameId> + '_ {
        let mut at = node;
        std::iter::from_fn(move || {
            let (parent, frame) = self.caller(at)?;
            at = parent;
            Some(frame)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(stacks: &mut Stacks, name: &str) -> FrameId {
        let name = stacks.text(name);
        let line = Line {
            function: Function {
                name,
                ..Function::default()
            },
            line: 0,
        };
        stacks
            .frame(Frame {
                mapping: None,
                address: 0,
                lines: Box::new([line]),
                kind: FrameKind::Marker,
            })
            .unwrap()
    }

    /// Stacks with common callers share nodes, and a walk from a leaf ends at the root.
    #[test]
    fn shares_callers() {
        let mut stacks = Stacks::new(&Limits::default());
        let main = marker(&mut stacks, "main");
        let left = marker(&mut stacks, "left");
        let right = marker(&mut stacks, "right");
        let base = stacks.node(NodeId::ROOT, main).unwrap();
        let a = stacks.node(base, left).unwrap();
        let b = stacks.node(base, right).unwrap();
        assert_eq!(stacks.node(NodeId::ROOT, main), Some(base));
        assert_eq!(stacks.leaf_first(a).collect::<Vec<_>>(), [left, main]);
        assert_eq!(stacks.leaf_first(b).collect::<Vec<_>>(), [right, main]);
        assert_eq!(stacks.leaf_first(NodeId::ROOT).count(), 0);
        assert_eq!(stacks.node_count(), 4);
    }

    /// A full tree still finds what it holds and refuses what it does not.
    #[test]
    fn refuses_beyond_the_bound() {
        let mut stacks = Stacks::new(&Limits {
            nodes: 2,
            frames: 2,
            ..Limits::default()
        });
        let main = marker(&mut stacks, "main");
        let node = stacks.node(NodeId::ROOT, main).unwrap();
        assert_eq!(stacks.node(NodeId::ROOT, main), Some(node));
        assert_eq!(stacks.node(node, main), None);
        let frame = Frame {
            mapping: None,
            address: 1,
            lines: Box::new([]),
            kind: FrameKind::Native,
        };
        assert_eq!(stacks.frame(frame), None);
    }
}
