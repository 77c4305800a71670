//! Block I/O by request: how long each operation waited, how long the device took, and both together.
//!
//! Recorded in the kernel (`exporter-ebpf/src/block_io.rs`); checked against `/proc/diskstats`.

mod counts;
mod depth;
mod disks;
mod submitters;

use evenkeel_abi::{Counter, DISK_STATUSES, DiskOperation, DiskPhase};
use evenkeel_otlp::{
    histogram::ExponentialHistogram,
    model::{Attribute, Metric, Point, PointValue},
};
use evenkeel_semconv::{
    MetricDescriptor,
    attribute::{
        self,
        value::{evenkeel_disk_operation_type as operation, evenkeel_loss_reason as loss},
    },
    metric,
};

use self::{
    depth::Depths,
    disks::{Disks, Series},
    submitters::Submitters,
};
use super::{KernelSignal, Signal, SignalAccount, int, metric, point};
use crate::{identity::Roots, kernel::Kernel};

/// The distributions of durations.
const DURATIONS: [(DiskPhase, &MetricDescriptor); 3] = [
    (DiskPhase::Total, &metric::EVENKEEL_DISK_OPERATION_DURATION),
    (
        DiskPhase::Queue,
        &metric::EVENKEEL_DISK_OPERATION_QUEUE_DURATION,
    ),
    (
        DiskPhase::Device,
        &metric::EVENKEEL_DISK_OPERATION_DEVICE_DURATION,
    ),
];

/// `error.type` of each `blk_status_t` (`blk_errors` in block/blk-core.c). From 11 on the numbers have
/// moved between kernels.
const ERRORS: [&str; DISK_STATUSES as usize] = [
    OTHER_ERROR,
    "EOPNOTSUPP",
    "ETIMEDOUT",
    "ENOSPC",
    "ENOLINK",
    "EREMOTEIO",
    "EBADE",
    "ENODATA",
    "EILSEQ",
    "ENOMEM",
    "EIO",
    OTHER_ERROR,
    "EAGAIN",
    OTHER_ERROR,
    OTHER_ERROR,
    OTHER_ERROR,
];

/// The fallback of the semantic conventions.
const OTHER_ERROR: &str = "_OTHER";

/// Block I/O by request.
#[derive(Debug)]
pub(super) struct BlockIo {
    disks: Disks,
    depths: Depths,
    submitters: Submitters,
}

impl BlockIo {
    /// Nothing is known yet.
    pub(super) fn new(roots: &Roots) -> Self {
        Self {
            disks: Disks::new(&roots.sys),
            depths: Depths::new(&roots.sys),
            submitters: Submitters::new(&roots.proc),
        }
    }
}

impl KernelSignal for BlockIo {
    fn signal(&self) -> Signal {
        Signal::BlockIo
    }

    fn tick(&mut self, kernel: &mut Kernel) {
        self.disks.find(kernel);
        self.disks.release_gone(kernel);
        self.depths.sample(&self.disks);
        self.submitters.read(kernel);
        self.submitters.forget_dead(kernel);
    }

    fn metrics(&mut self, kernel: &Kernel, attached_unix_nanos: u64) -> Vec<Metric> {
        self.disks.find(kernel);
        self.disks.read(kernel);
        self.submitters.read(kernel);
        let series: Vec<_> = self.disks.series().collect();
        let start = |series: &Series| series.start_unix_nanos.max(attached_unix_nanos);
        let mut metrics = Vec::new();
        for (phase, descriptor) in DURATIONS {
            let points = histograms(&series, attached_unix_nanos, |series| {
                Some(series.counts.durations(phase))
            });
            metrics.extend(metric(descriptor, points));
        }
        let sizes = histograms(&series, attached_unix_nanos, |series| {
            (series.operation != DiskOperation::Flush).then(|| series.counts.sizes())
        });
        metrics.extend(metric(&metric::EVENKEEL_DISK_OPERATION_SIZE, sizes));

        let counter = |count: fn(&Series) -> u64| {
            series
                .iter()
                .map(|series| point(attributes(series), start(series), int(count(series))))
                .collect::<Vec<_>>()
        };
        metrics.extend(metric(
            &metric::EVENKEEL_DISK_OPERATION_REQUEUES,
            counter(|series| series.counts.requeues()),
        ));
        metrics.extend(metric(
            &metric::EVENKEEL_DISK_OPERATION_PARTIAL_COMPLETIONS,
            counter(|series| series.counts.partial()),
        ));
        let errors = series.iter().flat_map(|series| {
            errors(series).into_iter().map(|(kind, count)| {
                let mut attributes = attributes(series);
                attributes.push(Attribute::new(attribute::ERROR_TYPE, kind));
                point(attributes, start(series), int(count))
            })
        });
        metrics.extend(metric(
            &metric::EVENKEEL_DISK_OPERATION_ERRORS,
            errors.collect(),
        ));
        metrics.extend(self.depths.metric(&self.disks, attached_unix_nanos));
        metrics.extend(self.submitters.metric(attached_unix_nanos));
        metrics
    }

    fn account(&self, kernel: &Kernel) -> SignalAccount {
        let count = |counter| kernel.counter(counter);
        SignalAccount {
            events: self.disks.operations(),
            losses: vec![
                (
                    loss::UNMATCHED,
                    count(Counter::DiskUnmatched) + count(Counter::DiskArrivalUnknown),
                ),
                (loss::UNENDED, count(Counter::DiskCompletionUnseen)),
                (loss::NEGATIVE_INTERVAL, count(Counter::DiskNegative)),
                (
                    loss::SERIES_FULL,
                    count(Counter::DiskSeriesFull) + self.submitters.owners_refused(),
                ),
                (loss::AGGREGATION_FULL, count(Counter::DiskSubmittersFull)),
            ],
        }
    }
}

/// The attributes of a series.
fn attributes(series: &Series) -> Vec<Attribute> {
    let kind = match series.operation {
        DiskOperation::Read => operation::READ,
        DiskOperation::Write => operation::WRITE,
        DiskOperation::Flush => operation::FLUSH,
        DiskOperation::Discard => operation::DISCARD,
    };
    let mut attributes = disk_attributes(&series.disk, series.instance);
    attributes.push(Attribute::new(
        attribute::EVENKEEL_DISK_OPERATION_TYPE,
        kind,
    ));
    attributes
}

/// The attributes of a disk.
fn disk_attributes(disk: &str, instance: u32) -> Vec<Attribute> {
    let mut attributes = vec![Attribute::new(attribute::SYSTEM_DEVICE, disk)];
    if instance > 1 {
        attributes.push(Attribute::new(
            attribute::EVENKEEL_DISK_INSTANCE,
            i64::from(instance),
        ));
    }
    attributes
}

/// A point for each series that has values.
fn histograms(
    series: &[Series],
    attached_unix_nanos: u64,
    distribution: impl Fn(&Series) -> Option<ExponentialHistogram>,
) -> Vec<Point> {
    series
        .iter()
        .filter_map(|series| {
            let histogram = distribution(series).filter(|histogram| histogram.count() > 0)?;
            Some(point(
                attributes(series),
                series.start_unix_nanos.max(attached_unix_nanos),
                PointValue::Histogram(histogram),
            ))
        })
        .collect()
}

/// How many operations ended with each error; several statuses can have one name.
fn errors(series: &Series) -> Vec<(&'static str, u64)> {
    let mut errors: Vec<(&'static str, u64)> = Vec::new();
    for (kind, count) in ERRORS.into_iter().zip(series.counts.errors()) {
        if count == 0 {
            continue;
        }
        match errors.iter_mut().find(|(seen, _)| *seen == kind) {
            Some((_, sum)) => *sum += count,
            None => errors.push((kind, count)),
        }
    }
    errors
}
