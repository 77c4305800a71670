//! Sending one request.

mod connection;
mod grpc;
mod http;
mod outcome;
mod response;

pub(super) use self::outcome::Outcome;

use self::{connection::Connector, grpc::GrpcClient, http::HttpClient};
use super::{
    settings::{Destination, Protocol},
    signal::Signal,
};
use ::http::HeaderValue;
use bytes::Bytes;
use std::{future::Future, time::Duration};

const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("evenkeel/", env!("CARGO_PKG_VERSION")));

/// Sends requests, one at a time. The queue's end asks for no more than this.
pub(super) trait Transport: Send {
    /// Sends one encoded request and waits for its outcome, no longer than a bounded time.
    fn export(&mut self, request: Bytes) -> impl Future<Output = Outcome> + Send;
}

/// The client of one signal.
pub(super) struct Client {
    signal: Signal,
    destination: Destination,
    connector: Connector,
    transport: Wire,
}

enum Wire {
    Grpc(Box<GrpcClient>),
    Http(Box<HttpClient>),
}

impl Client {
    /// Makes a client; it connects when the first request is sent.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub(super) fn new(signal: Signal, destination: Destination) -> Result<Self, rustls::Error> {
        let connector = Connector::new(&destination)?;
        let transport = Wire::new(signal, &destination, &connector);
        Ok(Self {
            signal,
            destination,
            connector,
            transport,
        })
    }
}

impl Wire {
    fn new(signal: Signal, destination: &Destination, connector: &Connector) -> Self {
        match destination.protocol {
            Protocol::Grpc => Self::Grpc(Box::new(GrpcClient::new(signal, destination, connector))),
            Protocol::HttpProtobuf => {
                Self::Http(Box::new(HttpClient::new(signal, destination, connector)))
            }
        }
    }
}

impl Transport for Client {
    async fn export(&mut self, request: Bytes) -> Outcome {
        let timeout = self.destination.timeout;
        let answer = async {
            match &mut self.transport {
                Wire::Grpc(client) => client.export(request).await,
                Wire::Http(client) => client.export(request).await,
            }
        };
        match tokio::time::timeout(timeout, answer).await {
            Ok(outcome) => outcome,
            Err(_) => {
                // A peer that went away without a word would time out every request on the same
                // connection until TCP gives up, a quarter of an hour later.
                self.transport = Wire::new(self.signal, &self.destination, &self.connector);
                Outcome::Retryable {
                    reason: no_answer(timeout),
                    delay: None,
                }
            }
        }
    }
}

fn no_answer(timeout: Duration) -> String {
    format!("no answer within {} ms", timeout.as_millis())
}
