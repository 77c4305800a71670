//! The report for machines (contract: `report --format json`).

use std::{collections::BTreeMap, io::Write};

use evenkeel_semconv::attribute;
use serde::Serialize;

use super::{
    Options, ReportError, chosen,
    label::{Detail, Labels},
    overview::Overview,
    ranking::{self, OwnerKey, OwnerRow, Ranked},
    units::rfc3339,
};
use crate::summary::{Amount, Attributes, CauseKind, Number, Profile, Summary, Value};

/// Functions listed by own value, and again by total where those are others. What is left out is
/// below a ten thousandth of nearly every profile, and the file stays readable.
const MOST_FUNCTIONS: usize = 2000;

/// Quantiles of distributions.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

#[derive(Serialize)]
struct Report<'a> {
    resource: BTreeMap<&'a str, &'a Value>,
    start: String,
    duration_s: f64,
    windows: usize,
    profiles: BTreeMap<&'a str, ProfileReport<'a>>,
    metrics: Vec<MetricReport<'a>>,
    status: Vec<Status<'a>>,
}

#[derive(Serialize)]
struct ProfileReport<'a> {
    unit: &'a str,
    total: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    top: Vec<Function<'a>>,
    by_process: Vec<Group>,
    by_service: Vec<Group>,
    by_container: Vec<Group>,
    /// By what was waited for (`off_cpu`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by_reason: Vec<Cause<'a>>,
    /// By who had the CPU (`run_queue`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by_behind: Vec<Cause<'a>>,
    /// Idle waiting that is in none of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_left_out: Option<i64>,
}

#[derive(Serialize)]
struct Cause<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    behind: Option<&'a str>,
    total: i64,
}

#[derive(Serialize)]
struct Function<'a> {
    function: &'a str,
    module: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    line: u32,
    #[serde(rename = "self")]
    self_value: i64,
    total: i64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Serialize)]
struct Group {
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    total: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pids: Vec<Pid>,
}

#[derive(Serialize)]
struct Pid {
    pid: i64,
    total: i64,
}

#[derive(Serialize)]
struct MetricReport<'a> {
    name: &'a str,
    unit: &'a str,
    attributes: BTreeMap<&'a str, Value>,
    #[serde(flatten)]
    amount: AmountReport,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AmountReport {
    Int {
        value: i64,
    },
    Double {
        value: f64,
    },
    Distribution {
        count: u64,
        sum: Option<f64>,
        p50: Option<f64>,
        p90: Option<f64>,
        p99: Option<f64>,
        p999: Option<f64>,
    },
}

#[derive(Serialize)]
struct Status<'a> {
    signal: &'a str,
    state: &'a str,
    reason: Option<&'a str>,
    events: Option<i64>,
    lost: Option<i64>,
}

/// Writes the report of all profiles, or of the one that was asked for.
pub(super) fn write(
    summary: &Summary,
    options: &Options,
    detail: Detail,
    out: &mut dyn Write,
) -> Result<(), ReportError> {
    let overview = Overview::new(summary);
    let labels = Labels::new(summary.stacks(), detail);
    let profiles = chosen(summary, options)?
        .into_iter()
        .map(|(name, profile)| (name, profile_report(summary, profile, &labels)))
        .collect();
    let report = Report {
        resource: overview.resource.iter().collect(),
        start: rfc3339(summary.start()),
        duration_s: summary.duration() as f64 / 1e9,
        windows: summary.windows().len(),
        profiles,
        metrics: metrics(summary, overview.hosts > 1),
        status: overview
            .signals
            .iter()
            .map(|signal| Status {
                signal: &signal.name,
                state: &signal.state,
                reason: signal.reason.as_deref(),
                events: signal.events,
                lost: signal.lost,
            })
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &report).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

fn profile_report<'a>(
    summary: &'a Summary,
    profile: &'a Profile,
    labels: &'a Labels,
) -> ProfileReport<'a> {
    let groups = |key| {
        ranking::owners(summary, profile, key, |_| true)
            .into_iter()
            .map(|row| group(key, row))
            .collect()
    };
    let causes = |wanted| match profile.causes.kind() {
        Some(kind) if kind == wanted => causes(summary, profile, kind),
        _ => Vec::new(),
    };
    ProfileReport {
        unit: &profile.sample_type.unit,
        total: profile.total,
        seconds: profile.seconds(profile.total),
        top: functions(ranking::labels(summary, profile, labels, |_| true), labels),
        by_process: groups(OwnerKey::Process),
        by_service: groups(OwnerKey::Service),
        by_container: groups(OwnerKey::Container),
        by_reason: causes(CauseKind::Reason),
        by_behind: causes(CauseKind::Behind),
        idle_left_out: Some(profile.causes.idle()).filter(|idle| *idle > 0),
    }
}

fn causes<'a>(summary: &'a Summary, profile: &Profile, kind: CauseKind) -> Vec<Cause<'a>> {
    let totals = profile.causes.totals(false).into_iter();
    totals
        .map(|(cause, total)| {
            let name = Some(summary.stacks().resolve(cause));
            Cause {
                reason: name.filter(|_| kind == CauseKind::Reason),
                behind: name.filter(|_| kind == CauseKind::Behind),
                total,
            }
        })
        .collect()
}

/// The first by own value, and those that only stand out by their total (`main`).
fn functions(ranked: Vec<Ranked>, labels: &Labels) -> Vec<Function<'_>> {
    let mut totals = ranked.iter().map(|r| r.total).collect::<Vec<_>>();
    totals.sort_unstable_by(|a, b| b.cmp(a));
    let least = totals.get(MOST_FUNCTIONS).copied().unwrap_or(0);
    ranked
        .into_iter()
        .enumerate()
        .filter(|(index, ranked)| *index < MOST_FUNCTIONS || ranked.total > least)
        .filter_map(|(_, ranked)| {
            let label = labels.all().get_index(ranked.label as usize)?;
            Some(Function {
                function: &label.name,
                module: &label.module,
                file: &label.file,
                line: label.line,
                self_value: ranked.self_value,
                total: ranked.total,
            })
        })
        .collect()
}

fn group(key: OwnerKey, row: OwnerRow) -> Group {
    let only = |names: std::collections::BTreeSet<String>| {
        let mut names = names.into_iter();
        names.next().filter(|_| names.next().is_none())
    };
    let (process, service, container) = match key {
        OwnerKey::Process => (Some(row.name), only(row.services), only(row.containers)),
        OwnerKey::Service => (None, Some(row.name), None),
        OwnerKey::Container => (None, only(row.services), Some(row.name)),
    };
    Group {
        process,
        service,
        container,
        total: row.value,
        pids: row
            .pids
            .into_iter()
            .map(|(pid, total)| Pid { pid, total })
            .collect(),
    }
}

/// All series; those of several hosts say whose they are.
fn metrics(summary: &Summary, several_hosts: bool) -> Vec<MetricReport<'_>> {
    let mut reports = Vec::new();
    for (name, metric) in summary.metrics() {
        for (key, reduced) in metric.series(summary.begin()) {
            let mut attributes = key
                .attributes
                .iter()
                .map(|(key, value)| (key, value.clone()))
                .collect::<BTreeMap<_, _>>();
            if several_hosts && let Some(resource) = summary.resource_at(key.resource) {
                attributes.extend(host_of(resource));
            }
            reports.push(MetricReport {
                name,
                unit: &metric.unit,
                attributes,
                amount: amount(&reduced.amount),
            });
        }
    }
    reports
}

fn host_of(resource: &Attributes) -> Option<(&'static str, Value)> {
    [
        attribute::HOST_NAME,
        attribute::HOST_ID,
        attribute::SERVICE_INSTANCE_ID,
    ]
    .into_iter()
    .find_map(|key| Some((key, resource.get(key)?.clone())))
}

fn amount(amount: &Amount) -> AmountReport {
    match amount {
        Amount::Number(Number::Int(value)) => AmountReport::Int { value: *value },
        Amount::Number(Number::Double(value)) => AmountReport::Double { value: *value },
        Amount::Distribution(distribution) => {
            let [p50, p90, p99, p999] = QUANTILES.map(|q| distribution.quantile(q));
            AmountReport::Distribution {
                count: distribution.count(),
                sum: distribution.sum(),
                p50,
                p90,
                p99,
                p999,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Format, Options, write};
    use crate::{fixture, summary::Filter};

    fn report(options: &Options) -> serde_json::Value {
        let options = Options {
            format: Format::Json,
            ..options.clone()
        };
        let mut out = Vec::new();
        write(&fixture::summary(Filter::default()), &options, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    /// The head of the contract, by hand.
    #[test]
    fn head() {
        let report = report(&Options::default());
        assert_eq!(report["start"], "2025-10-09T08:53:20.000Z");
        assert_eq!(report["duration_s"], 20.0);
        assert_eq!(report["windows"], 2);
        assert_eq!(report["resource"]["host.name"], "web-1");
        assert_eq!(
            report["status"],
            json!([
                {"signal": "off_cpu", "state": "failed", "reason": "no BTF", "events": null, "lost": null},
                {"signal": "on_cpu", "state": "attached", "reason": null, "events": 20, "lost": 1},
            ])
        );
    }

    /// Functions and processes of both profiles, by hand: recursion and inlining counted once,
    /// `main` of two programs apart.
    #[test]
    fn profiles() {
        let report = report(&Options::default());
        let on_cpu = &report["profiles"]["on_cpu"];
        assert_eq!(on_cpu["unit"], "count");
        assert_eq!(on_cpu["total"], 20);
        assert_eq!(on_cpu["seconds"], 0.2);
        assert_eq!(
            on_cpu["top"],
            json!([
                {"function": "inner", "module": "spin", "self": 7, "total": 7},
                {"function": "handle", "module": "nginx", "self": 5, "total": 10},
                {"function": "sys_read", "module": "[kernel]", "self": 5, "total": 5},
                {"function": "libx.so+0x1234", "module": "libx.so", "self": 2, "total": 2},
                {"function": "a b;c 12", "module": "x", "self": 1, "total": 1},
                {"function": "main", "module": "nginx", "self": 0, "total": 10},
                {"function": "main", "module": "spin", "self": 0, "total": 7},
                {"function": "parse", "module": "nginx", "self": 0, "total": 5},
                {"function": "[truncated]", "module": "", "self": 0, "total": 2},
            ])
        );
        assert_eq!(
            on_cpu["by_process"][0],
            json!({
                "process": "nginx", "service": "web", "container": fixture::CONTAINER, "total": 12,
                "pids": [{"pid": 10, "total": 9}, {"pid": 11, "total": 3}],
            })
        );
        assert_eq!(report["profiles"]["stolen"]["total"], 5_000_000);
    }

    /// A stream since boot counts from the first window's end, one since the start counts whole.
    #[test]
    fn metrics_over_the_recording() {
        let report = report(&Options::default());
        let metrics = report["metrics"].as_array().unwrap();
        let user = metrics
            .iter()
            .find(|metric| {
                metric["name"] == "system.cpu.time"
                    && metric["attributes"] == json!({"cpu.logical_number": 1, "cpu.mode": "user"})
            })
            .unwrap();
        assert_eq!(user["value"], 6.0);
        assert_eq!(user["unit"], "s");
        let waits = metrics
            .iter()
            .find(|metric| metric["name"] == "evenkeel.cpu.run_queue.wait.duration")
            .unwrap();
        assert_eq!((&waits["count"], &waits["sum"]), (&json!(20), &json!(30.0)));
        assert_eq!(waits["p50"], 2.0);
        let p90 = waits["p90"].as_f64().unwrap();
        assert!((p90 - 2.0 * 2.0_f64.powf(0.8)).abs() < 1e-9, "{p90}");
    }

    /// One profile when one is asked for.
    #[test]
    fn one_profile() {
        let report = report(&Options {
            profile: Some("stolen".to_owned()),
            ..Options::default()
        });
        assert_eq!(report["profiles"].as_object().unwrap().len(), 1);
    }
}
