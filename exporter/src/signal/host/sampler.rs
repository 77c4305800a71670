//! From the files to metrics.

use std::{
    io,
    path::{Path, PathBuf},
};

use evenkeel_otlp::model::{Attribute, Metric, Point, PointValue};
use evenkeel_semconv::{attribute, metric};

use super::{
    CpuTicks, Losses, Moment, Stat, StealClock,
    disks::Disks,
    interfaces::Interfaces,
    pressure::{self, LINES},
    read,
    schedstat::CpuWaits,
    stat::{IDLE, IOWAIT, MODES, STEAL},
    stream::{Limits, Step, Stream},
};
use crate::signal::metric;

/// The kernel folds pressure totals every two seconds; one more for the clocks.
const PRESSURE_LIMITS: Limits = Limits {
    per_second: 1_000_000,
    slack: 3_000_000,
    backlash: 0,
};

/// The series of one `cpu` line.
type ModeStreams = [Option<Stream>; MODES.len()];

/// Samples the host. One sample a window.
#[derive(Debug)]
pub struct HostSampler {
    proc_root: PathBuf,
    boot_unix_nanos: u64,
    ticks_per_second: u64,
    steal_clock: StealClock,
    total: ModeStreams,
    /// CPUs online at the last sample.
    cpu_count: u64,
    context_switches: Option<Stream>,
    pressure: [Option<Stream>; LINES.len()],
    waits: CpuWaits,
    disks: Disks,
    interfaces: Interfaces,
    losses: Losses,
    buffer: Vec<u8>,
}

impl HostSampler {
    /// A sampler of the files below `proc_root`, with totals over all CPUs; of `sys_root` it asks
    /// what kind an interface is. The series start at boot, whose time is taken here once.
    #[must_use]
    pub fn new(proc_root: &Path, sys_root: &Path) -> Self {
        Self {
            proc_root: proc_root.to_owned(),
            boot_unix_nanos: Moment::now().boot_unix_nanos(),
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            steal_clock: StealClock::Unknown {
                reason: "not looked for",
            },
            total: ModeStreams::default(),
            cpu_count: 0,
            context_switches: None,
            pressure: Default::default(),
            waits: CpuWaits::default(),
            disks: Disks::new(),
            interfaces: Interfaces::new(sys_root),
            losses: Losses::default(),
            buffer: Vec::new(),
        }
    }

    /// Whether stolen time is measured here; without this it is published once it is above zero.
    #[must_use]
    pub fn with_steal_clock(mut self, clock: StealClock) -> Self {
        self.steal_clock = clock;
        self
    }

    /// What was left out or corrected since the start.
    #[must_use]
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Reads everything once. A metric whose source is missing or broken is absent.
    pub fn sample(&mut self) -> Vec<Metric> {
        self.sample_at(Moment::now())
    }

    pub(super) fn sample_at(&mut self, now: Moment) -> Vec<Metric> {
        let mut metrics = Vec::with_capacity(16);
        if self.read("stat") {
            let stat = Stat::parse(&self.buffer);
            self.losses.invalid += stat.invalid;
            metrics.extend(self.cpu_time(&stat, now));
            metrics.extend(self.cpu_count(&stat));
            metrics.extend(self.context_switches(&stat, now));
        }
        metrics.extend(self.uptime());
        metrics.extend(self.pressure(now));
        metrics.extend(self.waits());
        let boot = self.boot_unix_nanos;
        if self.read_if_there("diskstats") {
            self.disks.take(&self.buffer, now, boot, &mut self.losses);
            metrics.extend(self.disks.metrics(boot));
        }
        if self.read_interfaces() {
            self.interfaces
                .take(&self.buffer, now, boot, &mut self.losses);
            metrics.extend(self.interfaces.metrics());
        }
        metrics
    }

    /// Fills the buffer with a file that every kernel has.
    fn read(&mut self, file: &str) -> bool {
        let done = read(&self.proc_root.join(file), &mut self.buffer).is_ok();
        self.losses.read_failed += u64::from(!done);
        done
    }

    fn cpu_time(&mut self, stat: &Stat, now: Moment) -> Option<Metric> {
        let online = stat.cpus.len().max(1) as u64;
        // A CPU that went offline in between still counted for a part of the time.
        let counted = online.max(self.cpu_count);
        self.cpu_count = online;
        let ticks = stat.total?;
        self.total = self.advance(self.total, &ticks, now, counted);
        let points = self.publish(&self.total, &ticks);
        metric(&metric::SYSTEM_CPU_TIME, points)
    }

    /// Feeds one line to its series.
    fn advance(
        &mut self,
        mut streams: ModeStreams,
        ticks: &CpuTicks,
        now: Moment,
        cpus: u64,
    ) -> ModeStreams {
        for (mode, (stream, raw)) in streams.iter_mut().zip(ticks.columns).enumerate() {
            let Some(raw) = raw else { continue };
            // The kernel computes idle and iowait of a sleeping CPU when asked, without a lock:
            // these two tremble. A tenth of a second covers what lies between the two readings.
            let trembles = mode == IDLE || mode == IOWAIT;
            let limits = Limits {
                per_second: self.ticks_per_second.saturating_mul(cpus),
                slack: self.ticks_per_second.saturating_mul(cpus) / 10,
                backlash: if trembles { self.ticks_per_second } else { 0 },
            };
            self.feed(stream, raw, now, limits);
        }
        streams
    }

    fn feed(&mut self, stream: &mut Option<Stream>, raw: u64, now: Moment, limits: Limits) {
        let step = match stream {
            Some(stream) => stream.advance(raw, now, limits),
            None => {
                let (begun, step) = Stream::begin(raw, now, self.boot_unix_nanos, limits);
                *stream = Some(begun);
                step
            }
        };
        self.losses.out_of_range += u64::from(matches!(step, Step::Clamped | Step::Rebased));
    }

    fn publish(&self, streams: &ModeStreams, ticks: &CpuTicks) -> Vec<Point> {
        let mut points = Vec::with_capacity(MODES.len());
        for (mode, (stream, name)) in streams.iter().zip(MODES).enumerate() {
            let (Some(stream), Some(raw)) = (stream, ticks.columns[mode]) else {
                continue;
            };
            if mode == STEAL && !self.steal_clock.believes(raw) {
                continue;
            }
            let seconds = stream.value() as f64 / self.ticks_per_second as f64;
            points.push(Point {
                attributes: vec![Attribute::new(attribute::CPU_MODE, name)],
                start_unix_nanos: stream.start_unix_nanos(),
                value: PointValue::Double(seconds),
            });
        }
        points
    }

    fn cpu_count(&self, stat: &Stat) -> Option<Metric> {
        let count = i64::try_from(stat.cpus.len())
            .ok()
            .filter(|count| *count > 0)?;
        let point = self.point(PointValue::Int(count));
        metric(&metric::SYSTEM_CPU_LOGICAL_COUNT, vec![point])
    }

    fn context_switches(&mut self, stat: &Stat, now: Moment) -> Option<Metric> {
        let raw = stat.context_switches?;
        let mut stream = self.context_switches;
        self.feed(&mut stream, raw, now, Limits::UNLIMITED);
        self.context_switches = stream;
        let count = i64::try_from(stream?.value()).ok()?;
        let point = self.point(PointValue::Int(count));
        metric(&metric::EVENKEEL_CPU_CONTEXT_SWITCHES, vec![point])
    }

    fn uptime(&mut self) -> Option<Metric> {
        if !self.read("uptime") {
            return None;
        }
        let seconds = std::str::from_utf8(&self.buffer)
            .ok()
            .and_then(|text| text.strip_suffix('\n'))
            .and_then(|line| line.split(' ').next())
            .and_then(|word| word.parse::<f64>().ok())
            .filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        let Some(seconds) = seconds else {
            self.losses.invalid += 1;
            return None;
        };
        let point = self.point(PointValue::Double(seconds));
        metric(&metric::SYSTEM_UPTIME, vec![point])
    }

    fn pressure(&mut self, now: Moment) -> Option<Metric> {
        let mut points = Vec::with_capacity(LINES.len());
        let mut streams = self.pressure;
        let mut file = None;
        for (line, stream) in LINES.iter().zip(&mut streams) {
            if file != Some(line.file) {
                file = Some(line.file);
                self.read_if_there(line.file);
            }
            // Nothing was read: the kernel does not account for it, or it is counted already.
            if self.buffer.is_empty() {
                continue;
            }
            let Some(raw) = pressure::total(&self.buffer, line.prefix) else {
                self.losses.invalid += 1;
                continue;
            };
            self.feed(stream, raw, now, PRESSURE_LIMITS);
            let Some(stream) = stream else { continue };
            points.push(Point {
                attributes: vec![
                    Attribute::new(attribute::EVENKEEL_PRESSURE_RESOURCE, line.resource),
                    Attribute::new(attribute::EVENKEEL_PRESSURE_SCOPE, line.scope),
                ],
                start_unix_nanos: stream.start_unix_nanos(),
                value: PointValue::Double(stream.value() as f64 / 1e6),
            });
        }
        self.pressure = streams;
        metric(&metric::EVENKEEL_PRESSURE_STALL_TIME, points)
    }

    fn waits(&mut self) -> Option<Metric> {
        if !self.read_if_there("schedstat") {
            return None;
        }
        let nanos = self.waits.take(&self.buffer, &mut self.losses)?;
        let point = self.point(PointValue::Double(nanos as f64 / 1e9));
        metric(&metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_TIME, vec![point])
    }

    /// Fills the buffer with the interfaces of the first process, which are those of the host where
    /// its processes are seen at all; else with those of this one.
    fn read_interfaces(&mut self) -> bool {
        let of_host = self.proc_root.join("1/net/dev");
        read(&of_host, &mut self.buffer).is_ok() || self.read_if_there("net/dev")
    }

    /// Fills the buffer, or empties it where this kernel has no such file or does not account
    /// (`EOPNOTSUPP` with `psi=0`), which is no failure.
    fn read_if_there(&mut self, file: &str) -> bool {
        let Err(error) = read(&self.proc_root.join(file), &mut self.buffer) else {
            return true;
        };
        self.buffer.clear();
        let unsupported = error.kind() == io::ErrorKind::NotFound
            || error.raw_os_error() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error());
        self.losses.read_failed += u64::from(!unsupported);
        false
    }

    /// A point that counts since boot.
    fn point(&self, value: PointValue) -> Point {
        Point {
            attributes: Vec::new(),
            start_unix_nanos: self.boot_unix_nanos,
            value,
        }
    }
}
