//! Requests to the API server or the kubelet, with a bound on what an answer may hold.

use std::{path::Path, sync::Arc, time::Duration};

use http::{Response, Uri};
use http_body_util::Limited;
use kube::{
    Client, Config,
    client::{ClientBuilder, DynBody},
};
use tower::util::MapResponseLayer;

use super::statistics::Figures;

/// Most bytes of one answer. A watch that has brought as many is begun anew where it was.
const MAX_ANSWER_BYTES: usize = 32 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where the cluster puts the token of a pod's service account.
const TOKEN_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The files or variables that a pod gets are missing or broken.
    #[error("cannot use the service account of the pod: {0}")]
    ServiceAccount(#[from] kube::config::InClusterError),
    /// TLS or credentials could not be set up.
    #[error("cannot set up requests to the cluster: {0}")]
    Setup(#[source] Box<kube::Error>),
}

/// There is a service account, and the place of an API server.
pub(super) fn is_in_cluster() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some_and(|host| !host.is_empty())
        && Path::new(TOKEN_FILE).exists()
}

/// A client for `endpoint`, or for the API server that the pod's environment names. The token is
/// sent only over TLS. A read that takes longer than `read_timeout` ends the connection.
pub(super) fn client(
    endpoint: Option<&Uri>,
    accept_any_certificate: bool,
    read_timeout: Duration,
    figures: &Arc<Figures>,
) -> Result<Client, ClientError> {
    // kube's TLS takes the provider of the process, and would panic if two were compiled in. An error
    // means that there is one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = match endpoint {
        None => Config::incluster_env()?,
        Some(uri) if uri.scheme_str() == Some("https") && is_in_cluster() => {
            let mut config = Config::incluster_env()?;
            config.cluster_url = uri.clone();
            config
        }
        Some(uri) => Config::new(uri.clone()),
    };
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.read_timeout = Some(read_timeout);
    config.accept_invalid_certs = accept_any_certificate;
    // Failures are counted and waited for here.
    config.default_retry = false;
    let builder =
        ClientBuilder::try_from(config).map_err(|error| ClientError::Setup(Box::new(error)))?;
    let figures = Arc::clone(figures);
    let bounded = MapResponseLayer::new(move |response: Response<Box<DynBody>>| {
        if response.status().is_success() {
            figures.succeed();
        }
        response.map(|body| Limited::new(body, MAX_ANSWER_BYTES))
    });
    Ok(builder.with_layer(&bounded).build())
}

/// The answer was that rights are missing.
pub(super) fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 401 | 403))
}
