//! From the files to metrics.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use evenkeel_otlp::model::{Attribute, Metric, Point, PointValue};
use evenkeel_semconv::{MetricDescriptor, attribute, metric};

use super::{
    CpuTicks, Losses, Moment, Stat, StealClock,
    pressure::{self, LINES},
    read,
    stat::{IDLE, IOWAIT, MODES, STEAL},
    stream::{Limits, Step, Stream},
};

/// CPUs with series of their own: eight modes each make 8 192 points.
const MAX_SERIES_CPUS: usize = 1024;

/// The kernel folds pressure totals every two seconds; one more for the clocks.
const PRESSURE_LIMITS: Limits = Limits {
    per_second: 1_000_000,
    slack: 3_000_000,
    backlash: 0,
    restarts: false,
};

/// The series of one `cpu` line.
type ModeStreams = [Option<Stream>; MODES.len()];

/// Samples the host. One sample a window.
#[derive(Debug)]
pub struct HostSampler {
    proc_root: PathBuf,
    boot_unix_nanos: u64,
    ticks_per_second: u64,
    per_cpu: bool,
    steal_clock: StealClock,
    total: ModeStreams,
    cpus: BTreeMap<u32, ModeStreams>,
    /// CPUs online at the last sample.
    cpu_count: u64,
    context_switches: Option<Stream>,
    pressure: [Option<Stream>; LINES.len()],
    losses: Losses,
    buffer: Vec<u8>,
}

impl HostSampler {
    /// A sampler of the files below `proc_root`, with totals over all CPUs. The series start at
    /// boot, whose time is taken here once.
    #[must_use]
    pub fn new(proc_root: &Path) -> Self {
        Self {
            proc_root: proc_root.to_owned(),
            boot_unix_nanos: Moment::now().boot_unix_nanos(),
            ticks_per_second: rustix::param::clock_ticks_per_second(),
            per_cpu: false,
            steal_clock: StealClock::Unknown {
                reason: "not looked for",
            },
            total: ModeStreams::default(),
            cpus: BTreeMap::new(),
            cpu_count: 0,
            context_switches: None,
            pressure: Default::default(),
            losses: Losses::default(),
            buffer: Vec::new(),
        }
    }

    /// Times by CPU (`cpu.logical_number`) in place of the totals, whose sum they are.
    #[must_use]
    pub fn with_per_cpu(mut self, per_cpu: bool) -> Self {
        self.per_cpu = per_cpu;
        self
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
        let mut metrics = Vec::with_capacity(5);
        if self.read("stat") {
            let stat = Stat::parse(&self.buffer);
            self.losses.invalid += stat.invalid;
            metrics.extend(self.cpu_time(&stat, now));
            metrics.extend(self.cpu_count(&stat));
            metrics.extend(self.context_switches(&stat, now));
        }
        metrics.extend(self.uptime());
        metrics.extend(self.pressure(now));
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
        let mut points = Vec::new();
        if self.per_cpu {
            for (cpu, ticks) in &stat.cpus {
                if self.cpus.len() >= MAX_SERIES_CPUS && !self.cpus.contains_key(cpu) {
                    self.losses.series_full += 1;
                    continue;
                }
                let streams = self.cpus.remove(cpu).unwrap_or_default();
                let streams = self.advance(streams, ticks, now, 1, true);
                self.publish(&mut points, &streams, ticks, Some(*cpu));
                self.cpus.insert(*cpu, streams);
            }
        } else if let Some(ticks) = &stat.total {
            self.total = self.advance(self.total, ticks, now, counted, false);
            self.publish(&mut points, &self.total, ticks, None);
        }
        metric(&metric::SYSTEM_CPU_TIME, points)
    }

    /// Feeds one line to its series.
    fn advance(
        &mut self,
        mut streams: ModeStreams,
        ticks: &CpuTicks,
        now: Moment,
        cpus: u64,
        restarts: bool,
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
                restarts,
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

    fn publish(
        &self,
        points: &mut Vec<Point>,
        streams: &ModeStreams,
        ticks: &CpuTicks,
        cpu: Option<u32>,
    ) {
        for (mode, (stream, name)) in streams.iter().zip(MODES).enumerate() {
            let (Some(stream), Some(raw)) = (stream, ticks.columns[mode]) else {
                continue;
            };
            if mode == STEAL && !self.steal_clock.believes(raw) {
                continue;
            }
            let mut attributes = Vec::with_capacity(2);
            if let Some(cpu) = cpu {
                attributes.push(Attribute::new(
                    attribute::CPU_LOGICAL_NUMBER,
                    i64::from(cpu),
                ));
            }
            attributes.push(Attribute::new(attribute::CPU_MODE, name));
            let seconds = stream.value() as f64 / self.ticks_per_second as f64;
            points.push(Point {
                attributes,
                start_unix_nanos: stream.start_unix_nanos(),
                value: PointValue::Double(seconds),
            });
        }
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
                self.read_pressure(line.file);
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

    /// Fills the buffer, or empties it where this kernel has no such file or does not account
    /// (`EOPNOTSUPP` with `psi=0`), which is no failure.
    fn read_pressure(&mut self, file: &str) {
        let path = self.proc_root.join("pressure").join(file);
        let Err(error) = read(&path, &mut self.buffer) else {
            return;
        };
        self.buffer.clear();
        let unsupported = error.kind() == io::ErrorKind::NotFound
            || error.raw_os_error() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error());
        self.losses.read_failed += u64::from(!unsupported);
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

/// A metric, unless it has no points.
fn metric(descriptor: &'static MetricDescriptor, points: Vec<Point>) -> Option<Metric> {
    (!points.is_empty()).then_some(Metric { descriptor, points })
}
