//! What the settings say of system calls.

use syscalls::Sysno;

/// Which calls are measured one by one, and what measuring may cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Calls measured one by one beside their families, at most `LISTED_SYSCALLS`, each once.
    pub listed: Vec<Sysno>,
    /// Share of the node's CPU time that measuring may cost, above 0 and at most 1.
    pub budget: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listed: Vec::new(),
            budget: 0.01,
        }
    }
}
