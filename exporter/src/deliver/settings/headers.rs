//! `OTEL_EXPORTER_OTLP_HEADERS`: `key=value,key=value`, values percent-encoded as in W3C Baggage.
//!
//! Values are often credentials: they are in no error, and `Debug` hides them.

use super::values::Protocol;
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

pub(super) const ALLOWED: &str = "key=value,key=value with values percent-encoded";

/// Many servers take no more than 16 KiB of headers in all (HTTP/2 header lists, Go's default
/// frame); a list near that is a mistake.
const LONGEST_BYTES: usize = 8 * 1024;

/// Headers that the transport sets itself; a second value would break the request.
const RESERVED: &[&str] = &[
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
    "user-agent",
];

/// Reads a list of headers.
///
/// # Errors
/// One sentence for each bad entry. Entries are named by position, and by key only where the key
/// is a proper one, since whatever else the entry holds may be a secret.
pub(super) fn parse(text: &str, protocol: Protocol) -> Result<HeaderMap, Vec<String>> {
    if text.len() > LONGEST_BYTES {
        return Err(vec![format!("longer than {LONGEST_BYTES} bytes")]);
    }
    let mut headers = HeaderMap::new();
    let mut problems = Vec::new();
    for (position, entry) in text.split(',').enumerate() {
        // A trailing comma is common and means nothing.
        if entry.trim().is_empty() {
            continue;
        }
        match parse_entry(entry, protocol) {
            Ok((name, value)) => {
                headers.insert(name, value);
            }
            Err(problem) => problems.push(format!("entry {}: {problem}", position + 1)),
        }
    }
    if problems.is_empty() {
        Ok(headers)
    } else {
        Err(problems)
    }
}

fn parse_entry(entry: &str, protocol: Protocol) -> Result<(HeaderName, HeaderValue), String> {
    let (key, value) = entry
        .split_once('=')
        .ok_or_else(|| "no `=` between key and value".to_owned())?;
    let name = HeaderName::from_bytes(key.trim().as_bytes())
        .map_err(|_| "the key is not a header name".to_owned())?;
    let key = name.as_str();
    if RESERVED.contains(&key) || key.starts_with("grpc-") {
        return Err(format!("`{key}` is set by the exporter itself"));
    }
    if protocol == Protocol::Grpc && key.ends_with("-bin") {
        return Err(format!("`{key}` would be binary metadata in gRPC"));
    }
    let value = value.trim();
    if !percent_encoding_is_valid(value) {
        return Err(format!(
            "the value of `{key}` has a `%` without two hex digits"
        ));
    }
    let value: Vec<u8> = percent_decode_str(value).collect();
    // gRPC metadata is printable ASCII; HTTP header values beyond that are opaque to servers.
    if !value.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(format!("the value of `{key}` is not printable ASCII"));
    }
    let mut value = HeaderValue::from_bytes(&value)
        .map_err(|_| format!("the value of `{key}` is not a header value"))?;
    // Hidden from `Debug`, and never put into the compression table of HTTP/2.
    value.set_sensitive(true);
    Ok((name, value))
}

fn percent_encoding_is_valid(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys are trimmed and lower-cased, values trimmed and decoded, `=` may occur in a value.
    #[test]
    fn good_lists() {
        let headers = parse(
            "X-Scope-OrgID=acme, authorization = Basic%20dXNlcjpwYXNz== ,",
            Protocol::Grpc,
        )
        .unwrap();
        assert_eq!(headers.len(), 2);
        assert_eq!(headers["x-scope-orgid"], "acme");
        assert_eq!(headers["authorization"], "Basic dXNlcjpwYXNz==");
        assert!(headers.values().all(HeaderValue::is_sensitive));
    }

    /// Every bad entry is reported, and no report holds a value.
    #[test]
    fn bad_lists() {
        let problems = parse(
            "s3cret,a b=s3cret,ok=1,content-type=s3cret,x=s3cret%2,y=s3cret%0a,grpc-timeout=s3cret,z-bin=s3cret",
            Protocol::Grpc,
        )
        .unwrap_err();
        assert_eq!(problems.len(), 7, "{problems:?}");
        assert!(problems.iter().all(|problem| !problem.contains("s3cret")));
        assert!(parse("z-bin=1", Protocol::HttpProtobuf).is_ok());
        assert!(parse(&format!("k={}", "v".repeat(LONGEST_BYTES)), Protocol::Grpc).is_err());
    }
}
