//! The messages of `profile.proto`
//! (<https://github.com/google/pprof/blob/main/proto/profile.proto>), field numbers as there.

/// A profile.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Profile {
    /// Types of the values of each sample.
    #[prost(message, repeated, tag = "1")]
    pub(crate) sample_type: Vec<ValueType>,
    /// Samples.
    #[prost(message, repeated, tag = "2")]
    pub(crate) sample: Vec<Sample>,
    /// Mapped files.
    #[prost(message, repeated, tag = "3")]
    pub(crate) mapping: Vec<Mapping>,
    /// Places in code.
    #[prost(message, repeated, tag = "4")]
    pub(crate) location: Vec<Location>,
    /// Functions.
    #[prost(message, repeated, tag = "5")]
    pub(crate) function: Vec<Function>,
    /// Texts; the first one is empty.
    #[prost(string, repeated, tag = "6")]
    pub(crate) string_table: Vec<String>,
    /// Start, Unix nanoseconds.
    #[prost(int64, tag = "9")]
    pub(crate) time_nanos: i64,
    /// Length, nanoseconds.
    #[prost(int64, tag = "10")]
    pub(crate) duration_nanos: i64,
    /// What the period is counted in.
    #[prost(message, optional, tag = "11")]
    pub(crate) period_type: Option<ValueType>,
    /// Distance between samples.
    #[prost(int64, tag = "12")]
    pub(crate) period: i64,
    /// Texts for people.
    #[prost(int64, repeated, tag = "13")]
    pub(crate) comment: Vec<i64>,
    /// Value type shown first.
    #[prost(int64, tag = "14")]
    pub(crate) default_sample_type: i64,
}

/// Type and unit.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct ValueType {
    /// Type, a text.
    #[prost(int64, tag = "1")]
    pub(crate) r#type: i64,
    /// Unit, a text.
    #[prost(int64, tag = "2")]
    pub(crate) unit: i64,
}

/// A stack and its values.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Sample {
    /// Locations, leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub(crate) location_id: Vec<u64>,
    /// One value per sample type.
    #[prost(int64, repeated, tag = "2")]
    pub(crate) value: Vec<i64>,
    /// What else is known.
    #[prost(message, repeated, tag = "3")]
    pub(crate) label: Vec<Label>,
}

/// A key and its value.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Label {
    /// Key, a text.
    #[prost(int64, tag = "1")]
    pub(crate) key: i64,
    /// Value, a text.
    #[prost(int64, tag = "2")]
    pub(crate) str: i64,
}

/// A mapped file.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Mapping {
    /// Number, from 1.
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    /// Lowest address.
    #[prost(uint64, tag = "2")]
    pub(crate) memory_start: u64,
    /// One past the highest address.
    #[prost(uint64, tag = "3")]
    pub(crate) memory_limit: u64,
    /// File offset of the lowest address.
    #[prost(uint64, tag = "4")]
    pub(crate) file_offset: u64,
    /// File, a text.
    #[prost(int64, tag = "5")]
    pub(crate) filename: i64,
    /// Build id, a text.
    #[prost(int64, tag = "6")]
    pub(crate) build_id: i64,
    /// Whether all its locations have functions: pprof then looks for no symbols itself.
    #[prost(bool, tag = "7")]
    pub(crate) has_functions: bool,
    /// Whether functions have files.
    #[prost(bool, tag = "8")]
    pub(crate) has_filenames: bool,
    /// Whether lines have numbers.
    #[prost(bool, tag = "9")]
    pub(crate) has_line_numbers: bool,
    /// Whether inlined functions are told.
    #[prost(bool, tag = "10")]
    pub(crate) has_inline_frames: bool,
}

/// A place in code.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Location {
    /// Number, from 1.
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    /// Mapping; 0 for none.
    #[prost(uint64, tag = "2")]
    pub(crate) mapping_id: u64,
    /// Address.
    #[prost(uint64, tag = "3")]
    pub(crate) address: u64,
    /// Functions, innermost inlined one first.
    #[prost(message, repeated, tag = "4")]
    pub(crate) line: Vec<Line>,
}

/// A function and a line in it.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Line {
    /// Function.
    #[prost(uint64, tag = "1")]
    pub(crate) function_id: u64,
    /// Line.
    #[prost(int64, tag = "2")]
    pub(crate) line: i64,
}

/// A function.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct Function {
    /// Number, from 1.
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    /// Name, a text.
    #[prost(int64, tag = "2")]
    pub(crate) name: i64,
    /// Linker's name, a text.
    #[prost(int64, tag = "3")]
    pub(crate) system_name: i64,
    /// File, a text.
    #[prost(int64, tag = "4")]
    pub(crate) filename: i64,
}
