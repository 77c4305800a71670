//! Stacks of programs that nobody here wrote, as Debian builds them: without frame pointers and without symbols.

use std::{collections::BTreeMap, fmt::Write as _, fs, time::Duration};

use anyhow::{Result, ensure};
use evenkeel_tests::{
    corpus::user_frames,
    evenkeel::Recording,
    folded::{Stack, sum},
    needs::Need,
    suite::Test,
};

pub(crate) const TESTS: &[Test] = &[
    Test::new(
        "unwind_programs::native_programs_reach_their_start",
        &[
            Need::Root,
            Need::Bpf,
            Need::Program("gcc"),
            Need::Program("sqlite3"),
            Need::Program("python3"),
            Need::Program("xz"),
            Need::Program("openssl"),
        ],
        native,
    ),
    Test::new(
        "unwind_programs::runtimes_are_walked_with_honest_ends",
        &[
            Need::Root,
            Need::Bpf,
            Need::Program("node"),
            Need::Program("keytool"),
        ],
        runtimes,
    ),
];

/// The mark of a stack that doesn't reach the start of its thread.
const CUT: &str = "[truncated]";

/// Longest recording: several times what one takes on two idle CPUs.
const LIMIT: Duration = Duration::from_secs(180);

/// A source of 1,500 functions with loops, calls and switches, which takes the compiler several seconds.
fn large_source() -> Result<String> {
    let mut source = String::new();
    for number in 0..1500 {
        writeln!(
            source,
            "int f{number}(int a, int *p) {{ int s = a; for (int i = 0; i < a; i++) {{ switch (p[i] & 7) {{ \
             case 0: s += p[i] * {number}; break; case 1: s ^= p[i] >> 3; break; case 2: s -= i * s; break; \
             default: s = s * 31 + p[i]; }} }} {} return s; }}",
            match number {
                0 => String::new(),
                _ => format!("s += f{}(a - 1, p);", number - 1),
            }
        )?;
    }
    Ok(source)
}

const SQL: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500000) \
                   SELECT count(DISTINCT i * 7919 % 100003), max(hex(i)), sum(length(printf('%d-%s', i, hex(i)))) FROM n; \
                   CREATE TABLE t(a, b); \
                   INSERT INTO t SELECT i % 1000, hex(i) FROM \
                   (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600000) SELECT i FROM n); \
                   CREATE INDEX ta ON t(a, b); SELECT a, group_concat(b) FROM t GROUP BY a ORDER BY 2 LIMIT 1;";

const PYTHON: &str = "import json\nfor i in range(60):\n    \
                      d = json.loads(json.dumps([{str(k): [k] * 9} for k in range(6000)]))\n    \
                      sorted(d, key=lambda e: str(e))\n";

/// Two at a time, so that each has a CPU.
fn native() -> Result<()> {
    let mut recording = Recording::empty()?;
    let folder = recording.folder().to_owned();
    fs::write(folder.join("large.c"), large_source()?)?;
    fs::write(folder.join("load.sql"), SQL)?;
    fs::write(folder.join("load.py"), PYTHON)?;
    let script = "cd \"$1\"; gcc -O2 -c -o /dev/null large.c & \
                  sqlite3 :memory: <load.sql >out.txt & wait; \
                  /usr/bin/python3 load.py & \
                  openssl speed -seconds 1 -bytes 4096 sha256 aes-128-cbc rsa2048 ecdsap256 >/dev/null 2>&1 & wait; \
                  openssl rand 12000000 >data; xz -6 -T1 -k -c data large.c >/dev/null & wait";
    let folder = folder.to_string_lossy().into_owned();
    let mut command = recording.recorder_command(&["--", "sh", "-c", script, "sh", &folder])?;
    recording.run(&mut command, LIMIT)?;
    let stacks = recording.folded("on_cpu")?;
    let mut failed = Vec::new();
    for process in ["cc1", "sqlite3", "python3", "openssl", "xz"] {
        let (whole, all) = report(process, &stacks);
        ensure!(all > 100, "only {all} samples of {process}");
        if whole * 100 < all * 98 {
            failed.push(process);
        }
    }
    ensure!(failed.is_empty(), "fewer than 98 %: {}", failed.join(", "));
    Ok(())
}

const SCRIPT: &str = "const end = Date.now() + 6000; \
                      while (Date.now() < end) { let o = {}; \
                      for (let i = 0; i < 20000; i++) o['k' + i] = JSON.stringify([i, i + 1]); \
                      Object.values(o).sort(); }";

/// Code made at run time has no tables: what isn't whole is marked, and the threads of the runtimes themselves,
/// half of their samples at least, are whole.
fn runtimes() -> Result<()> {
    let mut recording = Recording::empty()?;
    let folder = recording.folder().to_string_lossy().into_owned();
    let script = "cd \"$1\"; node -e \"$2\" & \
                  keytool -genkeypair -alias k -keyalg RSA -keysize 4096 -dname CN=k -storepass secret1 \
                  -keystore store >/dev/null 2>&1 & wait";
    let mut command =
        recording.recorder_command(&["--", "sh", "-c", script, "sh", &folder, SCRIPT])?;
    recording.run(&mut command, LIMIT)?;
    let stacks = recording.folded("on_cpu")?;
    for process in ["node", "keytool"] {
        let (whole, all) = report(process, &stacks);
        ensure!(all > 100, "only {all} samples of {process}");
        ensure!(whole * 2 >= all, "{process}: {whole} of {all} are whole");
    }
    Ok(())
}

/// How many samples of the processes whose names begin with `process` reach the start of their thread, and how
/// many have user frames at all. Prints both, the outermost frames of those that do, and why the rest don't: the
/// frame at the cut.
fn report(process: &str, stacks: &[Stack]) -> (u64, u64) {
    let own: Vec<Stack> = stacks
        .iter()
        .filter(|stack| {
            stack.process.starts_with(process) && !user_frames(&stack.frames).is_empty()
        })
        .cloned()
        .collect();
    let cut = |stack: &Stack| stack.frames.first().is_some_and(|frame| frame == CUT);
    let (whole, all) = (sum(&own, |stack| !cut(stack)), sum(&own, |_| true));
    let mut roots = BTreeMap::<&str, u64>::new();
    let mut cuts = BTreeMap::<String, u64>::new();
    for stack in &own {
        if cut(stack) {
            let user = user_frames(&stack.frames);
            let at = user.iter().rev().nth(1).copied().unwrap_or("no user frame");
            *cuts
                .entry(format!("{at} ({} frames)", user.len() - 1))
                .or_default() += stack.value;
        } else if let Some(root) = stack.frames.first() {
            *roots.entry(root).or_default() += stack.value;
        }
    }
    println!("{process}: {whole} of {all} samples reach the start of their thread");
    println!("    whole: {}", largest(roots));
    println!("    cut at: {}", largest(cuts));
    (whole, all)
}

fn largest<K: std::fmt::Display>(counts: BTreeMap<K, u64>) -> String {
    let mut sorted: Vec<_> = counts.into_iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let listed: Vec<String> = sorted
        .iter()
        .take(8)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    listed.join(", ")
}
