//! Expected call chains, and whether a stack has one.
//!
//! A chain file has one pattern a line, leaf first; `#` begins a comment line.
//!
//! | pattern | stands for |
//! |---|---|
//! | `NAME` | the function of that name |
//! | `NAME xN` | N calls of it in a row |
//! | `any` | one frame, whichever |
//! | `+` | one frame of the program that has no name: `PROGRAM+0xOFFSET` |
//! | `...` | any number of frames, none among them |
//! | `[truncated]` | the mark of a stack that was cut, at the root |
//!
//! A line `cut N%` says that so many of the samples may be cut and marked: no frame can be found then.

use anyhow::{Context as _, Result, ensure};

/// The mark of a cut stack.
const CUT: &str = "[truncated]";

/// What stands behind the name of a kernel function.
const KERNEL: &str = "_[k]";

/// A call chain, leaf first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain(Vec<Pattern>, u64);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Name(String),
    /// Begins with this: a module and `+0x`.
    Unnamed(String),
    Any,
    Several,
}

/// What a stack is, against the chain that it should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its user frames are the chain, from leaf to root.
    Whole,
    /// Its user frames are a leaf side of the chain, and the cut is marked.
    Cut,
    /// It has no user frame: the kernel starting or ending the program.
    KernelOnly,
    /// It has no function that the chain names: the dynamic linker, the C library's start and end.
    Elsewhere,
    /// It has some of the chain's functions, and isn't the chain.
    Different,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Whole => "whole",
            Self::Cut => "cut and marked",
            Self::KernelOnly => "kernel frames only",
            Self::Elsewhere => "before or after the chain",
            Self::Different => "DIFFERENT",
        })
    }
}

impl Pattern {
    fn parse(line: &str, program: &str) -> Result<(Self, usize)> {
        if let Some((name, count)) = line.rsplit_once(" x")
            && let Ok(count) = count.parse()
        {
            return Ok((Self::Name(name.to_owned()), count));
        }
        let pattern = match line {
            "any" => Self::Any,
            "..." => Self::Several,
            "+" => Self::Unnamed(format!("{program}+0x")),
            name => Self::Name(name.to_owned()),
        };
        Ok((pattern, 1))
    }

    fn matches(&self, frame: &str) -> bool {
        match self {
            Self::Name(name) => frame == name,
            Self::Unnamed(start) => frame.starts_with(start.as_str()),
            Self::Any | Self::Several => frame != CUT,
        }
    }
}

/// The user frames of a folded stack, leaf first.
pub fn user_frames(frames: &[String]) -> Vec<&str> {
    frames
        .iter()
        .rev()
        .map(String::as_str)
        .skip_while(|frame| frame.ends_with(KERNEL))
        .collect()
}

impl Chain {
    /// Reads a chain file; `+` stands for a frame of `program`.
    pub fn parse(text: &str, program: &str) -> Result<Self> {
        let mut patterns = Vec::new();
        let mut may_be_cut = 0;
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(share) = line.strip_prefix("cut ") {
                let share = share.strip_suffix('%').context("a share without %")?;
                may_be_cut = share.parse()?;
                continue;
            }
            let (pattern, count) =
                Pattern::parse(line, program).with_context(|| format!("bad line {line:?}"))?;
            patterns.extend(std::iter::repeat_n(pattern, count));
        }
        ensure!(!patterns.is_empty(), "a chain without a frame");
        Ok(Self(patterns, may_be_cut))
    }

    /// Percent of the samples that may be cut and marked.
    pub fn may_be_cut(&self) -> u64 {
        self.1
    }

    /// What `frames` is, a folded stack with the root first.
    pub fn judge(&self, frames: &[String]) -> Verdict {
        let user = user_frames(frames);
        if user.is_empty() {
            return Verdict::KernelOnly;
        }
        if self.ends(&user).contains(&self.0.len()) {
            return Verdict::Whole;
        }
        if let Some((&CUT, leaf_side)) = user.split_last()
            && !self.ends(leaf_side).is_empty()
        {
            return Verdict::Cut;
        }
        let named = |frame: &&str| {
            self.0.iter().any(|pattern| {
                !matches!(pattern, Pattern::Any | Pattern::Several) && pattern.matches(frame)
            })
        };
        // The root is that of all stacks of the program, so it doesn't tell.
        let above_root = user.split_last().map_or(&user[..], |(_, rest)| rest);
        if above_root.iter().any(named) {
            Verdict::Different
        } else {
            Verdict::Elsewhere
        }
    }

    /// How many patterns may have been used up when all of `frames`, leaf first, are matched; none if they can't be.
    fn ends(&self, frames: &[&str]) -> Vec<usize> {
        let mut positions = vec![0];
        self.skip_several(&mut positions);
        for frame in frames {
            let mut next = Vec::new();
            for position in positions {
                match self.0.get(position) {
                    // A run of frames goes on, or ended: `skip_several` has added what follows it.
                    Some(Pattern::Several) if Pattern::Several.matches(frame) => {
                        next.push(position);
                    }
                    Some(pattern) if pattern.matches(frame) => next.push(position + 1),
                    _ => {}
                }
            }
            positions = next;
            self.skip_several(&mut positions);
        }
        positions
    }

    /// Adds the places behind every `...` that may stand for nothing (more).
    fn skip_several(&self, positions: &mut Vec<usize>) {
        let mut at = 0;
        while let Some(position) = positions.get(at).copied() {
            if self.0.get(position) == Some(&Pattern::Several) {
                positions.push(position + 1);
            }
            at += 1;
        }
        positions.sort_unstable();
        positions.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(chain: &str, stack: &str) -> Verdict {
        let frames: Vec<String> = stack.split(';').map(str::to_owned).collect();
        Chain::parse(chain, "p").unwrap().judge(&frames)
    }

    const CHAIN: &str = "# leaf first\nspin\ninner\nmain\n...\n_start\n";

    /// Only the whole chain is whole: kernel frames above it and any frames for `...` are part of it.
    #[test]
    fn a_whole_chain_is_from_leaf_to_root() {
        for stack in [
            "_start;main;inner;spin",
            "_start;libc;libc.so+0x1;main;inner;spin;tick_[k];irq_[k]",
        ] {
            assert_eq!(judge(CHAIN, stack), Verdict::Whole, "{stack}");
        }
    }

    /// A lost caller, a made-up one, a lost root and a doubled frame are all different.
    #[test]
    fn what_is_lost_or_made_up_is_different() {
        for stack in [
            "_start;main;spin",
            "_start;main;other;inner;spin",
            "main;inner;spin",
            "_start;main;inner;spin;spin",
            "_start;main;inner;spin;other",
            "[truncated];other;inner;spin",
        ] {
            assert_eq!(judge(CHAIN, stack), Verdict::Different, "{stack}");
        }
    }

    /// A marked cut is told from a lost root, and is the expected end where the chain has it.
    #[test]
    fn a_cut_is_marked() {
        assert_eq!(judge(CHAIN, "[truncated];inner;spin"), Verdict::Cut);
        assert_eq!(judge(CHAIN, "[truncated]"), Verdict::Cut);
        let cut = "spin\ndown x3\n...\n[truncated]";
        assert_eq!(
            judge(cut, "[truncated];down;down;down;down;spin"),
            Verdict::Whole
        );
        assert_eq!(judge(cut, "[truncated];down;down;spin"), Verdict::Cut);
        assert_eq!(judge(cut, "_start;down;down;down;spin"), Verdict::Different);
    }

    /// The linker's start has the root and nothing of the chain; the kernel alone has no user frame.
    #[test]
    fn the_start_of_a_program_is_elsewhere() {
        assert_eq!(judge(CHAIN, "_start;ld.so+0x12"), Verdict::Elsewhere);
        assert_eq!(judge(CHAIN, "exit_mmap_[k]"), Verdict::KernelOnly);
    }

    /// A frame without a name is one of the program, not of another module.
    #[test]
    fn unnamed_frames_are_of_the_program() {
        assert_eq!(judge("+\nany\n+", "p+0x1;libc+0x2;p+0x3"), Verdict::Whole);
        assert_ne!(
            judge("+\nany\n+", "p+0x1;libc+0x2;libc+0x3"),
            Verdict::Whole
        );
    }
}
