//! gRPC: every status, what is sent, what is understood.

use super::{
    super::client::{Client, Outcome, Transport},
    server::{Answer, Backend, Server, Speaks},
    *,
};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

fn client(server: &Server, signal: Signal) -> Client {
    let settings = settings_for("grpc", server.address);
    Client::new(signal, settings.destination(signal).clone()).unwrap()
}

/// Each code has the outcome of the specification's table, both signals have their service, and
/// one connection serves all.
#[tokio::test]
async fn every_code() {
    let codes = [
        (Code::Cancelled, true),
        (Code::Unknown, false),
        (Code::InvalidArgument, false),
        (Code::DeadlineExceeded, true),
        (Code::NotFound, false),
        (Code::AlreadyExists, false),
        (Code::PermissionDenied, false),
        (Code::ResourceExhausted, false),
        (Code::FailedPrecondition, false),
        (Code::Aborted, true),
        (Code::OutOfRange, true),
        (Code::Unimplemented, false),
        (Code::Internal, false),
        (Code::Unavailable, true),
        (Code::DataLoss, true),
        (Code::Unauthenticated, false),
    ];
    for (speaks, signal) in [
        (Speaks::GrpcMetrics, Signal::Metrics),
        (Speaks::GrpcProfiles, Signal::Profiles),
    ] {
        let backend = Backend::new(codes.map(|(code, _)| Answer::status(code)));
        let server = Server::start(speaks, &backend);
        let mut client = client(&server, signal);
        for (code, retryable) in codes {
            let outcome = client.export(request(signal, "m")).await;
            let reason = format!("{code:?}: as told");
            let expected = if retryable {
                Outcome::Retryable {
                    reason,
                    delay: None,
                }
            } else {
                Outcome::Refused { reason }
            };
            assert_eq!(outcome, expected);
        }
        assert_eq!(client.export(request(signal, "m")).await, Outcome::Accepted);
    }
}

/// RESOURCE_EXHAUSTED is worth another try only with RetryInfo, whose delay is passed on.
#[tokio::test]
async fn retry_info() {
    let delay = Duration::from_millis(2500);
    let with = |code, delay| {
        let details = ErrorDetails::with_retry_info(delay);
        Answer::Grpc(Err(Status::with_error_details(code, "busy", details)))
    };
    let backend = Backend::new([
        with(Code::ResourceExhausted, Some(delay)),
        with(Code::Unavailable, Some(delay)),
        with(Code::ResourceExhausted, None),
        with(Code::InvalidArgument, Some(delay)),
        Answer::Grpc(Err(Status::with_details(
            Code::ResourceExhausted,
            "rubbish",
            Bytes::from_static(b"\xff\xff\xff"),
        ))),
    ]);
    let server = Server::start(Speaks::GrpcMetrics, &backend);
    let mut client = client(&server, Signal::Metrics);
    let mut next = async || client.export(request(Signal::Metrics, "m")).await;
    for expected in [Some(delay), Some(delay), None] {
        let outcome = next().await;
        assert!(
            matches!(outcome, Outcome::Retryable { delay, .. } if delay == expected),
            "{outcome:?}"
        );
    }
    assert!(matches!(next().await, Outcome::Refused { .. }));
    assert!(matches!(next().await, Outcome::Refused { .. }));
}

/// Partial success is no failure; a warning without rejections is passed on as such.
#[tokio::test]
async fn partial_success() {
    for (speaks, signal) in [
        (Speaks::GrpcMetrics, Signal::Metrics),
        (Speaks::GrpcProfiles, Signal::Profiles),
    ] {
        let backend = Backend::new([
            Answer::Grpc(Ok((3, "three too old"))),
            Answer::Grpc(Ok((0, "soon to be refused"))),
            Answer::Grpc(Ok((-1, ""))),
        ]);
        let server = Server::start(speaks, &backend);
        let mut client = client(&server, signal);
        let partial = |rejected, message: &str| Outcome::Partial {
            rejected,
            message: message.to_owned(),
        };
        for expected in [
            partial(3, "three too old"),
            partial(0, "soon to be refused"),
            Outcome::Accepted,
        ] {
            assert_eq!(client.export(request(signal, "m")).await, expected);
        }
    }
}

/// Headers arrive as metadata, the body is compressed when asked for, and the agent names itself.
#[tokio::test]
async fn what_is_sent() {
    for (compression, encoding) in [("gzip", Some("gzip")), ("none", None)] {
        let backend = Backend::default();
        let server = Server::start(Speaks::GrpcProfiles, &backend);
        let settings = settings(&[
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &server.address.to_string()),
            ("OTEL_EXPORTER_OTLP_INSECURE", "true"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", compression),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "Authorization=Bearer%20s3cret",
            ),
        ]);
        let mut client = Client::new(Signal::Profiles, settings.profiles).unwrap();
        client.export(request(Signal::Profiles, "mark")).await;
        let got = backend.got().remove(0);
        assert_eq!(got.mark, "mark");
        assert_eq!(got.headers["authorization"], "Bearer s3cret");
        let sent = got
            .headers
            .get("grpc-encoding")
            .map(|value| value.to_str().unwrap());
        assert_eq!(sent, encoding);
        // grpc-go answers a compressed request in kind, so answers in gzip are read, too.
        assert_eq!(got.headers["grpc-accept-encoding"], "gzip,identity");
        let agent = got.headers["user-agent"].to_str().unwrap();
        assert!(agent.starts_with("evenkeel/"), "{agent}");
    }
}

/// An answer larger than an answer can be is bounded, compressed or not, and the accepted request
/// is not sent again.
#[tokio::test]
async fn huge_answer() {
    let message: &'static str = Box::leak("x".repeat(1 << 20).into_boxed_str());
    let backend = Backend::new([1, 1].map(|rejected| Answer::Grpc(Ok((rejected, message)))));
    let server = Server::start(Speaks::GrpcMetrics, &backend);
    let mut destination = settings_for("grpc", server.address).metrics;
    for compression in [Compression::Gzip, Compression::None] {
        destination.compression = compression;
        let mut client = Client::new(Signal::Metrics, destination.clone()).unwrap();
        let outcome = client.export(request(Signal::Metrics, "m")).await;
        assert_eq!(outcome, Outcome::Accepted);
    }
}

/// No listener, and a peer that does not speak HTTP/2, are failures worth another try.
#[tokio::test]
async fn no_server() {
    let closed = Server::start(Speaks::Http, &Backend::default());
    let mut client = client(&closed, Signal::Metrics);
    let outcome = client.export(request(Signal::Metrics, "m")).await;
    assert!(
        matches!(outcome, Outcome::Retryable { delay: None, .. }),
        "{outcome:?}"
    );
    drop(closed);
    let outcome = client.export(request(Signal::Metrics, "m")).await;
    let Outcome::Retryable { reason, .. } = outcome else {
        panic!("{outcome:?}");
    };
    assert!(reason.contains("refused"), "{reason}");
}
