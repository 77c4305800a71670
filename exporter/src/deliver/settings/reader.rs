//! Reading variables and collecting what is wrong with them.

use super::error::SettingError;
use std::borrow::Cow;

/// A value and the variable that gave it.
#[derive(Clone, Debug)]
pub(super) struct Given<T> {
    pub(super) variable: String,
    pub(super) value: T,
}

/// Reads variables by name and keeps every error that it meets, each once.
pub(super) struct Reader<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
    errors: Vec<SettingError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(get: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            get,
            errors: Vec::new(),
        }
    }

    /// The trimmed text of a variable; an empty one counts as unset (OpenTelemetry
    /// specification, "Parsing empty value").
    pub(super) fn text(&self, variable: &str) -> Option<Given<String>> {
        let value = (self.get)(variable)?;
        let value = value.trim();
        (!value.is_empty()).then(|| Given {
            variable: variable.to_owned(),
            value: value.to_owned(),
        })
    }

    /// A variable of which `parse` makes a value, or says what is wrong.
    pub(super) fn parse<T>(
        &mut self,
        variable: &str,
        allowed: impl Into<Cow<'static, str>>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<Given<T>> {
        let text = self.text(variable)?;
        match parse(&text.value) {
            Ok(value) => Some(Given {
                variable: text.variable,
                value,
            }),
            Err(problem) => {
                self.error(SettingError::new(
                    variable,
                    Some(&text.value),
                    problem,
                    allowed,
                ));
                None
            }
        }
    }

    /// Keeps an error, once: a general variable is read for several signals.
    pub(super) fn error(&mut self, error: SettingError) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    pub(super) fn into_errors(self) -> Vec<SettingError> {
        self.errors
    }
}
