//! Services that are absent, hang, refuse or pretend.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    process::Command,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    super::{Client, Endpoint, MetadataError, Provider, identify},
    PATIENCE, Server, learn, providers,
    server::{Answer, Request, endpoint},
};

fn try_once(provider: Provider, endpoint: Endpoint) -> (MetadataError, Duration) {
    let client = Client::new(provider, Some(endpoint));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let started = Instant::now();
    let error = runtime.block_on(identify(provider, &client)).unwrap_err();
    (error, started.elapsed())
}

fn refused(provider: Provider, answer: fn(&Request) -> Answer) -> MetadataError {
    try_once(provider, Server::start(answer).endpoint()).0
}

/// A port where `speak` is given each connection.
fn raw(speak: impl Fn(&mut std::net::TcpStream) + Send + 'static) -> Endpoint {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            speak(&mut stream);
        }
    });
    endpoint(port)
}

/// A closed port is told at once.
#[test]
fn closed_port() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    for provider in Provider::ALL {
        let (error, time) = try_once(provider, endpoint(port));
        assert!(matches!(error, MetadataError::Connect(_)), "{error}");
        assert!(time < Duration::from_secs(1));
    }
}

/// A server that takes connections and says nothing, or a byte from time to time, costs a bounded
/// wait.
#[test]
fn hanging_servers() {
    let silent = raw(|stream| {
        let _ = stream.read(&mut [0; 4096]);
        thread::sleep(Duration::from_secs(4));
    });
    let dripping = raw(|stream| {
        let _ = stream.read(&mut [0; 4096]);
        for byte in b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"
            .iter()
            .cycle()
        {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    for endpoint in [silent, dripping] {
        let (error, time) = try_once(Provider::Aws, endpoint);
        assert!(matches!(error, MetadataError::TimedOut), "{error}");
        assert!(time < Duration::from_secs(3), "{time:?}");
    }
}

/// Who stops meanwhile does not wait for a server that hangs.
#[test]
fn stopping_does_not_wait() {
    let endpoint = raw(|_| thread::sleep(PATIENCE));
    let settings = super::CloudSettings {
        choice: super::Choice::Provider(Provider::Gcp),
        endpoint: Some(endpoint),
    };
    let started = Instant::now();
    let detection = super::Detection::start(&settings, &super::Roots::default()).unwrap();
    drop(detection.unwrap());
    assert!(started.elapsed() < Duration::from_secs(1));
}

/// A closed IMDSv2: values answer 401 and the token never comes.
#[test]
fn token_hangs() {
    let endpoint = raw(|stream| {
        let mut request = [0; 4096];
        let length = stream.read(&mut request).unwrap_or(0);
        if request[..length].starts_with(b"PUT") {
            thread::sleep(Duration::from_secs(4));
        } else {
            let _ = stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n");
        }
    });
    let (error, time) = try_once(Provider::Aws, endpoint);
    assert!(matches!(error, MetadataError::TimedOut), "{error}");
    assert!(time < Duration::from_secs(3), "{time:?}");
}

/// A service that takes no token is not asked for tokens for ever.
#[test]
fn no_token_is_good() {
    let server = Server::start(|request| match request.path.as_str() {
        "/latest/api/token" => Answer::text("t"),
        _ => Answer::status(401),
    });
    let (error, _) = try_once(Provider::Aws, server.endpoint());
    assert!(matches!(error, MetadataError::Status(_)), "{error}");
    assert_eq!(server.requests().len(), 4);
}

/// Redirects are refused and nobody is asked at the other end.
#[test]
fn redirects_are_not_followed() {
    let elsewhere = Server::start(providers::aws);
    let location = format!("http://127.0.0.1:{}/", elsewhere.port());
    for status in [301, 302, 307, 308] {
        let location = location.clone();
        let server = Server::start(move |_| Answer::status(status).with("location", &location));
        for provider in Provider::ALL {
            let (error, _) = try_once(provider, server.endpoint());
            assert!(matches!(error, MetadataError::Status(_)), "{error}");
        }
    }
    assert_eq!(elsewhere.requests(), Vec::<String>::new());
}

/// What is not of a metadata service is refused.
#[test]
fn pretenders() {
    // Without the mark of the service.
    let error = refused(Provider::Gcp, |_| Answer::text("5512345678901234567"));
    assert!(matches!(error, MetadataError::Foreign), "{error}");
    let other = |_: &Request| Answer::text("17").with("metadata-flavor", "Other");
    let error = refused(Provider::Gcp, other);
    assert!(matches!(error, MetadataError::Foreign), "{error}");
    for provider in Provider::ALL.into_iter().filter(|it| *it != Provider::Gcp) {
        // A page that says that it is text.
        let error = refused(provider, |_| {
            Answer::text("\n<html>login</html>").with("content-type", "text/plain")
        });
        assert!(matches!(error, MetadataError::Foreign), "{error}");
        let error = refused(provider, |_| Answer::bytes(vec![0xff; 100]));
        assert!(matches!(error, MetadataError::Foreign), "{error}");
        let error = refused(provider, |_| Answer::bytes(vec![b'x'; 1 << 20]));
        assert!(matches!(error, MetadataError::Body), "{error}");
        // The same to every question: an empty document, or a word.
        for answer in [
            |_: &Request| Answer::text("{}"),
            |_: &Request| Answer::text("OK"),
        ] {
            let error = refused(provider, answer);
            let expected = matches!(
                error,
                MetadataError::Document(_) | MetadataError::NoInstance
            );
            assert!(expected, "{provider}: {error}");
        }
    }
    // A token that would break out of its header.
    let error = refused(Provider::Aws, |_| Answer::text("a\r\nx-evil: 1"));
    assert!(matches!(error, MetadataError::Token(_)), "{error}");
}

/// An endless or huge head is cut.
#[test]
fn huge_head() {
    let endpoint = raw(|stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        for _ in 0..100_000 {
            if stream.write_all(b"x-padding: 0123456789\r\n").is_err() {
                return;
            }
        }
    });
    let (error, _) = try_once(Provider::Aws, endpoint);
    assert!(matches!(error, MetadataError::Http(_)), "{error}");
}

const SERVER_PORT: &str = "EVENKEEL_TEST_METADATA_PORT";

/// Run by the test below, in a process of its own with variables of its own.
#[test]
#[ignore = "needs the variables that another test sets"]
fn asks_as_a_child() {
    let port = std::env::var(SERVER_PORT).unwrap().parse().unwrap();
    let client = Client::new(Provider::Aws, Some(endpoint(port)));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(identify(Provider::Aws, &client)).unwrap();
}

/// Proxies are for exports, not for what is one hop away.
#[test]
fn proxies_are_ignored() {
    let (proxy, server) = (Server::start(providers::aws), Server::start(providers::aws));
    let address = format!("http://127.0.0.1:{}", proxy.port());
    let name = "identity::cloud::tests::failures::asks_as_a_child";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--ignored"]);
    command.env(SERVER_PORT, server.port().to_string());
    for variable in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env(variable, &address);
    }
    assert!(command.output().unwrap().status.success());
    assert_eq!(server.requests().len(), 4);
    assert_eq!(proxy.requests(), Vec::<String>::new());
}

/// One service serves many hosts at a time: nothing is shared between clients.
#[test]
fn many_clients() {
    let server = Arc::new(Server::start(providers::gcp));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let server = Arc::clone(&server);
            thread::spawn(move || learn(Provider::Gcp, &server, PATIENCE).is_some())
        })
        .collect();
    for client in clients {
        assert!(client.join().unwrap());
    }
}
