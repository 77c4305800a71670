//! The real client against servers on the loopback.

mod failures;
mod providers;
mod server;

use std::time::{Duration, Instant};

use evenkeel_semconv::attribute;

use self::server::{Answer, Server};
use super::{Choice, CloudSettings, Detection, Provider};
use crate::identity::{
    SourcedAttributes,
    roots::Roots,
    test_support::{FakeProc, fake_host},
};

const PATIENCE: Duration = Duration::from_secs(10);

fn settings(choice: Choice, server: &Server) -> CloudSettings {
    CloudSettings {
        choice,
        endpoint: Some(server.endpoint()),
    }
}

/// What the agent would learn, within `limit`.
fn learn(provider: Provider, server: &Server, limit: Duration) -> Option<SourcedAttributes> {
    let settings = settings(Choice::Provider(provider), server);
    let detection = Detection::start(&settings, &Roots::default())
        .unwrap()
        .unwrap();
    detection.wait_until(Instant::now() + limit)
}

fn aws_host() -> FakeProc {
    let fake = fake_host();
    fake.write("sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    fake
}

/// Without a sign nobody is asked, and with one the provider is; `off` turns that off.
#[test]
fn no_request_without_a_sign() {
    let server = Server::start(providers::aws);
    let (bare, aws) = (fake_host(), aws_host());
    let auto = settings(Choice::Auto, &server);
    assert!(Detection::start(&auto, &bare.roots()).unwrap().is_none());
    let off = settings(Choice::Off, &server);
    assert!(Detection::start(&off, &aws.roots()).unwrap().is_none());
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(server.requests(), Vec::<String>::new());

    let detection = Detection::start(&auto, &aws.roots()).unwrap().unwrap();
    assert_eq!(detection.provider(), Provider::Aws);
    let attributes = detection.wait_until(Instant::now() + PATIENCE).unwrap();
    assert_eq!(attributes.value(attribute::CLOUD_PROVIDER), Some("aws"));
    assert!(!server.requests().is_empty());
}

/// A service that fails at first is asked again, and not in a hurry.
#[test]
fn asks_again_later() {
    let server = Server::start(|request| match request.number {
        0..3 => Answer::status(503),
        _ => providers::aws(request),
    });
    let settings = settings(Choice::Provider(Provider::Aws), &server);
    let started = Instant::now();
    let wait = Duration::from_millis(100);
    let detection = Detection::start_with(&settings, &Roots::default(), wait, wait)
        .unwrap()
        .unwrap();
    assert!(detection.wait_until(started + PATIENCE).is_some());
    // Three waits of half to all of 100 ms each.
    assert!(started.elapsed() >= Duration::from_millis(150));
    assert_eq!(detection.poll(), None, "it is told once");
}

/// A token that is not taken any more is replaced by another one.
#[test]
fn tokens_are_renewed() {
    let server = Server::start(|request| {
        let token = request.header("x-aws-ec2-metadata-token");
        match request.path.as_str() {
            "/latest/api/token" => Answer::text(&format!("token-{}", request.number)),
            "/latest/meta-data/hostname" if token == Some("token-0") => Answer::status(401),
            _ => providers::aws(request),
        }
    });
    let attributes = learn(Provider::Aws, &server, PATIENCE).unwrap();
    assert_eq!(
        attributes.value(attribute::HOST_NAME),
        Some("ip-10-0-1-23.internal")
    );
    let tokens = server.requests();
    let tokens = tokens.iter().filter(|line| line.starts_with("PUT"));
    assert_eq!(tokens.count(), 2);
}

/// A capture starts at once and goes on without an identity, has it in the window in which it came
/// and in all later ones; what the user set stays.
#[test]
fn windows_get_late_identity() {
    use crate::{
        capture::{Capture, CaptureOptions},
        identity::HostIdentity,
        settings::{CaptureArguments, Detail, Problems, capture_options},
        signal::Signal,
    };
    let (open, opened) = std::sync::mpsc::channel::<()>();
    let opened = std::sync::Mutex::new(opened);
    let server = Server::start(move |request| {
        if request.number == 0 {
            let _ = opened.lock().unwrap().recv_timeout(PATIENCE);
        }
        providers::aws(request)
    });
    let fake = aws_host();
    let (host, _) = HostIdentity::detect(&fake.roots(), |name| {
        (name == "OTEL_RESOURCE_ATTRIBUTES").then(|| "cloud.region=moon,host.type=".into())
    });
    let options = CaptureOptions {
        signals: vec![Signal::Host],
        cloud: settings(Choice::Auto, &server),
        ..capture_options(
            &CaptureArguments::default(),
            Detail::Aggregated,
            &|_| None,
            &mut Problems::default(),
        )
    };
    let started = Instant::now();
    let mut capture = Capture::start(options, &fake.roots(), host).unwrap();
    let value = |capture: &mut Capture, key: &str| {
        let (window, _) = capture.end_window().unwrap();
        let resource = &window.metrics.first().unwrap().resource;
        let found = resource.attributes.iter().find(|found| found.key == key);
        found.map(|found| found.value.clone())
    };
    assert_eq!(value(&mut capture, attribute::CLOUD_PROVIDER), None);
    assert!(started.elapsed() < Duration::from_secs(1));
    open.send(()).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while value(&mut capture, attribute::CLOUD_PROVIDER).is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    for (key, expected) in [
        (attribute::CLOUD_PROVIDER, Some("aws")),
        (attribute::HOST_ID, Some("i-0123456789abcdef0")),
        (attribute::CLOUD_REGION, Some("moon")),
        (attribute::HOST_TYPE, None),
    ] {
        let expected = expected.map(Into::into);
        assert_eq!(value(&mut capture, key), expected, "{key}");
    }
}
