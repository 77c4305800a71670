//! Connections: one HTTP client for both transports.

use crate::deliver::settings::{Destination, Protocol};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::{sync::Arc, time::Duration};

/// A pooled client with bodies of type `B`; it follows no redirects.
pub(super) type HttpClient<B> = Client<HttpsConnector<HttpConnector>, B>;

/// Longer than a window, so that a connection lives on between two; shorter than the minute after
/// which common load balancers cut idle connections without a word.
const IDLE: Duration = Duration::from_secs(45);

/// What connections are made from; cheap to clone.
#[derive(Clone)]
pub(super) struct Connector {
    https: HttpsConnector<HttpConnector>,
    protocol: Protocol,
}

impl Connector {
    pub(super) fn new(destination: &Destination) -> Result<Self, rustls::Error> {
        let mut http = HttpConnector::new();
        // Both schemes come here; the TLS layer looks at the scheme.
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(destination.timeout));
        let tls = match &destination.tls {
            Some(config) => ClientConfig::clone(config),
            None => plain()?,
        };
        let builder = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http();
        // This also sets the protocol that TLS negotiates (ALPN).
        let https = match destination.protocol {
            Protocol::Grpc => builder.enable_http2().wrap_connector(http),
            Protocol::HttpProtobuf => builder.enable_http1().wrap_connector(http),
        };
        Ok(Self {
            https,
            protocol: destination.protocol,
        })
    }

    /// A client without any connection yet.
    pub(super) fn client<B>(&self) -> HttpClient<B>
    where
        B: hyper::body::Body + Send,
        B::Data: Send,
    {
        Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            // Requests go one after another.
            .pool_max_idle_per_host(1)
            .http2_only(self.protocol == Protocol::Grpc)
            .build(self.https.clone())
    }
}

/// A configuration that trusts nobody, for endpoints that are reached without TLS.
fn plain() -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Ok(config)
}
