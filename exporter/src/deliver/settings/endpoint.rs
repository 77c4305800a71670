//! `OTEL_EXPORTER_OTLP_ENDPOINT` and its variants per signal.

use super::{error::SettingError, reader::Given, values::Protocol};
use crate::deliver::signal::Signal;
use http::{
    Uri,
    uri::{PathAndQuery, Scheme},
};

const ALLOWED_HTTP: &str = "an absolute http:// or https:// URL, such as http://localhost:4318";
const ALLOWED_GRPC: &str =
    "http://HOST:PORT, https://HOST:PORT or HOST:PORT, such as http://localhost:4317";

/// The URL that requests of one signal go to.
///
/// `base` says that the variable is the general one, to which OTLP/HTTP appends the signal's
/// path; one per signal is used as it is. `insecure` decides for gRPC endpoints without a scheme.
pub(super) fn resolve(
    given: Option<&Given<String>>,
    base: bool,
    protocol: Protocol,
    insecure: bool,
    signal: Signal,
) -> Result<Uri, SettingError> {
    let (variable, text) = match given {
        Some(given) => (given.variable.as_str(), given.value.clone()),
        None => (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            format!("http://localhost:{}", protocol.default_port()),
        ),
    };
    let allowed = match protocol {
        Protocol::Grpc => ALLOWED_GRPC,
        Protocol::HttpProtobuf => ALLOWED_HTTP,
    };
    let fail = |problem: &str| SettingError::new(variable, Some(&text), problem, allowed);
    let after_scheme = text
        .split_once("://")
        .map_or(text.as_str(), |(_, rest)| rest);
    let authority = after_scheme.split(['/', '?', '#']).next();
    if authority.is_some_and(|authority| authority.contains('@')) {
        // The part before it may be a password, so the value is not shown.
        return Err(SettingError::new(
            variable,
            None,
            "user information is not taken from a URL; send credentials by the HEADERS variable",
            allowed,
        ));
    }
    let absolute = match (text.contains("://"), protocol) {
        (true, _) => text.clone(),
        (false, Protocol::HttpProtobuf) => return Err(fail("the scheme is missing")),
        (false, Protocol::Grpc) if insecure => format!("http://{text}"),
        (false, Protocol::Grpc) => format!("https://{text}"),
    };
    let uri: Uri = absolute
        .parse()
        .map_err(|error| fail(&format!("not a URL: {error}")))?;
    if uri.scheme() != Some(&Scheme::HTTP) && uri.scheme() != Some(&Scheme::HTTPS) {
        return Err(fail("the scheme is neither http nor https"));
    }
    let authority = uri.authority().ok_or_else(|| fail("the host is missing"))?;
    if authority.host().is_empty() {
        return Err(fail("the host is missing"));
    }
    let after_host = &authority.as_str()[authority.host().len()..];
    if !after_host.is_empty() && authority.port_u16().is_none_or(|port| port == 0) {
        return Err(fail("the port is not a number from 1 to 65535"));
    }
    match protocol {
        Protocol::Grpc if uri.path_and_query().is_some_and(|path| path != "/") => {
            Err(fail("an endpoint of gRPC has no path"))
        }
        Protocol::HttpProtobuf if base => {
            append(uri, signal.http_path()).ok_or_else(|| fail("not a base URL"))
        }
        Protocol::Grpc | Protocol::HttpProtobuf => Ok(uri),
    }
}

/// Appends a path to the path of a base URL and keeps its query.
fn append(uri: Uri, path: &str) -> Option<Uri> {
    let mut parts = uri.into_parts();
    let (prefix, query) = parts
        .path_and_query
        .as_ref()
        .map_or(("/", None), |whole| (whole.path(), whole.query()));
    let prefix = prefix.trim_end_matches('/');
    let whole = match query {
        None => format!("{prefix}/{path}"),
        Some(query) => format!("{prefix}/{path}?{query}"),
    };
    parts.path_and_query = Some(PathAndQuery::try_from(whole).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(text: &str, base: bool, protocol: Protocol) -> Result<String, SettingError> {
        let given = Given {
            variable: "V".to_owned(),
            value: text.to_owned(),
        };
        resolve(Some(&given), base, protocol, false, Signal::Profiles).map(|uri| uri.to_string())
    }

    /// A base URL gets the signal's path, whatever slash it ends in; one per signal is untouched.
    #[test]
    fn http() {
        use Protocol::HttpProtobuf as Http;
        for (text, base, expected) in [
            (
                "http://c:4318",
                true,
                "http://c:4318/v1development/profiles",
            ),
            (
                "http://c:4318/",
                true,
                "http://c:4318/v1development/profiles",
            ),
            (
                "https://c/otlp/",
                true,
                "https://c/otlp/v1development/profiles",
            ),
            (
                "https://c/o?k=1",
                true,
                "https://c/o/v1development/profiles?k=1",
            ),
            (
                "http://[::1]:4318",
                true,
                "http://[::1]:4318/v1development/profiles",
            ),
            ("https://c/any/path/", false, "https://c/any/path/"),
            ("https://c", false, "https://c/"),
        ] {
            assert_eq!(endpoint(text, base, Http).unwrap(), expected);
        }
        for bad in [
            "localhost:4318",
            "http://",
            "http://:4318",
            "ftp://c",
            "unix:///run/otlp",
            "http://c:99999",
            "http://c:0",
            "http://c:",
            "http://a b",
        ] {
            assert!(endpoint(bad, true, Http).is_err(), "{bad}");
        }
    }

    /// gRPC takes `HOST:PORT` too, with TLS unless it was said to be insecure, and no path.
    #[test]
    fn grpc() {
        use Protocol::Grpc;
        assert_eq!(endpoint("c:4317", true, Grpc).unwrap(), "https://c:4317/");
        assert_eq!(
            endpoint("http://c:4317/", true, Grpc).unwrap(),
            "http://c:4317/"
        );
        assert!(endpoint("http://c:4317/v1/metrics", false, Grpc).is_err());
        let given = Given {
            variable: "V".to_owned(),
            value: "c:4317".to_owned(),
        };
        let uri = resolve(Some(&given), true, Grpc, true, Signal::Metrics).unwrap();
        assert_eq!(uri, "http://c:4317/");
    }

    /// A password in a URL is not repeated in the error.
    #[test]
    fn user_information() {
        let error = endpoint("https://me:s3cret@c", true, Protocol::HttpProtobuf).unwrap_err();
        assert!(!error.to_string().contains("s3cret"));
    }

    /// Without a variable the Collector on this host is meant.
    #[test]
    fn defaults() {
        let of = |protocol| resolve(None, true, protocol, false, Signal::Metrics).unwrap();
        assert_eq!(of(Protocol::Grpc), "http://localhost:4317/");
        assert_eq!(
            of(Protocol::HttpProtobuf),
            "http://localhost:4318/v1/metrics"
        );
    }
}
