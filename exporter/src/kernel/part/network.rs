//! Network.

use super::Part;

pub(super) const PART: Part = Part {
    programs: &[],
    fields: &[],
    arrays: &[],
};
