//! Certificates and keys: read and checked at start, so that a bad file is a bad setting and not
//! a connection that fails for ever.

use super::{error::SettingError, reader::Given};
use hyper_rustls::ConfigBuilderExt;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use std::{fs::File, io::Read, sync::Arc};

const ALLOWED_CERTIFICATE: &str = "the path of a PEM file with at least one certificate";
const ALLOWED_KEY: &str = "the path of a PEM file with one unencrypted private key";
const ALLOWED_PAIR: &str = "CLIENT_KEY and CLIENT_CERTIFICATE, both or neither";

/// The trust store of a large distribution is 220 kB; a file beyond this is not a list of
/// certificates.
const LARGEST_FILE: u64 = 1 << 20;

/// Paths of the files for one destination.
#[derive(Clone, Debug, Default)]
pub(super) struct TlsFiles {
    pub(super) certificate: Option<Given<String>>,
    pub(super) client_key: Option<Given<String>>,
    pub(super) client_certificate: Option<Given<String>>,
}

impl TlsFiles {
    /// True when no file was named.
    pub(super) fn is_empty(&self) -> bool {
        let Self {
            certificate,
            client_key,
            client_certificate,
        } = self;
        certificate.is_none() && client_key.is_none() && client_certificate.is_none()
    }

    /// The TLS configuration that the files give; without a certificate file, trust is that of
    /// the system.
    ///
    /// # Errors
    /// Everything that is wrong with the files.
    pub(super) fn load(&self) -> Result<Arc<ClientConfig>, Vec<SettingError>> {
        let mut errors = Vec::new();
        let mut keep = |error| errors.push(error);
        let roots = self
            .certificate
            .as_ref()
            .map(|given| roots(given).map_err(&mut keep));
        let key = self
            .client_key
            .as_ref()
            .map(|given| private_key(given).map_err(&mut keep));
        let chain = self
            .client_certificate
            .as_ref()
            .map(|given| certificates(given).map_err(&mut keep));
        if let (Some(lone), None) | (None, Some(lone)) =
            (&self.client_key, &self.client_certificate)
        {
            errors.push(SettingError::new(
                &lone.variable,
                Some(&lone.value),
                "set without its counterpart",
                ALLOWED_PAIR,
            ));
        }
        if !errors.is_empty() {
            return Err(errors);
        }

        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| vec![self.blame(error.to_string())])?;
        let builder = match roots.and_then(Result::ok) {
            Some(roots) => builder.with_root_certificates(roots),
            None => builder.with_native_roots().map_err(|error| {
                vec![self.blame(format!("this system has no trust store: {error}"))]
            })?,
        };
        let config = match (key.and_then(Result::ok), chain.and_then(Result::ok)) {
            (Some(key), Some(chain)) => {
                builder.with_client_auth_cert(chain, key).map_err(|error| {
                    let given = self.client_key.as_ref();
                    vec![SettingError::new(
                        given.map_or("OTEL_EXPORTER_OTLP_CLIENT_KEY", |given| &given.variable),
                        given.map(|given| given.value.as_str()),
                        format!("does not go with the client certificate: {error}"),
                        "the private key of the client certificate",
                    )]
                })?
            }
            _ => builder.with_no_client_auth(),
        };
        Ok(Arc::new(config))
    }

    fn blame(&self, problem: String) -> SettingError {
        let given = self.certificate.as_ref();
        SettingError::new(
            given.map_or("OTEL_EXPORTER_OTLP_CERTIFICATE", |given| &given.variable),
            given.map(|given| given.value.as_str()),
            problem,
            ALLOWED_CERTIFICATE,
        )
    }
}

fn fail(given: &Given<String>, problem: String, allowed: &'static str) -> SettingError {
    SettingError::new(&given.variable, Some(&given.value), problem, allowed)
}

/// The bytes of a regular file of bounded size.
fn read(given: &Given<String>, allowed: &'static str) -> Result<Vec<u8>, SettingError> {
    let unreadable = |error| fail(given, format!("cannot be read: {error}"), allowed);
    // A FIFO would hold up the start for ever.
    let metadata = std::fs::metadata(&given.value).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(fail(given, "not a regular file".to_owned(), allowed));
    }
    let mut bytes = Vec::new();
    File::open(&given.value)
        .and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(fail(given, "larger than 1 MiB".to_owned(), allowed));
    }
    Ok(bytes)
}

fn certificates(given: &Given<String>) -> Result<Vec<CertificateDer<'static>>, SettingError> {
    let bytes = read(given, ALLOWED_CERTIFICATE)?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| fail(given, format!("not PEM: {error}"), ALLOWED_CERTIFICATE))?;
    if certificates.is_empty() {
        return Err(fail(
            given,
            "no certificate in it".to_owned(),
            ALLOWED_CERTIFICATE,
        ));
    }
    Ok(certificates)
}

fn roots(given: &Given<String>) -> Result<RootCertStore, SettingError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(given)? {
        roots.add(certificate).map_err(|error| {
            fail(
                given,
                format!("a certificate in it is not one to trust: {error}"),
                ALLOWED_CERTIFICATE,
            )
        })?;
    }
    Ok(roots)
}

fn private_key(given: &Given<String>) -> Result<PrivateKeyDer<'static>, SettingError> {
    let bytes = read(given, ALLOWED_KEY)?;
    PrivateKeyDer::from_pem_slice(&bytes)
        .map_err(|error| fail(given, format!("no private key in it: {error}"), ALLOWED_KEY))
}
