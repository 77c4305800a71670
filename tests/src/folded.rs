//! The folded format, `PROCESS;frame;...;leaf VALUE`, as `evenkeel report --format folded` prints it.

use anyhow::{Context as _, Result, ensure};

/// One stack and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The first element.
    pub process: String,
    /// The other elements, root first.
    pub frames: Vec<String>,
    /// The value in the profile's unit.
    pub value: u64,
}

impl Stack {
    /// Whether `names` stand next to each other, in this order, somewhere in the stack.
    pub fn has_chain(&self, names: &[&str]) -> bool {
        self.frames
            .windows(names.len())
            .any(|window| window.iter().zip(names).all(|(seen, name)| seen == name))
    }

    /// Whether some frame satisfies `condition`.
    pub fn has_frame(&self, condition: impl Fn(&str) -> bool) -> bool {
        self.frames.iter().any(|frame| condition(frame))
    }
}

/// Reads folded text. Every line must be well formed.
pub fn parse(text: &str) -> Result<Vec<Stack>> {
    let mut stacks = Vec::new();
    for line in text.lines() {
        let (stack, value) = line
            .rsplit_once(' ')
            .with_context(|| format!("no value: {line:?}"))?;
        let value = value
            .parse()
            .with_context(|| format!("not a whole number: {line:?}"))?;
        let mut elements = stack.split(';').map(str::to_owned);
        let process = elements.next().unwrap_or_default();
        let frames: Vec<String> = elements.collect();
        ensure!(!process.is_empty(), "no process: {line:?}");
        ensure!(
            frames.iter().all(|frame| !frame.is_empty()),
            "an empty frame: {line:?}"
        );
        stacks.push(Stack {
            process,
            frames,
            value,
        });
    }
    Ok(stacks)
}

/// The sum of the values of the stacks that satisfy `condition`.
pub fn sum(stacks: &[Stack], condition: impl Fn(&Stack) -> bool) -> u64 {
    stacks
        .iter()
        .filter(|stack| condition(stack))
        .map(|stack| stack.value)
        .sum()
}

/// The values by process, largest first, as one line for messages.
pub fn processes(stacks: &[Stack]) -> String {
    let mut by_process = std::collections::BTreeMap::<&str, u64>::new();
    for stack in stacks {
        *by_process.entry(&stack.process).or_default() += stack.value;
    }
    let mut sorted: Vec<_> = by_process.into_iter().collect();
    sorted.sort_by_key(|(_, value)| std::cmp::Reverse(*value));
    let listed: Vec<_> = sorted
        .iter()
        .take(12)
        .map(|(process, value)| format!("{process}={value}"))
        .collect();
    listed.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names may hold spaces; the value is what follows the last one.
    #[test]
    fn names_may_hold_spaces() {
        let stacks = parse("tmux: server;main;operator new(unsigned long) 12\n[idle] 3\n").unwrap();
        assert_eq!(stacks[0].process, "tmux: server");
        assert_eq!(stacks[0].frames[1], "operator new(unsigned long)");
        assert_eq!(stacks[0].value, 12);
        assert!(stacks[1].frames.is_empty());
    }

    /// A chain is found only unbroken and in order.
    #[test]
    fn chains_are_unbroken() {
        let stacks = parse("p;_start;main;outer;inner;tick_[k] 5").unwrap();
        assert!(stacks[0].has_chain(&["main", "outer", "inner"]));
        assert!(!stacks[0].has_chain(&["main", "inner"]));
        assert!(!stacks[0].has_chain(&["outer", "main"]));
    }

    /// Lines without a value, with a fraction or with an empty frame are errors.
    #[test]
    fn bad_lines_are_errors() {
        for line in ["p;main", "p;main 1.5", "p;;main 1", ";main 1"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
