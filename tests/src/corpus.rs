//! The programs of `tests/corpus`, whose call chains are known: how each is built, started and judged.

mod chain;
mod programs;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};

pub use self::{
    chain::{Chain, Verdict, user_frames},
    programs::PROGRAMS,
};
use crate::{
    child::run,
    workload::{repository, target_folder},
};

/// Longest single command of a build: the first Go build compiles the standard library.
const BUILD_LIMIT: Duration = Duration::from_secs(240);

/// How a program's file fares once it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Kept,
    /// It is deleted 0.3 s after the start.
    Deleted,
    /// Another program, with other functions at the same addresses, takes its name 0.3 s after the start.
    Replaced,
}

/// One program of the corpus.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Name of its file and process, at most 15 bytes, as that is what the kernel keeps.
    pub name: &'static str,
    /// File of its expected chain, without `.chain`.
    pub chain: &'static str,
    /// Commands that build it, run in the folder of the sources; `@` stands for the path of the result.
    pub build: &'static [&'static str],
    /// What becomes of its file.
    pub fate: Fate,
}

impl Program {
    /// Builds it, unless it is newer than every source, and gives its path.
    pub fn build(&self) -> Result<PathBuf> {
        let folder = target_folder()?.join("corpus");
        fs::create_dir_all(&folder)?;
        let output = folder.join(self.name);
        if is_current(&output)? {
            return Ok(output);
        }
        let path = output.to_string_lossy();
        for step in self.build {
            let mut words = step.split_whitespace().map(|word| word.replace('@', &path));
            let mut command = Command::new(words.next().context("an empty build command")?);
            command.args(words).current_dir(source_folder());
            command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "");
            run(&mut command, BUILD_LIMIT)?
                .succeeded()
                .with_context(|| format!("building {}", self.name))?;
        }
        Ok(output)
    }

    /// The chain that its samples must have.
    pub fn chain(&self) -> Result<Chain> {
        let path = source_folder().join(format!("{}.chain", self.chain));
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Chain::parse(&text, self.name)
    }

    /// A shell command that starts it in the background, by a copy in `folder` where its file has to go.
    fn start(&self, folder: &Path, seconds: u32) -> Result<String> {
        let path = self.build()?;
        let (path, copy) = (path.display(), folder.join(self.name));
        let copy = copy.display();
        Ok(match self.fate {
            Fate::Kept => format!("'{path}' {seconds} & "),
            Fate::Deleted => {
                format!("cp '{path}' '{copy}'; '{copy}' {seconds} & (sleep 0.3; rm '{copy}') & ")
            }
            Fate::Replaced => {
                let other = programs::REPLACEMENT.build()?;
                format!(
                    "cp '{path}' '{copy}'; cp '{}' '{copy}.other'; '{copy}' {seconds} & \
                     (sleep 0.3; mv '{copy}.other' '{copy}') & ",
                    other.display()
                )
            }
        })
    }
}

/// A shell script that runs `programs`, `at_once` at a time and each for `seconds`, and ends with the last of them.
pub fn script(programs: &[Program], at_once: usize, folder: &Path, seconds: u32) -> Result<String> {
    let mut script = String::new();
    for group in programs.chunks(at_once.max(1)) {
        for program in group {
            script += &program.start(folder, seconds)?;
        }
        script += "wait; ";
    }
    Ok(script)
}

/// How the samples of one program were judged.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// All of them.
    pub samples: u64,
    /// Those with the whole chain.
    pub whole: u64,
    /// Those that are cut and marked, as far as the chain says that they may.
    pub cut: u64,
    /// Those without, by why, with one stack as an example.
    pub rest: BTreeMap<String, (u64, String)>,
}

impl Judgement {
    /// Judges the stacks of `program` among `stacks`.
    pub fn of(program: &Program, stacks: &[crate::folded::Stack]) -> Result<Self> {
        let chain = program.chain()?;
        let mut judgement = Self::default();
        for stack in stacks.iter().filter(|stack| stack.process == program.name) {
            judgement.samples += stack.value;
            match chain.judge(&stack.frames) {
                Verdict::Whole => judgement.whole += stack.value,
                other => {
                    judgement.cut += if other == Verdict::Cut {
                        stack.value
                    } else {
                        0
                    };
                    let (count, example) = judgement
                        .rest
                        .entry(other.to_string())
                        .or_insert_with(|| (0, stack.frames.join(";")));
                    *count += stack.value;
                    if *count == stack.value {
                        *example = stack.frames.join(";");
                    }
                }
            }
        }
        let may_be_cut = judgement.samples * chain.may_be_cut() / 100;
        judgement.cut = judgement.cut.min(may_be_cut);
        Ok(judgement)
    }

    /// Percent of the samples that have some of the chain's functions and are neither it nor cut and marked.
    pub fn others(&self) -> u64 {
        let wrong = self.rest.get(&Verdict::Different.to_string());
        wrong.map_or(0, |(count, _)| count * 100 / self.samples.max(1))
    }

    /// Whether at least `percent` of the samples are what they should be; no samples are not enough of them.
    pub fn reaches(&self, percent: u64) -> bool {
        self.samples > 0 && (self.whole + self.cut) * 100 >= self.samples * percent
    }
}

impl std::fmt::Display for Judgement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} of {} whole", self.whole, self.samples)?;
        for (why, (count, example)) in &self.rest {
            // The leaf side is what tells one from another in a deep stack.
            let from = example.len().saturating_sub(300);
            let end: String = example.chars().skip(from).collect();
            write!(formatter, "\n    {count} {why}: {end}")?;
        }
        Ok(())
    }
}

/// Whether `output` is newer than every source and than this test program, which holds the commands.
fn is_current(output: &Path) -> Result<bool> {
    let Ok(built) = fs::metadata(output).and_then(|metadata| metadata.modified()) else {
        return Ok(false);
    };
    let mut inputs = vec![std::env::current_exe()?];
    for folder in [source_folder(), source_folder().join("cgo")] {
        for entry in fs::read_dir(folder)? {
            inputs.push(entry?.path());
        }
    }
    for input in inputs {
        if fs::metadata(&input)?.modified()? >= built {
            return Ok(false);
        }
    }
    Ok(true)
}

fn source_folder() -> PathBuf {
    repository().join("tests/corpus")
}

/// The programs named `names`; all of them where there are none.
pub fn named(names: &[&str]) -> Result<Vec<Program>> {
    let chosen: Vec<Program> = PROGRAMS
        .iter()
        .filter(|program| names.is_empty() || names.contains(&program.name))
        .copied()
        .collect();
    ensure!(
        names.is_empty() || chosen.len() == names.len(),
        "not all of {names:?} are in the corpus"
    );
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every name is the only one and fits the kernel's 15 bytes, and every chain file is there and is read.
    #[test]
    fn names_are_distinct_and_chains_are_there() {
        let mut seen = BTreeSet::new();
        for program in PROGRAMS {
            assert!(program.name.len() <= 15, "{}", program.name);
            assert!(seen.insert(program.name), "{} is there twice", program.name);
            program.chain().unwrap();
        }
    }
}
