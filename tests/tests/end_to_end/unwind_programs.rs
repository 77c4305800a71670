//! Stacks of programs that people run: do they reach the start of the thread?

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path, time::Duration};

use anyhow::{Context as _, Result, ensure};
use evenkeel_tests::{
    evenkeel::Recording, folded::Stack, needs::Need, procfs::wait_until_quiet, suite::Test,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "unwind_programs::native_stacks_are_whole",
        NATIVE_NEEDS,
        native,
    ),
    Test::new("unwind_programs::node_stacks_are_whole", NODE_NEEDS, node),
    Test::new("unwind_programs::java_is_cut_visibly", JAVA_NEEDS, java),
];

const NATIVE_NEEDS: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Program("gcc"),
    Need::Program("python3"),
    Need::Program("sqlite3"),
    Need::Program("xz"),
    Need::Program("openssl"),
];
const NODE_NEEDS: &[Need] = &[Need::Root, Need::Bpf, Need::Program("node")];
const JAVA_NEEDS: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Program("java"),
    Need::Program("javac"),
];

/// Longest recording: three times what it takes on a machine that does nothing else.
const LIMIT: Duration = Duration::from_secs(240);

/// What stands at the root of a stack that doesn't reach the start of its thread.
const CUT: &str = "[truncated]";

/// A program and a load for it.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// What the process's name begins with.
    process: &'static str,
    /// Shell command, run in the folder of the recording; six seconds or so, so that the samples before its
    /// tables are read are far below 1 %.
    command: &'static str,
}

/// Compilers, interpreters, compressors and handwritten assembly; each with what is special to its stacks.
const NATIVE: &[Load] = &[
    // Deep recursion over trees, garbage collection.
    Load {
        process: "cc1",
        command: "timeout 8 gcc -O2 -c -o large.o large.c",
    },
    // One huge function, with most of its samples in it.
    Load {
        process: "sqlite3",
        command: "timeout 7 sqlite3 :memory: 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c \
                  WHERE x<100000000) SELECT sum(x*x%7), max(printf(\"%d\", x)) FROM c;'",
    },
    // Computed jumps, and C called from the interpreter.
    Load {
        process: "python3",
        command: "timeout 7 python3 -c 'exec(\"\"\"\nimport json\nwhile True:\n  json.loads(json.dumps([{str(i): \
                  sorted(range(i, 0, -1))} for i in range(60)]))\n\"\"\")'",
    },
    // Tight loops in a library.
    Load {
        process: "xz",
        command: "head -c 200000000 /dev/urandom | timeout 7 xz -9 -T1",
    },
    // Assembly with unwind information written by hand.
    Load {
        process: "openssl",
        command: "openssl speed -seconds 2 -bytes 16384 sha256 aes-256-cbc rsa2048 ecdsap256",
    },
];

const NODE: &[Load] = &[Load {
    process: "node",
    command: "timeout 9 node --interpreted-frames-native-stack -e 'function inner(n) { let s = 0; \
              for (let i = 0; i < n; i++) s += i % 7; return s } \
              function outer() { return inner(1e6) + JSON.stringify(Array(1e4).fill(1)).length } for (;;) outer()'",
}];

const JAVA: &[Load] = &[Load {
    process: "java",
    command: "javac Hot.java && timeout 9 java -XX:+PreserveFramePointer Hot",
}];

/// How the stacks of a program end.
#[derive(Debug, Default)]
struct Ends {
    samples: u64,
    whole: u64,
    /// The outermost frame that was reached, with the samples that end there.
    cut_at: BTreeMap<String, u64>,
}

impl Ends {
    fn of(load: Load, stacks: &[Stack]) -> Self {
        let mut ends = Self::default();
        let own = stacks
            .iter()
            .filter(|stack| stack.process.starts_with(load.process))
            // Of a program that is about to run or has ended there is the kernel's part only.
            .filter(|stack| stack.has_frame(|frame| frame != CUT && !frame.ends_with("_[k]")));
        for stack in own {
            ends.samples += stack.value;
            match stack.frames.as_slice() {
                [first, rest @ ..] if first == CUT => {
                    let reached = rest.first().cloned().unwrap_or_default();
                    *ends.cut_at.entry(reached).or_default() += stack.value;
                }
                _ => ends.whole += stack.value,
            }
        }
        ends
    }

    /// The share of whole stacks in percent, and where most of the others end.
    fn describe(&self, load: Load) -> String {
        let mut text = format!("{}: {} of {} whole", load.process, self.whole, self.samples);
        let mut places: Vec<_> = self.cut_at.iter().collect();
        places.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (place, count) in places.into_iter().take(12) {
            let _ = write!(text, "\n    {count} end at {place}");
        }
        text
    }
}

/// At least 98 % of the stacks of each native program reach the start of their thread.
fn native() -> Result<()> {
    judge(NATIVE, 98)
}

/// At least 95 % of Node's do: code that it makes at run time keeps frame pointers.
fn node() -> Result<()> {
    judge(NODE, 95)
}

/// Java's interpreter and its compiled code have no unwind information, and not all of their stubs keep frame
/// pointers: most stacks are whole, and the rest is marked.
fn java() -> Result<()> {
    judge(JAVA, 50)
}

fn judge(loads: &[Load], percent: u64) -> Result<()> {
    // What runs besides takes room in the tables, and time to read it.
    wait_until_quiet()?;
    let stacks = record(loads)?;
    let mut failed = Vec::new();
    for load in loads {
        let ends = Ends::of(*load, &stacks);
        println!("{}", ends.describe(*load));
        ensure!(
            ends.samples > 100,
            "{}: only {} samples",
            load.process,
            ends.samples
        );
        if ends.whole * 100 < ends.samples * percent {
            failed.push(load.process);
        }
    }
    ensure!(
        failed.is_empty(),
        "fewer than {percent} % whole: {}",
        failed.join(", ")
    );
    Ok(())
}

/// Runs the loads, two at a time, under one recording.
fn record(loads: &[Load]) -> Result<Vec<Stack>> {
    let mut recording = Recording::empty()?;
    let folder = recording.folder().to_owned();
    fs::write(folder.join("large.c"), large_source())?;
    fs::write(folder.join("Hot.java"), HOT_JAVA)?;
    // The recorder reads the programs that run already first.
    let mut script = String::from("sleep 2; ");
    for pair in loads.chunks(2) {
        for load in pair {
            write!(script, "({}) >/dev/null 2>&1 & ", load.command)?;
        }
        script += "wait; ";
    }
    let mut command = recording.recorder_command(&[
        "--disable",
        "all",
        "--enable",
        "on_cpu",
        "--",
        "sh",
        "-c",
    ])?;
    command.arg(script).current_dir(&folder);
    recording.run(&mut command, LIMIT)?;
    ensure!(Path::new(&recording.path()).exists(), "no recording");
    recording.folded("on_cpu").context("the recorded stacks")
}

/// C that keeps an optimizing compiler busy for longer than it is given.
fn large_source() -> String {
    let mut source = String::from("extern int get(int);\n");
    for number in 0..6000 {
        let _ = writeln!(
            source,
            "int f{number}(int a, int *b) {{ int s = a; for (int i = 0; i < (a & 31); i++) {{ s += b[i] * {number}; \
             if (s % 7 == i) s ^= get(s + i); switch (s & 7) {{ case 1: s += 3; break; case 2: s *= a; break; \
             case 5: b[i] = s; break; default: s--; }} }} return s; }}"
        );
    }
    source
}

const HOT_JAVA: &str = "
public class Hot {
    static volatile long sink;
    static long inner(long n) { long s = 0; for (long i = 0; i < n; i++) s += (i ^ s) % 7; return s; }
    static void outer() { sink += inner(100000); sink += Long.toString(sink).hashCode(); }
    public static void main(String[] arguments) { while (true) outer(); }
}
";
