//! Messages to windows by the time they are about.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::{
    collector::{
        metrics::v1::ExportMetricsServiceRequest,
        profiles::v1development::ExportProfilesServiceRequest,
    },
    metrics::v1::{Metric, metric::Data},
};

use crate::{json::Request, model::Span, recording::RecordedWindow};

/// Length of a window of metrics when nothing in the file tells: our default.
const DEFAULT_DURATION: u64 = 10_000_000_000;

/// Times that one message is split into: each costs a copy of it. Beyond, it is kept whole with its
/// latest.
const MAX_SPLITS: usize = 64;

/// The times to split a message into, and the last one, which takes what is left.
fn splits<T: Ord>(times: BTreeSet<T>) -> (Vec<T>, Option<T>) {
    let mut times: Vec<T> = times.into_iter().collect();
    let last = times.pop();
    if times.len() >= MAX_SPLITS {
        times.clear();
    }
    (times, last)
}

/// Requests by time; a request that is about several is split.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    /// By start and duration.
    profiles: BTreeMap<(u64, u64), Vec<ExportProfilesServiceRequest>>,
    /// By the time of their points.
    metrics: BTreeMap<u64, Vec<ExportMetricsServiceRequest>>,
}

impl Grouping {
    pub(super) fn add(&mut self, request: Request) {
        match request {
            Request::Profiles(request) => self.add_profiles(request),
            Request::Metrics(request) => self.add_metrics(request),
        }
    }

    fn add_profiles(&mut self, request: ExportProfilesServiceRequest) {
        let spans: BTreeSet<(u64, u64)> = request
            .resource_profiles
            .iter()
            .flat_map(|group| &group.scope_profiles)
            .flat_map(|scope| &scope.profiles)
            .map(|profile| (profile.time_unix_nano, profile.duration_nano))
            .collect();
        let whole = spans.len() == 1 || spans.len() > MAX_SPLITS;
        let (spans, last) = splits(spans);
        let mut keep = |span: (u64, u64), mut request: ExportProfilesServiceRequest| {
            if whole {
                self.profiles.entry(span).or_default().push(request);
                return;
            }
            request.resource_profiles.retain_mut(|group| {
                group.scope_profiles.retain_mut(|scope| {
                    scope
                        .profiles
                        .retain(|profile| (profile.time_unix_nano, profile.duration_nano) == span);
                    !scope.profiles.is_empty()
                });
                !group.scope_profiles.is_empty()
            });
            self.profiles.entry(span).or_default().push(request);
        };
        for span in spans {
            keep(span, request.clone());
        }
        if let Some(span) = last {
            keep(span, request);
        }
    }

    fn add_metrics(&mut self, request: ExportMetricsServiceRequest) {
        let mut times = BTreeSet::new();
        for metric in request
            .resource_metrics
            .iter()
            .flat_map(|group| &group.scope_metrics)
            .flat_map(|scope| &scope.metrics)
        {
            point_times(metric, &mut times);
        }
        let whole = times.len() == 1 || times.len() > MAX_SPLITS;
        let (times, last) = splits(times);
        let mut keep = |time: u64, mut request: ExportMetricsServiceRequest| {
            if whole {
                self.metrics.entry(time).or_default().push(request);
                return;
            }
            request.resource_metrics.retain_mut(|group| {
                group.scope_metrics.retain_mut(|scope| {
                    scope.metrics.retain_mut(|metric| keep_points(metric, time));
                    !scope.metrics.is_empty()
                });
                !group.scope_metrics.is_empty()
            });
            self.metrics.entry(time).or_default().push(request);
        };
        for time in times {
            keep(time, request.clone());
        }
        if let Some(time) = last {
            keep(time, request);
        }
    }

    /// The windows in the order of their start.
    pub(super) fn finish(self) -> Vec<RecordedWindow> {
        let Self {
            profiles,
            mut metrics,
        } = self;
        let mut windows = Vec::new();
        for ((start, duration), requests) in profiles {
            let end = start.saturating_add(duration);
            windows.push(RecordedWindow {
                span: Span {
                    start_unix_nanos: start,
                    duration_nanos: duration.max(1),
                },
                sequence: 0,
                profiles: requests,
                // Two hosts whose windows end in the same nanosecond: the first takes both.
                metrics: metrics.remove(&end).unwrap_or_default(),
            });
        }
        let duration = windows
            .first()
            .map_or(DEFAULT_DURATION, |window| window.span.duration_nanos);
        let mut ends: BTreeSet<u64> = windows
            .iter()
            .map(|w| {
                w.span
                    .start_unix_nanos
                    .saturating_add(w.span.duration_nanos)
            })
            .collect();
        ends.extend(metrics.keys());
        for (time, requests) in metrics {
            let before = ends.range(..time).next_back();
            let start = match before {
                Some(&before) => before,
                None => time.saturating_sub(duration),
            };
            windows.push(RecordedWindow {
                span: Span {
                    start_unix_nanos: start,
                    duration_nanos: (time - start).max(1),
                },
                sequence: 0,
                profiles: Vec::new(),
                metrics: requests,
            });
        }
        windows.sort_by_key(|window| (window.span.start_unix_nanos, window.span.duration_nanos));
        for (window, sequence) in windows.iter_mut().zip(0..) {
            window.sequence = sequence;
        }
        windows
    }
}

fn point_times(metric: &Metric, times: &mut BTreeSet<u64>) {
    match &metric.data {
        Some(Data::Gauge(data)) => times.extend(data.data_points.iter().map(|p| p.time_unix_nano)),
        Some(Data::Sum(data)) => times.extend(data.data_points.iter().map(|p| p.time_unix_nano)),
        Some(Data::Histogram(data)) => {
            times.extend(data.data_points.iter().map(|p| p.time_unix_nano));
        }
        Some(Data::ExponentialHistogram(data)) => {
            times.extend(data.data_points.iter().map(|p| p.time_unix_nano));
        }
        Some(Data::Summary(data)) => {
            times.extend(data.data_points.iter().map(|p| p.time_unix_nano));
        }
        None => {}
    }
}

/// Keeps the points of that time; `false` when none are left.
fn keep_points(metric: &mut Metric, time: u64) -> bool {
    match &mut metric.data {
        Some(Data::Gauge(data)) => {
            data.data_points.retain(|p| p.time_unix_nano == time);
            !data.data_points.is_empty()
        }
        Some(Data::Sum(data)) => {
            data.data_points.retain(|p| p.time_unix_nano == time);
            !data.data_points.is_empty()
        }
        Some(Data::Histogram(data)) => {
            data.data_points.retain(|p| p.time_unix_nano == time);
            !data.data_points.is_empty()
        }
        Some(Data::ExponentialHistogram(data)) => {
            data.data_points.retain(|p| p.time_unix_nano == time);
            !data.data_points.is_empty()
        }
        Some(Data::Summary(data)) => {
            data.data_points.retain(|p| p.time_unix_nano == time);
            !data.data_points.is_empty()
        }
        None => false,
    }
}
