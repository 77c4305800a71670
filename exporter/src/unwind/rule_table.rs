//! The rules of all executables, each once.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Instant,
};

use evenkeel_abi::{NO_RULE, UNWIND_RULES, UnwindRule};

use super::space::GRACE;
use crate::kernel::mapped_array::WritableArray;

/// Numbers of rules. A rule that no executable has any more stays where it is until its number is
/// needed: the next executable is likely to have it too.
#[derive(Debug)]
pub(super) struct RuleTable {
    array: Arc<WritableArray>,
    capacity: usize,
    numbers: HashMap<UnwindRule, u16>,
    /// By number: the rule, and how many executables have it.
    rules: Vec<(UnwindRule, u32)>,
    /// Numbers that nobody had at some time, and since when.
    unused: VecDeque<(Instant, u16)>,
}

impl RuleTable {
    /// No rules but the one that knows nothing.
    pub(super) fn new(array: Arc<WritableArray>) -> Self {
        let nothing = UnwindRule(0);
        array.set(usize::from(NO_RULE), nothing.0);
        Self {
            capacity: array.len().min(UNWIND_RULES),
            array,
            numbers: HashMap::from([(nothing, NO_RULE)]),
            rules: vec![(nothing, 1)],
            unused: VecDeque::new(),
        }
    }

    /// The array of rules.
    pub(super) fn array(&self) -> Arc<WritableArray> {
        Arc::clone(&self.array)
    }

    /// Numbers in use or remembered.
    pub(super) fn len(&self) -> usize {
        self.rules.len()
    }

    /// The number of a rule for one more executable; `None` when all numbers are taken.
    pub(super) fn take(&mut self, rule: UnwindRule, now: Instant) -> Option<u16> {
        if let Some(number) = self.numbers.get(&rule) {
            let number = *number;
            self.rules.get_mut(usize::from(number))?.1 += 1;
            return Some(number);
        }
        let number = self.free_number(now)?;
        self.array.set(usize::from(number), rule.0);
        self.numbers.insert(rule, number);
        let entry = (rule, 1);
        match self.rules.get_mut(usize::from(number)) {
            Some(place) => *place = entry,
            None => self.rules.push(entry),
        }
        Some(number)
    }

    fn free_number(&mut self, now: Instant) -> Option<u16> {
        if self.rules.len() < self.capacity {
            return u16::try_from(self.rules.len()).ok();
        }
        while let Some((since, number)) = self.unused.front().copied() {
            if now.duration_since(since) < GRACE {
                break;
            }
            self.unused.pop_front();
            // It may have been taken again since.
            if let Some((rule, 0)) = self.rules.get(usize::from(number)) {
                self.numbers.remove(rule);
                return Some(number);
            }
        }
        None
    }

    /// One executable less has these rules.
    pub(super) fn give_back(&mut self, numbers: &[u16], now: Instant) {
        for number in numbers {
            let Some((_, uses)) = self.rules.get_mut(usize::from(*number)) else {
                continue;
            };
            *uses = uses.saturating_sub(1);
            if *uses == 0 && *number != NO_RULE {
                // Given back again and again, it must not stand here again and again.
                self.unused.retain(|(_, other)| other != number);
                self.unused.push_back((now, *number));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_abi::CfaKind;

    use super::*;

    fn rule(offset: i64) -> UnwindRule {
        UnwindRule::with_cfa(CfaKind::StackPointer, offset).expect("fits")
    }

    /// Equal rules have one number; a full table gives out only what nobody has had for a while.
    #[test]
    fn numbers_are_shared_and_come_back() {
        let array = WritableArray::anonymous(3).expect("memory");
        let mut table = RuleTable::new(Arc::new(array));
        let now = Instant::now();
        assert_eq!(table.take(rule(8), now), Some(1));
        assert_eq!(table.take(rule(16), now), Some(2));
        assert_eq!(table.take(rule(8), now), Some(1), "shared");
        assert_eq!(table.take(rule(24), now), None, "full");
        table.give_back(&[1, 2], now);
        assert_eq!(table.take(rule(24), now), None, "2 may still be read");
        assert_eq!(table.take(rule(16), now), Some(2), "remembered");
        table.give_back(&[2], now);
        assert_eq!(table.take(rule(24), now + GRACE), Some(2));
        assert_eq!(table.array.load(2), rule(24).0);
        assert_eq!(table.array.load(1), rule(8).0, "still in use");
    }
}
