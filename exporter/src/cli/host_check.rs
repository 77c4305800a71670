//! What this host lacks, said before anything is attached.

use super::outcome::Failure;
use crate::{
    identity::Roots,
    kernel::{
        btf::Btf,
        requirements::{Requirements, Weight},
    },
};

/// Says what is missing and what is lost with it; fails when nothing at all can work.
pub(super) fn check(roots: &Roots) -> Result<Requirements, Failure> {
    let mut requirements = Requirements::diagnose(&roots.proc, &roots.sys);
    if let Ok(btf) = Btf::from_sys(&roots.sys) {
        requirements.add_features(&btf);
    }
    if requirements.fatal() {
        return Err(Failure::Requirements(requirements));
    }
    for lack in requirements.lacks() {
        if lack.weight == Weight::Note {
            tracing::debug!(lost = %lack.lost, remedy = %lack.remedy, "{}", lack.what);
        } else {
            tracing::warn!(lost = %lack.lost, remedy = %lack.remedy, "{}", lack.what);
        }
    }
    Ok(requirements)
}
