//! What the services and containers in focus have of their own.

use evenkeel_abi::{FOCUS_DISTRIBUTIONS, FOCUS_GROUPS, FOCUS_PROCESSES, HISTOGRAM_WORDS};

use super::{ArrayMap, Entries, Part};

pub(super) const PART: Part = Part {
    programs: &[],
    fields: &[],
    arrays: &[
        ArrayMap {
            name: FOCUS_HISTOGRAMS,
            entries: Entries::PerFocus(FOCUS_DISTRIBUTIONS),
            words: HISTOGRAM_WORDS,
            serves: &[],
        },
        // A hash table, which is not mapped: only its size is set.
        ArrayMap {
            name: "FOCUS",
            entries: Entries::PerFocus(FOCUS_PROCESSES),
            words: 0,
            serves: &[],
        },
    ],
};

/// A histogram for each group in focus and distribution.
pub const FOCUS_HISTOGRAMS: &str = "FOCUS_HISTOGRAMS";

/// Most groups.
pub const GROUPS: usize = FOCUS_GROUPS as usize;
