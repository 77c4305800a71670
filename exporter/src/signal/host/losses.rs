//! What the host signal could not use.

use evenkeel_semconv::attribute::value::evenkeel_loss_reason as reason;

/// Readings that were left out or corrected, counted since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Files that exist but could not be read.
    pub read_failed: u64,
    /// Lines that are not what the kernel writes.
    pub invalid: u64,
    /// Values that went back or grew faster than time; the series shows what is possible.
    pub out_of_range: u64,
    /// Disks and interfaces beyond the bound on series.
    pub series_full: u64,
    /// Readings that came so late that they say nothing about single seconds.
    pub late: u64,
}

impl Losses {
    /// The counts by `evenkeel.loss.reason`.
    #[must_use]
    pub fn by_reason(&self) -> [(&'static str, u64); 5] {
        [
            (reason::READ_FAILED, self.read_failed),
            (reason::INVALID, self.invalid),
            (reason::OUT_OF_RANGE, self.out_of_range),
            (reason::SERIES_FULL, self.series_full),
            (reason::LATE, self.late),
        ]
    }
}
