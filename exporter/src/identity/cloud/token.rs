//! Services that hand out a token first.

use http::{Method, StatusCode};

use super::client::{Client, Header, MetadataError};

/// A client with a token, which is renewed when the service does not take it any more.
pub(super) struct TokenSession<'client> {
    client: &'client Client,
    scheme: &'static TokenScheme,
    token: String,
}

/// How tokens of a service are had and used.
#[derive(Debug)]
pub(super) struct TokenScheme {
    /// Where a token is had.
    pub(super) path: &'static str,
    /// The header that says how long it is to be good.
    pub(super) lifetime: Header<'static>,
    /// The header that it is sent in.
    pub(super) header: &'static str,
}

impl<'client> TokenSession<'client> {
    /// Gets a token.
    pub(super) async fn open(
        client: &'client Client,
        scheme: &'static TokenScheme,
    ) -> Result<Self, MetadataError> {
        let mut session = Self {
            client,
            scheme,
            token: String::new(),
        };
        session.renew().await?;
        Ok(session)
    }

    async fn renew(&mut self) -> Result<(), MetadataError> {
        let headers = [self.scheme.lifetime];
        let token = self
            .client
            .send(Method::PUT, self.scheme.path, &headers, "")
            .await?;
        token.trim().clone_into(&mut self.token);
        Ok(())
    }

    /// One value or document; `None` where the service does not have it.
    pub(super) async fn text(
        &mut self,
        path: &str,
        others: &[Header<'_>],
    ) -> Result<Option<String>, MetadataError> {
        match self.try_text(path, others).await {
            Err(MetadataError::Status(StatusCode::UNAUTHORIZED)) => {
                self.renew().await?;
                self.try_text(path, others).await
            }
            answer => answer,
        }
    }

    async fn try_text(
        &self,
        path: &str,
        others: &[Header<'_>],
    ) -> Result<Option<String>, MetadataError> {
        let mut headers = vec![(self.scheme.header, self.token.as_str())];
        headers.extend(others);
        self.client.text(path, &headers).await
    }
}
