//! OTLP over gRPC.

use super::{
    connection::{Connector, HttpClient},
    outcome::{Outcome, legible, with_causes},
    response,
};
use crate::deliver::{
    settings::{Compression, Destination},
    signal::Signal,
};
use bytes::{Buf, BufMut, Bytes};
use http::uri::PathAndQuery;
use std::error::Error;
use tonic::{
    Code, Request, Status,
    body::Body,
    client::Grpc,
    codec::{Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder},
    metadata::MetadataMap,
};
use tonic_types::StatusExt;

/// How tonic begins the statuses that it makes itself for an answer over the limit, plain and
/// compressed. Such an answer follows a success; a refusal has no message.
const ANSWER_TOO_LARGE: [&str; 2] = [
    "Error, decoded message length too large",
    "Error decompressing: size limit",
];

/// The client of one signal.
pub(super) struct GrpcClient {
    signal: Signal,
    grpc: Grpc<HttpClient<Body>>,
    method: PathAndQuery,
    metadata: MetadataMap,
}

impl GrpcClient {
    pub(super) fn new(signal: Signal, destination: &Destination, connector: &Connector) -> Self {
        let grpc = Grpc::with_origin(connector.client(), destination.endpoint.clone())
            // grpc-go, and so the Collector, answers in the compression of the request even to
            // clients that do not say that they take it.
            .accept_compressed(CompressionEncoding::Gzip)
            .max_decoding_message_size(response::LARGEST_BYTES);
        let grpc = match destination.compression {
            Compression::Gzip => grpc.send_compressed(CompressionEncoding::Gzip),
            Compression::None => grpc,
        };
        let mut headers = destination.headers.clone();
        headers.insert(http::header::USER_AGENT, super::USER_AGENT);
        Self {
            signal,
            grpc,
            method: PathAndQuery::from_static(signal.grpc_method()),
            metadata: MetadataMap::from_headers(headers),
        }
    }

    pub(super) async fn export(&mut self, body: Bytes) -> Outcome {
        let mut request = Request::new(body);
        request.metadata_mut().clone_from(&self.metadata);
        let sent = async {
            self.grpc
                .ready()
                .await
                .map_err(|error| Status::from_error(error.into()))?;
            self.grpc
                .unary(request, self.method.clone(), Verbatim)
                .await
        };
        match sent.await {
            Ok(answer) => response::outcome(self.signal, answer.get_ref()),
            Err(status) => outcome(&status),
        }
    }
}

/// What a status means for the request (OTLP specification, "Failures", table of codes).
fn outcome(status: &Status) -> Outcome {
    if let Some(cause) = status.source() {
        // Made on this side: no connection, or one that broke. The codes are guesses then.
        return Outcome::Retryable {
            reason: with_causes(cause),
            delay: None,
        };
    }
    if ANSWER_TOO_LARGE
        .iter()
        .any(|start| status.message().starts_with(start))
    {
        return Outcome::Accepted;
    }
    let reason = format!("{:?}: {}", status.code(), legible(status.message()));
    let retry_info = status.get_details_retry_info();
    let delay = retry_info.as_ref().and_then(|info| info.retry_delay);
    match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss => Outcome::Retryable { reason, delay },
        // Without RetryInfo the exhausted resource does not come back, such as a size limit.
        Code::ResourceExhausted if retry_info.is_some() => Outcome::Retryable { reason, delay },
        _ => Outcome::Refused { reason },
    }
}

/// Messages that are encoded already, or that are decoded elsewhere: the queue counts encoded
/// bytes, and a retry must not encode again.
struct Verbatim;

impl Codec for Verbatim {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Verbatim {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.reserve(message.len());
        buffer.put(message);
        Ok(())
    }
}

impl Decoder for Verbatim {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
