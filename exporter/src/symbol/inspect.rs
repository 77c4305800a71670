//! `evenkeel inspect address`: what a file has at its addresses.

use std::{io, path::Path, sync::Arc, time::Duration};

use evenkeel_otlp::model::Frame;
use serde::Serialize;

use super::{
    executable::{Executable, ExecutableError},
    symbolizer::{Address, Batch, Symbolizer, SymbolizerError, SymbolizerSettings},
};

/// Longest wait for an answer: the DWARF of a browser takes tens of seconds.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Why a file cannot be inspected.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The file cannot be opened.
    #[error(transparent)]
    Executable(#[from] ExecutableError),
    /// The file has no symbols that could be read.
    #[error("{path}: {reason}")]
    Unusable {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The symbolizer did not start.
    #[error("cannot start the symbolizer: {0}")]
    Start(#[from] io::Error),
    /// The symbolizer did not answer.
    #[error(transparent)]
    Symbolizer(#[from] SymbolizerError),
}

/// The frames at one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InspectedAddress {
    /// ELF virtual address, as `0x` and hex digits.
    pub address: String,
    /// The sections with names, or with the way to them, that the file has.
    pub tables: Vec<&'static str>,
    /// Why there is no name; absent when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Innermost inlined function first. One frame without a function where there is no name.
    pub frames: Vec<InspectedFrame>,
}

/// One function at an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InspectedFrame {
    /// Demangled name; `null` when there is none.
    pub function: Option<String>,
    /// Base name of the file.
    pub module: String,
    /// Source file; `null` when unknown.
    pub file: Option<String>,
    /// Line in `file`, from 1; `null` when unknown.
    pub line: Option<u32>,
    /// Whether the function was inlined into the next frame's.
    pub inlined: bool,
}

/// Looks ELF virtual addresses of `file` up, with lines and inlined functions where the file or
/// an installed debug file has them.
///
/// # Errors
/// [`InspectError`]; an address without a name is no error.
pub fn inspect_address(
    file: &Path,
    addresses: &[u64],
) -> Result<Vec<InspectedAddress>, InspectError> {
    let executable = Arc::new(Executable::open(1, file)?);
    if let Some(reason) = executable.reason {
        return Err(InspectError::Unusable {
            path: file.display().to_string(),
            reason,
        });
    }
    let symbolizer = Symbolizer::start(SymbolizerSettings {
        // One file, asked for by name: no bound but the machine's.
        table_bytes: u64::MAX,
        ..SymbolizerSettings::new(true)
    })?;
    let batch = Arc::new(Batch {
        user: vec![(
            Arc::clone(&executable),
            addresses
                .iter()
                .map(|value| Address {
                    value: *value,
                    is_return: false,
                })
                .collect(),
        )],
        ..Batch::default()
    });
    let names = symbolizer.symbolize(&batch, TIMEOUT)?;
    Ok(names
        .user
        .iter()
        .flatten()
        .zip(addresses)
        .map(|(frame, address)| InspectedAddress {
            address: format!("{address:#x}"),
            tables: executable.tables.clone(),
            reason: frame.lines.is_empty().then(|| executable.why_unnamed()),
            frames: frames(frame),
        })
        .collect())
}

fn frames(frame: &Frame) -> Vec<InspectedFrame> {
    let module = frame
        .mapping
        .as_ref()
        .map_or_else(String::new, |mapping| mapping.filename.to_string());
    if frame.lines.is_empty() {
        return vec![InspectedFrame {
            function: None,
            module,
            file: None,
            line: None,
            inlined: false,
        }];
    }
    let last = frame.lines.len() - 1;
    frame
        .lines
        .iter()
        .enumerate()
        .map(|(index, line)| InspectedFrame {
            function: Some(line.function.name.to_string()),
            module: module.clone(),
            file: (!line.function.file.is_empty()).then(|| line.function.file.to_string()),
            line: (line.line != 0).then_some(line.line),
            inlined: index != last,
        })
        .collect()
}
