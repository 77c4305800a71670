//! Call chains by `perf record --call-graph dwarf`, which copies stacks and unwinds them afterwards: slow, and
//! independent of what is tested.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
    time::Duration,
};

use anyhow::Result;

use crate::{child::run, corpus::user_frames, folded::Stack};

/// Longest unwinding of a recording: a sample takes perf about 1 ms.
const SCRIPT_LIMIT: Duration = Duration::from_secs(240);

/// Bytes of stack that perf copies with a sample; calls beyond them are missing from its chain.
const STACK_BYTES: &str = "dwarf,16384";

/// In the base names of where programs begin, `_start` and, in static ones, what it calls: perf does not always come
/// farther. Threads begin in a library.
const ROOT: &str = "start";

/// One frame by perf.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Frame {
    /// `None` where perf knows no name, or only that of a library's exported function nearby.
    name: Option<String>,
}

/// The distinct user chains of each process by name, leaf first.
#[derive(Clone, Debug, Default)]
pub struct Chains(BTreeMap<String, BTreeSet<Vec<Frame>>>);

/// What perf says about a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// A chain of perf's is the same, or one is a leaf side of the other.
    Compatible,
    /// perf has no chain with this leaf.
    NotSeen,
    /// perf has chains with this leaf, and none agrees.
    Wrong,
}

impl Chains {
    /// Runs `script` in a shell under perf, with `frequency` samples a second, and unwinds what it recorded.
    pub fn record(script: &str, frequency: &str, folder: &Path, limit: Duration) -> Result<Self> {
        let data = folder.join("perf.data");
        let mut command = Command::new("perf");
        command.args(["record", "-q", "-e", "cpu-clock:u", "-F", frequency]);
        command.args(["--call-graph", STACK_BYTES, "-o"]).arg(&data);
        run(command.args(["--", "sh", "-c", script]), limit)?.succeeded()?;
        let mut command = Command::new("perf");
        command.args(["script", "--no-inline", "-F", "comm,ip,sym,dso", "-i"]);
        let finished = run(command.arg(&data), SCRIPT_LIMIT)?.succeeded()?;
        Ok(Self::parse(&finished.stdout))
    }

    /// Reads `perf script -F comm,ip,sym,dso`: a line with the process, one a frame, an empty line.
    fn parse(text: &str) -> Self {
        let mut chains = Self::default();
        for sample in text.split("\n\n") {
            let mut lines = sample.lines().filter(|line| !line.trim().is_empty());
            let Some(process) = lines.next() else {
                continue;
            };
            let frames: Vec<Frame> = lines.filter_map(Frame::parse).collect();
            if !frames.is_empty() {
                let process = process.trim().to_owned();
                chains.0.entry(process).or_default().insert(frames);
            }
        }
        for of_process in chains.0.values_mut() {
            // What ends in a function of the program is a chain that perf has lost: it would agree with every
            // stack with its leaf. In static programs perf loses all of them.
            let is_whole = |chain: &Vec<Frame>| {
                let root = chain.last().and_then(|root| root.name.as_deref());
                root.is_none_or(|name| name.contains(ROOT))
            };
            if of_process.iter().any(is_whole) {
                of_process.retain(is_whole);
            }
        }
        chains
    }

    /// How many distinct chains there are of `process`.
    pub fn count(&self, process: &str) -> usize {
        self.0.get(process).map_or(0, BTreeSet::len)
    }

    /// What the chains of its process say about `stack`.
    pub fn opinion(&self, stack: &Stack) -> Opinion {
        let mut user = user_frames(&stack.frames);
        let cut = user.last() == Some(&"[truncated]");
        if cut {
            user.pop();
        }
        let Some(leaf) = user.first() else {
            return Opinion::NotSeen;
        };
        let mut seen = false;
        for chain in self.0.get(&stack.process).into_iter().flatten() {
            // Where perf's chain ends early, it has lost its way or its copy of the stack has ended.
            if chain
                .iter()
                .zip(&user)
                .all(|(one, other)| one.agrees(other))
                && (chain.len() <= user.len() || cut)
            {
                return Opinion::Compatible;
            }
            seen |= chain
                .first()
                .is_some_and(|frame| frame.name.is_some() && frame.agrees(leaf));
        }
        if seen {
            Opinion::Wrong
        } else {
            Opinion::NotSeen
        }
    }
}

impl Frame {
    /// `  55d0c0de main (/path/of/file)`.
    fn parse(line: &str) -> Option<Self> {
        let (_, rest) = line.trim().split_once(' ')?;
        let (symbol, module) = rest.rsplit_once(" (").unwrap_or((rest, ""));
        let library = module.contains(".so") || module.starts_with("[vdso]");
        // The names that stripped libraries have left are of whichever exported function stands before.
        let name = (symbol != "[unknown]" && !library).then(|| base_name(symbol));
        Some(Self { name })
    }

    fn agrees(&self, other: &str) -> bool {
        let unnamed = other.contains("+0x") || other.starts_with('[');
        match &self.name {
            Some(name) => unnamed || *name == base_name(other),
            None => true,
        }
    }
}

/// A function's own name: without path, parameters, generic arguments, version and what the compiler added.
fn base_name(symbol: &str) -> String {
    let mut depth = 0_u32;
    let mut name = String::new();
    for character in symbol.chars() {
        match character {
            '(' | '<' => depth += 1,
            ')' | '>' => depth = depth.saturating_sub(1),
            '@' => break,
            _ if depth == 0 => name.push(character),
            _ => {}
        }
    }
    let name = name.rsplit("::").find(|part| !is_hash(part)).unwrap_or("");
    let name = name.trim().trim_end_matches(" const");
    let name = name.rsplit(' ').next().unwrap_or(name);
    name.trim_start_matches('_').to_owned()
}

/// `h` and 16 hex digits, the last part of an older Rust name.
fn is_hash(part: &str) -> bool {
    part.strip_prefix('h')
        .is_some_and(|rest| rest.len() == 16 && rest.chars().all(|c| c.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "prog one \n\
        \x20   401136 spin (/x/prog)\n\
        \x20   401150 outer(int) (/x/prog)\n\
        \x20   401160 main (/x/prog)\n\
        \x20   7f0123 [unknown] (/usr/lib/libc.so.6)\n\
        \x20   401066 _start (/x/prog)\n\n\
        prog one \n\
        \x20   401136 spin (/x/prog)\n\
        \x20   401150 outer(int) (/x/prog)\n\n";

    fn opinion(stack: &str) -> Opinion {
        Chains::parse(SCRIPT).opinion(&Stack {
            process: "prog one".to_owned(),
            frames: stack.split(';').map(str::to_owned).collect(),
            value: 1,
        })
    }

    /// The same calls agree, with a library's frame unnamed and a cut one up to the cut.
    #[test]
    fn the_same_calls_agree() {
        assert_eq!(
            opinion("_start;libc.so.6+0x27;main;outer;spin;tick_[k]"),
            Opinion::Compatible
        );
        assert_eq!(opinion("[truncated];outer;spin"), Opinion::Compatible);
        assert_eq!(opinion("[truncated];spin"), Opinion::Compatible);
    }

    /// A lost and a made-up caller are wrong; a leaf that perf has no sample of is not seen.
    #[test]
    fn another_caller_is_wrong() {
        assert_eq!(opinion("_start;libc+0x1;main;spin"), Opinion::Wrong);
        assert_eq!(opinion("_start;libc+0x1;main;other;spin"), Opinion::Wrong);
        assert_eq!(opinion("main;other"), Opinion::NotSeen);
        // The second chain, which perf has lost, says nothing of who called `outer`.
        assert_eq!(opinion("_start;libc+0x1;other;outer;spin"), Opinion::Wrong);
    }

    /// Names are compared without what the two spell differently.
    #[test]
    fn names_are_compared_by_their_core() {
        for symbol in [
            "<calls::module::Work<u64>>::inner",
            "calls::module::Work<u64>::inner::h0123456789abcdef",
            "void inner<long>(Box<long>&)",
        ] {
            assert_eq!(base_name(symbol), "inner", "{symbol}");
        }
        assert_eq!(
            base_name("__libc_start_main@@GLIBC_2.34"),
            "libc_start_main"
        );
    }
}
