use std::{collections::BTreeMap, fs, path::Path, time::Instant};

use evenkeel_otlp::model::{Metric, PointValue, Value};
use evenkeel_semconv::{Number, attribute::value::cpu_mode, metric};

use super::{HostSampler, Moment, Stat, StealClock, StealTicker};

const CASES: &str = include_str!("../../../tests/cases/proc_stat_variants.tsv");
const COUNTED: StealClock = StealClock::Counted { by: "test" };

/// A point: seconds and start time.
type Series = BTreeMap<String, (f64, u64)>;

/// A proc root of its own and a sampler over it.
struct Host {
    root: tempfile::TempDir,
    sampler: HostSampler,
    now: Moment,
}

impl Host {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let sampler = HostSampler::new(root.path(), root.path()).with_steal_clock(COUNTED);
        // Three years up, so that the totals of the fixtures are possible, and later than the boot
        // that the sampler took from the real clocks.
        let now = Moment {
            since_boot_nanos: 100_000_000 * 1_000_000_000,
            unix_nanos: 4_000_000_000 * 1_000_000_000,
        };
        Self { root, sampler, now }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The CPU times after so many seconds with this text, by the values of the attributes.
    fn times(&mut self, seconds: u64, text: &str) -> Series {
        self.write("stat", text);
        self.now.since_boot_nanos += seconds * 1_000_000_000;
        self.now.unix_nanos += seconds * 1_000_000_000;
        let metrics = self.sampler.sample_at(self.now);
        find(&metrics, metric::SYSTEM_CPU_TIME.name).map_or_else(Series::new, series)
    }
}

fn find<'a>(metrics: &'a [Metric], name: &str) -> Option<&'a Metric> {
    metrics.iter().find(|metric| metric.descriptor.name == name)
}

fn series(metric: &Metric) -> Series {
    let text = |value: &Value| match value {
        Value::String(text) => text.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
    };
    metric
        .points
        .iter()
        .map(|point| {
            let key: Vec<_> = point
                .attributes
                .iter()
                .map(|own| text(&own.value))
                .collect();
            let value = match point.value {
                PointValue::Double(value) => value,
                PointValue::Int(value) => value as f64,
                PointValue::Histogram(_) => panic!("no histogram here"),
            };
            (key.join(" "), (value, point.start_unix_nanos))
        })
        .collect()
}

/// The two texts of a fixture.
fn case(id: &str) -> (&'static str, &'static str) {
    let line = CASES
        .lines()
        .find(|line| line.starts_with(&format!("{id} ")))
        .unwrap();
    let mut fields = line.split('\t').skip(1);
    (fields.next().unwrap(), fields.next().unwrap())
}

/// The growth of each mode over a fixture on two CPUs, the first and the last reading.
fn play(host: &mut Host, id: &str, seconds: u64) -> (Series, Series, BTreeMap<String, f64>) {
    let text = |line: &str| format!("{line}\ncpu0 0 0 0 0\ncpu1 0 0 0 0\n");
    let (before, after) = case(id);
    let before = host.times(0, &text(before));
    let after = host.times(seconds, &text(after));
    let growth = after
        .iter()
        .map(|(mode, (value, _))| (mode.clone(), value - before[mode].0))
        .collect();
    (before, after, growth)
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-6
}

/// S1: the shares of a normal reading sum to the whole, and steal is 6.486 % of it.
#[test]
fn s1_shares_of_a_normal_reading() {
    let mut host = Host::new();
    host.write("uptime", "1.5 2.5\n");
    let (_, after, growth) = play(&mut host, "S1", 10);
    let whole: f64 = growth.values().sum();
    assert!(close(whole, 9.25), "{growth:?}");
    assert!((growth[cpu_mode::STEAL] / whole - 0.06486).abs() < 1e-5);
    assert_eq!(after.len(), 8);
    assert_eq!(host.sampler.losses(), super::Losses::default());
}

/// S2: iowait that goes back adds nothing, and the series is not reset.
#[test]
fn s2_iowait_goes_back() {
    let mut host = Host::new();
    let (before, after, growth) = play(&mut host, "S2", 10);
    assert_eq!(growth[cpu_mode::IOWAIT], 0.0);
    assert!(close(growth[cpu_mode::IDLE], 8.0));
    assert_eq!(after[cpu_mode::IOWAIT].1, before[cpu_mode::IOWAIT].1);
    assert_eq!(after[cpu_mode::IOWAIT].0, 1.0);
}

/// S4: steal beyond CPUs times wall time is cut to that and counted.
#[test]
fn s4_steal_beyond_wall_time() {
    let mut host = Host::new();
    let (before, after, growth) = play(&mut host, "S4", 1);
    assert!(close(growth[cpu_mode::STEAL], 2.0), "{growth:?}");
    assert_eq!(after[cpu_mode::STEAL].1, before[cpu_mode::STEAL].1);
    assert_eq!(host.sampler.losses().out_of_range, 1);
}

/// S6: columns that a container's kernel does not print are absent.
#[test]
fn s6_short_line() {
    let mut host = Host::new();
    let (_, after, growth) = play(&mut host, "S6", 10);
    assert!(close(growth[cpu_mode::USER], 1.0));
    assert!(close(growth[cpu_mode::IDLE], 1.0));
    assert_eq!(after.len(), 8);
    let parsed = Stat::parse(format!("{}\n", case("S6").1).as_bytes());
    assert_eq!(parsed.total.unwrap().columns[8..], [None, None]);
    let older = host.times(1, "cpu 2011187 1368 1149652 328633132 151302 0 0\n");
    assert_eq!(older.len(), 7);
    assert!(!older.contains_key(cpu_mode::STEAL));
}

/// S8: a CPU that returns smaller takes nothing from the sum that it is in, which neither jumps nor
/// begins anew. (Series of their own begin anew: `device`.)
#[test]
fn s8_a_cpu_returns_smaller() {
    let mut host = Host::new();
    let (before, after) = case("S8");
    let user = |line: &str| {
        let ticks = Stat::parse(format!("{line}\n").as_bytes()).cpus[0].1;
        ticks.columns[0].unwrap()
    };
    let text = |line: &str, rest: u64| {
        let user = user(line) + rest;
        format!("cpu {user} 0 0 0\ncpu0 {rest} 0 0 0\n{line}\n")
    };
    let first = host.times(0, &text(before, 1000));
    let second = host.times(9, &text(after, 1100));
    let third = host.times(9, &text(after, 1250));
    assert_eq!(first[cpu_mode::USER].0, 15.0);
    assert_eq!(second[cpu_mode::USER], first[cpu_mode::USER]);
    assert_eq!(third[cpu_mode::USER].0, 16.5);
    assert_eq!(host.sampler.losses().out_of_range, 1);
}

/// Every line of the fixture is one of the tests above.
#[test]
fn all_variants_are_played() {
    let ids: Vec<_> = CASES
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(' ').map(|(id, _)| id))
        .collect();
    assert_eq!(ids, ["S1", "S2", "S4", "S6", "S8"]);
}

/// Guest time is inside user time: it is no mode of its own and adds nothing.
#[test]
fn guests_are_not_counted_twice() {
    let mut host = Host::new();
    let times = host.times(1, "cpu 1000 50 0 0 0 0 0 0 900 40\n");
    assert_eq!(times.values().map(|(value, _)| value).sum::<f64>(), 10.5);
}

/// Where nobody counts stolen time, its mode is absent.
#[test]
fn steal_is_absent_without_a_clock() {
    let mut host = Host::new();
    host.sampler = HostSampler::new(host.root.path(), host.root.path());
    assert_eq!(host.times(1, "cpu 1 1 1 1 1 1 1 0 0 0\n").len(), 7);
    assert_eq!(host.times(1, "cpu 1 1 1 1 1 1 1 1 0 0\n").len(), 8);
}

/// Pressure: totals in seconds; what is not defined for a host (`cpu full`) or not printed is
/// absent; a broken file is counted and spoils no other.
#[test]
fn pressure_lines() {
    let mut host = Host::new();
    let both = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n\
                full avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n";
    host.write("pressure/cpu", both);
    host.write("pressure/memory", "some");
    host.write("pressure/io", both);
    host.write(
        "pressure/irq",
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
    );
    let metrics = host.sampler.sample_at(host.now);
    let found = series(find(&metrics, metric::EVENKEEL_PRESSURE_STALL_TIME.name).unwrap());
    let values: Vec<_> = found
        .iter()
        .map(|(key, (value, _))| (key.as_str(), *value))
        .collect();
    let expected = [
        ("cpu some", 2.5),
        ("io full", 0.5),
        ("io some", 2.5),
        ("irq full", 7e-6),
    ];
    assert_eq!(values, expected);
    assert_eq!(host.sampler.losses().invalid, 2);
}

/// Nothing to read: nothing published, the two files that every kernel has are counted.
#[test]
fn an_empty_root_publishes_nothing() {
    let mut host = Host::new();
    assert!(host.sampler.sample_at(host.now).is_empty());
    assert_eq!(host.sampler.losses().read_failed, 2);
}

/// Hostile files: what is broken is absent and counted, what is whole is published.
#[test]
fn hostile_files_cost_their_own_metric_only() {
    for (stat, uptime, names) in [
        (
            "cpu 1 2 3\nctxt 5\n",
            "x",
            vec![metric::EVENKEEL_CPU_CONTEXT_SWITCHES.name],
        ),
        (
            "ctxt -5\ncpu 1 2 3 4\n",
            "nan 1\n",
            vec![metric::SYSTEM_CPU_TIME.name],
        ),
        ("ctxt 99999999999999999999\n", "inf 1\n", vec![]),
        ("\0\u{fffd}cpu", "-1 1\n", vec![]),
        ("cpu", "", vec![]),
        (
            "cpu0 1 2 3 4\n",
            "12.5",
            vec![metric::SYSTEM_CPU_LOGICAL_COUNT.name],
        ),
    ] {
        let mut host = Host::new();
        host.write("stat", stat);
        host.write("uptime", uptime);
        let metrics = host.sampler.sample_at(host.now);
        let found: Vec<_> = metrics
            .iter()
            .map(|metric| metric.descriptor.name)
            .collect();
        assert_eq!(found, names, "{stat:?}");
        assert!(host.sampler.losses().invalid > 0, "{stat:?}");
    }
}

/// Whatever the file says from one reading to the next, each series is finite and never falls
/// unless it says that it began anew.
#[test]
fn series_are_monotone_under_random_readings() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut host = Host::new();
    let mut last = Series::new();
    for _ in 0..500 {
        let mut text = String::new();
        for line in ["cpu", "cpu0", "cpu1", "cpu3"] {
            text.push_str(line);
            for _ in 0..random() % 12 {
                let shift = random() % 64;
                text.push_str(&format!(" {}", random() >> shift));
            }
            text.push('\n');
        }
        for (key, (value, start)) in host.times(random() % 12, &text) {
            assert!(value.is_finite() && value >= 0.0);
            if let Some((before, began)) = last.insert(key.clone(), (value, start)) {
                assert!(start >= began, "{key}");
                assert!(start > began || value >= before, "{key}: {before} {value}");
            }
        }
    }
    assert!(host.sampler.losses().out_of_range > 0);
}

/// This machine's own files: all metrics, only registered attributes, numbers of the registered
/// type, CPU time that adds up to the time the CPUs were there.
#[test]
fn samples_this_machine() {
    let clock = StealClock::detect(Path::new("/proc"), Path::new("/sys"));
    let mut sampler =
        HostSampler::new(Path::new("/proc"), Path::new("/sys")).with_steal_clock(clock);
    let metrics = sampler.sample();
    assert_eq!(sampler.losses(), super::Losses::default());
    for metric in &metrics {
        let descriptor = metric.descriptor;
        assert!(!metric.points.is_empty());
        for point in &metric.points {
            let keys: Vec<_> = point.attributes.iter().map(|own| &*own.key).collect();
            assert!(keys.is_sorted());
            for key in keys {
                assert!(descriptor.attributes.iter().any(|known| known.name == key));
            }
            let number = match point.value {
                PointValue::Int(_) => Number::Int,
                _ => Number::Double,
            };
            assert_eq!(number, descriptor.number, "{}", descriptor.name);
        }
    }
    let value = |descriptor: &evenkeel_semconv::MetricDescriptor| -> f64 {
        let found = find(&metrics, descriptor.name).unwrap();
        series(found).values().map(|(value, _)| value).sum()
    };
    let busy = value(&metric::SYSTEM_CPU_TIME);
    let there = value(&metric::SYSTEM_UPTIME) * value(&metric::SYSTEM_CPU_LOGICAL_COUNT);
    assert!((0.5..1.05).contains(&(busy / there)), "{busy} of {there} s");
    assert!(value(&metric::EVENKEEL_CPU_CONTEXT_SWITCHES) > 0.0);

    let begin = Instant::now();
    for _ in 0..100 {
        sampler.sample();
    }
    eprintln!("sample: {:?}", begin.elapsed() / 100);
    let mut ticker = StealTicker::new(Path::new("/proc"), clock);
    let begin = Instant::now();
    for _ in 0..100 {
        ticker.tick();
    }
    eprintln!("tick: {:?}", begin.elapsed() / 100);
}
