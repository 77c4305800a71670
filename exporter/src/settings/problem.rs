//! What is wrong with the settings.

use std::fmt;

/// One wrong setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The option or variable, and what is wrong with its value.
    pub text: String,
}

impl Problem {
    /// `setting` was given `value`, which is not `allowed`.
    pub fn value(setting: &str, value: &str, allowed: &str) -> Self {
        Self {
            text: format!("{setting} is {value:?}, but must be {allowed}"),
        }
    }
}

/// All that is wrong; never empty when it is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Adds a problem.
    pub fn push(&mut self, text: impl Into<String>) {
        self.0.push(Problem { text: text.into() });
    }

    /// The value, unless there are problems.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() {
            Ok(value)
        } else {
            Err(self)
        }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            formatter.write_str(&problem.text)?;
        }
        Ok(())
    }
}
