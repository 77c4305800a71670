//! A window's samples to profiles: names, owners, attributes.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use evenkeel_otlp::model::{
    Attribute, Frame, FrameType, Function, Line, Profile, ProfileGroup, ProfileKind, Resource,
    Sample, ValueType,
};
use evenkeel_semconv::attribute;

use super::{
    cause::{Block, Cause},
    sample_table::{SampleKey, Samples},
    stack::{IDLE, Place, RawFrame, WOKEN_BY},
    wait_reason,
};
use crate::{
    identity::Process,
    signal::workload::ahead_name,
    symbol::{Address, Batch, Executable, Names, ProcessCode, Symbolizer, SymbolizerCounters},
};

const COUNT: ValueType = ValueType {
    name: "samples",
    unit: "count",
};
const CPU: ValueType = ValueType {
    name: "cpu",
    unit: "nanoseconds",
};
const STOLEN: ValueType = ValueType {
    name: "stolen",
    unit: "nanoseconds",
};
const OFF_CPU: ValueType = ValueType {
    name: "off_cpu",
    unit: "nanoseconds",
};
const RUN_QUEUE: ValueType = ValueType {
    name: "run_queue",
    unit: "nanoseconds",
};

/// Longest wait for names. What takes longer (a debug file of a gigabyte) goes on in the
/// background, and the frames have names in a later window.
const PATIENCE: Duration = Duration::from_secs(5);

/// What samples carry.
#[derive(Clone, Debug)]
pub struct AssemblySettings {
    /// Samples a second, which gives the period.
    pub frequency: u64,
    /// Whether samples carry `process.pid`. Backends make a series of each process then.
    pub pids: bool,
    /// Whether there is an `on_cpu` profile.
    pub on_cpu: bool,
    /// Whether there is a `stolen` profile.
    pub stolen: bool,
    /// Whether there is an `off_cpu` profile.
    pub off_cpu: bool,
    /// Whether there is a `run_queue` profile.
    pub run_queue: bool,
    /// Waiting for which one wait is sampled.
    pub wait_period: Duration,
}

/// What samples become.
#[derive(Debug, Default)]
pub struct Assembled {
    /// The profiles, one group an owner.
    pub profiles: Vec<ProfileGroup>,
    /// Blocked nanoseconds by reason (`evenkeel.off_cpu.reason`).
    pub blocked_nanos: BTreeMap<&'static str, u64>,
}

/// Turns samples into profiles.
#[derive(Debug)]
pub struct Assembly {
    settings: AssemblySettings,
    symbolizer: Symbolizer,
    host: Arc<Resource>,
}

impl Assembly {
    /// `host` is the resource of what belongs to no process.
    pub fn new(settings: AssemblySettings, symbolizer: Symbolizer, host: Arc<Resource>) -> Self {
        Self {
            settings,
            symbolizer,
            host,
        }
    }

    /// Takes the resource that it is from now on.
    pub fn set_host(&mut self, host: Arc<Resource>) {
        self.host = host;
    }

    /// What the symbolizer did and holds.
    pub fn symbolizer_counters(&self) -> SymbolizerCounters {
        self.symbolizer.counters()
    }

    /// Stolen time has no sampling distance: its values are sums. Backends want one above zero,
    /// as they name the profile after its type.
    fn stolen_kind() -> ProfileKind {
        ProfileKind {
            sample_type: STOLEN,
            period_type: STOLEN,
            period: 1,
        }
    }

    fn on_cpu_kind(&self) -> ProfileKind {
        ProfileKind {
            sample_type: COUNT,
            period_type: CPU,
            period: i64::try_from(1_000_000_000 / self.settings.frequency.max(1)).unwrap_or(0),
        }
    }

    fn wait_kind(&self, value_type: ValueType) -> ProfileKind {
        ProfileKind {
            sample_type: value_type,
            period_type: value_type,
            period: i64::try_from(self.settings.wait_period.as_nanos()).unwrap_or(i64::MAX),
        }
    }

    /// The profiles of a window. `idle_stolen_nanos` is what was stolen while CPUs were idle.
    pub fn profiles(&self, samples: &Samples, idle_stolen_nanos: u64) -> Assembled {
        let names = FrameNames::look_up(&samples.samples, &self.symbolizer);
        let mut groups: BTreeMap<*const Resource, Group> = BTreeMap::new();
        let mut blocked_nanos = BTreeMap::new();
        let mut attributes = SampleAttributes::new(self.settings.pids);
        let mut stacks: HashMap<*const RawFrame, Arc<[Arc<Frame>]>> = HashMap::new();
        for (key, totals) in &samples.samples {
            let resource = &key.process.owner.resource;
            let group = groups
                .entry(Arc::as_ptr(resource))
                .or_insert_with(|| Group::new(resource));
            let stack = stacks
                .entry(key.stack.as_ptr())
                .or_insert_with(|| names.stack(&key.stack));
            let told = match &key.cause {
                Cause::Running => Told::Nothing,
                Cause::Blocked(block) => {
                    let reason = wait_reason(block, &key.process, stack);
                    *blocked_nanos.entry(reason).or_default() += totals.waited_nanos;
                    let waker = block.waker.as_ref().map(|waker| waker.name().into());
                    Told::Reason(reason, waker)
                }
                Cause::Queued(ahead) => Told::Behind(ahead_name(*ahead)),
            };
            let mut push = |samples: &mut Vec<Sample>, wanted: bool, value: u64| {
                if wanted && value > 0 {
                    samples.push(Sample {
                        stack: stack.clone(),
                        attributes: attributes.of(key, &told),
                        value: i64::try_from(value).unwrap_or(i64::MAX),
                    });
                }
            };
            push(&mut group.on_cpu, self.settings.on_cpu, totals.ticks);
            push(&mut group.stolen, self.settings.stolen, totals.stolen_nanos);
            let waited = totals.waited_nanos;
            match &key.cause {
                Cause::Running => {}
                Cause::Blocked(_) => push(&mut group.off_cpu, self.settings.off_cpu, waited),
                Cause::Queued(_) => push(&mut group.run_queue, self.settings.run_queue, waited),
            }
        }
        if self.settings.stolen && idle_stolen_nanos > 0 {
            groups
                .entry(Arc::as_ptr(&self.host))
                .or_insert_with(|| Group::new(&self.host))
                .stolen
                .push(idle_sample(idle_stolen_nanos));
        }
        let kinds = [
            self.on_cpu_kind(),
            Self::stolen_kind(),
            self.wait_kind(OFF_CPU),
            self.wait_kind(RUN_QUEUE),
        ];
        Assembled {
            profiles: groups
                .into_values()
                .filter_map(|group| group.finish(kinds))
                .collect(),
            blocked_nanos,
        }
    }
}

/// What one owner gets.
struct Group {
    resource: Arc<Resource>,
    on_cpu: Vec<Sample>,
    stolen: Vec<Sample>,
    off_cpu: Vec<Sample>,
    run_queue: Vec<Sample>,
}

impl Group {
    fn new(resource: &Arc<Resource>) -> Self {
        Self {
            resource: resource.clone(),
            on_cpu: Vec::new(),
            stolen: Vec::new(),
            off_cpu: Vec::new(),
            run_queue: Vec::new(),
        }
    }

    /// The profiles of the kinds on-CPU, stolen, off-CPU and run queue.
    fn finish(self, kinds: [ProfileKind; 4]) -> Option<ProfileGroup> {
        let samples = [self.on_cpu, self.stolen, self.off_cpu, self.run_queue];
        let profiles: Vec<_> = kinds
            .into_iter()
            .zip(samples)
            .filter(|(_, samples)| !samples.is_empty())
            .map(|(kind, samples)| Profile { kind, samples })
            .collect();
        (!profiles.is_empty()).then_some(ProfileGroup {
            resource: self.resource,
            profiles,
        })
    }
}

/// The sample of what was stolen from idle CPUs.
fn idle_sample(nanos: u64) -> Sample {
    Sample {
        stack: [Arc::new(marker(IDLE))].into(),
        attributes: [Attribute::new(attribute::PROCESS_EXECUTABLE_NAME, IDLE)].into(),
        value: i64::try_from(nanos).unwrap_or(i64::MAX),
    }
}

/// A frame that is a label.
fn marker(label: &str) -> Frame {
    named(label, 0)
}

/// A frame without a file but with a name.
fn named(name: &str, address: u64) -> Frame {
    Frame {
        mapping: None,
        address,
        lines: vec![Line {
            function: Arc::new(Function {
                name: name.into(),
                ..Function::default()
            }),
            line: 0,
            column: 0,
        }],
        frame_type: None,
    }
}

/// A frame of which only the address is known.
fn unnamed(address: u64) -> Frame {
    Frame {
        mapping: None,
        address,
        lines: Vec::new(),
        frame_type: Some(FrameType::Native),
    }
}

/// What attributes say of a wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Told {
    Nothing,
    /// Why a task was blocked, and who woke it.
    Reason(&'static str, Option<Arc<str>>),
    /// Who had the CPU.
    Behind(&'static str),
}

/// Why a task was blocked.
fn wait_reason(block: &Block, process: &Process, stack: &[Arc<Frame>]) -> &'static str {
    let is_kernel = |frame: &&Arc<Frame>| frame.frame_type == Some(FrameType::Kernel);
    // What woke the task says nothing of why it slept.
    let woken = stack.iter().rposition(|frame| {
        frame
            .lines
            .iter()
            .any(|line| *line.function.name == *WOKEN_BY)
    });
    let stack = &stack[woken.map_or(0, |marker| marker + 1)..];
    let kernel_frames = stack.iter().take_while(is_kernel).count();
    let (kernel, user) = stack.split_at(kernel_frames);
    let names = wait_reason::Names {
        kernel: function_names(kernel),
        user: function_names(user),
    };
    wait_reason::reason(block, process.kernel_thread, &names)
}

/// Names of the functions of some frames, inlined ones first.
fn function_names(frames: &[Arc<Frame>]) -> impl Iterator<Item = &str> + Clone {
    frames
        .iter()
        .flat_map(|frame| frame.lines.iter().map(|line| &*line.function.name))
}

/// A process, by its one `Arc`, a thread name, and what is told of a wait.
type Who = (*const Process, Option<Arc<str>>, Told);

/// The attributes of samples, each list made once.
struct SampleAttributes {
    pids: bool,
    known: HashMap<Who, Arc<[Attribute]>>,
}

impl SampleAttributes {
    fn new(pids: bool) -> Self {
        Self {
            pids,
            known: HashMap::new(),
        }
    }

    fn of(&mut self, key: &SampleKey, told: &Told) -> Arc<[Attribute]> {
        let pids = self.pids;
        self.known
            .entry((Arc::as_ptr(&key.process), key.thread.clone(), told.clone()))
            .or_insert_with(|| {
                let process = &key.process;
                let mut attributes = vec![
                    Attribute::new(
                        attribute::PROCESS_EXECUTABLE_NAME,
                        process.executable_name.clone(),
                    ),
                    Attribute::new(attribute::SERVICE_NAME, process.owner.service_name.clone()),
                ];
                if process.command_tree {
                    attributes.push(Attribute::new(attribute::EVENKEEL_COMMAND_TREE, true));
                }
                if pids && !process.key.is_outside() {
                    attributes.push(Attribute::new(
                        attribute::PROCESS_PID,
                        i64::from(process.key.pid),
                    ));
                }
                if let Some(thread) = &key.thread {
                    attributes.push(Attribute::new(attribute::THREAD_NAME, thread.clone()));
                }
                match told {
                    Told::Nothing => {}
                    Told::Reason(reason, waker) => {
                        attributes
                            .push(Attribute::new(attribute::EVENKEEL_OFF_CPU_REASON, *reason));
                        attributes.extend(waker.as_ref().map(|waker| {
                            Attribute::new(attribute::EVENKEEL_OFF_CPU_WAKER, waker.clone())
                        }));
                    }
                    Told::Behind(ahead) => attributes
                        .push(Attribute::new(attribute::EVENKEEL_RUN_QUEUE_BEHIND, *ahead)),
                }
                attributes.sort();
                attributes.into()
            })
            .clone()
    }
}

/// The frames of one executable or process: what is asked for, and for which raw frame.
type Of<T> = (Arc<T>, Vec<Address>, Vec<RawFrame>);

/// The frames of a window, with names.
struct FrameNames {
    frames: HashMap<RawFrame, Arc<Frame>>,
}

impl FrameNames {
    /// Looks up all distinct frames in one batch.
    fn look_up<V>(samples: &[(SampleKey, V)], symbolizer: &Symbolizer) -> Self {
        let mut frames: HashMap<RawFrame, Arc<Frame>> = HashMap::new();
        let mut user: HashMap<u32, Of<Executable>> = HashMap::new();
        let mut run_time: HashMap<u64, Of<ProcessCode>> = HashMap::new();
        let mut kernel: (Vec<Address>, Vec<RawFrame>) = Default::default();
        let nothing = Arc::new(unnamed(0));
        for raw in samples.iter().flat_map(|(key, _)| key.stack.iter()) {
            if frames.contains_key(raw) {
                continue;
            }
            let mut frame = nothing.clone();
            let address = |value| Address {
                value,
                is_return: !raw.exact,
            };
            match &raw.place {
                Place::Kernel(value) => {
                    kernel.0.push(address(*value));
                    kernel.1.push(raw.clone());
                }
                Place::File(executable, value) => {
                    let (_, addresses, raws) = user
                        .entry(executable.id)
                        .or_insert_with(|| (executable.clone(), Vec::new(), Vec::new()));
                    addresses.push(address(*value));
                    raws.push(raw.clone());
                }
                Place::Anonymous(code, value) => {
                    let (_, addresses, raws) = run_time
                        .entry(code.id)
                        .or_insert_with(|| (code.clone(), Vec::new(), Vec::new()));
                    addresses.push(address(*value));
                    raws.push(raw.clone());
                }
                Place::Special(name, value) => frame = Arc::new(named(name, *value)),
                Place::Unreadable(name, offset) => {
                    frame = Arc::new(named(&format!("{name}+{offset:#x}"), 0));
                }
                Place::Unknown(value) => frame = Arc::new(unnamed(*value)),
                Place::Marker(label) => frame = Arc::new(marker(label)),
            }
            frames.insert(raw.clone(), frame);
        }
        let mut raws = Vec::new();
        let mut batch = Batch {
            kernel: kernel.0,
            ..Batch::default()
        };
        for (executable, addresses, of_executable) in user.into_values() {
            batch.user.push((executable, addresses));
            raws.push(of_executable);
        }
        for (code, addresses, of_process) in run_time.into_values() {
            batch.run_time.push((code, addresses));
            raws.push(of_process);
        }
        let batch = Arc::new(batch);
        let names = symbolizer
            .symbolize(&batch, PATIENCE)
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "A window goes out with fewer names.");
                Names::unnamed(&batch)
            });
        let named = names.user.into_iter().chain(names.run_time).flatten();
        let looked_up = named.chain(names.kernel);
        let asked = raws.into_iter().flatten().chain(kernel.1);
        frames.extend(asked.zip(looked_up));
        Self { frames }
    }

    fn stack(&self, stack: &[RawFrame]) -> Arc<[Arc<Frame>]> {
        stack
            .iter()
            .filter_map(|raw| self.frames.get(raw).cloned())
            .collect()
    }
}
