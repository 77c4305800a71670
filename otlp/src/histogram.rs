//! Base-2 exponential histograms (OpenTelemetry metrics data model, "ExponentialHistogram").

/// A distribution of non-negative values on the base-2 exponential scale.
///
/// Bucket `i` holds values in `(base^i, base^(i+1)]` with `base = 2^(2^-scale)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExponentialHistogram {
    /// Resolution: at scale 5 a bucket is 2.2 % wide.
    pub scale: i32,
    /// Values equal to zero.
    pub zero_count: u64,
    /// Sum of all values, in the metric's unit.
    pub sum: f64,
    /// Index of the first entry of `counts`.
    pub offset: i32,
    /// Counts of consecutive buckets, without leading or trailing zeros.
    pub counts: Vec<u64>,
}
