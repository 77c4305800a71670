//! Context switches against the kernel's own counters.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::{
    attribute::{
        EVENKEEL_CONTEXT_SWITCH_TYPE, SERVICE_NAME, value::evenkeel_context_switch_type as switch,
    },
    metric::{EVENKEEL_CPU_CONTEXT_SWITCHES, EVENKEEL_CPU_SWITCHES, EVENKEEL_WORKLOAD_SWITCHES},
};
use evenkeel_tests::{
    evenkeel::Recording,
    needs::{Need, RECORDING},
    received::Received,
    suite::Test,
    threads::accounts,
    workload::Workload,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "switches::voluntary_involuntary_and_idle_are_the_kernels_count",
        RECORDING,
        host,
    ),
    Test::new(
        "switches::a_service_switches_as_status_says",
        &[Need::Root, Need::Bpf, Need::Cpus(2)],
        service,
    ),
];

/// Fails unless two counts are within 1 % of each other.
fn ensure_equal(what: &str, seen: f64, expected: f64) -> Result<()> {
    let off = (seen / expected - 1.0) * 100.0;
    println!("{what}: {seen} switches, the kernel says {expected}: {off:+.3} %");
    ensure!(
        off.abs() <= 1.0,
        "{what}: {seen} switches instead of {expected}: {off:+.2} %"
    );
    Ok(())
}

/// Switches away from the threads of process 1 so far. The kernel of the sandbox that these tests grew up in runs
/// no BPF program while one of them is current, and counts no miss.
fn switches_of_init() -> Result<f64> {
    let mut switches = 0.0;
    for thread in std::fs::read_dir("/proc/1/task")? {
        let status = std::fs::read_to_string(thread?.path().join("status"))?;
        for line in status.lines() {
            if let Some((name, count)) = line.split_once(':')
                && name.ends_with("voluntary_ctxt_switches")
            {
                switches += count.trim().parse::<f64>()?;
            }
        }
    }
    Ok(switches)
}

/// A workload and its arguments.
type Command<'a> = (Workload, &'a [&'a str]);

/// In each window, the growth of `ctxt` in `/proc/stat` is what tasks left CPUs by themselves, were made to, and
/// what CPUs left idling: on an idle machine, under a load of waits, and under one of preemptions. Both counts
/// are read at the same moment, the end of the window.
fn host() -> Result<()> {
    let loads: [(&str, Option<Command<'_>>); 3] = [
        ("idle", None),
        ("blocking", Some((Workload::PingPong, &["50000000"]))),
        ("preempted", Some((Workload::Spinners, &["6", "60", "2"]))),
    ];
    for (name, load) in loads {
        let load = load.map(|(workload, arguments)| workload.start(arguments));
        let load = load.transpose()?;
        let init_before = switches_of_init()?;
        let recording = Recording::make(
            &["--duration", "10s", "--window", "5s"],
            Duration::from_secs(60),
        )?;
        let init = switches_of_init()? - init_before;
        println!("{name}: {init} switches away from process 1");
        drop(load);
        let received = Received::from_recording(&recording)?;
        let kernel = received.increments(&EVENKEEL_CPU_CONTEXT_SWITCHES, &[])?;
        let ours = received.increments(&EVENKEEL_CPU_SWITCHES, &[])?;
        ensure!(
            kernel.len() == ours.len() && kernel.len() >= 2,
            "{} windows with ctxt, {} with ours",
            kernel.len(),
            ours.len()
        );
        for (kernel, ours) in kernel.into_iter().zip(ours) {
            if ours < kernel && kernel - ours <= init {
                println!("{name}: {ours} switches of {kernel}: those of process 1 may be missing");
            } else {
                ensure_equal(name, ours, kernel)?;
            }
        }
        let of = |kind| {
            received.growth(
                &EVENKEEL_CPU_SWITCHES,
                &[(EVENKEEL_CONTEXT_SWITCH_TYPE, kind)],
            )
        };
        println!(
            "{name}: {} voluntary, {} involuntary, {} idle",
            of(switch::VOLUNTARY)?,
            of(switch::INVOLUNTARY)?,
            of(switch::IDLE)?
        );
    }
    Ok(())
}

/// A process that is its own service has the switches that the kernel counted for its threads, of both kinds.
/// A yield is involuntary to the kernel.
fn service() -> Result<()> {
    const NAME: &str = "evenkeel-test-switches";
    let program = Workload::ThreadMix.build()?;
    // Of the workload alone: the recorder would be the same service.
    let variable = format!("OTEL_SERVICE_NAME={NAME}");
    let mut recording = Recording::empty()?;
    let mut command =
        recording.recorder_command(&["--", "env", &variable, &program.to_string_lossy(), "10"])?;
    recording.run(&mut command, Duration::from_secs(60))?;
    let received = Received::from_recording(&recording)?;
    let recorder = recording.recorder.as_ref().context("the recorder")?;
    let accounts = accounts(recorder)?;
    for (kind, expected) in [
        (
            switch::VOLUNTARY,
            accounts
                .values()
                .map(|account| account.voluntary)
                .sum::<f64>(),
        ),
        (
            switch::INVOLUNTARY,
            accounts.values().map(|account| account.involuntary).sum(),
        ),
    ] {
        let own = [(EVENKEEL_CONTEXT_SWITCH_TYPE, kind), (SERVICE_NAME, NAME)];
        ensure_equal(
            kind,
            received.latest(&EVENKEEL_WORKLOAD_SWITCHES, &own)?,
            expected,
        )?;
    }
    Ok(())
}
