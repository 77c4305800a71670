//! A client for one metadata service.
//!
//! It speaks to the address it was given and to no other: no name is looked up, no proxy is used
//! and no redirect followed. Whatever answers is held to a size and a time.

use std::{
    net::{IpAddr, SocketAddr},
    str::FromStr,
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, Method, Request, StatusCode, Uri,
    header::{CONTENT_TYPE, HOST, InvalidHeaderValue, USER_AGENT},
};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;

use super::provider::Provider;

/// Moves every metadata service.
pub const ENDPOINT_VARIABLE: &str = "EVENKEEL_METADATA_ENDPOINT";

/// Link-local services are one hop away.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(200);

/// From the connection to the last byte of the answer.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(1500);

/// The largest document, Azure's, has some 4 KiB.
const LARGEST_BODY: usize = 64 << 10;

/// Buffer for the head of an answer; hyper's smallest.
const LARGEST_HEAD: usize = 8 << 10;

const AGENT: &str = concat!("evenkeel/", env!("CARGO_PKG_VERSION"));

/// Where to ask instead of at the provider's own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint(SocketAddr);

/// The text is no endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not http:// with an IP address and a port")]
pub struct EndpointError;

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let uri: Uri = text.parse().map_err(|_| EndpointError)?;
        if uri.scheme_str() != Some("http") || !matches!(uri.path(), "" | "/") {
            return Err(EndpointError);
        }
        if uri.query().is_some() {
            return Err(EndpointError);
        }
        let host = uri.host().ok_or(EndpointError)?;
        let address: IpAddr = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse()
            .map_err(|_| EndpointError)?;
        Ok(Self((address, uri.port_u16().unwrap_or(80)).into()))
    }
}

/// A metadata service did not give what it should.
#[derive(Debug, thiserror::Error)]
pub(super) enum MetadataError {
    /// Nobody listens.
    #[error("cannot connect: {0}")]
    Connect(#[source] std::io::Error),
    /// Somebody listens and says nothing.
    #[error("no answer in time")]
    TimedOut,
    /// What came is not HTTP, or was cut.
    #[error("not an HTTP answer: {0}")]
    Http(#[from] hyper::Error),
    /// The request could not be made, because of what an earlier answer held.
    #[error("the token cannot be sent back: {0}")]
    Token(#[from] InvalidHeaderValue),
    /// The request could not be made.
    #[error("not a request: {0}")]
    Request(#[from] http::Error),
    /// Refused, moved or failed.
    #[error("HTTP {}", .0.as_u16())]
    Status(StatusCode),
    /// More than any provider sends.
    #[error("an answer of more than {LARGEST_BODY} bytes, or one that was cut")]
    Body,
    /// A web page, or binary data.
    #[error("the answer is not of a metadata service")]
    Foreign,
    /// Not the document that was asked for.
    #[error("not the expected document: {0}")]
    Document(#[from] serde_json::Error),
    /// Nothing that tells this instance from others.
    #[error("the answer names no instance")]
    NoInstance,
}

/// A header of a request.
pub(super) type Header<'text> = (&'static str, &'text str);

/// Asks one service.
#[derive(Debug)]
pub(super) struct Client {
    address: SocketAddr,
    host: String,
    /// A header that every answer must have, or else it is not of this service.
    mark: Option<Header<'static>>,
}

impl Client {
    pub(super) fn new(provider: Provider, endpoint: Option<Endpoint>) -> Self {
        let own = SocketAddr::from((provider.address(), 80));
        Self {
            address: endpoint.map_or(own, |endpoint| endpoint.0),
            host: match (provider.host(), endpoint) {
                (Some(host), _) => host.to_owned(),
                (None, Some(endpoint)) => endpoint.0.to_string(),
                (None, None) => provider.address().to_string(),
            },
            mark: (provider == Provider::Gcp).then_some(("metadata-flavor", "Google")),
        }
    }

    /// The answer to a request, as text.
    ///
    /// # Errors
    /// For every status but 200, and for what is not text of a metadata service.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[Header<'_>],
        body: &'static str,
    ) -> Result<String, MetadataError> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.host)
            .header(USER_AGENT, AGENT);
        for (name, value) in headers {
            request = request.header(*name, http::HeaderValue::from_str(value)?);
        }
        let request = request.body(Full::new(Bytes::from_static(body.as_bytes())))?;
        let answer = tokio::time::timeout(REQUEST_TIMEOUT, self.exchange(request)).await;
        let (status, headers, body) = answer.map_err(|_| MetadataError::TimedOut)??;
        if status != StatusCode::OK {
            return Err(MetadataError::Status(status));
        }
        if !self.is_marked(&headers) || is_page(&headers) {
            return Err(MetadataError::Foreign);
        }
        let text = String::from_utf8(body.into()).map_err(|_| MetadataError::Foreign)?;
        // No document and no value begins like a web page, whatever its header says.
        if text.trim_start().starts_with('<') {
            return Err(MetadataError::Foreign);
        }
        Ok(text)
    }

    /// One value; `None` where the service does not have it.
    pub(super) async fn text(
        &self,
        path: &str,
        headers: &[Header<'_>],
    ) -> Result<Option<String>, MetadataError> {
        match self.send(Method::GET, path, headers, "").await {
            Ok(text) => Ok(Some(text)),
            Err(MetadataError::Status(StatusCode::NOT_FOUND)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A JSON document, of which only the fields of `T` are kept.
    pub(super) async fn document<T: DeserializeOwned>(
        &self,
        path: &str,
        headers: &[Header<'_>],
    ) -> Result<T, MetadataError> {
        let text = self.send(Method::GET, path, headers, "").await?;
        Ok(serde_json::from_str(&text)?)
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, HeaderMap, Bytes), MetadataError> {
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(self.address))
            .await
            .map_err(|_| MetadataError::TimedOut)?
            .map_err(MetadataError::Connect)?;
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(LARGEST_HEAD)
            .handshake(TokioIo::new(stream))
            .await?;
        let mut connection = std::pin::pin!(connection);
        let mut exchange = std::pin::pin!(async move {
            let (head, body) = sender.send_request(request).await?.into_parts();
            let body = Limited::new(body, LARGEST_BODY).collect().await;
            let body = body.map_err(|_| MetadataError::Body)?.to_bytes();
            Ok((head.status, head.headers, body))
        });
        // The connection moves the bytes and dies with this call. It may end with the body still to
        // be taken out of it.
        tokio::select! {
            biased;
            answer = &mut exchange => answer,
            _ = &mut connection => exchange.await,
        }
    }

    fn is_marked(&self, headers: &HeaderMap) -> bool {
        self.mark.is_none_or(|(name, value)| {
            headers
                .get(name)
                .is_some_and(|found| found.as_bytes() == value.as_bytes())
        })
    }
}

fn is_page(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| {
        let value = value.as_bytes();
        let is = |kind: &[u8]| {
            value
                .get(..kind.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(kind))
        };
        is(b"text/html") || is(b"application/xhtml")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An endpoint is an address: nothing is looked up, encrypted or appended.
    #[test]
    fn endpoints() {
        let read = |text: &str| text.parse::<Endpoint>().map(|endpoint| endpoint.0);
        assert_eq!(
            read("http://127.0.0.1:1338"),
            Ok(([127, 0, 0, 1], 1338).into())
        );
        assert_eq!(
            read("http://169.254.169.254/"),
            Ok(([169, 254, 169, 254], 80).into())
        );
        assert_eq!(
            read("http://[fd00:ec2::254]"),
            Ok("[fd00:ec2::254]:80".parse().unwrap())
        );
        for text in [
            "",
            "127.0.0.1:80",
            "https://127.0.0.1",
            "http://localhost:80",
            "http://127.0.0.1/latest",
            "http://127.0.0.1/?x",
        ] {
            assert_eq!(read(text), Err(EndpointError), "{text}");
        }
    }
}
