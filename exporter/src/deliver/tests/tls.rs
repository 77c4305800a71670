//! TLS and mutual TLS over both transports, with certificates made here.

use super::{
    super::client::{Client, Outcome, Transport},
    server::{Backend, Server, Speaks},
    *,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{RootCertStore, ServerConfig, crypto::ring, server::WebPkiClientVerifier};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::{path::PathBuf, sync::Arc};
use tempfile::TempDir;

/// An authority and the files of its certificates.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: TempDir,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let authority = Self {
            issuer,
            directory: TempDir::new().unwrap(),
        };
        authority.write("ca.pem", &authority.issuer.pem());
        authority
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes NAME.pem and NAME.key; gives the certificate and its key.
    fn certify(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["localhost".to_owned()])
            .unwrap()
            .signed_by(&key, &self.issuer)
            .unwrap();
        self.write(&format!("{name}.pem"), &certificate.pem());
        self.write(&format!("{name}.key"), &key.serialize_pem());
        (certificate, key)
    }

    /// What a server needs; with `mutual`, it takes no client without a certificate of ours.
    fn server(&self, speaks: Speaks, mutual: bool) -> Arc<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let (certificate, key) = self.certify("server");
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if mutual {
            let mut roots = RootCertStore::empty();
            roots.add(self.issuer.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
                .build()
                .unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = builder
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = match speaks {
            Speaks::Http => vec![b"http/1.1".to_vec()],
            Speaks::GrpcMetrics | Speaks::GrpcProfiles => vec![b"h2".to_vec()],
        };
        Arc::new(config)
    }
}

async fn export(server: &Server, protocol: &str, files: &[(&str, PathBuf)]) -> Outcome {
    let endpoint = format!("https://localhost:{}", server.address.port());
    let mut variables = vec![
        (
            "OTEL_EXPORTER_OTLP_PROTOCOL".to_owned(),
            protocol.to_owned(),
        ),
        ("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), endpoint),
    ];
    for (option, path) in files {
        let path = path.to_str().unwrap().to_owned();
        variables.push((format!("OTEL_EXPORTER_OTLP_{option}"), path));
    }
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let settings = settings(&variables);
    let mut client = Client::new(Signal::Metrics, settings.metrics).unwrap();
    client.export(request(Signal::Metrics, "m")).await
}

const TRANSPORTS: [(&str, Speaks); 2] = [
    ("grpc", Speaks::GrpcMetrics),
    ("http/protobuf", Speaks::Http),
];

/// A server is trusted by the authority named, and by no other; the reason is legible.
#[tokio::test]
async fn server_certificate() {
    for (protocol, speaks) in TRANSPORTS {
        let (ours, other) = (Authority::new(), Authority::new());
        let backend = Backend::default();
        let address = "127.0.0.1:0".parse().unwrap();
        let server = Server::start_at(address, speaks, &backend, Some(ours.server(speaks, false)));
        let outcome = export(&server, protocol, &[("CERTIFICATE", ours.path("ca.pem"))]).await;
        assert_eq!(outcome, Outcome::Accepted);
        let outcome = export(&server, protocol, &[("CERTIFICATE", other.path("ca.pem"))]).await;
        let Outcome::Retryable { reason, .. } = outcome else {
            panic!("{outcome:?}");
        };
        assert!(reason.contains("certificate"), "{reason}");
        assert_eq!(backend.got().len(), 1);
    }
}

/// A server that asks for a client certificate takes the one that is set, and nobody without.
#[tokio::test]
async fn client_certificate() {
    for (protocol, speaks) in TRANSPORTS {
        let authority = Authority::new();
        authority.certify("client");
        let backend = Backend::default();
        let address = "127.0.0.1:0".parse().unwrap();
        let server = Server::start_at(
            address,
            speaks,
            &backend,
            Some(authority.server(speaks, true)),
        );
        let ca = ("CERTIFICATE", authority.path("ca.pem"));
        let with = [
            ca.clone(),
            ("CLIENT_CERTIFICATE", authority.path("client.pem")),
            ("CLIENT_KEY", authority.path("client.key")),
        ];
        assert_eq!(export(&server, protocol, &with).await, Outcome::Accepted);
        let outcome = export(&server, protocol, &[ca]).await;
        assert!(matches!(outcome, Outcome::Retryable { .. }), "{outcome:?}");
        assert_eq!(backend.got().len(), 1);
    }
}

/// Files that cannot work are bad settings: found at start, named, and without their content.
#[test]
fn bad_files() {
    let authority = Authority::new();
    authority.certify("one");
    authority.certify("two");
    authority.write("empty.pem", "");
    authority.write(
        "broken.pem",
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
    );
    authority.write("large.pem", &"x".repeat((1 << 20) + 1));
    let path = |name| authority.path(name).to_str().unwrap().to_owned();
    let errors = |variables: &[(&str, String)]| {
        let map: HashMap<_, _> = variables
            .iter()
            .map(|(option, value)| (format!("OTEL_EXPORTER_OTLP_{option}"), value.clone()))
            .collect();
        Settings::from_variables(&|name| map.get(name).cloned()).unwrap_err()
    };
    for (name, problem) in [
        ("missing.pem", "cannot be read"),
        ("empty.pem", "no certificate"),
        ("broken.pem", "not PEM"),
        ("large.pem", "larger than 1 MiB"),
        ("one.key", "no certificate"),
    ] {
        let errors = errors(&[("CERTIFICATE", path(name))]);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].problem.contains(problem), "{errors:?}");
    }
    let mismatch = [
        ("CLIENT_CERTIFICATE", path("one.pem")),
        ("METRICS_CLIENT_KEY", path("two.key")),
        ("PROFILES_CLIENT_KEY", path("ca.pem")),
    ];
    let errors = errors(&mismatch);
    let named: Vec<_> = errors.iter().map(|error| error.variable.as_str()).collect();
    assert_eq!(
        named,
        [
            "OTEL_EXPORTER_OTLP_PROFILES_CLIENT_KEY",
            "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY"
        ]
    );
}
