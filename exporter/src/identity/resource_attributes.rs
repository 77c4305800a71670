//! The syntax of `OTEL_RESOURCE_ATTRIBUTES`.

use percent_encoding::percent_decode_str;
use thiserror::Error;

/// The variable that names a service.
pub const SERVICE_NAME_VARIABLE: &str = "OTEL_SERVICE_NAME";
/// The variable that lists resource attributes.
pub const RESOURCE_ATTRIBUTES_VARIABLE: &str = "OTEL_RESOURCE_ATTRIBUTES";

/// Why a value of `OTEL_RESOURCE_ATTRIBUTES` was discarded, all of it, as the specification
/// (Resource SDK, "Specifying resource information via an environment variable") wants.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResourceAttributesError {
    /// A member has no `=`.
    #[error("member {position} has no '='")]
    MissingEquals {
        /// Place in the list, from 1.
        position: usize,
    },
    /// A member has no name before its `=`.
    #[error("member {position} has no name")]
    EmptyKey {
        /// Place in the list, from 1.
        position: usize,
    },
    /// A `%` is not followed by two hexadecimal digits.
    #[error("member {position} has a '%' without two hexadecimal digits")]
    Percent {
        /// Place in the list, from 1.
        position: usize,
    },
    /// Decoded bytes are not text.
    #[error("member {position} is not UTF-8 when decoded")]
    NotUtf8 {
        /// Place in the list, from 1.
        position: usize,
    },
}

/// Reads `key=value,key=value`: white space around keys and values is dropped, both are
/// percent-decoded, members that are empty (a trailing comma) are skipped. Keys may repeat: the
/// last one counts.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, ResourceAttributesError> {
    let mut attributes = Vec::new();
    for (index, member) in text.split(',').enumerate() {
        let position = index + 1;
        if member.trim().is_empty() {
            continue;
        }
        let (key, value) = member
            .split_once('=')
            .ok_or(ResourceAttributesError::MissingEquals { position })?;
        let key = decode(key.trim(), position)?;
        if key.is_empty() {
            return Err(ResourceAttributesError::EmptyKey { position });
        }
        attributes.push((key, decode(value.trim(), position)?));
    }
    Ok(attributes)
}

/// The crate's decoder lets a broken escape stand; the specification calls it an error.
fn decode(text: &str, position: usize) -> Result<String, ResourceAttributesError> {
    let broken = text.split('%').skip(1).any(|after| {
        !after
            .as_bytes()
            .get(..2)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    if broken {
        return Err(ResourceAttributesError::Percent { position });
    }
    percent_decode_str(text)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| ResourceAttributesError::NotUtf8 { position })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    /// Percent escapes, white space and trailing commas.
    #[test]
    fn reads_lists() {
        assert_eq!(
            parse("service.name=a%2Cb, deployment.environment.name = prod ,").unwrap(),
            [
                pair("service.name", "a,b"),
                pair("deployment.environment.name", "prod")
            ]
        );
        assert_eq!(
            parse("k=a=b,e=").unwrap(),
            [pair("k", "a=b"), pair("e", "")]
        );
        assert_eq!(parse("").unwrap(), []);
    }

    /// One broken member discards the whole list.
    #[test]
    fn one_error_discards_all() {
        use ResourceAttributesError::{EmptyKey, MissingEquals, NotUtf8, Percent};
        assert_eq!(parse("a=1,b"), Err(MissingEquals { position: 2 }));
        assert_eq!(parse("=1"), Err(EmptyKey { position: 1 }));
        assert_eq!(parse("a=1,b=%4"), Err(Percent { position: 2 }));
        assert_eq!(parse("a=100%"), Err(Percent { position: 1 }));
        assert_eq!(parse("a=%zz"), Err(Percent { position: 1 }));
        assert_eq!(parse("a=%ff"), Err(NotUtf8 { position: 1 }));
    }
}
