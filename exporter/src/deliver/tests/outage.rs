//! Delivery as a whole through outages of real servers.

use super::{
    server::{Answer, Backend, BlackHole, Server, Speaks},
    *,
};
use std::{net::TcpListener, time::Instant};
use tonic::Code;

/// An address at which nobody listens.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// Down, up, killed and restarted, over both transports: all windows arrive, each once, in order.
#[test]
fn comes_and_goes() {
    for (protocol, speaks) in [
        ("grpc", Speaks::GrpcMetrics),
        ("grpc", Speaks::GrpcProfiles),
        ("http/protobuf", Speaks::Http),
    ] {
        let signal = match speaks {
            Speaks::GrpcProfiles => Signal::Profiles,
            Speaks::GrpcMetrics | Speaks::Http => Signal::Metrics,
        };
        let address = free_address();
        let delivery = Delivery::start(&settings_for(protocol, address), fast()).unwrap();
        (0..5).for_each(|number| delivery.push(window(signal, number)));
        wait_until(&delivery, signal, |accounts| accounts.retries >= 3);
        assert_eq!(delivery.accounts().signal(signal).sent, 0);

        let backend = Backend::default();
        let server = Server::start_at(address, speaks, &backend, None);
        wait_until(&delivery, signal, |accounts| accounts.sent == 5);
        drop(server);

        let before = delivery.accounts().signal(signal).retries;
        (5..10).for_each(|number| delivery.push(window(signal, number)));
        wait_until(&delivery, signal, |accounts| accounts.retries >= before + 3);
        let server = Server::start_at(address, speaks, &backend, None);
        wait_until(&delivery, signal, |accounts| accounts.sent == 10);

        let accounts = delivery.stop(Duration::from_secs(5));
        let accounts = accounts.signal(signal);
        assert_eq!((accounts.made, accounts.dropped_in_all()), (10, 0));
        assert_eq!(accounts.requests_sent, 10);
        assert_eq!(backend.got().len(), 10);
        if speaks != Speaks::Http {
            let expected: Vec<_> = (0..10).map(|number: u64| number.to_string()).collect();
            assert_eq!(backend.marks(), expected);
        }
        drop(server);
    }
}

/// A peer that accepts and never answers: each try ends by the timeout, memory stays within the
/// bound, every window is accounted for, and when a real server takes the place it gets the rest.
#[test]
fn black_hole() {
    for protocol in ["grpc", "http/protobuf"] {
        let hole = BlackHole::start();
        let settings = settings(&[
            ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                &format!("http://{}", hole.address),
            ),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "100"),
        ]);
        let bounds = QueueBounds {
            bytes: 64 * 1024,
            windows: 1000,
        };
        let options = fast().with_bounds(Signal::Profiles, bounds);
        let delivery = Delivery::start(&settings, options).unwrap();
        let big = Bytes::from(vec![7; 8 * 1024]);
        for number in 0..2000 {
            delivery.push(Export {
                signal: Signal::Profiles,
                window: number,
                requests: vec![big.clone()],
            });
            let accounts = delivery.accounts();
            assert!(accounts.balanced());
            assert!(accounts.signal(Signal::Profiles).queued_bytes <= 64 * 1024);
        }
        wait_until(&delivery, Signal::Profiles, |accounts| {
            accounts.retries >= 3
        });
        let begun = Instant::now();
        let accounts = delivery.stop(Duration::from_millis(300));
        assert!(
            begun.elapsed() < Duration::from_secs(1),
            "{:?}",
            begun.elapsed()
        );
        let accounts = accounts.signal(Signal::Profiles);
        assert_eq!(
            (accounts.made, accounts.sent, accounts.queued),
            (2000, 0, 0)
        );
        assert_eq!(accounts.dropped(DropReason::Shutdown), 8);
        assert_eq!(accounts.dropped(DropReason::QueueFull), 1992);
    }
}

/// A signal that is refused or down holds up no other.
#[test]
fn signals_are_apart() {
    let backend = Backend::default();
    let server = Server::start(Speaks::Http, &backend);
    let profiles = free_address();
    let settings = settings(&[
        (
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            &format!("http://{}", server.address),
        ),
        (
            "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT",
            &format!("http://{profiles}/p"),
        ),
    ]);
    let delivery = Delivery::start(&settings, fast()).unwrap();
    for number in 0..3 {
        Signal::ALL
            .into_iter()
            .for_each(|signal| delivery.push(window(signal, number)));
    }
    wait_until(&delivery, Signal::Metrics, |accounts| accounts.sent == 3);
    wait_until(&delivery, Signal::AgentMetrics, |accounts| {
        accounts.sent == 3
    });
    let accounts = delivery.stop(Duration::from_millis(50));
    assert_eq!(
        accounts
            .signal(Signal::Profiles)
            .dropped(DropReason::Shutdown),
        3
    );
}

/// What waits at the stop is sent before the thread ends, and what comes later is counted.
#[test]
fn stop_flushes() {
    let backend = Backend::new([Answer::status(Code::Unavailable)]);
    let server = Server::start(Speaks::GrpcMetrics, &backend);
    let delivery = Delivery::start(&settings_for("grpc", server.address), fast()).unwrap();
    let outbox = delivery.outbox();
    (0..20).for_each(|number| delivery.push(window(Signal::Metrics, number)));
    let accounts = delivery.stop(Duration::from_secs(5));
    let metrics = accounts.signal(Signal::Metrics);
    assert_eq!(
        (metrics.sent, metrics.retries, metrics.dropped_in_all()),
        (20, 1, 0)
    );
    outbox.push(window(Signal::Metrics, 20));
    let accounts = outbox.accounts();
    assert!(accounts.balanced());
    assert_eq!(
        accounts
            .signal(Signal::Metrics)
            .dropped(DropReason::Shutdown),
        1
    );
}

/// Pushing from many threads at once loses no window in the accounts.
#[test]
fn many_threads() {
    let backend = Backend::default();
    let server = Server::start(Speaks::Http, &backend);
    let settings = settings_for("http/protobuf", server.address);
    let bounds = QueueBounds {
        bytes: 1 << 20,
        windows: 5,
    };
    let options = fast().with_bounds(Signal::Metrics, bounds);
    let delivery = Delivery::start(&settings, options).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..500 {
                    delivery.push(window(Signal::Metrics, number));
                    assert!(delivery.accounts().balanced());
                }
            });
        }
    });
    let accounts = delivery.stop(Duration::from_secs(5));
    let metrics = accounts.signal(Signal::Metrics);
    assert_eq!(metrics.made, 2000);
    assert_eq!(metrics.sent + metrics.dropped(DropReason::QueueFull), 2000);
    assert_eq!(metrics.sent, backend.got().len() as u64);
}
