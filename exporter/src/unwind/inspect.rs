//! `evenkeel inspect process`: how callers are found in each file that a process has mapped, and why not.

use std::{collections::HashSet, sync::Arc};

use evenkeel_abi::CfaKind;
use serde::Serialize;

use super::{Rows, RowsLimits};
use crate::symbol::{AddressSpace, Executable};

/// How callers are found in the code of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnwindInspection {
    /// Files, in order of address, each once.
    pub files: Vec<InspectedFile>,
    /// Executable regions without a file: code made at run time, walked by frame pointers.
    pub anonymous_regions: u64,
}

/// How callers are found in the code of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InspectedFile {
    /// Path in the mount namespace of the process.
    pub file: String,
    /// `rows` of its call frame information, or `frame_pointer` for all of its code.
    pub method: &'static str,
    /// Rows.
    pub rows: u64,
    /// Rows that say how the caller is found in a way that is not understood: walks end there.
    pub rows_not_understood: u64,
    /// Functions whose call frame information could not be read: walked by frame pointers.
    pub functions_refused: u64,
    /// Why there are no rows.
    pub reason: Option<String>,
}

/// Reads the call frame information of everything that a process has mapped.
pub fn inspect(space: &AddressSpace) -> UnwindInspection {
    let mut seen = HashSet::new();
    let mut inspection = UnwindInspection {
        files: Vec::new(),
        anonymous_regions: 0,
    };
    for (_, _, file) in space.code() {
        match file {
            Some((executable, _)) if seen.insert(executable.id) => {
                inspection.files.push(inspect_file(executable));
            }
            Some(_) => {}
            None => inspection.anonymous_regions += 1,
        }
    }
    inspection
}

fn inspect_file(executable: &Arc<Executable>) -> InspectedFile {
    let mut file = InspectedFile {
        file: executable.path.display().to_string(),
        method: "frame_pointer",
        rows: 0,
        rows_not_understood: 0,
        functions_refused: 0,
        reason: None,
    };
    match Rows::build(executable, &RowsLimits::default()) {
        Ok(rows) => {
            file.method = "rows";
            file.rows = rows.rows.len() as u64;
            file.rows_not_understood = rows.count(CfaKind::Unknown);
            file.functions_refused = rows.refused;
        }
        Err(error) => file.reason = Some(error.to_string()),
    }
    file
}
