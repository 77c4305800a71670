//! OTLP over HTTP with binary protobuf.

use super::{
    connection::{Connector, HttpClient as Pool},
    outcome::{Outcome, legible, with_causes},
    response,
};
use crate::deliver::{
    settings::{Compression, Destination},
    signal::Signal,
};
use bytes::Bytes;
use flate2::write::GzEncoder;
use http::{
    HeaderMap, HeaderValue, Method, Request, StatusCode, Uri,
    header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, USER_AGENT},
};
use http_body_util::{BodyExt, Full, Limited};
use prost::Message;
use std::{
    io::Write,
    time::{Duration, SystemTime},
};

/// Exactly this: Pyroscope answers 415 to a media type with parameters.
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");

/// The client of one signal.
pub(super) struct HttpClient {
    signal: Signal,
    pool: Pool<Full<Bytes>>,
    endpoint: Uri,
    headers: HeaderMap,
    compression: Compression,
}

impl HttpClient {
    pub(super) fn new(signal: Signal, destination: &Destination, connector: &Connector) -> Self {
        let mut headers = destination.headers.clone();
        headers.insert(CONTENT_TYPE, PROTOBUF);
        headers.insert(USER_AGENT, super::USER_AGENT);
        if destination.compression == Compression::Gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        Self {
            signal,
            pool: connector.client(),
            endpoint: destination.endpoint.clone(),
            headers,
            compression: destination.compression,
        }
    }

    pub(super) async fn export(&mut self, body: Bytes) -> Outcome {
        let body = match self.compression {
            Compression::None => body,
            Compression::Gzip => match gzip(&body) {
                Ok(compressed) => compressed,
                Err(error) => {
                    return Outcome::Refused {
                        reason: format!("cannot compress: {error}"),
                    };
                }
            },
        };
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.clone();
        request.headers_mut().clone_from(&self.headers);

        let answer = match self.pool.request(request).await {
            Ok(answer) => answer,
            Err(error) => {
                return Outcome::Retryable {
                    reason: with_causes(&error),
                    delay: None,
                };
            }
        };
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, response::LARGEST_BYTES).collect().await;
        if head.status.is_success() {
            // A body that is cut or too long changes nothing: see `response::outcome`.
            let body = body.map(|body| body.to_bytes()).unwrap_or_default();
            return response::outcome(self.signal, &body);
        }
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        outcome(head.status, &head.headers, &body, SystemTime::now())
    }
}

fn gzip(body: &[u8]) -> std::io::Result<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body)?;
    Ok(encoder.finish()?.into())
}

/// What a status other than success means (OTLP specification, "OTLP/HTTP Response").
fn outcome(status: StatusCode, headers: &HeaderMap, body: &[u8], now: SystemTime) -> Outcome {
    let mut reason = format!("HTTP {}", status.as_u16());
    let words = server_words(headers, body);
    if !words.is_empty() {
        reason.push_str(": ");
        reason.push_str(&words);
    }
    match status {
        StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => Outcome::Retryable {
            reason,
            delay: headers
                .get(RETRY_AFTER)
                .and_then(|value| value.to_str().ok())
                .and_then(|value| retry_after(value, now)),
        },
        _ if status.is_redirection() => Outcome::Refused {
            reason: format!("{reason} (redirects are not followed)"),
        },
        _ => Outcome::Refused { reason },
    }
}

/// The message of a `google.rpc.Status`, which OTLP servers send, or the text that proxies send.
fn server_words(headers: &HeaderMap, body: &[u8]) -> String {
    let is_protobuf = headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(PROTOBUF.as_bytes()));
    if is_protobuf {
        return tonic_types::Status::decode(body)
            .map(|status| legible(&status.message))
            .unwrap_or_default();
    }
    std::str::from_utf8(body).map(legible).unwrap_or_default()
}

/// Reads `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3).
fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both forms are read, a date in the past is no wait, and rubbish is no answer.
    #[test]
    fn retry_after_forms() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let read = |value| retry_after(value, now);
        assert_eq!(read(" 120 "), Some(Duration::from_secs(120)));
        assert_eq!(
            read("Sun, 06 Nov 1994 08:49:47 GMT"),
            Some(Duration::from_secs(10))
        );
        assert_eq!(read("Sat, 06 Nov 1993 08:49:47 GMT"), Some(Duration::ZERO));
        for rubbish in ["", "-1", "soon", "1.5", "99999999999999999999999"] {
            assert_eq!(read(rubbish), None, "{rubbish}");
        }
    }

    /// Every status of three digits has the outcome that the specification gives it.
    #[test]
    fn every_status() {
        for code in 300..600 {
            let status = StatusCode::from_u16(code).unwrap();
            let outcome = outcome(status, &HeaderMap::new(), b"", SystemTime::now());
            let retryable = matches!(outcome, Outcome::Retryable { delay: None, .. });
            assert_eq!(retryable, [429, 502, 503, 504].contains(&code), "{code}");
        }
    }
}
