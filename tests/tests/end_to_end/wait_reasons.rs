//! What programs wait for that wait for one thing only.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read as _, Write as _},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::attribute::{
    EVENKEEL_OFF_CPU_REASON, THREAD_NAME, value::evenkeel_off_cpu_reason as reason,
};
use evenkeel_tests::{
    evenkeel::Recording,
    needs::Need,
    received::Received,
    suite::Test,
    threads::accounts,
    workload::{Workload, printed, target_folder},
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "wait_reasons::direct_reads_wait_for_the_disk",
        NEEDS,
        direct_reads,
    ),
    Test::new("wait_reasons::a_mutex_by_turns_is_a_lock", NEEDS, mutex),
    Test::new(
        "wait_reasons::a_consumer_waits_for_a_condition",
        NEEDS,
        condition,
    ),
    Test::new(
        "wait_reasons::a_mutex_of_rust_is_a_lock_and_its_condition_none",
        NEEDS,
        rust,
    ),
    Test::new(
        "wait_reasons::one_spinner_among_five_waits_for_the_cpu",
        NEEDS,
        spinners,
    ),
];

/// What every test here needs.
const NEEDS: &[Need] = &[Need::Root, Need::Bpf, Need::Program("chrt")];

const LIMIT: Duration = Duration::from_secs(60);

/// Not a reason of the recording: time on run queues.
const RUN_QUEUE: &str = "[run queue]";

/// What the threads of a process waited for, in seconds.
#[derive(Debug, Default)]
struct Waits {
    by_reason: BTreeMap<String, f64>,
    /// Of that, below `main`.
    under_main: BTreeMap<String, f64>,
}

impl Waits {
    /// The waits of a process, or of one of its threads.
    #[expect(
        clippy::cast_precision_loss,
        reason = "sums of hours in nanoseconds fit 53 bits"
    )]
    fn of(received: &Received, process: &str, thread: Option<&str>) -> Self {
        let mut waits = Self::default();
        for kind in ["off_cpu", "run_queue"] {
            received.each_sample(kind, |sample| {
                let is_thread =
                    thread.is_none_or(|thread| sample.attribute(THREAD_NAME) == Some(thread));
                if sample.process != Some(process) || !is_thread {
                    return;
                }
                let reason = if kind == "off_cpu" {
                    sample.attribute(EVENKEEL_OFF_CPU_REASON).unwrap_or("")
                } else {
                    RUN_QUEUE
                };
                let seconds = sample.value as f64 / 1e9;
                if sample.functions().contains(&"main") {
                    *waits.under_main.entry(reason.to_owned()).or_default() += seconds;
                }
                *waits.by_reason.entry(reason.to_owned()).or_default() += seconds;
            });
        }
        println!("{process} {}: {waits:.3?}", thread.unwrap_or_default());
        waits
    }

    fn sum(&self) -> f64 {
        self.by_reason.values().sum()
    }

    fn get(&self, reason: &str) -> f64 {
        self.by_reason.get(reason).copied().unwrap_or(0.0)
    }

    /// Fails unless nine tenths are one reason, of all but what the kernel says was waited for a CPU: where
    /// other programs run, that is no doing of this one.
    fn ensure_mostly(&self, reason: &str, for_a_cpu: f64) -> Result<()> {
        let all = self.sum() - for_a_cpu.min(self.get(RUN_QUEUE));
        let share = self.get(reason) / all;
        println!("{:.1} % {reason}", share * 100.0);
        ensure!(
            share >= 0.9,
            "{:.1} % of its waits are {reason}: {self:.3?}",
            share * 100.0
        );
        Ok(())
    }

    fn ensure_under_main(&self, reason: &str) -> Result<()> {
        let under_main = self.under_main.get(reason).copied().unwrap_or(0.0);
        ensure!(
            under_main >= 0.9 * self.get(reason),
            "{under_main:.3} s of {:.3} s {reason} are below main",
            self.get(reason)
        );
        Ok(())
    }
}

/// Records a workload that runs before all others (`chrt`), so that it waits for what it is made to wait for, and not
/// for a CPU that other programs have.
fn record(workload: Workload, arguments: &[&str]) -> Result<(Recording, Received)> {
    let program = workload.build()?;
    let first = ["--", "chrt", "--rr", "1", &*program.to_string_lossy()];
    let recording = Recording::make(&[&first, arguments].concat(), LIMIT)?;
    let received = Received::from_recording(&recording)?;
    received.check()?;
    Ok((recording, received))
}

/// Seconds that a thread waited for a CPU, as it printed them.
fn waited_for_a_cpu(recording: &Recording, thread: &str) -> Result<f64> {
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let accounts = accounts(recorder)?;
    Ok(accounts
        .get(thread)
        .with_context(|| format!("no {thread}"))?
        .wait)
}

fn direct_reads() -> Result<()> {
    // Not in a folder for temporary files, which may be in memory.
    let mut file = tempfile::NamedTempFile::new_in(target_folder()?)?;
    let mut noise = Vec::new();
    File::open("/dev/urandom")?
        .take(32 << 20)
        .read_to_end(&mut noise)?;
    file.write_all(&noise)?;
    file.as_file().sync_all()?;
    let path = file.path().to_string_lossy().into_owned();
    let (recording, received) = record(Workload::DirectReads, &[&path, "5"])?;
    let waits = Waits::of(&received, Workload::DirectReads.name(), None);
    waits.ensure_mostly(reason::DISK_IO, waited_for_a_cpu(&recording, "main")?)?;
    waits.ensure_under_main(reason::DISK_IO)
}

fn mutex() -> Result<()> {
    let (recording, received) = record(Workload::MutexPingPong, &["5"])?;
    for thread in ["main", "other"] {
        let waits = Waits::of(&received, Workload::MutexPingPong.name(), Some(thread));
        waits.ensure_mostly(reason::LOCK, waited_for_a_cpu(&recording, thread)?)?;
        if thread == "main" {
            waits.ensure_under_main(reason::LOCK)?;
        }
    }
    Ok(())
}

fn condition() -> Result<()> {
    let (recording, received) = record(Workload::ConditionQueue, &["5"])?;
    let waits = Waits::of(&received, Workload::ConditionQueue.name(), Some("consumer"));
    waits.ensure_mostly(reason::CONDITION, waited_for_a_cpu(&recording, "consumer")?)
}

fn rust() -> Result<()> {
    let (_, received) = record(Workload::RustLocks, &["5"])?;
    for (thread, expected) in [
        ("mutex-a", reason::LOCK),
        ("mutex-b", reason::LOCK),
        ("consumer", reason::CONDITION),
    ] {
        let waits = Waits::of(&received, Workload::RustLocks.name(), Some(thread));
        waits.ensure_mostly(expected, waits.get(RUN_QUEUE))?;
    }
    Ok(())
}

/// Each of the five waits for the CPU only, below main, and is never called blocked.
fn spinners() -> Result<()> {
    let recording = Recording::of(Workload::Spinners, &["5", "5", "1"])?;
    let received = Received::from_recording(&recording)?;
    let waits = Waits::of(&received, Workload::Spinners.name(), None);
    // The parent, which waits for its children, is the sixth.
    let parent = waits.get(reason::CHILD) + waits.get(reason::IDLE);
    let share = waits.get(RUN_QUEUE) / (waits.sum() - parent);
    ensure!(
        share >= 0.9,
        "{:.1} % for the CPU: {waits:.3?}",
        share * 100.0
    );
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let kernel: f64 = printed(recorder, "schedstat")?
        .iter()
        .map(|row| row[2] / 1e9)
        .sum();
    println!("{:.1} %; the kernel says {kernel:.3} s", share * 100.0);
    ensure!(
        (waits.get(RUN_QUEUE) - kernel).abs() <= 0.03 * kernel,
        "{:.3} s for the CPU, the kernel says {kernel:.3} s",
        waits.get(RUN_QUEUE)
    );
    waits.ensure_under_main(RUN_QUEUE)
}
