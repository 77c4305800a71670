//! Whose fault it is that a service waits for a CPU.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::{
    attribute::{
        EVENKEEL_RUN_QUEUE_BEHIND, EVENKEEL_RUN_QUEUE_NEIGHBOUR, SERVICE_NAME,
        value::evenkeel_run_queue_behind as behind,
    },
    metric::{
        EVENKEEL_WORKLOAD_RUN_QUEUE_BEHIND_TIME, EVENKEEL_WORKLOAD_RUN_QUEUE_NEIGHBOUR_TIME,
        EVENKEEL_WORKLOAD_RUN_QUEUE_TIME,
    },
};
use evenkeel_tests::{
    cgroup::{CpuGroup, Throttling},
    child::Running,
    evenkeel::Recording,
    needs::RECORDING,
    received::Received,
    suite::Test,
    threads::{accounts, ensure_near},
    workload::Workload,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "blame::a_spinner_with_a_quota_is_throttled",
        RECORDING,
        throttled_spinner,
    ),
    Test::new(
        "blame::a_task_woken_in_a_throttled_group_is_throttled",
        RECORDING,
        throttled_sleeper,
    ),
    Test::new(
        "blame::foreign_spinners_are_a_neighbour_with_a_name",
        RECORDING,
        neighbours,
    ),
    Test::new(
        "blame::services_in_one_group_are_neighbours",
        RECORDING,
        neighbours_in_one_group,
    ),
    Test::new("blame::own_threads_are_own", RECORDING, own_threads),
    Test::new("blame::own_processes_are_own", RECORDING, own_processes),
];

const LIMIT: Duration = Duration::from_secs(90);

/// The service whose waits are looked at, and its neighbour.
const VICTIM: &str = "evenkeel-test-victim";
const NEIGHBOUR: &str = "evenkeel-test-neighbour";

/// The variable that makes a process a service of its own.
fn named(service: &str) -> String {
    format!("OTEL_SERVICE_NAME={service}")
}

/// Records a workload as the service [`VICTIM`] in a group.
fn record(group: &CpuGroup, workload: Workload, arguments: &[&str]) -> Result<Recording> {
    let mut recording = Recording::empty()?;
    let mut command = recording.recorder_command(&["--", "env", &named(VICTIM), "sh"])?;
    command.args(group.words());
    command.arg(workload.build()?).args(arguments);
    recording.run(&mut command, LIMIT)?;
    Ok(recording)
}

/// How the waits of the victim are divided.
#[derive(Clone, Copy, Debug)]
struct Blame {
    throttled: f64,
    own: f64,
    other: f64,
    kernel: f64,
}

impl Blame {
    fn of(received: &Received) -> Result<Self> {
        let time = |name: &str| {
            received.latest(
                &EVENKEEL_WORKLOAD_RUN_QUEUE_BEHIND_TIME,
                &[(SERVICE_NAME, VICTIM), (EVENKEEL_RUN_QUEUE_BEHIND, name)],
            )
        };
        let blame = Self {
            throttled: time(behind::THROTTLED)?,
            own: time(behind::OWN)?,
            other: time(behind::OTHER)?,
            kernel: time(behind::KERNEL)?,
        };
        println!("{blame:.3?}");
        Ok(blame)
    }

    fn sum(&self) -> f64 {
        self.throttled + self.own + self.other + self.kernel
    }

    /// Fails unless one part is nine tenths of the whole.
    fn ensure_mostly(&self, name: &str, part: f64) -> Result<()> {
        let share = part / self.sum();
        ensure!(
            share >= 0.9,
            "{:.1} % of its waits are {name}: {self:.3?}",
            share * 100.0
        );
        Ok(())
    }
}

/// Its waits, by sampling and exactly, are what the kernel says of its threads.
fn ensure_whole(recording: &Recording, received: &Received, blame: &Blame) -> Result<f64> {
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let waited: f64 = accounts(recorder)?
        .values()
        .map(|account| account.wait)
        .sum();
    let exact = received.latest(&EVENKEEL_WORKLOAD_RUN_QUEUE_TIME, &[(SERVICE_NAME, VICTIM)])?;
    ensure_near("waits of the service", exact, waited, 0.01, 0.01)?;
    ensure_near(
        "sampled waits of the service",
        blame.sum(),
        waited,
        0.03,
        0.3,
    )?;
    Ok(waited)
}

/// A quota of a fifth and nobody else: all but nothing of what is waited for is the quota, and the kernel's own
/// account of it agrees within 5 %.
fn throttled(arguments: &[&str]) -> Result<(Throttling, f64, Recording)> {
    let group = CpuGroup::new()?;
    group.limit(0.2)?;
    group.prefer()?;
    let recording = record(&group, Workload::Duty, arguments)?;
    let kernel = group.throttling()?;
    let received = Received::from_recording(&recording)?;
    let blame = Blame::of(&received)?;
    blame.ensure_mostly(behind::THROTTLED, blame.throttled)?;
    ensure!(
        blame.other <= blame.sum() * 0.05,
        "behind others though the group comes first: {blame:.3?}"
    );
    ensure_whole(&recording, &received, &blame)?;
    println!("{} periods throttled", kernel.periods);
    Ok((kernel, blame.throttled, recording))
}

fn throttled_spinner() -> Result<()> {
    let (kernel, seen, _) = throttled(&["1", "100", "0", "10", "0"])?;
    ensure!(
        kernel.periods >= 80.0,
        "{} periods throttled in 10 s",
        kernel.periods
    );
    ensure_near("throttled", seen, kernel.seconds, 0.05, 0.0)
}

/// It sleeps as often as it runs, so it is also woken while its group is throttled. Sleep is no wait for a CPU.
fn throttled_sleeper() -> Result<()> {
    let (kernel, seen, _) = throttled(&["1", "5", "5", "10", "0"])?;
    ensure!(
        kernel.periods >= 50.0,
        "{} periods throttled in 10 s",
        kernel.periods
    );
    ensure_near("throttled", seen, kernel.seconds, 0.05, 0.0)
}

/// Four spinners of another service on the CPU of the victim, which has no quota: nine tenths of its waits are
/// behind another service, and first of those is that one.
fn neighbours_beside(group: &CpuGroup, neighbours_group: &CpuGroup) -> Result<()> {
    let program = Workload::Duty.build()?;
    let mut command = neighbours_group.command(&program, &["4", "100", "0", "80", "0"]);
    command.env("OTEL_SERVICE_NAME", NEIGHBOUR);
    let spinners = Running::start(&mut command)?;
    let recording = record(group, Workload::Duty, &["1", "100", "0", "10", "0"])?;
    drop(spinners);
    let received = Received::from_recording(&recording)?;
    let blame = Blame::of(&received)?;
    let waited = ensure_whole(&recording, &received, &blame)?;
    ensure!(
        waited > 4.0,
        "it waited for {waited:.1} s only, beside four spinners for 10 s"
    );
    blame.ensure_mostly(behind::OTHER, blame.other)?;
    ensure!(
        blame.throttled == 0.0,
        "throttled without a quota: {blame:.3?}"
    );
    let neighbour = received.latest(
        &EVENKEEL_WORKLOAD_RUN_QUEUE_NEIGHBOUR_TIME,
        &[
            (SERVICE_NAME, VICTIM),
            (EVENKEEL_RUN_QUEUE_NEIGHBOUR, NEIGHBOUR),
        ],
    )?;
    let all = received.latest(
        &EVENKEEL_WORKLOAD_RUN_QUEUE_NEIGHBOUR_TIME,
        &[(SERVICE_NAME, VICTIM)],
    )?;
    println!("behind {NEIGHBOUR}: {neighbour:.3} s of {all:.3} s behind others");
    ensure!(
        neighbour > all / 2.0,
        "{NEIGHBOUR} is not the worst neighbour: {neighbour:.3} s of {all:.3} s"
    );
    Ok(())
}

fn neighbours() -> Result<()> {
    let groups = (CpuGroup::new()?, CpuGroup::new()?);
    groups.0.prefer()?;
    groups.1.prefer()?;
    neighbours_beside(&groups.0, &groups.1)
}

/// A slice of systemd holds many services, and the controller may end there.
fn neighbours_in_one_group() -> Result<()> {
    let group = CpuGroup::new()?;
    group.prefer()?;
    neighbours_beside(&group, &group)
}

/// Four threads on one CPU wait for each other.
fn own_threads() -> Result<()> {
    let group = CpuGroup::new()?;
    group.prefer()?;
    let recording = record(&group, Workload::Duty, &["4", "100", "0", "10", "0"])?;
    let received = Received::from_recording(&recording)?;
    let blame = Blame::of(&received)?;
    ensure_whole(&recording, &received, &blame)?;
    blame.ensure_mostly(behind::OWN, blame.own)
}

/// Four processes of one service do, too.
fn own_processes() -> Result<()> {
    let group = CpuGroup::new()?;
    group.prefer()?;
    let recording = record(&group, Workload::Spinners, &["4", "10", "1"])?;
    let blame = Blame::of(&Received::from_recording(&recording)?)?;
    blame.ensure_mostly(behind::OWN, blame.own)
}
