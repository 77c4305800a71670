//! What is counted of each kind of disk and operation.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::{
    attribute::{
        DISK_IO_DIRECTION, ERROR_TYPE, EVENKEEL_DISK_INSTANCE, PROCESS_EXECUTABLE_NAME,
        SYSTEM_DEVICE,
    },
    metric::{
        EVENKEEL_DISK_OPERATION_ERRORS, EVENKEEL_DISK_OPERATION_PARTIAL_COMPLETIONS,
        EVENKEEL_DISK_OPERATION_REQUEUES, EVENKEEL_DISK_OPERATION_SIZE, EVENKEEL_PROCESS_DISK_IO,
    },
};
use evenkeel_tests::{
    block_device::{Access, Diskstats, LoopDevice, Zram, disk_of},
    suite::Skip,
};

use super::{Operation, dd, is_all, lost, quantile, record, with_all_seen};

const MIB: usize = 1 << 20;

/// 64 reads of a device without a scheduler: 64 entries in queue, device and total, and each total is the
/// sum of the two others.
pub(super) fn loop_reads() -> Result<()> {
    let device = LoopDevice::new(MIB, Access::Cached)?;
    device.set_queue("scheduler", "none")?;
    with_all_seen(|| {
        let received = record(&dd(&format!(
            "if={} of=/dev/null bs=4k count=64 iflag=direct",
            device.path()
        )))?;
        let read = Operation::of(&received, &device.name, "read", None)?;
        let sum = read.queue.sum + read.device.sum;
        ensure!(
            (read.total.sum - sum).abs() <= 1e-6,
            "in all {} s, queue and device {sum} s",
            read.total.sum
        );
        println!(
            "{:?} entries, p50 in all {:.1} us, queue {:.1} us, device {:.1} us",
            read.counts(),
            quantile(&read.total, 0.5)? * 1e6,
            quantile(&read.queue, 0.5)? * 1e6,
            quantile(&read.device, 0.5)? * 1e6,
        );
        ensure!(
            read.counts().windows(2).all(|pair| pair[0] == pair[1]),
            "{:?}",
            read.counts()
        );
        is_all("reads", read.total.count(), 64)
    })
}

/// 64 writes to a file on whatever disk holds it: at least as many entries in queue, device and total, and
/// no more than the kernel counted, as others write there, too.
pub(super) fn file_writes() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let Some(disk) = disk_of(folder.path())? else {
        return Err(Skip("temporary files are not on one disk".into()).into());
    };
    let file = folder.path().join("file");
    with_all_seen(|| {
        let before = Diskstats::read(&disk)?;
        let received = record(&dd(&format!(
            "if=/dev/zero of={} bs=4k count=64 oflag=direct",
            file.display()
        )))?;
        let written = Diskstats::read(&disk)?.since(before).writes;
        let write = Operation::of(&received, &disk, "write", None)?;
        let counts = write.counts();
        println!("{disk}: {counts:?} entries, the kernel counted {written}");
        ensure!(
            counts.windows(2).all(|pair| pair[0] == pair[1]),
            "{counts:?}"
        );
        ensure!(
            counts[0] <= written,
            "{counts:?} entries, the kernel counted {written}"
        );
        Ok(counts[0] >= 64)
    })
}

/// Reads and writes of several sizes, larger than what a request takes among them: as many operations and
/// bytes as the kernel counts, exactly.
pub(super) fn diskstats() -> Result<()> {
    let device = LoopDevice::new(16 * MIB, Access::Cached)?;
    let path = device.path();
    let script = dd(&format!(
        "if={path} of=/dev/null bs=4k count=1000 iflag=direct"
    )) + &dd(&format!(
        "if={path} of=/dev/null bs=2M count=8 iflag=direct"
    )) + &dd(&format!(
        "if=/dev/zero of={path} bs=16k count=500 oflag=direct"
    )) + &dd(&format!(
        "if=/dev/zero of={path} bs=1536k count=8 oflag=direct"
    ));
    with_all_seen(|| {
        let before = Diskstats::read(&device.name)?;
        let received = record(&script)?;
        let kernel = Diskstats::read(&device.name)?.since(before);
        let read = Operation::of(&received, &device.name, "read", None)?;
        let write = Operation::of(&received, &device.name, "write", None)?;
        println!(
            "read {:?}, written {:?}, the kernel counted {kernel:?}",
            read.counts(),
            write.counts()
        );
        let seen = is_all("reads", read.size.count(), kernel.reads)?
            & is_all("writes", write.size.count(), kernel.writes)?
            & is_all("bytes read", read.size.sum as u64, kernel.read_bytes)?
            & is_all("bytes written", write.size.sum as u64, kernel.written_bytes)?;
        if seen {
            for operation in [&read, &write] {
                let counts = operation.counts();
                ensure!(
                    counts.windows(2).all(|pair| pair[0] == pair[1]),
                    "{counts:?}"
                );
            }
        }
        Ok(seen)
    })
}

/// A disk whose driver takes bios has the time from arrival to end, and nothing that is called queue or
/// device. It is taken away while it is recorded; what was counted stays.
pub(super) fn bios() -> Result<()> {
    with_all_seen(|| {
        let Some(zram) = Zram::new(16 * MIB as u64)? else {
            return Err(Skip("the kernel makes no zram device".into()).into());
        };
        let path = zram.path();
        let received = record(
            &(dd(&format!(
                "if=/dev/urandom of={path} bs=64k count=64 oflag=direct"
            )) + &dd(&format!(
                "if={path} of=/dev/null bs=4k count=100 iflag=direct"
            )) + &zram.removal()
                + "\nsleep 2.5\n"),
        )?;
        let write = Operation::of(&received, &zram.name, "write", None)?;
        let read = Operation::of(&received, &zram.name, "read", None)?;
        println!("written {:?}, read {:?}", write.counts(), read.counts());
        ensure!(write.queue.count() + write.device.count() == 0, "{write:?}");
        ensure!(write.total.count() == write.size.count(), "{write:?}");
        // Whoever looks at a new disk reads it, too.
        Ok(is_all("writes", write.total.count(), 64)?
            & is_all("bytes", write.size.sum as u64, 4 * MIB as u64)?
            & (read.total.count() >= 100))
    })
}

/// Bios that were merged are one operation, as for the kernel.
pub(super) fn merges() -> Result<()> {
    let device = LoopDevice::new(8 * MIB, Access::Cached)?;
    device.set_queue("scheduler", "mq-deadline")?;
    with_all_seen(|| {
        let before = Diskstats::read(&device.name)?;
        // Written back page by page, in order, so that they are merged.
        let received = record(&dd(&format!(
            "if=/dev/zero of={} bs=4k count=1024 conv=fsync",
            device.path()
        )))?;
        let kernel = Diskstats::read(&device.name)?.since(before);
        let write = Operation::of(&received, &device.name, "write", None)?;
        println!("{:?} writes, the kernel counted {kernel:?}", write.counts());
        // For each flush the kernel counts an empty write.
        let writes = kernel.writes - kernel.flushes.min(kernel.writes);
        Ok(
            is_all("bytes", write.size.sum as u64, kernel.written_bytes)?
                & is_all("writes", write.size.count(), writes)?,
        )
    })
}

/// A loop device that gets another file is another disk, and neither has anything of the other.
pub(super) fn reused_name() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let files = ["first", "second"].map(|name| folder.path().join(name));
    for file in &files {
        std::fs::write(file, vec![0x5a; MIB])?;
    }
    let spare = LoopDevice::new(MIB, Access::Cached)?;
    let (name, path) = (spare.name.clone(), spare.path());
    drop(spare);
    let mut script = String::new();
    for (file, count) in files.iter().zip([100, 30]) {
        // The kernel frees the device when the last to look at it has closed it.
        let _ = write!(
            script,
            "for i in $(seq 100); do losetup {path} {} 2>/dev/null && break; sleep 0.05; done\n{}losetup -d {path}\n",
            file.display(),
            dd(&format!(
                "if={path} of=/dev/null bs=4k count={count} iflag=direct"
            )),
        );
    }
    with_all_seen(|| {
        let received = record(&script)?;
        let all = Operation::of(&received, &name, "read", None)?.size.count();
        let second = Operation::of(&received, &name, "read", Some("2"))?
            .size
            .count();
        let third = received.histogram(
            &EVENKEEL_DISK_OPERATION_SIZE,
            &[(SYSTEM_DEVICE, &name), (EVENKEEL_DISK_INSTANCE, "3")],
        )?;
        println!("{name}: {} reads, then {second} as another", all - second);
        ensure!(third.is_none(), "{third:?}");
        // Whoever looks at a new disk reads it, too.
        ensure!(
            all - second < 130 && second < 100,
            "{all} in all, {second} of the second"
        );
        Ok(all - second >= 100 && second >= 30)
    })
}

/// More disks and operations than there are series for are counted together, and that is said.
pub(super) fn many_disks() -> Result<()> {
    let mut disks = Vec::new();
    for _ in 0..32 {
        match Zram::new(MIB as u64)? {
            Some(zram) => disks.push(zram),
            None => return Err(Skip("the kernel makes no zram device".into()).into()),
        }
    }
    let mut script = String::new();
    for disk in &disks {
        script += &dd(&format!(
            "if=/dev/urandom of={} bs=4k count=10 oflag=direct",
            disk.path()
        ));
        script += &dd(&format!(
            "if={} of=/dev/null bs=4k count=10 iflag=direct",
            disk.path()
        ));
    }
    with_all_seen(|| {
        let received = record(&script)?;
        let mut writes = 0;
        let mut named = 0;
        for disk in &disks {
            let count = Operation::of(&received, &disk.name, "write", None)?
                .size
                .count();
            writes += count;
            named += u32::from(count > 0);
        }
        let other = Operation::of(&received, "other", "write", None)?
            .size
            .count();
        let refused = lost(&received, "series_full")?;
        println!(
            "{named} of {} disks by name, {other} writes of others, {refused} refused",
            disks.len()
        );
        ensure!(
            other > 0 && refused >= other as f64,
            "{other} writes of others, {refused} refused"
        );
        // Others may write to disks that are among "other", too.
        Ok(writes + other >= 320)
    })
}

/// A read beyond the end of the file behind a loop device: a part is done, the rest is handed back and
/// then fails. It is one operation.
pub(super) fn partial_requeued_failed() -> Result<()> {
    with_all_seen(|| {
        let device = LoopDevice::new(4 * MIB, Access::Cached)?;
        device.cut_file(MIB as u64 + 4096)?;
        let received = record(&format!(
            "dd if={} of=/dev/null bs=64k count=17 iflag=direct 2>/dev/null || :\n",
            device.path()
        ))?;
        let read = Operation::of(&received, &device.name, "read", None)?;
        let of_disk = |descriptor| received.last_sum(descriptor, &[(SYSTEM_DEVICE, &device.name)]);
        let partial = of_disk(&EVENKEEL_DISK_OPERATION_PARTIAL_COMPLETIONS)?;
        let requeues = of_disk(&EVENKEEL_DISK_OPERATION_REQUEUES)?;
        println!(
            "{:?} entries, {partial} parts, {requeues} handed back",
            read.counts()
        );
        let errors = received.last_sum(
            &EVENKEEL_DISK_OPERATION_ERRORS,
            &[(SYSTEM_DEVICE, &device.name), (ERROR_TYPE, "EIO")],
        );
        let counts = read.counts();
        ensure!(
            counts.windows(2).all(|pair| pair[0] == pair[1]),
            "{counts:?}"
        );
        ensure!(read.size.sum <= 17.0 * 65536.0, "{} bytes", read.size.sum);
        let all = is_all("reads", counts[0], 17)?;
        ensure!(
            partial <= 1.0 && requeues <= 1.0,
            "{partial} parts, {requeues} handed back"
        );
        Ok(all && partial == 1.0 && requeues == 1.0 && errors.is_ok_and(|errors| errors == 1.0))
    })
}

/// Flushes are as many as the kernel counts, and the empty writes that ask for them are no operations.
pub(super) fn flushes() -> Result<()> {
    let device = LoopDevice::new(MIB, Access::Cached)?;
    with_all_seen(|| {
        let before = Diskstats::read(&device.name)?;
        let script = dd(&format!(
            "if=/dev/zero of={} bs=4k count=1 oflag=direct conv=fdatasync",
            device.path()
        ))
        .repeat(10);
        let received = record(&script)?;
        let kernel = Diskstats::read(&device.name)?.since(before);
        ensure!(kernel.flushes >= 10, "the kernel counted {kernel:?}");
        let flush = Operation::of(&received, &device.name, "flush", None)?;
        let write = Operation::of(&received, &device.name, "write", None)?;
        println!(
            "flushes {:?}, writes {:?}, the kernel counted {kernel:?}",
            flush.counts(),
            write.counts()
        );
        ensure!(
            flush.size.count() == 0,
            "flushes have no size: {:?}",
            flush.size
        );
        Ok(is_all("flushes", flush.total.count(), kernel.flushes)?
            & is_all("flushes", flush.device.count(), kernel.flushes)?
            & is_all("writes", write.total.count(), 10)?)
    })
}

/// Large operations are charged as they are: to the byte, and to the program that handed them in.
pub(super) fn submitter() -> Result<()> {
    let device = LoopDevice::new(8 * MIB, Access::Cached)?;
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("ek-block-reader");
    let dd = std::env::var_os("PATH")
        .context("PATH")
        .map(|path| {
            std::env::split_paths(&path)
                .map(|folder| folder.join("dd"))
                .find(|path| path.is_file())
        })?
        .context("no dd in PATH")?;
    std::fs::copy(dd, &program)?;
    let received = record(&format!(
        "{} if={} of=/dev/null bs=1M count=8 iflag=direct 2>/dev/null\n",
        program.display(),
        device.path()
    ))?;
    let charged = received.last_sum(
        &EVENKEEL_PROCESS_DISK_IO,
        &[
            (PROCESS_EXECUTABLE_NAME, "ek-block-reader"),
            (DISK_IO_DIRECTION, "read"),
        ],
    )?;
    println!("charged with {charged} bytes");
    // Loading the program itself may read a page or two: at most a charge each.
    ensure!(
        (8.0 * MIB as f64..=9.0 * MIB as f64).contains(&charged),
        "charged with {charged} bytes instead of {}",
        8 * MIB
    );
    Ok(())
}
