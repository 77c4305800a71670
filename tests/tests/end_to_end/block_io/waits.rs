//! Where operations wait: for a tag, in the device, and while nobody looked.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::{Result, ensure};
use evenkeel_semconv::{attribute::SYSTEM_DEVICE, metric::EVENKEEL_DISK_OPERATION_DEPTH};
use evenkeel_tests::{
    block_device::{Access, Diskstats, LoopDevice, disk_of},
    suite::Skip,
    workload::Workload,
};

use super::{Operation, dd, lost, quantile, record};

const MIB: usize = 1 << 20;

/// So many readers of 4 KiB at once for so many seconds, for a shell.
fn readers(device: &LoopDevice, count: u32, seconds: u32) -> Result<String> {
    let program = Workload::ConcurrentReads.build()?;
    Ok(format!(
        "{} {} {count} {seconds} 4096\n",
        program.display(),
        device.path()
    ))
}

/// A device with four tags under 32 readers instead of one: operations wait in the queue and not in the
/// device, which has four at most.
pub(super) fn few_tags() -> Result<()> {
    let device = LoopDevice::new(32 * MIB, Access::Direct)?;
    device.set_queue("scheduler", "mq-deadline")?;
    device.set_queue("nr_requests", "4")?;
    let alone = record(&readers(&device, 1, 3)?)?;
    let alone = Operation::of(&alone, &device.name, "read", None)?;
    let crowd = record(&readers(&device, 32, 3)?)?;
    let depth = crowd
        .histogram(
            &EVENKEEL_DISK_OPERATION_DEPTH,
            &[(SYSTEM_DEVICE, &device.name)],
        )?
        .unwrap_or_default();
    let crowd = Operation::of(&crowd, &device.name, "read", None)?;
    let (queue_alone, queue_crowd) = (quantile(&alone.queue, 0.99)?, quantile(&crowd.queue, 0.99)?);
    let (device_alone, device_crowd) =
        (quantile(&alone.device, 0.5)?, quantile(&crowd.device, 0.5)?);
    println!(
        "{} and {} reads; queue p99 {:.1} and {:.1} us, device p50 {:.1} and {:.1} us, {:.1} at once",
        alone.total.count(),
        crowd.total.count(),
        queue_alone * 1e6,
        queue_crowd * 1e6,
        device_alone * 1e6,
        device_crowd * 1e6,
        depth.mean().unwrap_or(0.0),
    );
    ensure!(
        alone.total.count() >= 100 && crowd.total.count() >= 500,
        "too few reads: {} and {}",
        alone.total.count(),
        crowd.total.count()
    );
    ensure!(queue_crowd >= 3.0 * queue_alone, "the queue is not fuller");
    ensure!(device_crowd <= 3.0 * device_alone, "the device is slower");
    ensure!(
        depth.count() > 0 && quantile(&depth, 1.0)? <= 4.1,
        "more than four at once: {depth:?}"
    );
    Ok(())
}

/// A cgroup in which reads of a disk are limited; gone when dropped, once nobody is in it.
struct Throttle {
    cgroup: PathBuf,
}

impl Throttle {
    /// So many reads a second of a disk; `None` where there is no controller for it.
    fn new(disk: &str, reads_a_second: u32) -> Result<Option<Self>> {
        let number = fs::read_to_string(format!("/sys/block/{disk}/dev"))?;
        let number = number.trim();
        let name = format!("evenkeel-test-{}", std::process::id());
        let first = PathBuf::from("/sys/fs/cgroup/blkio");
        let second = PathBuf::from("/sys/fs/cgroup");
        let (root, file, limit) = if first.join("blkio.throttle.read_iops_device").exists() {
            let limit = format!("{number} {reads_a_second}");
            (first, "blkio.throttle.read_iops_device", limit)
        } else if fs::read_to_string(second.join("cgroup.subtree_control"))
            .is_ok_and(|controllers| controllers.split_whitespace().any(|name| name == "io"))
        {
            (second, "io.max", format!("{number} riops={reads_a_second}"))
        } else {
            return Ok(None);
        };
        let throttle = Self {
            cgroup: root.join(name),
        };
        fs::create_dir(&throttle.cgroup)?;
        Ok(fs::write(throttle.cgroup.join(file), limit)
            .is_ok()
            .then_some(throttle))
    }

    /// Puts the shell that runs it in.
    fn enter(&self) -> String {
        format!("echo $$ > {}\n", self.cgroup.join("cgroup.procs").display())
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        for _ in 0..50 {
            if fs::remove_dir(&self.cgroup).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// A loop device whose disk below lets ten reads a second through: the device is slow, and its queue is as
/// empty as before. The disk below is not slow: what a cgroup may not do yet has not arrived there.
pub(super) fn slow_device() -> Result<()> {
    let device = LoopDevice::new(4 * MIB, Access::Direct)?;
    let Some(below) = disk_of(&std::env::temp_dir())? else {
        return Err(Skip("temporary files are not on one disk".into()).into());
    };
    let Some(throttle) = Throttle::new(&below, 10)? else {
        return Err(Skip(
            "no slow device: neither dm-delay nor null_blk is used here, and no cgroup limits I/O"
                .into(),
        )
        .into());
    };
    let read = |script: &str| -> Result<Operation> {
        let received = record(script)?;
        Operation::of(&received, &device.name, "read", None)
    };
    let reads = dd(&format!(
        "if={} of=/dev/null bs=4k count=40 iflag=direct",
        device.path()
    ));
    let free = read(&reads)?;
    let slow = read(&(throttle.enter() + &reads))?;
    println!(
        "device p50 {:.3} and {:.3} ms, queue p50 {:.3} and {:.3} ms, queue p99 {:.3} and {:.3} ms",
        quantile(&free.device, 0.5)? * 1e3,
        quantile(&slow.device, 0.5)? * 1e3,
        quantile(&free.queue, 0.5)? * 1e3,
        quantile(&slow.queue, 0.5)? * 1e3,
        quantile(&free.queue, 0.99)? * 1e3,
        quantile(&slow.queue, 0.99)? * 1e3,
    );
    ensure!(
        quantile(&slow.device, 0.5)? >= 3.0 * quantile(&free.device, 0.5)?
            && quantile(&slow.device, 0.5)? >= 0.02,
        "the device is not slower"
    );
    // A quarter of what the device takes more: the machine may be busy.
    ensure!(
        quantile(&slow.queue, 0.5)? <= 0.005,
        "the queue is fuller, too"
    );
    Ok(())
}

/// Recording begins and ends amid operations: those whose issue was not seen have the kernel's stamps or
/// none, are counted as such, and no duration is longer than the run.
pub(super) fn on_its_way() -> Result<()> {
    let device = LoopDevice::new(32 * MIB, Access::Direct)?;
    device.set_queue("scheduler", "mq-deadline")?;
    let load = Workload::ConcurrentReads.start(&[&device.path(), "32", "60", "4096"])?;
    let received = record("sleep 2\n")?;
    drop(load);
    let read = Operation::of(&received, &device.name, "read", None)?;
    let unmatched = lost(&received, "unmatched")?;
    let longest = quantile(&read.total, 1.0)?;
    println!(
        "{:?} entries, {unmatched} unmatched, longest {longest:.3} s",
        read.counts()
    );
    let [total, queue, device, size] = read.counts();
    ensure!(size >= 500, "{size} reads in two seconds");
    // What ends while the counts are read is in some of them only: some hundred a millisecond at most.
    let apart = [total, queue, device]
        .map(|count| count.abs_diff(size))
        .into_iter()
        .max();
    ensure!(
        apart.is_some_and(|apart| apart as f64 <= unmatched + 100.0),
        "{apart:?} reads lack a duration, {unmatched} unmatched"
    );
    ensure!(longest < 60.0, "a read of {longest} s");
    Ok(())
}

/// 1,200 processes wait for one of four tags: more bios on their way than there is room for, and more
/// processes than are told apart. All is counted, and what it cost is said.
pub(super) fn more_than_fit() -> Result<()> {
    let device = LoopDevice::new(32 * MIB, Access::Cached)?;
    device.set_queue("scheduler", "mq-deadline")?;
    device.set_queue("nr_requests", "4")?;
    let program = Workload::ConcurrentReads.build()?;
    let script = format!("{} {} 1200 4 262144\n", program.display(), device.path());
    let before = Diskstats::read(&device.name)?;
    let received = record(&script)?;
    let kernel = Diskstats::read(&device.name)?.since(before).reads;
    let read = Operation::of(&received, &device.name, "read", None)?;
    let unmatched = lost(&received, "unmatched")?;
    let uncharged = lost(&received, "aggregation_full")?;
    println!(
        "{:?} reads, the kernel counted {kernel}; {unmatched} without arrival, {uncharged} not charged",
        read.counts(),
    );
    ensure!(kernel >= 1200, "only {kernel} reads");
    ensure!(
        unmatched > 0.0,
        "1,200 bios fit, of which a place is said to be lost"
    );
    ensure!(uncharged > 0.0, "1,200 processes fit in the table of 512");
    // A few completions in a thousand may not be seen (`with_all_seen`).
    let counted = read.total.count();
    ensure!(
        counted <= kernel && counted * 100 >= kernel * 98,
        "{counted} reads, the kernel counted {kernel}"
    );
    Ok(())
}
