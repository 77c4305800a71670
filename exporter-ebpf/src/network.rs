//! What packets cost and where they wait.
