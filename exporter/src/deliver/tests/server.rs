//! OTLP servers on loopback that answer as they are told and keep what they got.

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
    service::TowerToHyperService,
};
use opentelemetry_proto::tonic::collector::{
    metrics::v1::{
        ExportMetricsServiceRequest, ExportMetricsServiceResponse,
        metrics_service_server::{MetricsService, MetricsServiceServer},
    },
    profiles::v1development::{
        ExportProfilesServiceRequest, ExportProfilesServiceResponse,
        profiles_service_server::{ProfilesService, ProfilesServiceServer},
    },
};
use std::{
    collections::VecDeque,
    convert::Infallible,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex, mpsc},
    thread::{self, JoinHandle},
};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tonic::{Code, Status, codec::CompressionEncoding, metadata::MetadataMap};

/// One answer.
#[derive(Clone)]
pub(super) enum Answer {
    /// Success, with the body of a success.
    Grpc(Result<(i64, &'static str), Status>),
    /// Any HTTP answer.
    Http(u16, HeaderMap, Bytes),
}

impl Answer {
    pub(super) fn status(code: Code) -> Self {
        Self::Grpc(Err(Status::new(code, "as told")))
    }

    pub(super) fn http(status: u16, headers: &[(&'static str, &str)]) -> Self {
        let headers = headers
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        Self::Http(status, headers, Bytes::new())
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(super) struct Got {
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    /// The mark of the message (gRPC), or the body as it was sent (HTTP).
    pub(super) mark: String,
    pub(super) body: Bytes,
}

#[derive(Default)]
struct Script {
    answers: VecDeque<Answer>,
    got: Vec<Got>,
}

/// The state that all connections of one server share.
#[derive(Clone, Default)]
pub(super) struct Backend(Arc<Mutex<Script>>);

impl Backend {
    /// Answers as listed, then with success for ever.
    pub(super) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let backend = Self::default();
        backend.0.lock().unwrap().answers = answers.into_iter().collect();
        backend
    }

    pub(super) fn got(&self) -> Vec<Got> {
        self.0.lock().unwrap().got.clone()
    }

    pub(super) fn marks(&self) -> Vec<String> {
        self.got().into_iter().map(|got| got.mark).collect()
    }

    fn take(&self, got: Got) -> Option<Answer> {
        let mut script = self.0.lock().unwrap();
        script.got.push(got);
        script.answers.pop_front()
    }

    fn grpc(
        &self,
        path: &str,
        metadata: &MetadataMap,
        mark: &str,
    ) -> Result<(i64, &'static str), Status> {
        let answer = self.take(Got {
            path: path.to_owned(),
            headers: metadata.clone().into_headers(),
            mark: mark.to_owned(),
            body: Bytes::new(),
        });
        match answer {
            None => Ok((0, "")),
            Some(Answer::Grpc(answer)) => answer,
            Some(Answer::Http(..)) => panic!("an HTTP answer in a gRPC script"),
        }
    }
}

#[tonic::async_trait]
impl MetricsService for Backend {
    async fn export(
        &self,
        request: tonic::Request<ExportMetricsServiceRequest>,
    ) -> Result<tonic::Response<ExportMetricsServiceResponse>, Status> {
        use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsPartialSuccess;
        let mark = &request.get_ref().resource_metrics[0].schema_url;
        let (rejected, message) = self.grpc("metrics", request.metadata(), mark)?;
        let partial = ExportMetricsPartialSuccess {
            rejected_data_points: rejected,
            error_message: message.to_owned(),
        };
        Ok(tonic::Response::new(ExportMetricsServiceResponse {
            partial_success: (rejected != 0 || !message.is_empty()).then_some(partial),
        }))
    }
}

#[tonic::async_trait]
impl ProfilesService for Backend {
    async fn export(
        &self,
        request: tonic::Request<ExportProfilesServiceRequest>,
    ) -> Result<tonic::Response<ExportProfilesServiceResponse>, Status> {
        use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesPartialSuccess;
        let mark = &request.get_ref().resource_profiles[0].schema_url;
        let (rejected, message) = self.grpc("profiles", request.metadata(), mark)?;
        let partial = ExportProfilesPartialSuccess {
            rejected_profiles: rejected,
            error_message: message.to_owned(),
        };
        Ok(tonic::Response::new(ExportProfilesServiceResponse {
            partial_success: (rejected != 0 || !message.is_empty()).then_some(partial),
        }))
    }
}

/// What a server speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaks {
    GrpcMetrics,
    GrpcProfiles,
    Http,
}

/// A server in a thread of its own; dropping it closes the listener and every connection.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(super) fn start(speaks: Speaks, backend: &Backend) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), speaks, backend, None)
    }

    pub(super) fn start_at(
        address: SocketAddr,
        speaks: Speaks,
        backend: &Backend,
        tls: Option<Arc<rustls::ServerConfig>>,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (bound, ready) = mpsc::channel();
        let backend = backend.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                // SO_REUSEADDR is set by tokio, so that a restart gets the same port.
                let listener = tokio::net::TcpListener::bind(address).await.unwrap();
                bound.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    () = accept(listener, speaks, backend, tls) => {}
                    _ = stopped => {}
                }
            });
            runtime.shutdown_background();
        });
        Self {
            address: ready.recv().unwrap(),
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

async fn accept(
    listener: tokio::net::TcpListener,
    speaks: Speaks,
    backend: Backend,
    tls: Option<Arc<rustls::ServerConfig>>,
) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let backend = backend.clone();
        match &tls {
            None => {
                tokio::spawn(serve(stream, speaks, backend));
            }
            Some(config) => {
                let acceptor = TlsAcceptor::from(Arc::clone(config));
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, speaks, backend).await;
                    }
                });
            }
        }
    }
}

async fn serve<S>(stream: S, speaks: Speaks, backend: Backend)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + 'static,
{
    let io = TokioIo::new(stream);
    let builder = auto::Builder::new(TokioExecutor::new());
    // Connections that end in an error are part of the tests.
    let _ended = match speaks {
        Speaks::GrpcMetrics => {
            let service = MetricsServiceServer::new(backend)
                .accept_compressed(CompressionEncoding::Gzip)
                .send_compressed(CompressionEncoding::Gzip);
            builder
                .http2_only()
                .serve_connection(io, TowerToHyperService::new(service))
                .await
        }
        Speaks::GrpcProfiles => {
            let service = ProfilesServiceServer::new(backend)
                .accept_compressed(CompressionEncoding::Gzip)
                .send_compressed(CompressionEncoding::Gzip);
            builder
                .http2_only()
                .serve_connection(io, TowerToHyperService::new(service))
                .await
        }
        Speaks::Http => {
            let service = service_fn(move |request| http_answer(backend.clone(), request));
            builder.http1_only().serve_connection(io, service).await
        }
    };
}

async fn http_answer(
    backend: Backend,
    request: http::Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let answer = backend.take(Got {
        path: head.uri.path().to_owned(),
        headers: head.headers,
        mark: String::new(),
        body,
    });
    let mut response = Response::new(Full::default());
    match answer {
        None => {}
        Some(Answer::Http(status, headers, body)) => {
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            *response.headers_mut() = headers;
            *response.body_mut() = Full::new(body);
        }
        Some(Answer::Grpc(_)) => panic!("a gRPC answer in an HTTP script"),
    }
    Ok(response)
}

/// Takes connections and bytes, and never says a word.
pub(super) struct BlackHole {
    pub(super) address: SocketAddr,
    _thread: JoinHandle<()>,
}

impl BlackHole {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thread = thread::spawn(move || {
            let mut connections = Vec::new();
            for stream in listener.incoming() {
                connections.push(stream);
            }
        });
        Self {
            address,
            _thread: thread,
        }
    }
}
