//! Names until the registry has them.
pub(crate) const PROFILE_FRAME_TYPE: &str = "profile.frame.type";
pub(crate) const BUILD_ID_GNU: &str = "process.executable.build_id.gnu";
pub(crate) const BUILD_ID_GO: &str = "process.executable.build_id.go";
pub(crate) const BUILD_ID_HTLHASH: &str = "process.executable.build_id.htlhash";
