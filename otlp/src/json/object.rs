//! Fields of a JSON object by the rules of the protobuf mapping.

use base64::{Engine, engine::general_purpose};
use serde_json::{Map, Value};

use super::JsonError;

/// A JSON object whose absent fields are default.
#[derive(Clone, Copy)]
pub(super) struct Object<'a>(Option<&'a Map<String, Value>>);

fn wrong(field: &'static str, expected: &'static str) -> JsonError {
    JsonError::Type { field, expected }
}

/// An integer given as a number or as a decimal string.
fn integer<T>(value: &Value, field: &'static str) -> Result<T, JsonError>
where
    T: TryFrom<i128>,
{
    let number = match value {
        Value::Number(number) => number
            .as_i128()
            // `1e3` and `5.0` are integers too; 2^53 is as far as such a number can be trusted.
            .or_else(|| {
                let float = number.as_f64()?;
                let exact = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0;
                exact.then_some(float as i128)
            }),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| wrong(field, "an integer of its size"))
}

fn float(value: &Value, field: &'static str) -> Result<f64, JsonError> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.as_str() {
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            "NaN" => Some(f64::NAN),
            text => text.parse().ok(),
        },
        _ => None,
    }
    .ok_or_else(|| wrong(field, "a number"))
}

impl<'a> Object<'a> {
    /// `null` is an object without fields.
    pub(super) fn new(value: &'a Value, field: &'static str) -> Result<Self, JsonError> {
        match value {
            Value::Object(map) => Ok(Self(Some(map))),
            Value::Null => Ok(Self(None)),
            _ => Err(wrong(field, "an object")),
        }
    }

    /// The value, unless it is absent or `null`.
    pub(super) fn get(self, field: &str) -> Option<&'a Value> {
        self.0?.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn has(self, field: &str) -> bool {
        self.0.is_some_and(|map| map.contains_key(field))
    }

    pub(super) fn string(self, field: &'static str) -> Result<String, JsonError> {
        Ok(self.text(field)?.to_owned())
    }

    fn text(self, field: &'static str) -> Result<&'a str, JsonError> {
        match self.get(field) {
            None => Ok(""),
            Some(value) => value.as_str().ok_or_else(|| wrong(field, "a string")),
        }
    }

    pub(super) fn bool(self, field: &'static str) -> Result<bool, JsonError> {
        match self.get(field) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| wrong(field, "true or false")),
        }
    }

    pub(super) fn integer<T>(self, field: &'static str) -> Result<T, JsonError>
    where
        T: TryFrom<i128> + Default,
    {
        self.get(field)
            .map_or(Ok(T::default()), |value| integer(value, field))
    }

    pub(super) fn optional_float(self, field: &'static str) -> Result<Option<f64>, JsonError> {
        self.get(field).map(|value| float(value, field)).transpose()
    }

    pub(super) fn integers<T>(self, field: &'static str) -> Result<Vec<T>, JsonError>
    where
        T: TryFrom<i128>,
    {
        self.values(field)?
            .iter()
            .map(|value| integer(value, field))
            .collect()
    }

    pub(super) fn floats(self, field: &'static str) -> Result<Vec<f64>, JsonError> {
        self.values(field)?
            .iter()
            .map(|value| float(value, field))
            .collect()
    }

    pub(super) fn strings(self, field: &'static str) -> Result<Vec<String>, JsonError> {
        self.values(field)?
            .iter()
            .map(|value| value.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| wrong(field, "a list of strings"))
    }

    /// A nested message; absent stays absent.
    pub(super) fn message<T>(
        self,
        field: &'static str,
        decode: impl FnOnce(Object<'a>) -> Result<T, JsonError>,
    ) -> Result<Option<T>, JsonError> {
        self.get(field)
            .map(|value| decode(Object::new(value, field)?))
            .transpose()
    }

    pub(super) fn messages<T>(
        self,
        field: &'static str,
        decode: impl Fn(Object<'a>) -> Result<T, JsonError>,
    ) -> Result<Vec<T>, JsonError> {
        self.values(field)?
            .iter()
            .map(|value| decode(Object::new(value, field)?))
            .collect()
    }

    /// Bytes in hex, as ids are written; base64, as protobuf's own mapping has it, where the text
    /// is not hex of an id's length.
    pub(super) fn id(self, field: &'static str) -> Result<Vec<u8>, JsonError> {
        let text = self.text(field)?;
        match hex(text) {
            Some(bytes) if matches!(bytes.len(), 0 | 8 | 16) => Ok(bytes),
            _ => self.bytes(field),
        }
    }

    pub(super) fn bytes(self, field: &'static str) -> Result<Vec<u8>, JsonError> {
        let text = self.text(field)?;
        general_purpose::STANDARD
            .decode(text)
            .map_err(|_| wrong(field, "base64"))
    }

    fn values(self, field: &'static str) -> Result<&'a [Value], JsonError> {
        match self.get(field) {
            None => Ok(&[]),
            Some(Value::Array(values)) => Ok(values),
            Some(_) => Err(wrong(field, "a list")),
        }
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok())
        .collect()
}
