//! How many operations a driver has at once, looked at once a second in sysfs.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use evenkeel_otlp::{
    histogram::ExponentialHistogram,
    model::{Metric, PointValue},
    scale_table::KERNEL_SCALE,
};
use evenkeel_semconv::metric;

use super::{
    disk_attributes,
    disks::{Disks, directory},
};
use crate::signal::{metric, point};

/// Distributions by disk.
#[derive(Debug)]
pub(super) struct Depths {
    block: PathBuf,
    depths: BTreeMap<(Arc<str>, u32), ExponentialHistogram>,
}

impl Depths {
    /// No disk was looked at yet.
    pub(super) fn new(sys: &Path) -> Self {
        Self {
            block: sys.join("block"),
            depths: BTreeMap::new(),
        }
    }

    /// Looks at the disks that have series.
    pub(super) fn sample(&mut self, disks: &Disks) {
        let disks = disks.disks();
        self.depths.retain(|(name, instance), _| {
            disks
                .iter()
                .any(|disk| disk.name == *name && disk.instance == *instance)
        });
        for disk in disks.into_iter().filter(|disk| disk.present) {
            let path = self.block.join(directory(&disk.name)).join("inflight");
            let Some(depth) = fs::read_to_string(path).ok().as_deref().and_then(parse) else {
                continue;
            };
            self.depths
                .entry((disk.name, disk.instance))
                .or_insert_with(|| ExponentialHistogram::new(KERNEL_SCALE))
                .record(depth);
        }
    }

    /// The distributions since each disk was first looked at.
    pub(super) fn metric(&self, disks: &Disks, attached_unix_nanos: u64) -> Option<Metric> {
        let points = self.depths.iter().map(|((name, instance), depth)| {
            let start = disks
                .series()
                .filter(|series| series.disk == *name && series.instance == *instance)
                .map(|series| series.start_unix_nanos)
                .min();
            point(
                disk_attributes(name, *instance),
                start.unwrap_or(0).max(attached_unix_nanos),
                PointValue::Histogram(depth.clone()),
            )
        });
        metric(&metric::EVENKEEL_DISK_OPERATION_DEPTH, points.collect())
    }
}

/// Reads and writes together (`part_inflight_show`, block/genhd.c).
fn parse(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let (reads, writes) = (words.next()?, words.next()?);
    let (reads, writes): (u32, u32) = (reads.parse().ok()?, writes.parse().ok()?);
    Some(f64::from(reads) + f64::from(writes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both directions count; what is not two numbers counts as nothing, not as zero.
    #[test]
    fn parses_inflight() {
        assert_eq!(parse("       3        4\n"), Some(7.0));
        for text in ["", "3\n", "x 4\n", "-1 2\n"] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
