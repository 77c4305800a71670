//! How much of a recording is held in memory, and what happens beyond.

/// Upper bounds of a [`super::Summary`].
///
/// A bound that is met never loses value: what no longer fits is added to a coarser entry (a
/// stack to its nearest known caller or to the frame `[other]`, a process to its name) and
/// counted in [`super::Overflow`]. Only series of metrics beyond the bound are dropped, and
/// counted.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Distinct frames (places in code). About 150 bytes each with their names.
    pub frames: usize,
    /// Distinct nodes of the tree of stacks. About 35 bytes each.
    pub nodes: usize,
    /// Distinct pairs of stack and owner in one profile. About 35 bytes each.
    pub samples: usize,
    /// Distinct owners (process name, service, container).
    pub owners: usize,
    /// Distinct process ids by profile.
    pub processes: usize,
    /// Distinct series, all metrics together.
    pub series: usize,
    /// Distinct resources.
    pub resources: usize,
    /// Windows whose totals are kept one by one; a day at ten seconds is 8,640.
    pub windows: usize,
}

impl Default for Limits {
    /// Bounds that hold an hour of 64 CPUs in 360 windows with every second sample distinct in
    /// about 1 GiB, and an ordinary recording in a few MiB.
    fn default() -> Self {
        Self {
            frames: 2_000_000,
            nodes: 16_000_000,
            samples: 4_000_000,
            owners: 200_000,
            processes: 100_000,
            series: 200_000,
            resources: 10_000,
            windows: 100_000,
        }
    }
}
