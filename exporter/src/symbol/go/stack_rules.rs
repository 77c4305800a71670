//! How to unwind Go's code: x86-64.
//!
//! The table of a function says at each address how many bytes the function has put on the stack,
//! first instructions and last ones included, where frame pointers are wrong. On arm64 there are
//! no rules, and frame pointers serve.
//!
//! Where the runtime goes to another stack, depths say nothing. What is called there returns into
//! a function whose frame pointer still points into the stack that was left, if it has one: since
//! Go 1.21 `systemstack`, `asmcgocall` and `cgocallback` do, so that the stack goes on below them.
//! Those of earlier versions end the stack, as do `morestack` and `gogo`, which say nothing of
//! where they come from. `mcall` never returns: it is where the scheduler's stack begins.

use evenkeel_abi::{CfaKind, FramePointerKind, UnwindRule};

use super::{
    GoTable, GoTableError,
    frame_setup::{CODE_BYTES, FrameSetup},
    pc_values::{PcValue, PcValues},
    record::Record,
    table::Part,
};

/// Most bytes read of the tables of values, and of the records: a program of 100 MB has 12 and
/// 11 MB.
const MAX_PART_BYTES: u64 = 64 << 20;

/// Bytes of code read at a time.
const CODE_WINDOW: usize = 256 << 10;

/// The frame below a signal handler: all registers are at the stack pointer, where the handler's
/// return leaves it.
const SIGNAL_RETURNS: [&str; 2] = ["runtime.sigreturn", "runtime.sigreturn__sigaction"];

/// Called by the kernel: marked as outermost, but the interrupted code is behind them.
const SIGNAL_ENTRIES: [&str; 2] = ["runtime.sigtramp", "runtime.sigprofNonGoWrapper"];

/// Begins a stack, though it is not marked.
const SCHEDULER_CALL: &str = "runtime.mcall";

/// A rule and the ELF virtual addresses that it holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackRule {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) rule: UnwindRule,
}

/// The rules of all functions by address, without overlaps. Padding between functions has none.
///
/// # Errors
/// [`GoTableError::Unsupported`] on arm64, [`GoTableError::TooLarge`], or when the file cannot be
/// read. A broken function only has no rules.
pub(crate) fn stack_rules(table: &GoTable) -> Result<StackRules<'_>, GoTableError> {
    if !table.image.is_x86() {
        return Err(GoTableError::Unsupported("machine"));
    }
    let whole = |part: Part, what: &'static str| {
        if part.size > MAX_PART_BYTES {
            return Err(GoTableError::TooLarge(what));
        }
        let length = usize::try_from(part.size).map_err(|_| GoTableError::TooLarge(what))?;
        table.image.read_all(part.address, length)
    };
    Ok(StackRules {
        table,
        values: whole(table.values, "table of values")?,
        records: whole(table.records, "table of functions")?,
        code: CodeWindow::default(),
        function: 0,
        end: 0,
        ready: Vec::new(),
    })
}

/// What [`stack_rules`] gives.
#[derive(Debug)]
pub(crate) struct StackRules<'a> {
    table: &'a GoTable,
    values: Vec<u8>,
    records: Vec<u8>,
    code: CodeWindow,
    /// The next function.
    function: usize,
    /// End of the last rule.
    end: u64,
    /// Rules of the last function, last one first.
    ready: Vec<StackRule>,
}

impl Iterator for StackRules<'_> {
    type Item = StackRule;

    fn next(&mut self) -> Option<StackRule> {
        loop {
            if let Some(rule) = self.ready.pop() {
                self.end = rule.end;
                return Some(rule);
            }
            let [entry, next] = *self.table.entries.get(self.function..)?.first_chunk()?;
            self.function += 1;
            let rules = usize::try_from(entry.record)
                .ok()
                .and_then(|place| self.records.get(place..))
                .and_then(|bytes| Record::parse(bytes, self.table.header.version))
                .filter(|record| record.entry == entry.start)
                .map(|record| self.of_function(&record, u64::from(next.start - entry.start)));
            self.ready = rules.unwrap_or_default();
            self.ready.reverse();
        }
    }
}

/// What there is to know of a function beside its depths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Depths say all.
    Plain,
    /// It moves the stack pointer elsewhere.
    MovesStack,
    /// One rule for all of it.
    Whole(UnwindRule),
}

impl StackRules<'_> {
    fn of_function(&mut self, record: &Record, size: u64) -> Vec<StackRule> {
        let start = self.table.text.saturating_add(u64::from(record.entry));
        let depths = self.depths(record, size);
        let Some(code_end) = depths.last().map(|depth| start.saturating_add(depth.end)) else {
            return Vec::new();
        };
        let kind = self.kind(record);
        if let Kind::Whole(rule) = kind {
            let is_signal = rule.cfa_kind() == CfaKind::Signal as u8;
            // A handler returns to its first byte, and returns are looked up a byte before.
            let begin = if is_signal && self.end < start {
                start - 1
            } else {
                start
            };
            return vec![StackRule {
                start: begin,
                end: code_end,
                rule,
            }];
        }
        let setup = self.setup(start, &depths);
        let mut rules: Vec<StackRule> = Vec::with_capacity(depths.len() + 2);
        for depth in depths {
            for (from, to) in parts(depth.start, depth.end, setup) {
                let rule = match kind {
                    Kind::MovesStack => moved(from, depth.value, setup),
                    _ => at_depth(from, depth.value, setup),
                };
                let (from, to) = (start.saturating_add(from), start.saturating_add(to));
                match rules.last_mut() {
                    Some(last) if last.rule == rule && last.end == from => last.end = to,
                    _ => rules.push(StackRule {
                        start: from,
                        end: to,
                        rule,
                    }),
                }
            }
        }
        rules
    }

    /// The depths of a function within its size.
    fn depths(&self, record: &Record, size: u64) -> Vec<PcValue> {
        let bytes = usize::try_from(record.depths)
            .ok()
            .filter(|place| *place != 0)
            .and_then(|place| self.values.get(place..))
            .unwrap_or(&[]);
        PcValues::new(bytes, self.table.header.quantum)
            .filter(|depth| depth.start < depth.end)
            .take_while(|depth| depth.end <= size)
            .collect()
    }

    fn kind(&self, record: &Record) -> Kind {
        let flags = record.flags;
        if !flags.is_outermost() && !flags.moves_stack() && !flags.is_assembly() {
            return Kind::Plain;
        }
        // Of a function that has no name nothing is known either.
        let name = self.table.name(record.name).unwrap_or_default();
        let name = name.as_str();
        if SIGNAL_RETURNS.contains(&name) {
            Kind::Whole(UnwindRule::of_kind(CfaKind::Signal))
        } else if name == SCHEDULER_CALL || flags.is_outermost() && !SIGNAL_ENTRIES.contains(&name)
        {
            Kind::Whole(UnwindRule::of_kind(CfaKind::Outermost))
        } else if flags.moves_stack() {
            Kind::MovesStack
        } else {
            Kind::Plain
        }
    }

    /// What the code does where the stack first gets deeper.
    fn setup(&mut self, start: u64, depths: &[PcValue]) -> Option<FrameSetup> {
        let first = depths.iter().find(|depth| depth.value > 0)?;
        let before = first.start.checked_sub(1)?;
        let code = self
            .code
            .read(self.table, start.checked_add(before)?, CODE_BYTES)?;
        FrameSetup::read(code, first.start, u64::try_from(first.value).ok()?)
    }
}

/// A stretch of code, cut where the frame pointer is saved and where it is set.
fn parts(start: u64, end: u64, setup: Option<FrameSetup>) -> impl Iterator<Item = (u64, u64)> {
    let cuts = setup.map_or([start; 2], |setup| {
        let within = |offset: u64| offset.clamp(start, end);
        [
            within(setup.saved),
            within(setup.set.unwrap_or(setup.saved)),
        ]
    });
    [(start, cuts[0]), (cuts[0], cuts[1]), (cuts[1], end)]
        .into_iter()
        .filter(|(start, end)| start < end)
}

/// The rule of a function that only pushes and pops.
fn at_depth(offset: u64, depth: i32, setup: Option<FrameSetup>) -> UnwindRule {
    let rule = match depth {
        // The tables have no other depths on this machine; what has is not understood.
        depth if depth < 0 || depth % 8 != 0 => None,
        depth => UnwindRule::with_cfa(CfaKind::StackPointer, i64::from(depth) + 8),
    };
    let rule = match setup {
        Some(setup) if depth > 0 && offset >= setup.saved => rule.and_then(with_saved_pointer),
        _ => rule,
    };
    rule.unwrap_or(UnwindRule::of_kind(CfaKind::Unknown))
}

/// The rule of a function that goes to another stack, with its frame pointer on the one it left.
fn moved(offset: u64, depth: i32, setup: Option<FrameSetup>) -> UnwindRule {
    match setup {
        Some(setup) if setup.set.is_some_and(|set| offset >= set) && depth > 0 => {
            UnwindRule::with_cfa(CfaKind::OtherStack, 16)
                .and_then(with_saved_pointer)
                .unwrap_or(UnwindRule::of_kind(CfaKind::Unknown))
        }
        // Before the frame is set up, and after it was taken down.
        Some(setup) if setup.set.is_some() => at_depth(offset, depth, Some(setup)),
        _ => UnwindRule::of_kind(CfaKind::Unknown),
    }
}

/// Below the return address, which is below the CFA.
fn with_saved_pointer(rule: UnwindRule) -> Option<UnwindRule> {
    rule.with_frame_pointer(FramePointerKind::AtCfa, -16)
}

/// The code around the last address that was read.
#[derive(Debug, Default)]
struct CodeWindow {
    address: u64,
    bytes: Vec<u8>,
}

impl CodeWindow {
    fn read(&mut self, table: &GoTable, address: u64, length: usize) -> Option<&[u8]> {
        let place = |window: &Self| {
            let place = usize::try_from(address.checked_sub(window.address)?).ok()?;
            let end = place.checked_add(length)?;
            (end <= window.bytes.len()).then_some(place..end)
        };
        if place(self).is_none() {
            self.bytes.resize(CODE_WINDOW, 0);
            let read = table.image.read(address, &mut self.bytes).ok()?;
            self.bytes.truncate(read);
            self.address = address;
        }
        // The last function of the code may be shorter.
        let start = usize::try_from(address.checked_sub(self.address)?).ok()?;
        let end = start.saturating_add(length).min(self.bytes.len());
        self.bytes.get(start..end)
    }
}
