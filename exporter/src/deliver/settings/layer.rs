//! The variables of one prefix, and one laid over another.

use super::{
    DEFAULT_TIMEOUT, Destination, endpoint,
    error::SettingError,
    headers,
    reader::{Given, Reader},
    tls::TlsFiles,
    values::{self, Compression, Protocol},
};
use crate::deliver::signal::Signal;
use http::{HeaderMap, uri::Scheme};
use std::time::Duration;

/// The variables of one prefix, as far as they can be judged alone.
pub(super) struct Layer {
    endpoint: Option<Given<String>>,
    protocol: Option<Protocol>,
    /// A protocol was given and is none.
    protocol_is_bad: bool,
    headers: Option<Given<String>>,
    compression: Option<Compression>,
    timeout: Option<Duration>,
    insecure: Option<bool>,
    files: TlsFiles,
}

impl Layer {
    /// Reads `OTEL_EXPORTER_OTLP_{infix}*`.
    pub(super) fn read(reader: &mut Reader<'_>, infix: &str) -> Self {
        let name = |option: &str| format!("OTEL_EXPORTER_OTLP_{infix}{option}");
        let protocol = reader.parse(&name("PROTOCOL"), Protocol::ALLOWED, Protocol::parse);
        Self {
            endpoint: reader.text(&name("ENDPOINT")),
            protocol_is_bad: protocol.is_none() && reader.text(&name("PROTOCOL")).is_some(),
            protocol: protocol.map(|given| given.value),
            headers: reader.text(&name("HEADERS")),
            compression: reader
                .parse(
                    &name("COMPRESSION"),
                    Compression::ALLOWED,
                    Compression::parse,
                )
                .map(|given| given.value),
            timeout: reader
                .parse(&name("TIMEOUT"), values::MILLISECONDS, values::milliseconds)
                .map(|given| given.value),
            insecure: reader
                .parse(&name("INSECURE"), values::BOOLEAN, values::boolean)
                .map(|given| given.value),
            files: TlsFiles {
                certificate: reader.text(&name("CERTIFICATE")),
                client_key: reader.text(&name("CLIENT_KEY")),
                client_certificate: reader.text(&name("CLIENT_CERTIFICATE")),
            },
        }
    }
}

/// Lays a signal's variables over the general ones; `None` when that gave an error.
pub(super) fn destination(
    reader: &mut Reader<'_>,
    general: &Layer,
    own: &Layer,
    signal: Signal,
) -> Option<Destination> {
    let protocol = own.protocol.or(general.protocol).unwrap_or_default();
    let insecure = own.insecure.or(general.insecure).unwrap_or(false);
    let resolve = |protocol| {
        endpoint::resolve(
            own.endpoint.as_ref().or(general.endpoint.as_ref()),
            own.endpoint.is_none(),
            protocol,
            insecure,
            signal,
        )
    };
    let mut endpoint = resolve(protocol);
    if endpoint.is_err() && (own.protocol_is_bad || general.protocol_is_bad) {
        // The protocol that was meant may allow it: only what none allows is an error of its own.
        endpoint = resolve(Protocol::Grpc);
    }
    let endpoint = endpoint.map_err(|error| reader.error(error)).ok();

    let headers = match own.headers.as_ref().or(general.headers.as_ref()) {
        None => Some(HeaderMap::new()),
        Some(given) => headers::parse(&given.value, protocol)
            .map_err(|problems| {
                for problem in problems {
                    reader.error(SettingError::new(
                        &given.variable,
                        None,
                        problem,
                        headers::ALLOWED,
                    ));
                }
            })
            .ok(),
    };

    let files = TlsFiles {
        certificate: own
            .files
            .certificate
            .clone()
            .or(general.files.certificate.clone()),
        client_key: own
            .files
            .client_key
            .clone()
            .or(general.files.client_key.clone()),
        client_certificate: own
            .files
            .client_certificate
            .clone()
            .or(general.files.client_certificate.clone()),
    };
    let secure = endpoint
        .as_ref()
        .is_some_and(|uri| uri.scheme() == Some(&Scheme::HTTPS));
    let tls = if secure || !files.is_empty() {
        match files.load() {
            Ok(config) => Some(Some(config)),
            Err(errors) => {
                errors.into_iter().for_each(|error| reader.error(error));
                None
            }
        }
    } else {
        Some(None)
    };

    Some(Destination {
        endpoint: endpoint?,
        protocol,
        headers: headers?,
        compression: own.compression.or(general.compression).unwrap_or_default(),
        timeout: own.timeout.or(general.timeout).unwrap_or(DEFAULT_TIMEOUT),
        tls: tls?,
    })
}
