//! Profiles: samples, stacks, frames.

use std::sync::Arc;

use evenkeel_semconv::attribute::value::profile_frame_type;

use super::{Attribute, Resource};

/// The profiles of one owner.
#[derive(Clone, Debug)]
pub struct ProfileGroup {
    /// Whose samples these are.
    pub resource: Arc<Resource>,
    /// At most one per profile kind; none without samples.
    pub profiles: Vec<Profile>,
}

/// Samples of one kind, taken in one window.
#[derive(Clone, Debug)]
pub struct Profile {
    /// What is counted.
    pub kind: ProfileKind,
    /// Aggregated samples, each with exactly one value and no timestamps.
    pub samples: Vec<Sample>,
}

/// Type and unit of a value, in pprof's words (`samples`/`count`, `off_cpu`/`nanoseconds`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueType {
    /// What is counted. Never contains `-`, which Pyroscope refuses.
    pub name: &'static str,
    /// Unit: `count`, `nanoseconds` or `bytes`.
    pub unit: &'static str,
}

/// The kind of a profile as backends tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProfileKind {
    /// Type and unit of the sample values.
    pub sample_type: ValueType,
    /// What the sampling distance is counted in. Never empty: Parca breaks on an empty one.
    pub period_type: ValueType,
    /// Distance between samples in `period_type.unit`; 0 where the values are sums.
    pub period: i64,
}

/// One aggregated sample.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The stack, leaf first. Empty where none was taken.
    pub stack: Arc<[Arc<Frame>]>,
    /// Attributes of the sample, sorted by key, keys unique.
    pub attributes: Arc<[Attribute]>,
    /// The aggregated value in the profile's unit; above zero.
    pub value: i64,
}

/// One physical frame with the functions inlined into it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The file that the code came from.
    pub mapping: Option<Arc<Mapping>>,
    /// ELF virtual address of the instruction (kernel: the absolute address); 0 when unknown.
    pub address: u64,
    /// Names, innermost inlined function first, the physical function last. Empty when unnamed.
    pub lines: Vec<Line>,
    /// What kind of code it is (`profile.frame.type`); `None` for markers such as `[idle]`.
    pub frame_type: Option<FrameType>,
}

/// A function and a place in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// The function.
    pub function: Arc<Function>,
    /// Line in `function.file`; 0 when unknown.
    pub line: u32,
    /// Column, from 1; 0 when unknown.
    pub column: u32,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Function {
    /// Name for people, demangled. Never empty.
    pub name: Arc<str>,
    /// Name as the linker knows it; empty when it equals `name`.
    pub system_name: Arc<str>,
    /// Source file; empty when unknown.
    pub file: Arc<str>,
}

/// An executable file (or `[kernel]`, or a kernel module), in its own ELF address space, so that
/// one mapping is shared by all processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// Lowest ELF virtual address of the executable segment.
    pub start: u64,
    /// One past its highest address; both are 0 when unknown.
    pub limit: u64,
    /// File offset of `start`.
    pub file_offset: u64,
    /// Base name of the file (`libc.so.6`), or `[kernel]`, `[vdso]`.
    pub filename: Arc<str>,
    /// Identity of the file's contents. At least one is set.
    pub build_ids: BuildIds,
}

/// The build ids of an executable, lower-case hex as the semantic conventions want them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BuildIds {
    /// `.note.gnu.build-id`.
    pub gnu: Option<Arc<str>>,
    /// The Go linker's build id.
    pub go: Option<Arc<str>>,
    /// Hash of head, tail and length (semantic conventions, `profiles/mappings.md`).
    pub htlhash: Option<Arc<str>>,
}

/// `profile.frame.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameType {
    /// Machine code from a file, language unknown.
    Native,
    /// Kernel code.
    Kernel,
    /// Go.
    Go,
    /// Rust.
    Rust,
    /// Java and other languages of the Java virtual machine, compiled at run time or interpreted.
    Jvm,
    /// JavaScript in V8 (Node.js).
    V8Js,
}

impl FrameType {
    /// The attribute's value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => profile_frame_type::NATIVE,
            Self::Kernel => profile_frame_type::KERNEL,
            Self::Go => profile_frame_type::GO,
            Self::Rust => profile_frame_type::RUST,
            Self::Jvm => profile_frame_type::JVM,
            Self::V8Js => profile_frame_type::V8JS,
        }
    }
}
