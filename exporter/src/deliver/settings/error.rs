//! What is wrong with a variable.

use std::borrow::Cow;

/// A value longer than this is cut when it is shown.
const SHOWN_CHARS: usize = 120;

/// One bad setting. All of them are collected and returned together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}{}: {problem} (allowed: {allowed})", self.shown())]
pub struct SettingError {
    /// The environment variable.
    pub variable: String,
    /// What it was set to; `None` when it is unset or may hold a secret.
    pub value: Option<String>,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub allowed: Cow<'static, str>,
}

impl SettingError {
    pub(super) fn new(
        variable: &str,
        value: Option<&str>,
        problem: impl Into<String>,
        allowed: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            variable: variable.to_owned(),
            value: value.map(ToOwned::to_owned),
            problem: problem.into(),
            allowed: allowed.into(),
        }
    }

    fn shown(&self) -> String {
        match &self.value {
            None => String::new(),
            Some(value) if value.chars().count() <= SHOWN_CHARS => format!("={value:?}"),
            Some(value) => {
                let head: String = value.chars().take(SHOWN_CHARS).collect();
                format!("={head:?}...")
            }
        }
    }
}
