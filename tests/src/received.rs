//! OTLP as it was received: a recording, or what a Collector's file exporter wrote.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context as _, Result, bail, ensure};
use evenkeel_otlp::{
    histogram::ExponentialHistogram,
    invariants::{Origin, check_metrics, check_profiles},
    recording::{self, Source},
    view::{MetricsView, PointValueView, ProfileView, ProfilesView, SampleView, ValueRef},
};
use evenkeel_semconv::{
    MetricDescriptor,
    attribute::{EVENKEEL_COMMAND_TREE, PROCESS_EXECUTABLE_NAME, SERVICE_NAME},
};
use opentelemetry_proto::tonic::collector::{
    metrics::v1::ExportMetricsServiceRequest, profiles::v1development::ExportProfilesServiceRequest,
};

use crate::evenkeel::Recording;

/// Most complaints that are worth reading at once.
const SHOWN: usize = 20;

/// All requests, in the order they were received.
#[derive(Clone, Debug)]
pub struct Received {
    origin: Origin,
    /// Profiles.
    pub profiles: Vec<ExportProfilesServiceRequest>,
    /// Metrics.
    pub metrics: Vec<ExportMetricsServiceRequest>,
}

/// A span of time in Unix nanoseconds, half open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First instant.
    pub start: u64,
    /// First instant behind it.
    pub end: u64,
}

impl Span {
    /// Its length.
    #[expect(
        clippy::cast_precision_loss,
        reason = "spans of hours in nanoseconds fit 53 bits"
    )]
    pub fn seconds(self) -> f64 {
        self.end.saturating_sub(self.start) as f64 / 1e9
    }
}

/// What tests ask of a sample.
#[derive(Debug)]
pub struct Sample<'a> {
    /// `process.executable.name`, of the sample or its resource.
    pub process: Option<&'a str>,
    /// Whether it belongs to the recorded command.
    pub in_command_tree: bool,
    /// The value in the profile's unit.
    pub value: i64,
    /// ELF virtual addresses, leaf first.
    pub addresses: Vec<u64>,
    profile: ProfileView<'a>,
    view: SampleView<'a>,
}

impl<'a> Sample<'a> {
    fn new(profile: ProfileView<'a>, view: SampleView<'a>) -> Self {
        let mut sample = Self {
            process: None,
            in_command_tree: false,
            value: view.value(),
            addresses: view.frames().map(|frame| frame.address()).collect(),
            profile,
            view,
        };
        sample.process = sample.attribute(PROCESS_EXECUTABLE_NAME);
        let marked = view.attributes().get(EVENKEEL_COMMAND_TREE);
        sample.in_command_tree = marked == Some(ValueRef::Bool(true));
        sample
    }

    /// The window that it is of.
    pub fn span(&self) -> Span {
        span_of(self.profile)
    }

    /// Whether it has a frame of the program itself.
    pub fn has_user_frames(&self) -> bool {
        let kernel = Some(evenkeel_semconv::attribute::value::profile_frame_type::KERNEL);
        let mut frames = self.view.frames();
        frames.any(|frame| frame.frame_type().is_some() && frame.frame_type() != kernel)
    }

    /// The distance of samples in the unit of the profile's period.
    pub fn period(&self) -> i64 {
        self.profile.period()
    }

    /// The names of its functions, inlined ones too, leaf first.
    pub fn functions(&self) -> Vec<&'a str> {
        let frames = self.view.frames();
        frames
            .flat_map(|frame| frame.lines().map(|line| line.function()))
            .collect()
    }

    /// A number among the attributes of the sample.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.view.attributes().get(name)?.as_int()
    }

    /// A text attribute of the sample or, failing that, of its resource.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        let of_resource = || self.profile.resource().text(name);
        self.view.attributes().text(name).or_else(of_resource)
    }

    /// Whether it says which executable ran, and of which service.
    pub fn has_executable_and_service(&self) -> bool {
        [PROCESS_EXECUTABLE_NAME, SERVICE_NAME]
            .iter()
            .all(|name| self.attribute(name).is_some_and(|value| !value.is_empty()))
    }
}

fn span_of(profile: ProfileView<'_>) -> Span {
    let span = profile.span();
    Span {
        start: span.start_unix_nanos,
        end: span.start_unix_nanos.saturating_add(span.duration_nanos),
    }
}

/// A distribution over everything that was recorded.
#[derive(Clone, Copy, Debug)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Their sum in the metric's unit.
    pub sum: f64,
    /// Lower bound of the highest bucket that holds a value: the largest value is above it.
    pub highest_lower_bound: f64,
    /// Upper bound of that bucket: no value is above it.
    pub highest_bound: f64,
}

/// The attributes that tell one series from another, as text.
type Series = Vec<String>;

impl Received {
    /// Reads a recording made by `evenkeel record`.
    pub fn from_recording(recording: &Recording) -> Result<Self> {
        Self::from_file(&recording.path())
    }

    /// Reads a recording, or what a Collector's file exporter wrote.
    pub fn from_file(path: &Path) -> Result<Self> {
        let recording = recording::open(path).with_context(|| path.display().to_string())?;
        let origin = match recording.source() {
            Source::Evenkeel => Origin::Evenkeel,
            Source::CollectorJson | Source::CollectorProto => Origin::Collector,
        };
        let mut received = Self {
            origin,
            profiles: Vec::new(),
            metrics: Vec::new(),
        };
        for window in recording {
            let window = window.with_context(|| path.display().to_string())?;
            received.profiles.extend(window.profiles);
            received.metrics.extend(window.metrics);
        }
        Ok(received)
    }

    /// Every profile whose sample type is `kind`.
    fn each_profile<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = ProfileView<'a>> {
        self.profiles
            .iter()
            .flat_map(|request| ProfilesView::new(request).profiles())
            .filter(move |profile| profile.sample_type().name == kind)
    }

    /// Hands over every sample of the profiles whose sample type is `kind`.
    pub fn each_sample(&self, kind: &str, mut take: impl FnMut(&Sample<'_>)) {
        for profile in self.each_profile(kind) {
            for sample in profile.samples() {
                take(&Sample::new(profile, sample));
            }
        }
    }

    /// The sum of all values of a kind of profile, 0 without one.
    #[expect(
        clippy::cast_precision_loss,
        reason = "sums of hours in nanoseconds fit 53 bits"
    )]
    pub fn profile_total(&self, kind: &str) -> f64 {
        let mut total = 0;
        self.each_sample(kind, |sample| total += sample.value);
        total as f64
    }

    /// The spans of the windows that have a profile of `kind`, each once, in order.
    pub fn windows(&self, kind: &str) -> Vec<Span> {
        let mut spans: Vec<Span> = self.each_profile(kind).map(span_of).collect();
        spans.sort_unstable();
        spans.dedup();
        spans
    }

    /// From the start of the first window with a profile of `kind` to the end of the last.
    pub fn profiled_span(&self, kind: &str) -> Result<Span> {
        let windows = self.windows(kind);
        let first = windows
            .first()
            .with_context(|| format!("no profile of {kind}"))?;
        let end = windows
            .iter()
            .map(|span| span.end)
            .max()
            .unwrap_or(first.end);
        Ok(Span {
            start: first.start,
            end,
        })
    }

    /// The last value of each series of a cumulative metric (or of each gauge), by its attributes.
    fn last_values<'a>(&'a self, descriptor: &MetricDescriptor) -> BTreeMap<Series, LastPoint<'a>> {
        let mut last = BTreeMap::<Series, LastPoint<'a>>::new();
        for request in &self.metrics {
            for metric in MetricsView::new(request).metrics() {
                if metric.name() != descriptor.name {
                    continue;
                }
                for point in metric.points() {
                    let text = |(name, value): (&str, ValueRef<'_>)| format!("{name}={value}");
                    let mut series: Series = metric.resource().iter().map(text).collect();
                    series.sort_unstable();
                    let mut own: Vec<String> = point.attributes().iter().map(text).collect();
                    own.sort_unstable();
                    series.extend(own.iter().cloned());
                    let found = LastPoint {
                        time: point.time_unix_nanos,
                        attributes: own,
                        value: point.value,
                    };
                    let slot = last.entry(series).or_insert_with(|| found.clone());
                    if slot.time <= found.time {
                        *slot = found;
                    }
                }
            }
        }
        last
    }

    /// The instants at which a metric has points, each once, in order.
    pub fn point_times(&self, descriptor: &MetricDescriptor) -> Vec<u64> {
        let mut times: Vec<u64> = self
            .metrics
            .iter()
            .flat_map(|request| MetricsView::new(request).metrics())
            .filter(|metric| metric.name() == descriptor.name)
            .flat_map(|metric| metric.points())
            .map(|point| point.time_unix_nanos)
            .collect();
        times.sort_unstable();
        times.dedup();
        times
    }

    /// The sums of the values of the series of a numeric metric that have all of `attributes`, at each
    /// instant at which the metric has points, in order.
    pub fn sums(
        &self,
        descriptor: &MetricDescriptor,
        attributes: &[(&str, &str)],
    ) -> Result<Vec<f64>> {
        let mut sums = BTreeMap::new();
        let metrics = self
            .metrics
            .iter()
            .flat_map(|request| MetricsView::new(request).metrics())
            .filter(|metric| metric.name() == descriptor.name);
        for point in metrics.flat_map(|metric| metric.points()) {
            let sum = sums.entry(point.time_unix_nanos).or_insert(0.0);
            let has = |(name, value): &(&str, &str)| point.attributes().text(name) == Some(*value);
            if attributes.iter().all(has) {
                *sum += number(&point.value, descriptor)?;
            }
        }
        Ok(sums.into_values().collect())
    }

    /// From where the series of a cumulative metric began to their last points.
    pub fn counted_span(&self, descriptor: &MetricDescriptor) -> Result<Span> {
        let mut spans = Vec::new();
        for request in &self.metrics {
            for metric in MetricsView::new(request).metrics() {
                if metric.name() == descriptor.name {
                    spans.extend(metric.points().into_iter().map(|point| Span {
                        start: point.start_unix_nanos,
                        end: point.time_unix_nanos,
                    }));
                }
            }
        }
        let start = spans.iter().map(|span| span.start).min();
        let end = spans.iter().map(|span| span.end).max();
        let (start, end) = start
            .zip(end)
            .with_context(|| format!("no metric {}", descriptor.name))?;
        Ok(Span { start, end })
    }

    /// The sum of the last values of the series of a metric that have all of `attributes`; the value of a
    /// distribution is its count. An error if there is no such metric at all; 0 if it has no such series.
    pub fn last_sum(
        &self,
        descriptor: &MetricDescriptor,
        attributes: &[(&str, &str)],
    ) -> Result<f64> {
        let values = self.last_values(descriptor);
        ensure!(!values.is_empty(), "no metric {}", descriptor.name);
        let wanted: Vec<String> = attributes
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut sum = 0.0;
        for point in values.values() {
            if wanted
                .iter()
                .all(|wanted| point.attributes.contains(wanted))
            {
                sum += number(&point.value, descriptor)?;
            }
        }
        Ok(sum)
    }

    /// What the series of a cumulative metric that have all of `attributes` grew by, from the first points of
    /// the metric to its last; the value of a distribution is its count. A series that began after the first has grown by all that it has.
    pub fn growth(
        &self,
        descriptor: &MetricDescriptor,
        attributes: &[(&str, &str)],
    ) -> Result<f64> {
        let begin = self.point_times(descriptor).first().copied();
        let begin = begin.with_context(|| format!("no metric {}", descriptor.name))?;
        let mut before = 0.0;
        for request in &self.metrics {
            for metric in MetricsView::new(request).metrics() {
                let first = metric.points().into_iter().filter(|point| {
                    let own = point.attributes();
                    let has = |(name, value): &(&str, &str)| own.text(name) == Some(*value);
                    point.time_unix_nanos == begin && attributes.iter().all(has)
                });
                if metric.name() == descriptor.name {
                    for point in first {
                        before += number(&point.value, descriptor)?;
                    }
                }
            }
        }
        Ok(self.last_sum(descriptor, attributes)? - before)
    }

    /// Whether a metric has a series with all of `attributes`.
    pub fn has_series(&self, descriptor: &MetricDescriptor, attributes: &[(&str, &str)]) -> bool {
        self.last_values(descriptor).values().any(|point| {
            attributes
                .iter()
                .all(|(name, value)| point.attributes.contains(&format!("{name}={value}")))
        })
    }

    /// The last distributions of the series of a histogram that have all of `attributes`, merged; `None`
    /// without one.
    pub fn histogram(
        &self,
        descriptor: &MetricDescriptor,
        attributes: &[(&str, &str)],
    ) -> Result<Option<ExponentialHistogram>> {
        let wanted: Vec<String> = attributes
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut merged: Option<ExponentialHistogram> = None;
        for point in self.last_values(descriptor).into_values() {
            if !wanted
                .iter()
                .all(|wanted| point.attributes.contains(wanted))
            {
                continue;
            }
            let PointValueView::Exponential(histogram) = point.value else {
                bail!("{} is not an exponential histogram", descriptor.name);
            };
            match &mut merged {
                None => merged = Some(histogram),
                Some(merged) => merged.merge(&histogram),
            }
        }
        Ok(merged)
    }

    /// The last distributions of all series of a histogram, merged, with all their buckets.
    pub fn last_buckets(&self, descriptor: &MetricDescriptor) -> Result<ExponentialHistogram> {
        let mut merged: Option<ExponentialHistogram> = None;
        for point in self.last_values(descriptor).into_values() {
            let PointValueView::Exponential(histogram) = point.value else {
                bail!("{} is not an exponential histogram", descriptor.name);
            };
            match &mut merged {
                None => merged = Some(histogram),
                Some(merged) => merged.merge(&histogram),
            }
        }
        merged.with_context(|| format!("no metric {}", descriptor.name))
    }

    /// The last distributions of all series of a histogram, merged.
    pub fn last_histogram(&self, descriptor: &MetricDescriptor) -> Result<Distribution> {
        let merged = self.last_buckets(descriptor)?;
        let highest = merged.buckets().last().map(|(index, _)| index);
        let bound = |index| ExponentialHistogram::bound(merged.scale, index);
        Ok(Distribution {
            count: merged.count(),
            sum: merged.sum,
            highest_lower_bound: highest.map_or(0.0, bound),
            highest_bound: highest.map_or(0.0, |index| bound(index + 1)),
        })
    }

    /// Fails unless every request keeps the rules of OTLP, of the backends and of the registry, and profiles
    /// that a Collector passed on keep them all the same.
    pub fn check(&self) -> Result<()> {
        let profiles = self
            .profiles
            .iter()
            .flat_map(|request| check_profiles(request, self.origin));
        let metrics = self.metrics.iter().flat_map(check_metrics);
        let mut complaints: Vec<String> = profiles
            .chain(metrics)
            .map(|violation| violation.to_string())
            .collect();
        complaints.sort_unstable();
        complaints.dedup();
        ensure!(
            complaints.is_empty(),
            "{} rules are broken, among them\n  {}",
            complaints.len(),
            complaints[..complaints.len().min(SHOWN)].join("\n  ")
        );
        Ok(())
    }
}

#[derive(Clone, Debug)]
struct LastPoint<'a> {
    time: u64,
    attributes: Vec<String>,
    value: PointValueView<'a>,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a test are far below 2^53"
)]
fn number(value: &PointValueView<'_>, descriptor: &MetricDescriptor) -> Result<f64> {
    match value {
        PointValueView::Int(number) => Ok(*number as f64),
        PointValueView::Double(number) => Ok(*number),
        PointValueView::Exponential(histogram) => Ok(histogram.count() as f64),
        PointValueView::Explicit(_) => bail!("{} is a histogram", descriptor.name),
    }
}
