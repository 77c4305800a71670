//! One module a signal.
