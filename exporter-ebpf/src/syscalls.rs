//! How long system calls take.
