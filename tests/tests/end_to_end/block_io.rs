//! Block I/O by request, against `/proc/diskstats`, on devices that the tests make.

mod devices;
mod waits;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use evenkeel_otlp::histogram::ExponentialHistogram;
use evenkeel_semconv::{
    MetricDescriptor,
    attribute::{
        EVENKEEL_DISK_INSTANCE, EVENKEEL_DISK_OPERATION_TYPE, EVENKEEL_LOSS_REASON,
        EVENKEEL_SIGNAL_NAME, SYSTEM_DEVICE,
    },
    metric::{
        EVENKEEL_DISK_OPERATION_DEVICE_DURATION, EVENKEEL_DISK_OPERATION_DURATION,
        EVENKEEL_DISK_OPERATION_QUEUE_DURATION, EVENKEEL_DISK_OPERATION_SIZE,
        EVENKEEL_SIGNAL_LOSSES,
    },
};
use evenkeel_tests::{evenkeel::Recording, needs::Need, received::Received, suite::Test};

const NEEDS: &[Need] = &[Need::Root, Need::Bpf, Need::Program("losetup")];

/// And a program of ours that reads.
const READERS: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Program("losetup"),
    Need::Program("cc"),
];

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "block_io::sixty_four_direct_reads_of_a_loop_device",
        NEEDS,
        devices::loop_reads,
    ),
    Test::new(
        "block_io::sixty_four_direct_writes_to_a_file",
        NEEDS,
        devices::file_writes,
    ),
    Test::new(
        "block_io::operations_and_bytes_are_those_of_diskstats",
        NEEDS,
        devices::diskstats,
    ),
    Test::new(
        "block_io::a_disk_without_requests_has_durations",
        NEEDS,
        devices::bios,
    ),
    Test::new(
        "block_io::a_merged_operation_is_counted_once",
        NEEDS,
        devices::merges,
    ),
    Test::new(
        "block_io::a_name_that_comes_again_is_another_disk",
        NEEDS,
        devices::reused_name,
    ),
    Test::new(
        "block_io::more_disks_than_series_share_one",
        NEEDS,
        devices::many_disks,
    ),
    Test::new(
        "block_io::a_part_handed_back_and_failed_is_one_operation",
        NEEDS,
        devices::partial_requeued_failed,
    ),
    Test::new("block_io::flushes_are_operations", NEEDS, devices::flushes),
    Test::new(
        "block_io::a_program_is_charged_with_its_bytes",
        NEEDS,
        devices::submitter,
    ),
    Test::new(
        "block_io::few_tags_fill_the_queue_and_not_the_device",
        READERS,
        waits::few_tags,
    ),
    Test::new(
        "block_io::a_slow_device_does_not_fill_the_queue",
        NEEDS,
        waits::slow_device,
    ),
    Test::new(
        "block_io::what_was_on_its_way_has_no_endless_durations",
        READERS,
        waits::on_its_way,
    ),
    Test::new(
        "block_io::more_on_its_way_than_fits_is_counted",
        READERS,
        waits::more_than_fit,
    ),
];

/// Longest recording.
const LIMIT: Duration = Duration::from_secs(120);

/// Records this signal while `script` runs in a shell.
fn record(script: &str) -> Result<Received> {
    let recording = Recording::make(
        &[
            "--disable",
            "all",
            "--enable",
            "block_io",
            "--",
            "sh",
            "-ec",
            script,
        ],
        LIMIT,
    )?;
    let received = Received::from_recording(&recording)?;
    received.check()?;
    Ok(received)
}

/// `dd` past the page cache, quietly.
fn dd(arguments: &str) -> String {
    format!("dd {arguments} 2>/dev/null\n")
}

/// One operation of one disk, as it was received.
#[derive(Debug, Default)]
struct Operation {
    total: ExponentialHistogram,
    queue: ExponentialHistogram,
    device: ExponentialHistogram,
    size: ExponentialHistogram,
}

impl Operation {
    /// What was received of an operation of a disk, be it the first of its name or (`instance`) another.
    fn of(received: &Received, disk: &str, kind: &str, instance: Option<&str>) -> Result<Self> {
        let mut attributes = vec![(SYSTEM_DEVICE, disk), (EVENKEEL_DISK_OPERATION_TYPE, kind)];
        attributes.extend(instance.map(|instance| (EVENKEEL_DISK_INSTANCE, instance)));
        let histogram = |descriptor: &MetricDescriptor| -> Result<ExponentialHistogram> {
            Ok(received
                .histogram(descriptor, &attributes)?
                .unwrap_or_default())
        };
        let operation = Self {
            total: histogram(&EVENKEEL_DISK_OPERATION_DURATION)?,
            queue: histogram(&EVENKEEL_DISK_OPERATION_QUEUE_DURATION)?,
            device: histogram(&EVENKEEL_DISK_OPERATION_DEVICE_DURATION)?,
            size: histogram(&EVENKEEL_DISK_OPERATION_SIZE)?,
        };
        operation.check_sums()?;
        Ok(operation)
    }

    /// Fails unless the sum of each distribution lies between the bounds of its buckets: the kernel programs
    /// find the bucket of a value by tables, and add it up as it is.
    fn check_sums(&self) -> Result<()> {
        for histogram in [&self.total, &self.queue, &self.device, &self.size] {
            let bound = |index| ExponentialHistogram::bound(histogram.scale, index);
            let sum_of = |next: i64| -> f64 {
                histogram
                    .buckets()
                    .map(|(index, count)| bound(index + next) * count as f64)
                    .sum()
            };
            let (least, most) = (sum_of(0), sum_of(1));
            ensure!(
                histogram.sum >= least * (1.0 - 1e-9) && histogram.sum <= most * (1.0 + 1e-9),
                "a sum of {} where the buckets allow {least} to {most}",
                histogram.sum
            );
        }
        Ok(())
    }

    /// How many values each distribution has: total, queue, device, size.
    fn counts(&self) -> [u64; 4] {
        [&self.total, &self.queue, &self.device, &self.size].map(ExponentialHistogram::count)
    }
}

fn quantile(histogram: &ExponentialHistogram, q: f64) -> Result<f64> {
    histogram.quantile(q).context("an empty distribution")
}

/// How many operations the signal lost for a reason.
fn lost(received: &Received, reason: &str) -> Result<f64> {
    received.last_sum(
        &EVENKEEL_SIGNAL_LOSSES,
        &[
            (EVENKEEL_SIGNAL_NAME, "block_io"),
            (EVENKEEL_LOSS_REASON, reason),
        ],
    )
}

/// Tries until `attempt` says that nothing was unseen, five times at most. A kernel may run no program in
/// the interrupts of some tasks (one whose init is to be hidden does not), and then misses a completion
/// now and then. More than there was is never right.
fn with_all_seen(mut attempt: impl FnMut() -> Result<bool>) -> Result<()> {
    for _ in 0..5 {
        if attempt()? {
            return Ok(());
        }
        println!("a completion was not seen; once more");
    }
    ensure!(attempt()?, "completions were not seen in six recordings");
    Ok(())
}

/// Whether `seen` is all of `expected`; an error if it is more.
fn is_all(what: &str, seen: u64, expected: u64) -> Result<bool> {
    ensure!(seen <= expected, "{seen} {what} instead of {expected}");
    Ok(seen == expected)
}
