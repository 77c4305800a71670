//! `/proc/diskstats` (`Documentation/admin-guide/iostats.rst`): what each whole device did.

use evenkeel_otlp::model::{Attribute, Metric, Point, PointValue};
use evenkeel_semconv::{
    attribute::{self, value::disk_io_direction as direction},
    metric,
};

use super::{
    Losses, Moment,
    device::{Device, Devices, Taken},
    digits, words,
};
use crate::signal::{int, metric};

/// Devices with series of their own, each of ten points.
const MAX_DISKS: usize = 256;

/// Counters of a device: the fields up to the operations in flight, and the one behind that.
const COUNTERS: usize = 9;
const OPERATIONS: [usize; 2] = [0, 4];
const MERGED: [usize; 2] = [1, 5];
const SECTORS: [usize; 2] = [2, 6];
const OPERATION_MILLIS: [usize; 2] = [3, 7];
const IO_MILLIS: usize = 8;
/// Field of the operations in flight, which is no counter.
const IN_FLIGHT: usize = 8;
/// Fields that each kernel prints; discards came with Linux 4.18, flushes with 5.5.
const LEAST_FIELDS: usize = 11;

/// Bytes of a sector here, whatever those of the device are (`include/linux/blk_types.h`).
const SECTOR_BYTES: u64 = 512;

/// Devices that are there before anybody uses them: without any I/O they are left out.
const TEMPLATES: [&str; 6] = ["loop", "ram", "zram", "nbd", "fd", "sr"];

/// The series of all disks.
#[derive(Debug)]
pub(super) struct Disks {
    devices: Devices<COUNTERS>,
    /// Operations in flight at the last reading.
    in_flight: Vec<(String, u64)>,
}

/// A line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line<'a> {
    name: &'a str,
    fields: [u64; LEAST_FIELDS],
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut words = words(line);
        digits(words.next()?)?;
        digits(words.next()?)?;
        let name = std::str::from_utf8(words.next()?).ok()?;
        let mut fields = [0; LEAST_FIELDS];
        for field in &mut fields {
            *field = digits(words.next()?)?;
        }
        Some(Self { name, fields })
    }

    fn counters(&self) -> [u64; COUNTERS] {
        let mut fields = self
            .fields
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != IN_FLIGHT)
            .map(|(_, field)| *field);
        std::array::from_fn(|_| fields.next().unwrap_or(0))
    }

    /// A device that is there whether or not anybody uses it, and that nobody did.
    fn is_unused(&self) -> bool {
        let stem = self.name.trim_end_matches(|c: char| c.is_ascii_digit());
        TEMPLATES.contains(&stem) && self.fields.iter().all(|field| *field == 0)
    }

    /// Whether this is a part of `disk`: the kernel names partitions by their disk and a number,
    /// with a `p` between where the disk's name ends in a digit (`block/partitions/core.c`).
    fn is_part_of(&self, disk: &str) -> bool {
        let Some(rest) = self.name.strip_prefix(disk) else {
            return false;
        };
        let number = if disk.ends_with(|c: char| c.is_ascii_digit()) {
            rest.strip_prefix('p')
        } else {
            Some(rest)
        };
        number.is_some_and(|number| digits(number.as_bytes()).is_some())
    }
}

impl Disks {
    pub(super) fn new() -> Self {
        Self {
            devices: Devices::new(MAX_DISKS),
            in_flight: Vec::new(),
        }
    }

    /// Takes the text of the file.
    pub(super) fn take(&mut self, text: &[u8], now: Moment, boot: u64, losses: &mut Losses) {
        self.devices.begin();
        self.in_flight.clear();
        // The kernel lists partitions right behind their disk.
        let mut disk: Option<&str> = None;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let whole = line.strip_suffix(b"\n");
            let Some(line) = whole.and_then(Line::parse) else {
                losses.invalid += 1;
                continue;
            };
            if disk.is_some_and(|disk| line.is_part_of(disk)) {
                continue;
            }
            disk = Some(line.name);
            if line.is_unused() {
                continue;
            }
            match self.devices.take(line.name, line.counters(), boot) {
                Taken::Grown(_) => self
                    .in_flight
                    .push((line.name.to_owned(), line.fields[IN_FLIGHT])),
                Taken::Full => losses.series_full += 1,
                Taken::Repeated => losses.invalid += 1,
            }
        }
        self.devices.end(now);
        losses.out_of_range += self.devices.take_fallen();
    }

    /// The metrics of the last reading.
    pub(super) fn metrics(&self, boot: u64) -> impl Iterator<Item = Metric> {
        let bytes: fn(u64) -> PointValue = |sectors| int(sectors.saturating_mul(SECTOR_BYTES));
        let seconds: fn(u64) -> PointValue = |millis| PointValue::Double(millis as f64 / 1e3);
        let both = |descriptor, fields: [usize; 2], form: fn(u64) -> PointValue| {
            let points = self.devices.iter().flat_map(move |(name, device)| {
                let directions = [direction::READ, direction::WRITE].into_iter();
                directions.zip(fields).map(move |(direction, field)| {
                    let direction = Attribute::new(attribute::DISK_IO_DIRECTION, direction);
                    point(name, Some(direction), device, field, form)
                })
            });
            metric(descriptor, points.collect())
        };
        let io_time = self
            .devices
            .iter()
            .map(|(name, device)| point(name, None, device, IO_MILLIS, seconds));
        let in_flight = self.in_flight.iter().map(|(name, count)| Point {
            attributes: vec![Attribute::new(attribute::SYSTEM_DEVICE, name.as_str())],
            start_unix_nanos: boot,
            value: int(*count),
        });
        [
            both(&metric::SYSTEM_DISK_OPERATIONS, OPERATIONS, int),
            both(&metric::SYSTEM_DISK_MERGED, MERGED, int),
            both(&metric::SYSTEM_DISK_IO, SECTORS, bytes),
            both(
                &metric::SYSTEM_DISK_OPERATION_TIME,
                OPERATION_MILLIS,
                seconds,
            ),
            metric(&metric::SYSTEM_DISK_IO_TIME, io_time.collect()),
            metric(
                &metric::EVENKEEL_DISK_OPERATION_IN_FLIGHT,
                in_flight.collect(),
            ),
        ]
        .into_iter()
        .flatten()
    }
}

fn point(
    name: &str,
    direction: Option<Attribute>,
    device: &Device<COUNTERS>,
    field: usize,
    form: fn(u64) -> PointValue,
) -> Point {
    let mut attributes = Vec::with_capacity(2);
    attributes.extend(direction);
    attributes.push(Attribute::new(attribute::SYSTEM_DEVICE, name));
    Point {
        attributes,
        start_unix_nanos: device.start_unix_nanos(),
        value: form(device.values().get(field).copied().unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const NOW: Moment = Moment {
        since_boot_nanos: 100,
        unix_nanos: 2_000,
    };
    const BOOT: u64 = 1_900;

    /// Metrics by name, direction if there is one, and device.
    fn published(disks: &Disks) -> BTreeMap<String, f64> {
        let mut found = BTreeMap::new();
        for metric in disks.metrics(BOOT) {
            for point in metric.points {
                let value = match point.value {
                    PointValue::Int(value) => value as f64,
                    PointValue::Double(value) => value,
                    PointValue::Histogram(_) => panic!("no histogram here"),
                };
                let mut key = metric.descriptor.name.to_owned();
                for attribute in point.attributes {
                    if let evenkeel_otlp::model::Value::String(text) = attribute.value {
                        key.push(' ');
                        key.push_str(&text);
                    }
                }
                found.insert(key, value);
            }
        }
        found
    }

    fn read(disks: &mut Disks, text: &str) -> Losses {
        let mut losses = Losses::default();
        disks.take(text.as_bytes(), NOW, BOOT, &mut losses);
        losses
    }

    fn names(text: &str) -> Vec<String> {
        let mut disks = Disks::new();
        assert_eq!(read(&mut disks, text), Losses::default(), "{text}");
        disks
            .devices
            .iter()
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// Each field arrives under its name, in its unit.
    #[test]
    fn fields_by_name() {
        let mut disks = Disks::new();
        let losses = read(
            &mut disks,
            " 254       0 vda 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27\n",
        );
        assert_eq!(losses, Losses::default());
        let expected = [
            ("evenkeel.disk.operation.in_flight vda", 19.0),
            ("system.disk.io read vda", 13.0 * 512.0),
            ("system.disk.io write vda", 17.0 * 512.0),
            ("system.disk.io_time vda", 0.020),
            ("system.disk.merged read vda", 12.0),
            ("system.disk.merged write vda", 16.0),
            ("system.disk.operation_time read vda", 0.014),
            ("system.disk.operation_time write vda", 0.018),
            ("system.disk.operations read vda", 11.0),
            ("system.disk.operations write vda", 15.0),
        ];
        let found = published(&disks);
        let found: Vec<_> = found
            .iter()
            .map(|(key, value)| (key.as_str(), *value))
            .collect();
        assert_eq!(found, expected);
    }

    fn line(name: &str, value: u64) -> String {
        let fields = [value.to_string().as_str(); 11].join(" ");
        format!("8 0 {name} {fields}\n")
    }

    /// Partitions are in their disk; names that only look like it are disks of their own.
    #[test]
    fn partitions_are_folded() {
        let text: String = [
            "sda",
            "sda1",
            "sda15",
            "sdaa",
            "sdaa2",
            "nvme0n1",
            "nvme0n1p1",
            "nvme0n1p12",
            "nvme0n12",
            "mmcblk0",
            "mmcblk0p2",
            "mmcblk0boot0",
            "dm-1",
            "dm-10",
            "xvdb1",
            "md127",
            "md127p1",
            "cciss!c0d0",
            "cciss!c0d0p1",
        ]
        .map(|name| line(name, 5))
        .concat();
        assert_eq!(
            names(&text),
            [
                "cciss!c0d0",
                "dm-1",
                "dm-10",
                "md127",
                "mmcblk0",
                "mmcblk0boot0",
                "nvme0n1",
                "nvme0n12",
                "sda",
                "sdaa",
                "xvdb1",
            ]
        );
    }

    /// Devices that are there for anybody are left out until they are used; a disk that did nothing
    /// yet is a measured 0.
    #[test]
    fn unused_templates_are_left_out() {
        let unused = ["loop0", "ram1", "zram0", "nbd15", "fd0", "sr0", "vda"];
        assert_eq!(names(&unused.map(|name| line(name, 0)).concat()), ["vda"]);
        assert_eq!(names(&line("loop0", 1)), ["loop0"]);
        assert_eq!(names(&line("loops", 0)), ["loops"]);
    }

    /// Broken lines are counted, publish nothing and spoil no other.
    #[test]
    fn broken_lines_are_counted() {
        let good = line("vda", 1);
        for bad in [
            "\n",
            "8 0 sda\n",
            "8 1 sda1 1 2 3 4\n",
            "8 0 sda 1 2 3 4 5 6 7 8 9 10\n",
            "8 0 sda 1 2 3 4 5 6 7 8 9 10 -1\n",
            "8 0 sda 1 2 3 4 5 6 7 8 9 10 99999999999999999999\n",
            "x 0 sda 1 2 3 4 5 6 7 8 9 10 11\n",
            "8 0 sda 1 2 3 4 5 6 7 8 9 10 11",
            "8 0 vda 1 2 3 4 5 6 7 8 9 10 11\n",
        ] {
            let mut disks = Disks::new();
            let losses = read(&mut disks, &format!("{good}{bad}"));
            assert_eq!(losses.invalid, 1, "{bad:?}");
            assert_eq!(
                published(&disks)["system.disk.io read vda"],
                512.0,
                "{bad:?}"
            );
            assert_eq!(published(&disks).len(), 10, "{bad:?}");
        }
    }

    /// Beyond the bound devices are counted, and the others stay.
    #[test]
    fn the_bound_is_counted() {
        let text: String = (0..MAX_DISKS + 3)
            .map(|number| line(&format!("disk{number}x"), 1))
            .collect();
        let mut disks = Disks::new();
        assert_eq!(read(&mut disks, &text).series_full, 3);
        assert_eq!(disks.devices.iter().count(), MAX_DISKS);
        assert_eq!(disks.in_flight.len(), MAX_DISKS);
    }

    /// Milliseconds have 32 bits in the file: they go round while the rest goes on. A device that is
    /// gone is absent.
    #[test]
    fn milliseconds_go_round() {
        let mut disks = Disks::new();
        let text = |operations: u64, millis: u64| {
            format!("8 0 sda {operations} 0 8 {millis} 1 0 8 1 0 1 1\n")
        };
        read(&mut disks, &text(10, u64::from(u32::MAX)));
        let losses = read(&mut disks, &text(20, 999));
        assert_eq!(losses, Losses::default());
        let found = published(&disks)["system.disk.operation_time read sda"];
        assert_eq!(found, (u64::from(u32::MAX) + 1000) as f64 / 1e3);
        read(&mut disks, "");
        assert!(published(&disks).is_empty());
    }

    /// Bytes beyond the number range stay at its end.
    #[test]
    fn sectors_beyond_the_range() {
        let mut disks = Disks::new();
        read(&mut disks, &line("sda", u64::MAX));
        let found = published(&disks);
        assert_eq!(found["system.disk.io read sda"], i64::MAX as f64);
    }
}
