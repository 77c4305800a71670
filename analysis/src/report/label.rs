//! What frames are called.

use indexmap::IndexSet;

use crate::summary::{Frame, FrameId, FrameKind, Line, Stacks};

/// The label of samples that came without a stack.
pub(super) const NO_STACK: &str = "[no stack]";

/// How much of a place in code makes a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// Function and module.
    Function,
    /// Function, module, file and line.
    Line,
}

/// What kind of code a label stands for; each has its colour in flame graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Class {
    /// Kernel code.
    Kernel,
    /// Named machine code.
    Native,
    /// Code of a known language.
    Language,
    /// User code without a name.
    Unnamed,
    /// Not code: `[idle]`, `[truncated]`, `[other]`.
    Marker,
}

/// A function, or a line of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Label {
    /// Name as the recording has it; `module+0xADDRESS` for code without a name.
    pub(super) name: String,
    /// File name of the module; empty when unknown.
    pub(super) module: String,
    /// Source file; empty when unknown or not asked for.
    pub(super) file: String,
    /// Line in it; 0 when unknown or not asked for.
    pub(super) line: u32,
    /// What kind of code.
    pub(super) class: Class,
}

impl Label {
    /// Name with its place where that is known: `main main.c:12`.
    pub(super) fn with_place(&self) -> String {
        match (self.file.is_empty(), self.line) {
            (true, _) => self.name.clone(),
            (false, 0) => format!("{} {}", self.name, self.file),
            (false, line) => format!("{} {}:{line}", self.name, self.file),
        }
    }
}

/// One label in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    /// Position among the labels.
    pub(super) label: u32,
    /// Whether it was inlined into the one before.
    pub(super) inlined: bool,
}

/// The labels of all frames of a summary.
#[derive(Debug)]
pub(super) struct Labels {
    labels: IndexSet<Label>,
    of_frame: Vec<Box<[Placed]>>,
}

impl Labels {
    /// Position of [`NO_STACK`].
    pub(super) const NO_STACK: u32 = 0;

    /// Names every frame of `stacks`.
    pub(super) fn new(stacks: &Stacks, detail: Detail) -> Self {
        let mut labels = IndexSet::new();
        labels.insert(Label {
            name: NO_STACK.to_owned(),
            module: String::new(),
            file: String::new(),
            line: 0,
            class: Class::Marker,
        });
        let of_frame = stacks
            .frames()
            .map(|frame| {
                // Outermost first: the physical function is the last line.
                let mut placed = frame
                    .lines
                    .iter()
                    .rev()
                    .enumerate()
                    .map(|(depth, line)| Placed {
                        label: labels.insert_full(named(stacks, frame, line, detail)).0 as u32,
                        inlined: depth > 0,
                    })
                    .collect::<Vec<_>>();
                if placed.is_empty() {
                    placed.push(Placed {
                        label: labels.insert_full(unnamed(stacks, frame)).0 as u32,
                        inlined: false,
                    });
                }
                placed.into_boxed_slice()
            })
            .collect();
        Self { labels, of_frame }
    }

    /// Labels of a frame, outermost first; never empty.
    pub(super) fn of(&self, frame: FrameId) -> &[Placed] {
        self.of_frame.get(frame.index()).map_or(&[], |list| list)
    }

    /// All labels; a position in it is a label's number.
    pub(super) fn all(&self) -> &IndexSet<Label> {
        &self.labels
    }
}

fn module(stacks: &Stacks, frame: &Frame) -> String {
    let name = frame
        .mapping
        .map(|mapping| stacks.resolve(mapping.filename));
    match (name, frame.kind) {
        (Some(name), _) if !name.is_empty() => name.to_owned(),
        (_, FrameKind::Kernel) => "[kernel]".to_owned(),
        _ => String::new(),
    }
}

fn named(stacks: &Stacks, frame: &Frame, line: &Line, detail: Detail) -> Label {
    let (file, number) = match detail {
        Detail::Function => (String::new(), 0),
        Detail::Line => (stacks.resolve(line.function.file).to_owned(), line.line),
    };
    Label {
        name: stacks.resolve(line.function.name).to_owned(),
        module: module(stacks, frame),
        file,
        line: number,
        class: match frame.kind {
            FrameKind::Kernel => Class::Kernel,
            FrameKind::Native => Class::Native,
            FrameKind::Language(_) => Class::Language,
            FrameKind::Marker => Class::Marker,
        },
    }
}

/// `module+0xADDRESS`. The address is the ELF virtual address that `inspect address` takes, which
/// for position-independent files is the offset from where they are loaded.
fn unnamed(stacks: &Stacks, frame: &Frame) -> Label {
    let module = module(stacks, frame);
    let shown = if module.is_empty() {
        "[unknown]"
    } else {
        module.as_str()
    };
    Label {
        name: match frame.address {
            0 => shown.to_owned(),
            address => format!("{shown}+0x{address:x}"),
        },
        file: String::new(),
        line: 0,
        class: match frame.kind {
            FrameKind::Kernel => Class::Kernel,
            FrameKind::Marker => Class::Marker,
            FrameKind::Native | FrameKind::Language(_) => Class::Unnamed,
        },
        module,
    }
}
