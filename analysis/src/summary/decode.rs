//! Profiles of a recording, read from OTLP.

use std::collections::HashMap;

use evenkeel_otlp::view::{BuildId, FrameView, ProfileView, ProfilesView, SampleView};
use evenkeel_semconv::attribute::{self, value};
use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;

use super::{
    Attributes, CauseKind, Frame, FrameId, FrameKind, Function, Line, Mapping, NodeId, Owner,
    OwnerId, Profile, Stacks, Summary, TextId, Value, ValueType, Verdict,
};

/// Distinct profile names; ours are a dozen. Further ones are counted as malformed.
const MAX_PROFILES: usize = 64;

/// A stack deeper than this is cut at the root: no walker of ours goes further.
const MAX_DEPTH: usize = 4096;

/// The name of the process of samples that no attribute names.
const UNKNOWN_PROCESS: &str = "[unknown]";

/// The name of owners beyond the bound.
const OTHER_OWNER: &str = "[other]";

/// What was already looked up in one request's dictionary. `None` marks what does not fit.
#[derive(Default)]
struct Seen {
    frames: HashMap<i32, Option<FrameId>>,
    stacks: HashMap<i32, Stack>,
}

#[derive(Clone, Copy)]
struct Stack {
    node: NodeId,
    whole: bool,
}

/// What was decided about one combination of resource and sample attributes.
#[derive(Clone, Copy)]
enum Decision {
    Refused,
    Idle,
    Admitted(Admitted),
}

/// Whose a sample is, and why.
#[derive(Clone, Copy)]
struct Admitted {
    owner: OwnerId,
    command: bool,
    process: TextId,
    pid: Option<i64>,
    cause: Option<(CauseKind, TextId)>,
    fits: bool,
}

impl Summary {
    /// Adds a request of profiles.
    pub fn add_profiles(&mut self, request: &ExportProfilesServiceRequest) {
        let mut seen = Seen::default();
        for profile in ProfilesView::new(request).profiles() {
            self.add_profile(profile, &mut seen);
        }
    }

    fn add_profile(&mut self, view: ProfileView<'_>, seen: &mut Seen) {
        let value_type = |name: &str, unit: &str| ValueType {
            name: name.to_owned(),
            unit: unit.to_owned(),
        };
        let sample_type = value_type(view.sample_type().name, view.sample_type().unit);
        let period_type = value_type(view.period_type().name, view.period_type().unit);
        let name = match (sample_type.name.as_str(), sample_type.unit.as_str()) {
            ("samples", "count") => value::evenkeel_signal_name::ON_CPU.to_owned(),
            (name, _) => name.to_owned(),
        };
        let span = view.span();
        self.add_window(span.start_unix_nanos, span.duration_nanos);
        let resource = Attributes::from(view.resource());
        // Taken out, so that stacks and owners can be added while it grows.
        let mut profile = match self.profiles.remove(&name) {
            Some(profile) if profile.sample_type == sample_type => profile,
            Some(other) => {
                self.overflow.malformed += 1;
                self.profiles.insert(name, other);
                return;
            }
            None if name.is_empty() || self.profiles.len() >= MAX_PROFILES => {
                self.overflow.malformed += 1;
                return;
            }
            None => Profile::new(sample_type, period_type),
        };
        if profile.period == 0 {
            profile.period = view.period();
        }
        let before = profile.total;
        let mut decisions = HashMap::new();
        for sample in view.samples() {
            self.add_sample(view, sample, &resource, &mut profile, seen, &mut decisions);
        }
        let limit = self.limits.windows;
        if profile.windows.len() < limit || profile.windows.contains_key(&span.start_unix_nanos) {
            let window = profile.windows.entry(span.start_unix_nanos).or_default();
            window.duration = window.duration.max(span.duration_nanos);
            window.value = window.value.saturating_add(profile.total - before);
        }
        self.profiles.insert(name, profile);
        // Only describes the host where no metric does: beyond the bound nothing is missed.
        self.resource_index(resource);
    }

    fn add_sample(
        &mut self,
        view: ProfileView<'_>,
        sample: SampleView<'_>,
        resource: &Attributes,
        profile: &mut Profile,
        seen: &mut Seen,
        decisions: &mut HashMap<Vec<(String, Value)>, Decision>,
    ) {
        let value = sample.value();
        if value <= 0 {
            self.overflow.malformed += u64::from(value < 0);
            return;
        }
        self.unfiltered_samples += 1;
        let attributes = Attributes::from(sample.attributes());
        let key = attributes
            .iter()
            .map(|(key, value)| (key.to_owned(), value.clone()))
            .collect::<Vec<_>>();
        let decision = match decisions.get(&key) {
            Some(known) => *known,
            None => {
                let decision = match self.filter.judge(&attributes, resource) {
                    Verdict::Refused => Decision::Refused,
                    Verdict::Idle => Decision::Idle,
                    Verdict::Admitted => Decision::Admitted(self.decide(&attributes, resource)),
                };
                decisions.insert(key, decision);
                decision
            }
        };
        let decision = match decision {
            Decision::Refused => return,
            Decision::Idle => return profile.causes.leave_out(value),
            Decision::Admitted(decision) => decision,
        };
        let stack = self.stack(sample, seen);
        let fallback = self
            .stacks
            .node(NodeId::ROOT, Stacks::OTHER)
            .unwrap_or(NodeId::ROOT);
        let fits = profile.add(
            &self.limits,
            (stack.node, decision.owner),
            fallback,
            value,
            view.period(),
        );
        profile.add_process(&self.limits, decision.process, decision.pid, value);
        profile.causes.add(decision.command, decision.cause, value);
        self.overflow.samples += u64::from(!fits || !stack.whole);
        self.overflow.owners += u64::from(!decision.fits);
    }

    fn decide(&mut self, sample: &Attributes, resource: &Attributes) -> Admitted {
        let text = |key| sample.text(key).or_else(|| resource.text(key));
        let process = text(attribute::PROCESS_EXECUTABLE_NAME)
            .or_else(|| text(attribute::THREAD_NAME))
            .unwrap_or_else(|| UNKNOWN_PROCESS.to_owned());
        let flag = |key| match sample.get(key).or_else(|| resource.get(key)) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Text(text)) => text == "true",
            _ => false,
        };
        let command = flag(attribute::EVENKEEL_COMMAND_TREE);
        let pid = match sample
            .get(attribute::PROCESS_PID)
            .or_else(|| resource.get(attribute::PROCESS_PID))
        {
            Some(Value::Int(pid)) => Some(*pid),
            Some(Value::Text(text)) => text.parse().ok(),
            _ => None,
        };
        let fits = self.owners.len() < self.limits.owners;
        let owner = if fits {
            Owner {
                process: self.stacks.text(&process),
                service: self
                    .stacks
                    .text(&text(attribute::SERVICE_NAME).unwrap_or_default()),
                container: self
                    .stacks
                    .text(&text(attribute::CONTAINER_ID).unwrap_or_default()),
                command,
            }
        } else {
            let other = self.stacks.text(OTHER_OWNER);
            Owner {
                process: other,
                service: TextId::default(),
                container: TextId::default(),
                command,
            }
        };
        // At most two owners `[other]` come on top of the bound.
        let (index, _) = self.owners.insert_full(owner);
        let cause = CauseKind::of(sample).map(|(kind, text)| (kind, self.stacks.text(&text)));
        Admitted {
            owner: OwnerId(index as u32),
            command,
            process: owner.process,
            pid,
            cause,
            fits,
        }
    }

    /// The node of a sample's stack, root side first, as far as it fits.
    fn stack(&mut self, sample: SampleView<'_>, seen: &mut Seen) -> Stack {
        if let Some(known) = seen.stacks.get(&sample.stack_index()) {
            return *known;
        }
        let depth = sample.frames().len();
        let mut stack = Stack {
            node: NodeId::ROOT,
            whole: depth <= MAX_DEPTH,
        };
        for view in sample.frames().rev().skip(depth.saturating_sub(MAX_DEPTH)) {
            let frame = self.frame(view, seen).unwrap_or_else(|| {
                stack.whole = false;
                Stacks::OTHER
            });
            match self.stacks.node(stack.node, frame) {
                Some(node) => stack.node = node,
                None => {
                    stack.whole = false;
                    break;
                }
            }
        }
        seen.stacks.insert(sample.stack_index(), stack);
        stack
    }

    fn frame(&mut self, view: FrameView<'_>, seen: &mut Seen) -> Option<FrameId> {
        if let Some(known) = seen.frames.get(&view.index()) {
            return *known;
        }
        let frame = read_frame(&mut self.stacks, view);
        let id = self.stacks.frame(frame);
        seen.frames.insert(view.index(), id);
        id
    }
}

fn read_frame(stacks: &mut Stacks, view: FrameView<'_>) -> Frame {
    let kind = match view.frame_type() {
        Some(value::profile_frame_type::KERNEL) => FrameKind::Kernel,
        Some(value::profile_frame_type::NATIVE) => FrameKind::Native,
        Some(other) => FrameKind::Language(stacks.text(other)),
        // Other senders leave the type out; only a frame without a place is a marker.
        None if view.segment().is_some() || view.address() != 0 => FrameKind::Native,
        None => FrameKind::Marker,
    };
    let mapping = view.segment().map(|(start, limit, file_offset)| {
        let build_id = [BuildId::Gnu, BuildId::Go, BuildId::Htlhash]
            .into_iter()
            .find_map(|kind| view.build_id(kind))
            .unwrap_or_default();
        Mapping {
            start,
            limit,
            file_offset,
            filename: stacks.text(view.module()),
            build_id: stacks.text(build_id),
        }
    });
    let lines = view
        .lines()
        .filter(|line| !line.function().is_empty())
        .map(|line| Line {
            function: Function {
                name: stacks.text(line.function()),
                system_name: stacks.text(line.system_name()),
                file: stacks.text(line.file()),
            },
            line: u32::try_from(line.line()).unwrap_or(0),
        })
        .collect();
    Frame {
        mapping,
        address: view.address(),
        lines,
        kind,
    }
}
