//! Calls that the compiler inlined, as the data of a function lists them.

use super::{
    GoTable, GoTableError,
    record::{InlinedCall, Record},
};

/// Functions with inlined calls that are looked at before inlined calls are believed, and functions
/// among which they must be found. One in three functions has some.
const TRIALS: usize = 16;
const MAX_WITHOUT: usize = 4096;

impl GoTable {
    /// The innermost inlined call at an address.
    pub(super) fn inlined_at(
        &self,
        record: &Record,
        at: u64,
    ) -> Result<Option<InlinedCall>, GoTableError> {
        let (Some(data), Some(tree)) = (self.function_data, record.inline_tree) else {
            return Ok(None);
        };
        let Some(index) = self
            .value_at(record.inline_index, at)?
            .and_then(|index| u64::try_from(index.value).ok())
        else {
            return Ok(None);
        };
        let version = self.header.version;
        let size = InlinedCall::size(version);
        let place = data
            .saturating_add(u64::from(tree))
            .saturating_add(index * size as u64);
        let call = InlinedCall::parse(&self.image.read_all(place, size)?, version)
            .ok_or(GoTableError::Broken("inlined call"))?;
        Ok(Some(call))
    }

    /// Whether inlined calls are where the module says: the first functions that have some have
    /// names in them that begin where a name begins, called from within the function.
    pub(super) fn has_inlined_calls(&self) -> bool {
        let mut tried = 0;
        for pair in self.entries.windows(2).take(MAX_WITHOUT) {
            let [entry, next] = pair else { break };
            let address = self.text.saturating_add(u64::from(entry.start));
            let Ok(Some((record, _))) = self.function_at(address) else {
                return false;
            };
            if record.inline_tree.is_none() || record.inline_index == 0 {
                continue;
            }
            let size = u64::from(next.start - entry.start);
            let Ok(Some(at)) = self.first_inlined(&record) else {
                continue;
            };
            let believable = match self.inlined_at(&record, at) {
                Ok(Some(call)) => u64::from(call.parent) < size && self.begins_name(call.name),
                _ => false,
            };
            if !believable {
                return false;
            }
            tried += 1;
            if tried == TRIALS {
                break;
            }
        }
        tried > 0
    }

    fn first_inlined(&self, record: &Record) -> Result<Option<u64>, GoTableError> {
        self.with_values(record.inline_index, |value| {
            (value.value >= 0).then_some(value.start)
        })
    }

    fn begins_name(&self, name: u32) -> bool {
        let begins = |place: u64| {
            let mut byte = [0];
            matches!(self.read_part(self.names, place, &mut byte), Ok(1)).then_some(byte[0] != 0)
        };
        let place = u64::from(name);
        let after_another = place
            .checked_sub(1)
            .is_none_or(|before| begins(before) == Some(false));
        after_another && begins(place) == Some(true)
    }
}
