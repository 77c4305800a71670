//! From a process to the names of its run-time code.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use evenkeel_otlp::model::{Frame, FrameType};

use super::ProcessCode;
use crate::{
    identity::ProcessKey,
    symbol::{
        Address, AddressSpace, Batch, ExecutableTable, Location, Symbolizer, SymbolizerSettings,
    },
};

static IDS: AtomicU64 = AtomicU64::new(1);

const TIMEOUT: Duration = Duration::from_secs(60);

/// A process directory that is made up: its user is ours, its id in its namespace is 1, its root
/// has a `/tmp`.
struct FakeProcess {
    directory: tempfile::TempDir,
    key: ProcessKey,
}

impl FakeProcess {
    const PID: u32 = 7;

    fn new(user: u32) -> Self {
        let directory = tempfile::tempdir().expect("temporary directory");
        let process = directory.path().join("7");
        fs::create_dir_all(process.join("root/tmp")).expect("directories");
        fs::write(process.join("maps"), "10000-20000 r-xp 00000000 00:00 0\n").expect("maps");
        fs::write(
            process.join("status"),
            format!("Name:\tx\nUid:\t{user}\t{user}\t{user}\t{user}\nNSpid:\t7\t1\n"),
        )
        .expect("status");
        let own = ProcessKey::current(Path::new("/proc"), std::process::id()).expect("own");
        Self {
            directory,
            key: ProcessKey {
                pid: Self::PID,
                ..own
            },
        }
    }

    fn own() -> Self {
        Self::new(rustix::process::geteuid().as_raw())
    }

    fn map(&self) -> std::path::PathBuf {
        self.directory.path().join("7/root/tmp/perf-1.map")
    }

    fn code(&self) -> Arc<ProcessCode> {
        let mut table = ExecutableTable::new(4, None);
        let space =
            AddressSpace::read(self.directory.path(), Self::PID, &mut table).expect("a space");
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        Arc::new(ProcessCode::new(
            id,
            self.directory.path(),
            self.key,
            &space,
        ))
    }
}

fn frames(symbolizer: &Symbolizer, code: &Arc<ProcessCode>, values: &[u64]) -> Vec<Arc<Frame>> {
    let addresses = values
        .iter()
        .map(|value| Address {
            value: *value,
            is_return: false,
        })
        .collect();
    let batch = Arc::new(Batch {
        run_time: vec![(Arc::clone(code), addresses)],
        ..Batch::default()
    });
    let mut names = symbolizer.symbolize(&batch, TIMEOUT).expect("an answer");
    names.run_time.remove(0)
}

fn name(symbolizer: &Symbolizer, code: &Arc<ProcessCode>, value: u64) -> String {
    let frames = frames(symbolizer, code, &[value]);
    assert_eq!(frames[0].address, value);
    frames[0].lines[0].function.name.to_string()
}

fn symbolizer() -> Symbolizer {
    Symbolizer::start(SymbolizerSettings::new(true)).expect("a thread")
}

/// The map is found by the process's id in its own namespace, below its root, when it appears,
/// while it grows, and after the process has ended; what has no name is a placeholder.
#[test]
fn map_of_a_namespace() {
    let process = FakeProcess::own();
    let (code, symbolizer) = (process.code(), symbolizer());
    assert_eq!(name(&symbolizer, &code, 0x10010), "[jit]");
    fs::write(process.map(), "10000 20 JS:~hot a.js:1:1\n10040 ").expect("write");
    assert_eq!(name(&symbolizer, &code, 0x10010), "hot a.js:1:1");
    assert_eq!(name(&symbolizer, &code, 0x10050), "[jit]");
    let more = "10000 20 JS:~hot a.js:1:1\n10040 20 JS:*cold a.js:2:2\n";
    fs::write(process.map(), more).expect("write");
    // The directory in procfs goes, the root stays.
    fs::rename(
        process.directory.path().join("7/root"),
        process.directory.path().join("elsewhere"),
    )
    .expect("rename");
    fs::remove_dir_all(process.directory.path().join("7")).expect("remove");
    let found = frames(&symbolizer, &code, &[0x10050, 0x10010]);
    assert_eq!(&*found[0].lines[0].function.name, "cold a.js:2:2");
    assert_eq!(found[0].frame_type, Some(FrameType::V8Js));
    assert_eq!(&*found[1].lines[0].function.name, "hot a.js:1:1");
}

/// Maps of another user, of an earlier process, and what is no file or lies outside of the root
/// are not read.
#[test]
fn maps_that_are_refused() {
    let line = "10000 20 impostor\n";
    let symbolizer = symbolizer();
    let refused = |process: &FakeProcess| {
        assert_eq!(name(&symbolizer, &process.code(), 0x10010), "[jit]");
    };
    let foreign = FakeProcess::new(rustix::process::geteuid().as_raw() + 1);
    fs::write(foreign.map(), line).expect("write");
    refused(&foreign);

    let stale = FakeProcess::own();
    fs::write(stale.map(), line).expect("write");
    let before = std::time::SystemTime::now() - Duration::from_secs(86_400 * 400);
    let file = fs::File::options()
        .write(true)
        .open(stale.map())
        .expect("open");
    file.set_modified(before).expect("set the time");
    refused(&stale);

    let outside = FakeProcess::own();
    let elsewhere = outside.directory.path().join("perf-1.map");
    fs::write(&elsewhere, line).expect("write");
    std::os::unix::fs::symlink(&elsewhere, outside.map()).expect("link");
    refused(&outside);

    let pipe = FakeProcess::own();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe.map(),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("mkfifo");
    refused(&pipe);
    assert!(symbolizer.counters().code_maps_refused >= 3);
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Node's own files: a perf map, and a jitdump, which has lines too. Their names are those of the
/// optimized function, wherever in it.
#[test]
fn node() {
    const SCRIPT: &str = "
function hotNode(n) { let s = 0; for (let i = 0; i < n; i++) { s += Math.sqrt(i * i + 1); } return s; }
for (let k = 0; ; k++) {
    hotNode(1e5);
    // V8 writes the dump in blocks, so more code is needed.
    const other = new Function('n', `let s = 0; for (let i = 0; i < n; i++) s += i * ${k}; return s`);
    for (let i = 0; i < 100; i++) other(1000);
}
";
    for options in [
        &["--perf-basic-prof"][..],
        &["--perf-basic-prof", "--perf-prof"],
    ] {
        let directory = tempfile::tempdir().expect("temporary directory");
        fs::write(directory.path().join("hot.js"), SCRIPT).expect("write");
        let started = Command::new("node")
            .args(options)
            .arg("hot.js")
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .spawn();
        let Ok(child) = started else {
            eprintln!("SKIPPED: node does not run here");
            return;
        };
        let pid = child.id();
        let _killed = Killed(child);
        let map = format!("/tmp/perf-{pid}.map");
        let symbolizer = symbolizer();
        let started = Instant::now();
        // V8 compiles the function more than once, in other places, and writes the dump in blocks.
        let (code, frame) = loop {
            assert!(
                started.elapsed() < TIMEOUT,
                "{options:?}: no optimized hotNode"
            );
            thread::sleep(Duration::from_millis(200));
            let text = fs::read_to_string(&map).unwrap_or_default();
            let mut optimized = text.lines().filter(|line| line.contains("JS:*hotNode"));
            let Some(line) = optimized.next_back() else {
                continue;
            };
            let start = line.split(' ').next().expect("a start");
            let address = u64::from_str_radix(start, 16).expect("an address") + 40;
            let mut table = ExecutableTable::new(64, None);
            let key = ProcessKey::current(Path::new("/proc"), pid).expect("running");
            let space = AddressSpace::read(Path::new("/proc"), pid, &mut table).expect("a space");
            assert!(matches!(space.locate(address), Location::Anonymous { .. }));
            let code = Arc::new(ProcessCode::new(1, Path::new("/proc"), key, &space));
            assert_eq!(code.dump.is_some(), options.len() == 2);
            let frame = frames(&symbolizer, &code, &[address]).remove(0);
            let line = &frame.lines[0];
            if line.function.name.starts_with("hotNode") && (code.dump.is_none() || line.line > 0) {
                break (code, frame);
            }
        };
        fs::remove_file(&map).expect("remove the map");
        let line = &frame.lines[0];
        assert_eq!(frame.frame_type, Some(FrameType::V8Js));
        if code.dump.is_some() {
            assert!(line.function.file.ends_with("hot.js"), "{line:?}");
            assert_eq!(line.line, 2);
        }
    }
}
