//! What packets cost and where they wait, against programs that know it and the kernel's own counts.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::Path,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use evenkeel_otlp::{
    histogram::ExponentialHistogram,
    view::{MetricsView, PointValueView},
};
use evenkeel_semconv::{
    attribute::{
        EVENKEEL_INTERRUPT_NAME, EVENKEEL_NETWORK_DROP_REASON, EVENKEEL_NETWORK_POLL_CONTEXT,
        EVENKEEL_NETWORK_QUEUE_DROP_REASON, EVENKEEL_NETWORK_TCP_RETRANSMISSION_KIND,
        value::{
            evenkeel_network_poll_context as context, evenkeel_network_queue_drop_reason as queue,
            evenkeel_network_tcp_retransmission_kind as kind,
        },
    },
    metric::{
        EVENKEEL_INTERRUPT_DURATION, EVENKEEL_NETWORK_DROPS,
        EVENKEEL_NETWORK_PACKET_RECEIVE_DURATION, EVENKEEL_NETWORK_PACKETS_POLLED,
        EVENKEEL_NETWORK_QUEUE_DROPS, EVENKEEL_NETWORK_SOFTIRQ_TIME,
        EVENKEEL_NETWORK_TCP_RECEIVED_SEGMENTS, EVENKEEL_NETWORK_TCP_RETRANSMISSIONS,
        EVENKEEL_NETWORK_TCP_ROUND_TRIP_DURATION, EVENKEEL_NETWORK_TCP_ROUND_TRIP_SAMPLING_RATIO,
    },
};
use evenkeel_tests::{
    child::Running,
    evenkeel::Recording,
    needs::RECORDING,
    procfs::wait_until_quiet,
    received::Received,
    suite::{Skip, Test},
    workload::{Workload, printed},
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "network::a_received_packet_costs_its_share_of_net_rx",
        RECORDING,
        receive,
    ),
    Test::new(
        "network::datagrams_to_a_closed_port_are_dropped_for_want_of_a_socket",
        RECORDING,
        closed_port,
    ),
    Test::new(
        "network::datagrams_that_nobody_reads_fill_a_queue",
        RECORDING,
        full_queue,
    ),
    Test::new(
        "network::retransmissions_are_those_of_the_kernel",
        RECORDING,
        retransmissions,
    ),
    Test::new(
        "network::round_trips_are_those_of_the_connections",
        RECORDING,
        round_trips,
    ),
    Test::new(
        "network::round_trips_over_loopback_are_short",
        RECORDING,
        loopback,
    ),
];

const LIMIT: Duration = Duration::from_secs(120);

/// A recording of a workload, this signal alone, and a number that the workload printed.
struct Recorded {
    received: Received,
    recording: Recording,
}

impl Recorded {
    fn of(workload: Workload, arguments: &[&str]) -> Result<Self> {
        let program = workload.build()?;
        let program = program.to_string_lossy();
        let only = ["--disable", "all", "--enable", "network", "--"].as_slice();
        let recording = Recording::make(&[only, &[&*program], arguments].concat(), LIMIT)?;
        let received = Received::from_recording(&recording)?;
        received.check()?;
        Ok(Self {
            received,
            recording,
        })
    }

    fn printed(&self, key: &str) -> Result<f64> {
        let recorder = self.recording.recorder.as_ref().context("the recorder")?;
        let rows = printed(recorder, key)?;
        rows.first()
            .and_then(|row| row.first())
            .copied()
            .with_context(|| format!("no number behind {key}"))
    }
}

/// A counter of `/proc/net/FILE` (pairs of lines, names and values) of this network namespace.
fn counter(file: &str, prefix: &str, name: &str) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/net/{file}"))?;
    let mut lines = text.lines().filter(|line| line.starts_with(prefix));
    let (names, values) = lines.next().zip(lines.next()).context("no such lines")?;
    let mut both = names.split_whitespace().zip(values.split_whitespace());
    let (_, value) = both
        .find(|(seen, _)| *seen == name)
        .with_context(|| format!("no {name} in {file}"))?;
    Ok(value.parse()?)
}

/// What is neither below `expected` nor above it by more than what others did meanwhile.
fn ensure_between(what: &str, seen: f64, expected: f64, others: f64) -> Result<()> {
    println!("{what}: {seen} of {expected}, others did {others}");
    ensure!(
        seen >= expected && seen <= expected + others,
        "{what}: {seen} instead of {expected} (others did {others})"
    );
    Ok(())
}

/// Each datagram of a flood is received once, in `net_rx`, and the costs of all of them are its own time:
/// also where nobody asks for interrupts as such.
fn receive() -> Result<()> {
    let recorded = Recorded::of(Workload::Udp, &["flood", "3"])?;
    let (received, sent) = (&recorded.received, recorded.printed("sent")?);
    let in_soft_interrupts = [(EVENKEEL_NETWORK_POLL_CONTEXT, context::SOFT_INTERRUPT)];
    let packets = received.last_sum(&EVENKEEL_NETWORK_PACKETS_POLLED, &in_soft_interrupts)?;
    let costs = received.last_histogram(&EVENKEEL_NETWORK_PACKET_RECEIVE_DURATION)?;
    let own = received.last_sum(
        &EVENKEEL_NETWORK_SOFTIRQ_TIME,
        &[(EVENKEEL_INTERRUPT_NAME, "net_rx")],
    )?;
    println!(
        "{sent} sent, {packets} received, {own:.3} s in net_rx, {:.0} ns a packet",
        costs.sum / packets * 1e9
    );
    // Other traffic of the machine is received too.
    ensure!(packets >= sent, "{packets} of {sent} datagrams were seen");
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let counted = costs.count as f64;
    ensure!(
        (counted - packets).abs() <= packets * 0.001,
        "{counted} packets have a cost, {packets} were received"
    );
    // Runs without packets have no cost to share out.
    ensure!(
        costs.sum <= own * 1.001 && costs.sum >= own * 0.9,
        "packets cost {:.3} s of the {own:.3} s in net_rx",
        costs.sum
    );
    let mean = costs.sum / counted;
    ensure!(
        (1e-7..1e-4).contains(&mean),
        "a packet over loopback costs {mean:.9} s"
    );
    ensure!(
        costs.highest_bound < 1.0,
        "one cost up to {:.3} s",
        costs.highest_bound
    );
    ensure!(
        received
            .point_times(&EVENKEEL_INTERRUPT_DURATION)
            .is_empty(),
        "a signal that is off has points"
    );
    Ok(())
}

/// Each datagram is dropped, for that reason. Others that find no socket, whom the kernel counts too
/// (datagrams, resets sent to segments), may have come in between.
fn closed_port() -> Result<()> {
    let others = || -> Result<f64> {
        Ok(counter("snmp", "Udp:", "NoPorts")? + counter("snmp", "Tcp:", "OutRsts")?)
    };
    let before = others()?;
    let recorded = Recorded::of(Workload::Udp, &["closed", "5000"])?;
    let sent = recorded.printed("sent")?;
    let grown = others()? - before;
    let reason = [(EVENKEEL_NETWORK_DROP_REASON, "no_socket")];
    let dropped = recorded
        .received
        .last_sum(&EVENKEEL_NETWORK_DROPS, &reason)?;
    ensure_between("no socket", dropped, sent, grown - sent)
}

/// What finds no room in the receive queue is counted twice over: by the kernel's counter for it, and by
/// reason where it is dropped.
fn full_queue() -> Result<()> {
    let errors = || counter("snmp", "Udp:", "RcvbufErrors");
    let before = errors()?;
    let recorded = Recorded::of(Workload::Udp, &["full", "20000"])?;
    let lost = recorded.printed("dropped")?;
    let others = errors()? - before - lost;
    ensure!(
        lost > 1000.0,
        "the queue took nearly all of 20000 datagrams"
    );
    let received = &recorded.received;
    let full = [(EVENKEEL_NETWORK_QUEUE_DROP_REASON, queue::UDP_RECEIVE_QUEUE)];
    let queued = received.last_sum(&EVENKEEL_NETWORK_QUEUE_DROPS, &full)?;
    let reason = [(EVENKEEL_NETWORK_DROP_REASON, "socket_rcvbuff")];
    let dropped = received.last_sum(&EVENKEEL_NETWORK_DROPS, &reason)?;
    ensure_between("by queue", queued, lost, others)?;
    ensure_between("by reason", dropped, lost, others)
}

fn needs_tun() -> Result<()> {
    if Path::new("/dev/net/tun").exists() {
        return Ok(());
    }
    Err(Skip("no /dev/net/tun".to_owned()).into())
}

/// Segments sent again through a link that loses some are those that the link's namespace counts, SYNs and
/// answers to them told apart. What was sent again elsewhere meanwhile is counted too.
fn retransmissions() -> Result<()> {
    needs_tun()?;
    for (arguments, syns) in [
        (["2", "30", "25", "0", "0"], false),
        (["2", "5", "0", "2", "2"], true),
    ] {
        let before = counter("snmp", "Tcp:", "RetransSegs")?;
        let recorded = Recorded::of(Workload::DelayedTcp, &arguments)?;
        let others = counter("snmp", "Tcp:", "RetransSegs")? - before;
        let of = |kinds: &[&str]| -> Result<f64> {
            let mut sum = 0.0;
            for kind in kinds {
                sum += recorded.received.last_sum(
                    &EVENKEEL_NETWORK_TCP_RETRANSMISSIONS,
                    &[(EVENKEEL_NETWORK_TCP_RETRANSMISSION_KIND, kind)],
                )?;
            }
            Ok(sum)
        };
        let all = recorded.printed("retransmitted")?;
        let of_syns = recorded.printed("syn_retransmitted")?;
        ensure!(
            all >= 3.0,
            "the link lost next to nothing: {all} sent again"
        );
        ensure_between("data", of(&[kind::DATA])?, all - of_syns, others)?;
        ensure_between("SYNs", of(&[kind::SYN, kind::SYN_ACK])?, of_syns, others)?;
        if syns {
            ensure!(of(&[kind::SYN])? >= 2.0, "two SYNs were lost");
            ensure!(of(&[kind::SYN_ACK])? >= 2.0, "two SYN-ACKs were lost");
        }
    }
    Ok(())
}

/// The last distribution of a metric without attributes.
fn last_histogram(
    received: &Received,
    descriptor: &evenkeel_semconv::MetricDescriptor,
) -> Result<ExponentialHistogram> {
    let points = received
        .metrics
        .iter()
        .flat_map(|request| MetricsView::new(request).metrics())
        .filter(|metric| metric.name() == descriptor.name)
        .flat_map(|metric| metric.points());
    let last = points.max_by_key(|point| point.time_unix_nanos);
    match last.context("no such metric")?.value {
        PointValueView::Exponential(histogram) => Ok(histogram),
        _ => Err(anyhow::anyhow!("not an exponential histogram")),
    }
}

/// Over a link of a known delay, the sampled times are those that the connections report of themselves, and
/// the sample is as large as the published share of the segments. Connections of others are in the
/// distribution too, but not with these times.
fn round_trips() -> Result<()> {
    needs_tun()?;
    wait_until_quiet()?;
    let recorded = Recorded::of(Workload::DelayedTcp, &["10", "150"])?;
    let (seconds, segments) = (
        recorded.printed("rtt_us")? / 1e6,
        recorded.printed("data_segments")?,
    );
    let times = last_histogram(
        &recorded.received,
        &EVENKEEL_NETWORK_TCP_ROUND_TRIP_DURATION,
    )?;
    let near: u64 = times
        .buckets()
        .filter(|(index, _)| {
            let low = ExponentialHistogram::bound(times.scale, *index);
            (0.019..seconds * 3.0).contains(&low)
        })
        .map(|(_, count)| count)
        .sum();
    let ratio = recorded
        .received
        .last_sum(&EVENKEEL_NETWORK_TCP_ROUND_TRIP_SAMPLING_RATIO, &[])?;
    let seen = recorded
        .received
        .last_sum(&EVENKEEL_NETWORK_TCP_RECEIVED_SEGMENTS, &[])?;
    println!(
        "{seconds:.4} s by TCP_INFO, p50 {:.4} s; {near} of {} samples near it, {segments} segments",
        times.quantile(0.5).unwrap_or(0.0),
        times.count()
    );
    ensure!(
        (0.02..0.06).contains(&seconds),
        "a link of 10 ms has round trips of {seconds:.4} s"
    );
    ensure!(seen >= segments, "{seen} of {segments} segments were seen");
    // 150 samples scatter by 8 %.
    #[expect(clippy::cast_precision_loss, reason = "hundreds")]
    let sampled = near as f64;
    ensure!(
        (0.6..1.4).contains(&(sampled / (segments * ratio))),
        "{near} samples near {seconds:.4} s of {segments} segments at {ratio}"
    );
    Ok(())
}

/// Two ends that answer at once, on this machine: at least 4 of 5 round trips take less than a thread
/// waits for its turn at worst, and none takes no time.
fn loopback() -> Result<()> {
    let recording = Recording::empty()?;
    let only = [
        "--disable",
        "all",
        "--enable",
        "network",
        "--duration",
        "3s",
    ];
    let mut recorder = Running::start(&mut recording.recorder_command(&only)?)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let echo = thread::spawn(move || -> std::io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut message = [0; 32];
        loop {
            // An error is the other end's farewell.
            stream.read_exact(&mut message)?;
            stream.write_all(&message)?;
        }
    });
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut message = [7; 32];
    while recorder.is_running()? {
        for _ in 0..200 {
            stream.write_all(&message)?;
            stream.read_exact(&mut message)?;
        }
    }
    drop(stream);
    let _ = echo.join();
    recorder.finish(LIMIT)?.succeeded()?;
    let received = Received::from_recording(&recording)?;
    let times = last_histogram(&received, &EVENKEEL_NETWORK_TCP_ROUND_TRIP_DURATION)?;
    let (low, high) = (
        times.quantile(0.01).unwrap_or(0.0),
        times.quantile(0.8).unwrap_or(0.0),
    );
    println!("{} samples, p1 {low:.7} s, p80 {high:.7} s", times.count());
    ensure!(times.count() > 20, "{} samples only", times.count());
    ensure!(
        low >= 1e-6 && high < 0.02,
        "round trips over loopback take {low:.7} to {high:.7} s"
    );
    Ok(())
}
