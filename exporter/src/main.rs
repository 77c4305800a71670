//! Start, and nothing else.

fn main() {}
