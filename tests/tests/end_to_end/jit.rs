//! Names of code that was made at run time.

use std::{collections::HashSet, fs, path::PathBuf, process::Command, thread, time::Duration};

use anyhow::{Result, ensure};
use evenkeel_tests::{
    child::{Running, run, wait_until},
    evenkeel::Recording,
    folded::{Stack, processes, sum},
    needs::Need,
    suite::Test,
    workload::repository,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new("jit::node_functions_have_names", NODE, node),
    Test::new("jit::node_in_a_pid_namespace_has_names", NODE, namespace),
    Test::new("jit::without_a_map_callers_stay", NODE, without_map),
    Test::new("jit::java_methods_have_names", JAVA, java),
];

const NODE: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Program("node"),
    Need::Program("unshare"),
];

const JAVA: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Program("java"),
    Need::Program("javac"),
    Need::Program("jcmd"),
];

const LIMIT: Duration = Duration::from_secs(60);

/// Options with which V8 writes a perf map, and interpreted functions have code of their own in it; and functions
/// are not inlined, of which a perf map says nothing.
const PERF: [&str; 3] = [
    "--perf-basic-prof",
    "--interpreted-frames-native-stack",
    "--no-turbo-inlining",
];

fn source(name: &str) -> PathBuf {
    repository().join("examples/workloads").join(name)
}

/// The perf maps of `/tmp`; those that come after are removed with it. Whoever writes one leaves it there.
struct PerfMaps(HashSet<PathBuf>);

impl PerfMaps {
    fn new() -> Self {
        Self(Self::all().collect())
    }

    fn all() -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir("/tmp").into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("perf-") && name.ends_with(".map")
        })
    }
}

impl Drop for PerfMaps {
    fn drop(&mut self) {
        for path in Self::all().filter(|path| !self.0.contains(path)) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Stacks of a process that pass through code made at run time, named or not, and how many samples the
/// process had.
fn record(
    command: &mut Command,
    recording: &mut Recording,
    process: &str,
) -> Result<(Vec<Stack>, u64)> {
    // V8 leaves a log in the folder that it is started in.
    command.current_dir(recording.folder());
    recording.run(command, LIMIT)?;
    let mut stacks = recording.folded("on_cpu")?;
    println!("by process: {}", processes(&stacks));
    stacks.retain(|stack| stack.process == process);
    let whole = sum(&stacks, |_| true);
    ensure!(whole > 100, "too few samples of {process}: {whole}");
    Ok((stacks, whole))
}

/// Fails unless at least `percent` of the samples are in stacks that satisfy `condition`.
fn ensure_share(
    what: &str,
    stacks: &[Stack],
    percent: u64,
    condition: impl Fn(&Stack) -> bool,
) -> Result<()> {
    let (part, whole) = (sum(stacks, &condition), sum(stacks, |_| true));
    println!("{what}: {part} of {whole} samples");
    ensure!(
        part * 100 >= whole * percent,
        "{what}: {part} of {whole} samples, fewer than {percent} %; for example {:?}",
        stacks
            .iter()
            .filter(|stack| !condition(stack))
            .max_by_key(|stack| stack.value)
    );
    Ok(())
}

/// `hotNode` under `outerNode`, both named by function and place, whatever tier they run in.
fn is_hot_node(stack: &Stack) -> bool {
    let place = |frame: &str, function: &str| {
        frame
            .strip_prefix(function)
            .is_some_and(|rest| rest.starts_with(' ') && rest.contains("hot_node.js:"))
    };
    let outer = stack
        .frames
        .iter()
        .position(|frame| place(frame, "outerNode"));
    let hot = stack
        .frames
        .iter()
        .position(|frame| place(frame, "hotNode"));
    matches!((outer, hot), (Some(outer), Some(hot)) if outer < hot)
}

fn node() -> Result<()> {
    let _maps = PerfMaps::new();
    let mut recording = Recording::empty()?;
    let mut command = recording.recorder_command(&["--", "node"])?;
    command.args(PERF).arg(source("hot_node.js")).arg("5");
    let (stacks, _) = record(&mut command, &mut recording, "node")?;
    // Starting takes half a second, and the optimized function has its caller inlined or not.
    ensure_share("hotNode under outerNode", &stacks, 80, is_hot_node)
}

/// The map is called after the process's id in its namespace, 1, and stands in `/tmp` of its root.
fn namespace() -> Result<()> {
    let _maps = PerfMaps::new();
    let mut recording = Recording::empty()?;
    let mut command = recording.recorder_command(&["--"])?;
    command
        .args(["unshare", "--pid", "--fork", "--mount-proc", "node"])
        .args(PERF)
        .arg(source("hot_node.js"))
        .arg("5");
    let (stacks, _) = record(&mut command, &mut recording, "node")?;
    ensure_share("hotNode under outerNode", &stacks, 80, is_hot_node)
}

/// Without a map, frames of such code are placeholders, and what called it is still there.
fn without_map() -> Result<()> {
    let mut recording = Recording::empty()?;
    let mut command = recording.recorder_command(&["--", "node"])?;
    command.arg(source("hot_node.js")).arg("5");
    let (stacks, whole) = record(&mut command, &mut recording, "node")?;
    ensure_share("placeholders with callers", &stacks, 80, |stack| {
        let first = stack.frames.iter().position(|frame| frame == "[jit]");
        let is_marker = |frame: &String| frame.starts_with('[');
        first.is_some_and(|first| !stack.frames[..first].iter().all(is_marker))
    })?;
    let named = sum(&stacks, is_hot_node);
    ensure!(named == 0, "{named} of {whole} samples named by nothing");
    Ok(())
}

/// HotSpot's map is written when it is asked for.
fn java() -> Result<()> {
    let _maps = PerfMaps::new();
    let mut recording = Recording::empty()?;
    let classes = recording.folder().to_owned();
    let mut compiler = Command::new("javac");
    compiler.arg("-d").arg(&classes).arg(source("HotJava.java"));
    run(&mut compiler, LIMIT)?.succeeded()?;
    let java = Running::start(
        Command::new("java")
            .args(["-XX:+PreserveFramePointer", "-cp"])
            .arg(&classes)
            .args(["HotJava", "30"]),
    )?;
    let pid = java.pid().to_string();
    // By then the method is compiled.
    thread::sleep(Duration::from_secs(3));
    wait_until("a perf map", LIMIT, || {
        let jcmd = run(Command::new("jcmd").args([&pid, "Compiler.perfmap"]), LIMIT)?;
        Ok(jcmd.code() == Some(0))
    })?;
    let mut command = recording.recorder_command(&["--duration", "5s"])?;
    let (stacks, _) = record(&mut command, &mut recording, "java")?;
    drop(java);
    ensure_share("HotJava.hotJava", &stacks, 80, |stack| {
        stack.has_frame(|frame| frame == "int HotJava.hotJava(int)")
    })
}
