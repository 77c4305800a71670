//! The rules by name.

use std::fmt;

/// A rule that requests keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A request has something to say.
    NotEmpty,
    /// A request is smaller than 4 MiB before compression.
    RequestSize,
    /// A profiles request has a dictionary.
    Dictionary,
    /// Every table begins with its zero value; the link's is the empty message.
    ZeroValueFirst,
    /// No entry is in a table twice.
    NoDuplicates,
    /// Every entry but the zero value is used.
    NoOrphans,
    /// Every index points into its table.
    IndexInRange,
    /// Keys are unique within a list of attributes, and not empty.
    UniqueKeys,
    /// Attributes of resources and scopes have a value, and no references unless a Collector
    /// wrote them.
    InlineAttributes,
    /// Values of resource attributes are text: Pyroscope refuses the request of an integer that
    /// came by way of a Collector.
    TextOnResource,
    /// Every resource names its service, and so does every sample.
    ServiceName,
    /// Resource and scope are there (Parca crashes without), and the scope has a name.
    ResourceAndScope,
    /// Resource and scope have a schema URL.
    SchemaUrl,
    /// Attributes, metrics and points are as the registry says.
    Registry,
    /// The sample type has a name without `-` and a unit.
    SampleType,
    /// The period type has a name and a unit (Parca), and the period is above zero for everything
    /// but `off_cpu` (Pyroscope).
    PeriodType,
    /// A profile says when it began and how long it took.
    ProfileTime,
    /// A profile id is absent, or 16 bytes that are not all zero.
    ProfileId,
    /// Original payload and its format are both there or neither is.
    OriginalPayload,
    /// A profile has at most 16,000 samples.
    SampleCount,
    /// A sample has exactly one value and no timestamps.
    SampleShape,
    /// A sample's value is above zero.
    SampleValue,
    /// Timestamps lie in the half-open window of the profile.
    TimestampInWindow,
    /// No two samples of a profile have the same stack, attributes and link.
    SampleIdentity,
    /// A mapping begins before it ends, or both are zero.
    MappingRange,
    /// A mapping has a build id.
    MappingBuildId,
    /// A function has a name.
    FunctionName,
    /// Lines and columns are not negative.
    LineNumbers,
    /// A link has 16 bytes of trace id and 8 of span id.
    LinkSize,
    /// A metric's name is once in its scope.
    MetricOnce,
    /// A metric has data and at least one point.
    MetricPoints,
    /// A series has one point in a request.
    SeriesOnce,
    /// A point has a time, and a stream does not begin after it; sums and histograms say when they
    /// began.
    PointTime,
    /// A point has a finite value, and that of a counter is not negative.
    PointValue,
    /// A histogram's count is the sum of its buckets, and a count of zero has a sum of zero.
    HistogramCount,
    /// Explicit bounds ascend, and there is one more bucket than bounds.
    HistogramBounds,
}

impl Rule {
    fn text(self) -> &'static str {
        match self {
            Self::NotEmpty => "nothing is sent empty",
            Self::RequestSize => "a request is below 4 MiB",
            Self::Dictionary => "a request has a dictionary",
            Self::ZeroValueFirst => "a table begins with its zero value",
            Self::NoDuplicates => "an entry is in its table once",
            Self::NoOrphans => "an entry is used",
            Self::IndexInRange => "an index points into its table",
            Self::UniqueKeys => "keys are unique and not empty",
            Self::InlineAttributes => "attributes stand inline with a value",
            Self::TextOnResource => "values of resource attributes are text",
            Self::ServiceName => "resource and samples have service.name",
            Self::ResourceAndScope => "resource and named scope are there",
            Self::SchemaUrl => "resource and scope have a schema URL",
            Self::Registry => "names and values are those of the registry",
            Self::SampleType => "the sample type has a name without `-` and a unit",
            Self::PeriodType => "period type and period are set",
            Self::ProfileTime => "a profile has a time and a duration",
            Self::ProfileId => "a profile id is absent or 16 bytes, not all zero",
            Self::OriginalPayload => "payload and format are both there or neither is",
            Self::SampleCount => "a profile has at most 16,000 samples",
            Self::SampleShape => "a sample has one value and no timestamps",
            Self::SampleValue => "a sample's value is above zero",
            Self::TimestampInWindow => "timestamps lie in the window",
            Self::SampleIdentity => "samples of one identity are merged",
            Self::MappingRange => "a mapping begins before it ends",
            Self::MappingBuildId => "a mapping has a build id",
            Self::FunctionName => "a function has a name",
            Self::LineNumbers => "lines and columns are not negative",
            Self::LinkSize => "a link has 16 and 8 bytes",
            Self::MetricOnce => "a metric is in its scope once",
            Self::MetricPoints => "a metric has points",
            Self::SeriesOnce => "a series has one point",
            Self::PointTime => "a point's times are set and ordered",
            Self::PointValue => "a point has a finite value, a counter none below zero",
            Self::HistogramCount => "a histogram's count is the sum of its buckets",
            Self::HistogramBounds => "bounds ascend, with one more bucket than bounds",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
