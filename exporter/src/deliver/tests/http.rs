//! OTLP/HTTP: every status, what is sent, what is understood.

use super::{
    super::client::{Client, Outcome, Transport},
    server::{Answer, Backend, Server, Speaks},
    *,
};
use ::http::HeaderMap;
use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::profiles::v1development::{
    ExportProfilesPartialSuccess, ExportProfilesServiceResponse,
};
use std::io::Read;

fn client(server: &Server, signal: Signal) -> Client {
    let settings = settings_for("http/protobuf", server.address);
    Client::new(signal, settings.destination(signal).clone()).unwrap()
}

/// Each signal has its path; the headers are exact; the body is what was pushed, in gzip or not.
#[tokio::test]
async fn what_is_sent() {
    for (signal, path) in [
        (Signal::Profiles, "/v1development/profiles"),
        (Signal::Metrics, "/v1/metrics"),
        (Signal::AgentMetrics, "/v1/metrics"),
    ] {
        for compression in ["gzip", "none"] {
            let backend = Backend::default();
            let server = Server::start(Speaks::Http, &backend);
            let settings = settings(&[
                (
                    "OTEL_EXPORTER_OTLP_ENDPOINT",
                    &format!("http://{}/", server.address),
                ),
                ("OTEL_EXPORTER_OTLP_COMPRESSION", compression),
                ("OTEL_EXPORTER_OTLP_HEADERS", "x-scope-orgid=acme"),
            ]);
            let sent = request(signal, "mark");
            let destination = settings.destination(signal).clone();
            let mut client = Client::new(signal, destination).unwrap();
            assert_eq!(client.export(sent.clone()).await, Outcome::Accepted);
            let got = backend.got().remove(0);
            assert_eq!(got.path, path);
            assert_eq!(got.headers["content-type"], "application/x-protobuf");
            assert_eq!(got.headers["x-scope-orgid"], "acme");
            if compression == "gzip" {
                assert_eq!(got.headers["content-encoding"], "gzip");
                let mut body = Vec::new();
                GzDecoder::new(&got.body[..])
                    .read_to_end(&mut body)
                    .unwrap();
                assert_eq!(body, sent);
            } else {
                assert!(!got.headers.contains_key("content-encoding"));
                assert_eq!(got.body, sent);
            }
        }
    }
}

/// Retryable statuses with both forms of Retry-After, refusals with the server's words.
#[tokio::test]
async fn statuses() {
    let date = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(60));
    let status = tonic_types::Status {
        code: 3,
        message: "no such tenant".to_owned(),
        details: Vec::new(),
    };
    let protobuf = [(
        ::http::header::CONTENT_TYPE,
        "application/x-protobuf".parse().unwrap(),
    )];
    let backend = Backend::new([
        Answer::http(429, &[("retry-after", "7")]),
        Answer::http(429, &[("retry-after", &date)]),
        Answer::http(503, &[]),
        Answer::Http(
            400,
            protobuf.into_iter().collect(),
            status.encode_to_vec().into(),
        ),
        Answer::Http(
            500,
            HeaderMap::new(),
            Bytes::from_static(b"<html>\nno</html>"),
        ),
    ]);
    let server = Server::start(Speaks::Http, &backend);
    let mut client = client(&server, Signal::Metrics);
    let mut next = async || client.export(request(Signal::Metrics, "m")).await;
    let delay = |outcome| match outcome {
        Outcome::Retryable { delay, .. } => delay,
        other => panic!("{other:?}"),
    };
    assert_eq!(delay(next().await), Some(Duration::from_secs(7)));
    let until = delay(next().await).unwrap().as_secs_f64();
    assert!((50.0..=60.0).contains(&until), "{until}");
    assert_eq!(delay(next().await), None);
    let refused = |reason: &str| Outcome::Refused {
        reason: reason.to_owned(),
    };
    assert_eq!(next().await, refused("HTTP 400: no such tenant"));
    assert_eq!(next().await, refused("HTTP 500: <html> no</html>"));
    assert_eq!(next().await, Outcome::Accepted);
}

/// A redirect is refused, and its target sees nothing: headers may be credentials.
#[tokio::test]
async fn redirects() {
    let target = Backend::default();
    let elsewhere = Server::start(Speaks::Http, &target);
    let location = format!("http://{}/v1/metrics", elsewhere.address);
    let codes = [301, 302, 303, 307, 308];
    let backend = Backend::new(codes.map(|code| Answer::http(code, &[("location", &location)])));
    let server = Server::start(Speaks::Http, &backend);
    let mut client = client(&server, Signal::Metrics);
    for code in codes {
        let outcome = client.export(request(Signal::Metrics, "m")).await;
        let expected = format!("HTTP {code} (redirects are not followed)");
        assert_eq!(outcome, Outcome::Refused { reason: expected });
    }
    assert!(target.got().is_empty());
}

/// Partial success, rubbish and an endless body after a success: none is sent again.
#[tokio::test]
async fn bodies_of_success() {
    let partial = ExportProfilesServiceResponse {
        partial_success: Some(ExportProfilesPartialSuccess {
            rejected_profiles: 2,
            error_message: "too old".to_owned(),
        }),
    };
    let ok = |body: Vec<u8>| Answer::Http(200, HeaderMap::new(), body.into());
    let backend = Backend::new([
        ok(partial.encode_to_vec()),
        ok(b"\xff\xff\xff".to_vec()),
        ok(vec![b'x'; 1 << 20]),
    ]);
    let server = Server::start(Speaks::Http, &backend);
    let mut client = client(&server, Signal::Profiles);
    let mut next = async || client.export(request(Signal::Profiles, "m")).await;
    assert_eq!(
        next().await,
        Outcome::Partial {
            rejected: 2,
            message: "too old".to_owned()
        }
    );
    assert_eq!(next().await, Outcome::Accepted);
    assert_eq!(next().await, Outcome::Accepted);
    assert_eq!(next().await, Outcome::Accepted);
}
