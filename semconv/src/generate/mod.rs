//! From the registry's files to the Rust constants and the document.
//!
//! `registry/` is a valid weaver registry, so that anybody can run weaver on it. What the project
//! itself needs of weaver is done here, without a network: reading with unknown keys refused,
//! comparison of imported names with the upstream registry, the policies, and generation.

mod document;
mod markdown;
mod outdated;
mod policy;
mod registry;
mod rust;
mod upstream;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use self::registry::Registry;
pub use self::{outdated::Outdated, policy::Finding, upstream::Upstream};

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not what a registry file must be.
    #[error("{path}: {message}", path = path.display())]
    Parse {
        /// Which one.
        path: PathBuf,
        /// Where and why.
        message: String,
    },
    /// The registry breaks policies.
    #[error("the registry breaks {} of its rules:{}", .0.len(), lines(.0))]
    Policy(Vec<Finding>),
    /// Cargo cannot be run.
    #[error("cannot run cargo metadata: {0}")]
    Cargo(io::Error),
    /// Cargo does not say where the upstream registry is.
    #[error("cargo metadata: {0}")]
    Metadata(String),
    /// The upstream registry is written otherwise than expected.
    #[error("upstream registry: {0}")]
    Upstream(String),
}

/// A file that is made from the registry.
#[derive(Debug)]
pub struct Artefact {
    /// Where it belongs.
    pub path: PathBuf,
    /// What it holds.
    pub contents: String,
}

/// Reads the registry of the crate in `root`, checks it and makes what is generated from it.
///
/// # Errors
///
/// When a file cannot be read or understood, or a policy is broken; all broken policies are in
/// one error.
pub fn generate(root: &Path, upstream: &Upstream) -> Result<Vec<Artefact>, Error> {
    let (registry, mut findings) = Registry::load(&root.join("registry"), upstream)?;
    findings.extend(policy::check(&registry));
    if !findings.is_empty() {
        return Err(Error::Policy(findings));
    }
    let generated = root.join("src/generated");
    Ok(vec![
        Artefact {
            path: generated.join("mod.rs"),
            contents: rust::module(&registry),
        },
        Artefact {
            path: generated.join("attribute.rs"),
            contents: rust::attributes(&registry),
        },
        Artefact {
            path: generated.join("metric.rs"),
            contents: rust::metrics(&registry),
        },
        Artefact {
            // Beside the crate, with the project's other documents.
            path: root.parent().unwrap_or(root).join("docs/semconv.md"),
            contents: markdown::document(&registry),
        },
    ])
}

/// Writes the artefacts.
///
/// # Errors
///
/// When a file or its directory cannot be written.
pub fn write(artefacts: &[Artefact]) -> Result<(), Error> {
    for artefact in artefacts {
        let failed = |source| Error::Write {
            path: artefact.path.clone(),
            source,
        };
        if let Some(directory) = artefact.path.parent() {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        fs::write(&artefact.path, &artefact.contents).map_err(failed)?;
    }
    Ok(())
}

fn lines(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|finding| format!("\n  {finding}"))
        .collect()
}
