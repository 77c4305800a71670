//! What tasks waited for, or behind whom: the totals of a profile of waits by cause.

use std::collections::BTreeMap;

use evenkeel_semconv::attribute;

use super::{Attributes, Stacks, TextId};

/// Distinct causes of a profile; the registry has a dozen. Further ones are `[other]`.
const MAX_CAUSES: usize = 64;

/// Which attribute says why a task waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// What a blocked task waited for (`evenkeel.off_cpu.reason`).
    Reason,
    /// Who had the CPU that a ready task waited for (`evenkeel.run_queue.behind`).
    Behind,
}

impl CauseKind {
    const ALL: [Self; 2] = [Self::Reason, Self::Behind];

    /// Name of the attribute.
    pub fn attribute(self) -> &'static str {
        match self {
            Self::Reason => attribute::EVENKEEL_OFF_CPU_REASON,
            Self::Behind => attribute::EVENKEEL_RUN_QUEUE_BEHIND,
        }
    }

    /// The cause that a sample gives, and of which kind it is.
    pub(super) fn of(sample: &Attributes) -> Option<(Self, String)> {
        Self::ALL
            .into_iter()
            .find_map(|kind| Some((kind, sample.text(kind.attribute())?)))
    }
}

/// Totals by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    kind: Option<CauseKind>,
    /// By whether it was the recorded command, and cause; no text where a sample gave none.
    totals: BTreeMap<(bool, TextId), i64>,
    /// Idle waiting that is not in the profile.
    idle: i64,
}

impl Causes {
    /// Which attribute the samples carry; `None` where none does.
    pub fn kind(&self) -> Option<CauseKind> {
        self.kind
    }

    /// Totals by cause, largest first, of the recorded command or of all. The cause of samples that
    /// gave none has no text.
    pub fn totals(&self, only_command: bool) -> Vec<(TextId, i64)> {
        let mut sums = BTreeMap::<TextId, i64>::new();
        for (&(command, cause), &value) in &self.totals {
            if command || !only_command {
                let sum = sums.entry(cause).or_insert(0);
                *sum = sum.saturating_add(value);
            }
        }
        let mut totals = sums.into_iter().collect::<Vec<_>>();
        totals.sort_by_key(|&(cause, value)| (std::cmp::Reverse(value), cause));
        totals
    }

    /// Idle waiting that was left out, in the unit of the profile.
    pub fn idle(&self) -> i64 {
        self.idle
    }

    /// Adds a sample's value.
    pub(super) fn add(&mut self, command: bool, cause: Option<(CauseKind, TextId)>, value: i64) {
        let cause = match cause {
            None => TextId::default(),
            Some((kind, cause)) => {
                self.kind.get_or_insert(kind);
                cause
            }
        };
        let key = (command, cause);
        let full = self.totals.len() >= MAX_CAUSES && !self.totals.contains_key(&key);
        let key = if full {
            (command, Stacks::OTHER_TEXT)
        } else {
            key
        };
        let total = self.totals.entry(key).or_insert(0);
        *total = total.saturating_add(value);
    }

    /// Adds idle waiting that is left out.
    pub(super) fn leave_out(&mut self, value: i64) {
        self.kind.get_or_insert(CauseKind::Reason);
        self.idle = self.idle.saturating_add(value);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Limits, *};

    /// Beyond the bound causes are one, and no value is lost.
    #[test]
    fn the_bound_holds() {
        let mut stacks = Stacks::new(&Limits::default());
        let mut causes = Causes::default();
        for number in 0..1000 {
            let cause = stacks.text(&format!("cause {number}"));
            causes.add(false, Some((CauseKind::Reason, cause)), 1);
        }
        let totals = causes.totals(false);
        assert_eq!(totals.len(), MAX_CAUSES + 1);
        assert_eq!(totals[0], (Stacks::OTHER_TEXT, 1000 - MAX_CAUSES as i64));
    }
}
