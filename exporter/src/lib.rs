//! The capturing half of Evenkeel.
