//! The host's own counters against the files that they are read from.

use std::{
    fs,
    io::{self, Read as _},
    net::{Ipv4Addr, TcpListener},
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::{
    MetricDescriptor,
    attribute::{
        DISK_IO_DIRECTION, EVENKEEL_PRESSURE_RESOURCE, EVENKEEL_PRESSURE_SCOPE,
        NETWORK_INTERFACE_NAME, NETWORK_IO_DIRECTION, SYSTEM_DEVICE,
    },
    metric::{
        EVENKEEL_PRESSURE_STALL_TIME, SYSTEM_DISK_IO, SYSTEM_DISK_IO_TIME, SYSTEM_DISK_MERGED,
        SYSTEM_DISK_OPERATION_TIME, SYSTEM_DISK_OPERATIONS, SYSTEM_NETWORK_ERRORS,
        SYSTEM_NETWORK_IO, SYSTEM_NETWORK_PACKET_COUNT, SYSTEM_NETWORK_PACKET_DROPPED,
    },
};
use evenkeel_tests::{
    child::run,
    evenkeel::Recording,
    needs::Need,
    received::Received,
    suite::{Skip, Test},
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "host::disk_counters_are_those_of_diskstats",
        &[Need::Root, Need::Program("losetup"), Need::Program("dd")],
        disks,
    ),
    Test::new(
        "host::interface_counters_are_those_of_sysfs",
        &[Need::Root, Need::Program("bash")],
        interfaces,
    ),
    Test::new(
        "host::stall_times_are_those_of_the_kernel",
        &[Need::Root],
        pressure,
    ),
];

const LIMIT: Duration = Duration::from_secs(60);

/// The signal alone: it needs no kernel program.
const ONLY_HOST: [&str; 4] = ["--disable", "all", "--enable", "host"];

/// A loop device over a file, gone with it.
struct LoopDevice {
    path: String,
    _folder: tempfile::TempDir,
}

impl LoopDevice {
    fn new(bytes: u64) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("disk");
        fs::File::create(&file)?.set_len(bytes)?;
        let made = run(
            Command::new("losetup")
                .args(["--find", "--show"])
                .arg(&file),
            LIMIT,
        )?;
        let path = made.stdout.trim().to_owned();
        if path.is_empty() {
            return Err(Skip(format!("no loop device: {}", made.stderr.trim())).into());
        }
        Ok(Self {
            path,
            _folder: folder,
        })
    }

    fn name(&self) -> &str {
        self.path.trim_start_matches("/dev/")
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let detached = run(
            Command::new("losetup").args(["--detach", &self.path]),
            LIMIT,
        );
        if let Err(error) = detached {
            println!("{} stays: {error:#}", self.path);
        }
    }
}

/// The first eleven counters of a device in a text of `/proc/diskstats`.
fn diskstats(text: &str, device: &str) -> Result<Vec<f64>> {
    let line = text
        .lines()
        .find(|line| line.split_whitespace().nth(2) == Some(device));
    line.with_context(|| format!("no {device} in /proc/diskstats"))?
        .split_whitespace()
        .skip(3)
        .take(11)
        .map(|field| Ok(field.parse()?))
        .collect()
}

/// 64 direct reads and 32 direct writes of 4 KiB on a device of our own, and some on the disk of the temporary
/// folder: operations, merges, bytes and times of every whole disk are between what `/proc/diskstats` grew by
/// while the command ran and what it grew by around the recording, which is the same where nobody else uses the
/// device.
fn disks() -> Result<()> {
    let device = LoopDevice::new(1 << 20)?;
    let recording = Recording::empty()?;
    let (before, after) = (
        recording.folder().join("before"),
        recording.folder().join("after"),
    );
    let script = format!(
        "cat /proc/diskstats > {before}; \
         dd if={device} of=/dev/null bs=4k count=64 iflag=direct status=none; \
         dd if=/dev/zero of={device} bs=4k count=32 oflag=direct status=none; \
         dd if=/dev/zero of={file} bs=4k count=32 conv=fsync status=none; \
         cat /proc/diskstats > {after}",
        before = before.display(),
        after = after.display(),
        device = device.path,
        file = recording.folder().join("file").display(),
    );
    let around = fs::read_to_string("/proc/diskstats")?;
    let mut arguments = ONLY_HOST.to_vec();
    arguments.extend(["--", "sh", "-c", &script]);
    run(&mut recording.recorder_command(&arguments)?, LIMIT)?.succeeded()?;
    let around = (around, fs::read_to_string("/proc/diskstats")?);
    let within = (fs::read_to_string(before)?, fs::read_to_string(after)?);

    let received = Received::from_recording(&recording)?;
    let own = grown(&around, device.name())?;
    // On a host where new devices are looked into, somebody else may have read as well.
    ensure!(own[0] >= 64.0 && own[2] >= 64.0 * 8.0, "read: {own:?}");
    ensure!(own[4] >= 32.0 && own[6] >= 32.0 * 8.0, "written: {own:?}");
    let mut compared = 0;
    for line in around.0.lines() {
        let name = line.split_whitespace().nth(2).context("a name")?;
        if !Path::new("/sys/block").join(name).exists() {
            continue;
        }
        let (least, most) = (grown(&within, name)?, grown(&around, name)?);
        for (field, seen) in published(&received, name)? {
            compared += usize::from(seen > 0.0);
            // Seconds have rounded on their way here.
            ensure!(
                (least[field] - 1e-3..=most[field] + 1e-3).contains(&seen),
                "field {field} of {name} grew by {seen}, by {} to {} in /proc/diskstats",
                least[field],
                most[field]
            );
        }
    }
    println!("{}: {own:?}; {compared} figures above 0", device.name());
    ensure!(compared >= 4, "{compared} figures above 0 only");
    Ok(())
}

/// The growth of each field between two texts.
fn grown(texts: &(String, String), device: &str) -> Result<Vec<f64>> {
    let (before, after) = (diskstats(&texts.0, device)?, diskstats(&texts.1, device)?);
    Ok(after.iter().zip(before).map(|(a, b)| a - b).collect())
}

/// The growth of what was published of a disk, by the field of `/proc/diskstats`, in its unit.
fn published(received: &Received, device: &str) -> Result<Vec<(usize, f64)>> {
    let mut fields = Vec::new();
    for (direction, first) in [("read", 0), ("write", 4)] {
        let of = |descriptor: &MetricDescriptor| {
            let attributes = [(SYSTEM_DEVICE, device), (DISK_IO_DIRECTION, direction)];
            received.growth(descriptor, &attributes)
        };
        fields.push((first, of(&SYSTEM_DISK_OPERATIONS)?));
        fields.push((first + 1, of(&SYSTEM_DISK_MERGED)?));
        fields.push((first + 2, of(&SYSTEM_DISK_IO)? / 512.0));
        fields.push((first + 3, of(&SYSTEM_DISK_OPERATION_TIME)? * 1e3));
    }
    let io_time = received.growth(&SYSTEM_DISK_IO_TIME, &[(SYSTEM_DEVICE, device)])?;
    fields.push((9, io_time * 1e3));
    Ok(fields)
}

/// Bytes, packets, errors and drops of the loopback, received and transmitted, from sysfs.
fn loopback(folder: &Path) -> Result<Vec<f64>> {
    let mut counters = Vec::new();
    for direction in ["rx", "tx"] {
        for counter in ["bytes", "packets", "errors", "dropped"] {
            let path = folder.join(format!("{direction}_{counter}"));
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            counters.push(text.trim().parse()?);
        }
    }
    Ok(counters)
}

/// 8 MiB sent over the loopback: each figure is between what sysfs grew by while they were sent and what it
/// grew by around the recording, and what was received is what was transmitted.
fn interfaces() -> Result<()> {
    const BYTES: f64 = 8.0 * 1024.0 * 1024.0;
    let statistics = Path::new("/sys/class/net/lo/statistics");
    let recording = Recording::empty()?;
    let (before, after) = (
        recording.folder().join("before"),
        recording.folder().join("after"),
    );
    for folder in [&before, &after] {
        fs::create_dir(folder)?;
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    // One connection, which the command ends.
    let receiver = thread::spawn(move || -> io::Result<usize> {
        let mut received = Vec::new();
        listener.accept()?.0.read_to_end(&mut received)
    });
    let script = format!(
        "cp {statistics}/?x_* {before}; head -c 8388608 /dev/zero > /dev/tcp/127.0.0.1/{port}; \
         cp {statistics}/?x_* {after}",
        statistics = statistics.display(),
        before = before.display(),
        after = after.display(),
    );
    let around_before = loopback(statistics)?;
    let mut arguments = ONLY_HOST.to_vec();
    arguments.extend(["--", "bash", "-c", &script]);
    run(&mut recording.recorder_command(&arguments)?, LIMIT)?.succeeded()?;
    let around_after = loopback(statistics)?;
    let sent = receiver
        .join()
        .map_err(|_| anyhow::anyhow!("the receiver panicked"))??;
    ensure!(sent as f64 == BYTES, "{sent} bytes arrived");

    let received = Received::from_recording(&recording)?;
    let mut seen = Vec::new();
    for direction in ["receive", "transmit"] {
        let of = |descriptor: &MetricDescriptor, name| {
            let attributes = [(name, "lo"), (NETWORK_IO_DIRECTION, direction)];
            received.growth(descriptor, &attributes)
        };
        seen.push(of(&SYSTEM_NETWORK_IO, NETWORK_INTERFACE_NAME)?);
        seen.push(of(&SYSTEM_NETWORK_PACKET_COUNT, SYSTEM_DEVICE)?);
        seen.push(of(&SYSTEM_NETWORK_ERRORS, NETWORK_INTERFACE_NAME)?);
        seen.push(of(&SYSTEM_NETWORK_PACKET_DROPPED, NETWORK_INTERFACE_NAME)?);
    }
    println!("bytes, packets, errors, drops in and out: {seen:?}");
    let (before, after) = (loopback(&before)?, loopback(&after)?);
    for (index, seen) in seen.iter().enumerate() {
        let least = after[index] - before[index];
        let most = around_after[index] - around_before[index];
        ensure!(
            (least..=most).contains(seen),
            "figure {index} grew by {seen}, by {least} to {most} in sysfs"
        );
    }
    ensure!(seen[0] >= BYTES && seen[1] > 1.0, "{seen:?}");
    ensure!(seen[..4] == seen[4..], "in and out differ: {seen:?}");
    Ok(())
}

/// Every line of `/proc/pressure` that means something for a host is there and between what the kernel said
/// before and after, and those that do not are absent.
fn pressure() -> Result<()> {
    let lines = [
        ("cpu", "some", true),
        ("cpu", "full", false),
        ("memory", "some", true),
        ("memory", "full", true),
        ("io", "some", true),
        ("io", "full", true),
        ("irq", "some", false),
        ("irq", "full", true),
    ];
    let total = |resource: &str, scope: &str| -> Option<f64> {
        let text = fs::read_to_string(format!("/proc/pressure/{resource}")).ok()?;
        let line = text.lines().find(|line| line.starts_with(scope))?;
        line.rsplit_once("total=")?.1.parse().ok()
    };
    let all = || lines.map(|(resource, scope, _)| total(resource, scope));
    let before = all();
    if before.iter().all(Option::is_none) {
        return Err(Skip("the kernel does not account for pressure".into()).into());
    }
    let mut arguments = ONLY_HOST.to_vec();
    arguments.extend([
        "--",
        "sh",
        "-c",
        "head -c 300000000 /dev/zero | cat > /dev/null",
    ]);
    let recording = Recording::make(&arguments, LIMIT)?;
    let after = all();
    let received = Received::from_recording(&recording)?;
    for (index, (resource, scope, meaningful)) in lines.into_iter().enumerate() {
        let attributes = [
            (EVENKEEL_PRESSURE_RESOURCE, resource),
            (EVENKEEL_PRESSURE_SCOPE, scope),
        ];
        let seen = received.last_sum(&EVENKEEL_PRESSURE_STALL_TIME, &attributes)? * 1e6;
        let is_there = received.has_series(&EVENKEEL_PRESSURE_STALL_TIME, &attributes);
        let (Some(before), Some(after), true) = (before[index], after[index], meaningful) else {
            ensure!(!is_there, "{resource} {scope} should not be there");
            continue;
        };
        ensure!(is_there, "{resource} {scope} is missing");
        println!("{resource} {scope}: {seen:.0} us in {before:.0} to {after:.0}");
        ensure!(
            (before - 1.0..=after + 1.0).contains(&seen),
            "{resource} {scope}: {seen} us, the kernel says {before} to {after}"
        );
    }
    Ok(())
}
