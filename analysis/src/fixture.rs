//! A small recording, built message by message, whose reports can be worked out by hand.

use evenkeel_semconv::{
    attribute::{self, value},
    metric,
};
use opentelemetry_proto::tonic::{
    collector::{
        metrics::v1::ExportMetricsServiceRequest,
        profiles::v1development::ExportProfilesServiceRequest,
    },
    common::v1::{AnyValue, KeyValue, any_value},
    metrics::v1::{
        self as m, AggregationTemporality, exponential_histogram_data_point::Buckets, metric::Data,
        number_data_point,
    },
    profiles::v1development::{
        Function, KeyValueAndUnit, Line, Location, Mapping, Profile, ProfilesDictionary,
        ResourceProfiles, Sample, ScopeProfiles, Stack, ValueType,
    },
    resource::v1::Resource,
};

use crate::summary::{Filter, Limits, Summary};

/// Start of the recording: 2025-10-09 08:53:20 UTC.
pub(crate) const START: u64 = 1_760_000_000_000_000_000;

/// Length of a window.
pub(crate) const WINDOW: u64 = 10_000_000_000;

/// The container of `nginx`.
pub(crate) const CONTAINER: &str =
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Sample type, unit, period type, period unit, period.
pub(crate) type Kind = (&'static str, &'static str, &'static str, &'static str, i64);

/// 100 samples a second, so that seconds are round.
pub(crate) const ON_CPU: Kind = ("samples", "count", "cpu", "nanoseconds", 10_000_000);

/// Stolen time.
pub(crate) const STOLEN: Kind = ("stolen", "nanoseconds", "stolen", "nanoseconds", 0);

pub(crate) fn string(text: &str) -> AnyValue {
    AnyValue {
        value: Some(any_value::Value::StringValue(text.to_owned())),
    }
}

fn int(number: i64) -> AnyValue {
    AnyValue {
        value: Some(any_value::Value::IntValue(number)),
    }
}

fn key_value(key: &str, value: AnyValue) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(value),
        ..KeyValue::default()
    }
}

fn resource(attributes: &[(&str, &str)]) -> Option<Resource> {
    Some(Resource {
        attributes: attributes
            .iter()
            .map(|(key, value)| key_value(key, string(value)))
            .collect(),
        ..Resource::default()
    })
}

/// A profiles request under construction.
pub(crate) struct Profiles {
    request: ExportProfilesServiceRequest,
    dictionary: ProfilesDictionary,
    start: u64,
}

impl Profiles {
    pub(crate) fn new(window: u64) -> Self {
        Self {
            request: ExportProfilesServiceRequest::default(),
            dictionary: ProfilesDictionary {
                mapping_table: vec![Mapping::default()],
                location_table: vec![Location::default()],
                function_table: vec![Function::default()],
                string_table: vec![String::new()],
                attribute_table: vec![KeyValueAndUnit::default()],
                stack_table: vec![Stack::default()],
                ..ProfilesDictionary::default()
            },
            start: START + window * WINDOW,
        }
    }

    pub(crate) fn text(&mut self, text: &str) -> i32 {
        let table = &mut self.dictionary.string_table;
        let found = table.iter().position(|known| known == text);
        found.unwrap_or_else(|| {
            table.push(text.to_owned());
            table.len() - 1
        }) as i32
    }

    pub(crate) fn attribute(&mut self, key: &str, value: AnyValue) -> i32 {
        let key_strindex = self.text(key);
        self.dictionary.attribute_table.push(KeyValueAndUnit {
            key_strindex,
            value: Some(value),
            unit_strindex: 0,
        });
        self.dictionary.attribute_table.len() as i32 - 1
    }

    /// A location; `lines` (function, file, line) with the innermost inlined one first.
    pub(crate) fn frame(
        &mut self,
        kind: Option<&str>,
        module: &str,
        address: u64,
        lines: &[(&str, &str, i64)],
    ) -> i32 {
        let mut location = Location {
            address,
            ..Location::default()
        };
        if let Some(kind) = kind {
            let kind = self.attribute(attribute::PROFILE_FRAME_TYPE, string(kind));
            location.attribute_indices.push(kind);
        }
        if !module.is_empty() {
            let filename_strindex = self.text(module);
            let build_id = self.attribute(
                attribute::PROCESS_EXECUTABLE_BUILD_ID_GNU,
                string("0123456789abcdef"),
            );
            self.dictionary.mapping_table.push(Mapping {
                memory_start: 0x1000,
                memory_limit: 0x9000,
                file_offset: 0x1000,
                filename_strindex,
                attribute_indices: vec![build_id],
            });
            location.mapping_index = self.dictionary.mapping_table.len() as i32 - 1;
        }
        for (name, file, line) in lines {
            let function = Function {
                name_strindex: self.text(name),
                filename_strindex: self.text(file),
                ..Function::default()
            };
            self.dictionary.function_table.push(function);
            location.lines.push(Line {
                function_index: self.dictionary.function_table.len() as i32 - 1,
                line: *line,
                column: 0,
            });
        }
        self.dictionary.location_table.push(location);
        self.dictionary.location_table.len() as i32 - 1
    }

    /// Adds a sample, `stack` leaf first.
    pub(crate) fn sample(
        &mut self,
        kind: Kind,
        of: &[(&str, &str)],
        attributes: Vec<(&str, AnyValue)>,
        stack: &[i32],
        value: i64,
    ) {
        let (name, unit, period_name, period_unit, period) = kind;
        let sample_type = ValueType {
            type_strindex: self.text(name),
            unit_strindex: self.text(unit),
        };
        let period_type = ValueType {
            type_strindex: self.text(period_name),
            unit_strindex: self.text(period_unit),
        };
        let attribute_indices = attributes
            .into_iter()
            .map(|(key, value)| self.attribute(key, value))
            .collect();
        self.dictionary.stack_table.push(Stack {
            location_indices: stack.to_vec(),
        });
        let sample = Sample {
            stack_index: self.dictionary.stack_table.len() as i32 - 1,
            attribute_indices,
            values: vec![value],
            ..Sample::default()
        };
        self.request.resource_profiles.push(ResourceProfiles {
            resource: resource(of),
            scope_profiles: vec![ScopeProfiles {
                profiles: vec![Profile {
                    sample_type: Some(sample_type),
                    samples: vec![sample],
                    time_unix_nano: self.start,
                    duration_nano: WINDOW,
                    period_type: Some(period_type),
                    period,
                    ..Profile::default()
                }],
                ..ScopeProfiles::default()
            }],
            ..ResourceProfiles::default()
        });
    }

    pub(crate) fn finish(self) -> ExportProfilesServiceRequest {
        ExportProfilesServiceRequest {
            dictionary: Some(self.dictionary),
            ..self.request
        }
    }
}

/// Host attributes of the recording.
pub(crate) const HOST: [(&str, &str); 4] = [
    (attribute::HOST_ARCH, "amd64"),
    (attribute::HOST_ID, "i-1"),
    (attribute::HOST_NAME, "web-1"),
    (attribute::EVENKEEL_KERNEL_RELEASE, "6.18.5"),
];

fn of_service<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    HOST.iter().chain(more).copied().collect()
}

fn owner(name: &str, pid: i64) -> Vec<(&'static str, AnyValue)> {
    vec![
        (attribute::PROCESS_EXECUTABLE_NAME, string(name)),
        (attribute::PROCESS_PID, int(pid)),
    ]
}

/// Profiles of the first window: 18 samples on CPU, 5 ms stolen.
pub(crate) fn first_profiles() -> ExportProfilesServiceRequest {
    let mut p = Profiles::new(0);
    let native = Some(value::profile_frame_type::NATIVE);
    let kernel = Some(value::profile_frame_type::KERNEL);
    let web = of_service(&[
        (attribute::SERVICE_NAME, "web"),
        (attribute::CONTAINER_ID, CONTAINER),
    ]);
    let host = of_service(&[(attribute::SERVICE_NAME, "shell")]);
    let main = p.frame(native, "nginx", 0x1100, &[("main", "nginx.c", 10)]);
    let handle = p.frame(native, "nginx", 0x1200, &[("handle", "http.c", 20)]);
    let parse = p.frame(
        native,
        "nginx",
        0x1210,
        &[("parse", "parse.c", 7), ("handle", "http.c", 22)],
    );
    let read = p.frame(
        kernel,
        "[kernel]",
        0xffff_ffff_8100_0000,
        &[("sys_read", "", 0)],
    );
    let unnamed = p.frame(native, "libx.so", 0x1234, &[]);
    let truncated = p.frame(None, "", 0, &[("[truncated]", "", 0)]);
    p.sample(ON_CPU, &web, owner("nginx", 10), &[read, parse, main], 5);
    p.sample(ON_CPU, &web, owner("nginx", 11), &[handle, main], 3);
    p.sample(ON_CPU, &web, owner("nginx", 10), &[unnamed, truncated], 2);
    let spin_main = p.frame(native, "spin", 0x1000, &[("main", "", 0)]);
    let inner = p.frame(native, "spin", 0x1050, &[("inner", "", 0)]);
    let mut command = owner("spin", 20);
    let yes = AnyValue {
        value: Some(any_value::Value::BoolValue(true)),
    };
    command.push((attribute::EVENKEEL_COMMAND_TREE, yes));
    p.sample(ON_CPU, &host, command, &[inner, spin_main], 7);
    let hostile = p.frame(native, "x", 0x1500, &[("a b;c 12", "", 0)]);
    p.sample(ON_CPU, &host, owner("evil;\n<b>", 30), &[hostile], 1);
    p.sample(STOLEN, &web, owner("nginx", 10), &[main], 5_000_000);
    p.finish()
}

/// Profiles of the second window: 2 samples on CPU.
pub(crate) fn second_profiles() -> ExportProfilesServiceRequest {
    let mut p = Profiles::new(1);
    let native = Some(value::profile_frame_type::NATIVE);
    let web = of_service(&[
        (attribute::SERVICE_NAME, "web"),
        (attribute::CONTAINER_ID, CONTAINER),
    ]);
    let main = p.frame(native, "nginx", 0x1100, &[("main", "nginx.c", 10)]);
    let handle = p.frame(native, "nginx", 0x1200, &[("handle", "http.c", 20)]);
    p.sample(ON_CPU, &web, owner("nginx", 10), &[handle, main], 2);
    p.finish()
}

/// Metrics at the end of a window: two CPUs since boot, run-queue waits and the signals' state
/// since the recording began.
pub(crate) fn metrics(window: u64) -> ExportMetricsServiceRequest {
    let time = START + (window + 1) * WINDOW;
    let boot = START - 1000 * WINDOW;
    let since = |start: u64, attributes: Vec<KeyValue>, value| m::NumberDataPoint {
        attributes,
        start_time_unix_nano: start,
        time_unix_nano: time,
        value: Some(value),
        ..m::NumberDataPoint::default()
    };
    let double = number_data_point::Value::AsDouble;
    let whole = number_data_point::Value::AsInt;
    let sum = |monotonic: bool, points| {
        Data::Sum(m::Sum {
            data_points: points,
            aggregation_temporality: AggregationTemporality::Cumulative as i32,
            is_monotonic: monotonic,
        })
    };
    let named = |descriptor: &evenkeel_semconv::MetricDescriptor, data| m::Metric {
        name: descriptor.name.to_owned(),
        unit: descriptor.unit.to_owned(),
        data: Some(data),
        ..m::Metric::default()
    };
    // A window of ten seconds: 6 s user, 1 s steal, 3 s idle on each CPU.
    let passed = window as f64 + 1.0;
    let cpu_time = (0..2)
        .flat_map(|cpu| {
            [
                (value::cpu_mode::USER, 6.0),
                (value::cpu_mode::STEAL, 1.0),
                (value::cpu_mode::IDLE, 3.0),
            ]
            .map(|(mode, seconds)| {
                let attributes = vec![
                    key_value(attribute::CPU_LOGICAL_NUMBER, int(cpu)),
                    key_value(attribute::CPU_MODE, string(mode)),
                ];
                since(boot, attributes, double(1000.0 + passed * seconds))
            })
        })
        .collect();
    let some_cpu = vec![
        key_value(attribute::EVENKEEL_PRESSURE_RESOURCE, string("cpu")),
        key_value(attribute::EVENKEEL_PRESSURE_SCOPE, string("some")),
    ];
    // Scale 0, buckets (1,2] and (2,4] seconds.
    let waits = m::ExponentialHistogramDataPoint {
        attributes: vec![key_value(
            attribute::EVENKEEL_CPU_RUN_QUEUE_ENQUEUE_REASON,
            string(value::evenkeel_cpu_run_queue_enqueue_reason::WAKEUP),
        )],
        start_time_unix_nano: START,
        time_unix_nano: time,
        count: 10 * (window + 1),
        sum: Some(15.0 * passed),
        positive: Some(Buckets {
            offset: 0,
            bucket_counts: vec![5 * (window + 1), 5 * (window + 1)],
        }),
        ..m::ExponentialHistogramDataPoint::default()
    };
    let state = |name: &str, state: &str, reason: &str| {
        let mut attributes = vec![
            key_value(attribute::EVENKEEL_SIGNAL_NAME, string(name)),
            key_value(attribute::EVENKEEL_SIGNAL_STATE, string(state)),
        ];
        if !reason.is_empty() {
            attributes.push(key_value(attribute::EVENKEEL_SIGNAL_REASON, string(reason)));
        }
        attributes
    };
    let of = |name: &str| vec![key_value(attribute::EVENKEEL_SIGNAL_NAME, string(name))];
    let mut loss = of("on_cpu");
    loss.push(key_value(
        attribute::EVENKEEL_LOSS_REASON,
        string("storage_full"),
    ));
    let status = vec![
        since(START, state("on_cpu", "attached", ""), whole(1)),
        since(START, state("on_cpu", "off", ""), whole(0)),
        since(START, state("off_cpu", "failed", "no BTF"), whole(1)),
    ];
    let metrics = vec![
        named(&metric::SYSTEM_CPU_TIME, sum(true, cpu_time)),
        named(
            &metric::EVENKEEL_PRESSURE_STALL_TIME,
            sum(true, vec![since(boot, some_cpu, double(2.5 * passed))]),
        ),
        named(
            &metric::EVENKEEL_CPU_RUN_QUEUE_WAIT_DURATION,
            Data::ExponentialHistogram(m::ExponentialHistogram {
                data_points: vec![waits],
                aggregation_temporality: AggregationTemporality::Cumulative as i32,
            }),
        ),
        named(&metric::EVENKEEL_SIGNAL_STATUS, sum(false, status)),
        named(
            &metric::EVENKEEL_SIGNAL_EVENTS,
            sum(
                true,
                vec![since(START, of("on_cpu"), whole(10 * (window as i64 + 1)))],
            ),
        ),
        named(
            &metric::EVENKEEL_SIGNAL_LOSSES,
            sum(true, vec![since(START, loss, whole(window as i64))]),
        ),
    ];
    ExportMetricsServiceRequest {
        resource_metrics: vec![m::ResourceMetrics {
            resource: resource(&of_service(&[(attribute::SERVICE_NAME, "evenkeel")])),
            scope_metrics: vec![m::ScopeMetrics {
                metrics,
                ..m::ScopeMetrics::default()
            }],
            ..m::ResourceMetrics::default()
        }],
    }
}

/// Blocked.
pub(crate) const OFF_CPU: Kind = ("off_cpu", "nanoseconds", "off_cpu", "nanoseconds", 0);

/// Ready and waiting for a CPU.
pub(crate) const RUN_QUEUE: Kind = ("run_queue", "nanoseconds", "run_queue", "nanoseconds", 0);

/// A recording of waits: 3 s of disk I/O, 1 s of lock by the recorded command, 95 s idle; 0.75 s
/// on run queues, of which 0.2 s have no cause; one sample on CPU.
pub(crate) fn waits(filter: Filter) -> Summary {
    use value::{evenkeel_off_cpu_reason as reason, evenkeel_run_queue_behind as behind};

    const SECOND: i64 = 1_000_000_000;
    let mut p = Profiles::new(0);
    let native = Some(value::profile_frame_type::NATIVE);
    let [main, read, lock, epoll] = ["main", "read", "lock", "epoll"]
        .map(|name| p.frame(native, "db", 0x1000, &[(name, "", 0)]));
    let because = |name: &'static str, key, cause: &str| {
        let mut attributes = owner(name, 10);
        attributes.push((key, string(cause)));
        attributes
    };
    let blocked = |name, cause| because(name, attribute::EVENKEEL_OFF_CPU_REASON, cause);
    let ready = |name, cause| because(name, attribute::EVENKEEL_RUN_QUEUE_BEHIND, cause);
    let mut command = blocked("db", reason::LOCK);
    let yes = AnyValue {
        value: Some(any_value::Value::BoolValue(true)),
    };
    command.push((attribute::EVENKEEL_COMMAND_TREE, yes));
    for (attributes, leaf, value) in [
        (blocked("db", reason::DISK_IO), read, 3 * SECOND),
        (command, lock, SECOND),
        (blocked("db", reason::IDLE), epoll, 90 * SECOND),
        (blocked("worker", reason::IDLE), epoll, 5 * SECOND),
    ] {
        p.sample(OFF_CPU, &HOST, attributes, &[leaf, main], value);
    }
    for (attributes, value) in [
        (ready("db", behind::OTHER), SECOND / 2),
        (ready("db", behind::THROTTLED), SECOND / 20),
        (owner("db", 10), SECOND / 5),
    ] {
        p.sample(RUN_QUEUE, &HOST, attributes, &[main], value);
    }
    p.sample(ON_CPU, &HOST, owner("db", 10), &[main], 1);
    let mut summary = Summary::new(filter, Limits::default());
    summary.add_profiles(&p.finish());
    summary
}

/// The whole recording, as far as `filter` admits it.
pub(crate) fn summary(filter: Filter) -> Summary {
    let mut summary = Summary::new(filter, Limits::default());
    summary.add_profiles(&first_profiles());
    summary.add_metrics(&metrics(0));
    summary.add_profiles(&second_profiles());
    summary.add_metrics(&metrics(1));
    summary
}
