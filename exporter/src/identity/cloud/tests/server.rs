//! An HTTP server that answers as a test says and remembers what it was asked.

use std::{
    convert::Infallible,
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;

use super::super::Endpoint;

/// A request as tests look at it.
pub(super) struct Request {
    /// Requests before this one.
    pub(super) number: usize,
    pub(super) method: String,
    /// With the query.
    pub(super) path: String,
    headers: HeaderMap,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// What is answered.
pub(super) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Answer {
    pub(super) fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(super) fn text(text: &str) -> Self {
        Self::bytes(text.into())
    }

    pub(super) fn bytes(body: Vec<u8>) -> Self {
        Self {
            body,
            ..Self::status(200)
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::builder().status(self.status);
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        response.body(Full::new(self.body.into())).unwrap()
    }
}

pub(super) struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    _stop: oneshot::Sender<()>,
}

impl Server {
    pub(super) fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let (stop, stopped) = oneshot::channel::<()>();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener, &answer, &seen) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            port,
            requests,
            _stop: stop,
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        endpoint(self.port)
    }

    /// Method and path of each request.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

pub(super) fn endpoint(port: u16) -> Endpoint {
    format!("http://127.0.0.1:{port}").parse().unwrap()
}

/// One connection after the other, which is how the client comes.
async fn serve(
    listener: TcpListener,
    answer: &(impl Fn(&Request) -> Answer + Send + Sync),
    seen: &Mutex<Vec<String>>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let service = service_fn(async |request: http::Request<hyper::body::Incoming>| {
            let number = {
                let mut seen = seen.lock().unwrap();
                seen.push(format!("{} {}", request.method(), request.uri()));
                seen.len() - 1
            };
            let request = Request {
                number,
                method: request.method().to_string(),
                path: request.uri().to_string(),
                headers: request.headers().clone(),
            };
            Ok::<_, Infallible>(answer(&request).into_response())
        });
        // A client that hangs up is part of some tests.
        let _ = http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }
}
