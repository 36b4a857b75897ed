//! The providers by kind, and the one call on all of them. It knows no policy.

use callgate_wire::Fault;

use crate::{HttpProvider, Response, ScriptedProvider};

/// Something that answers requests of a provider API. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Provider {
    /// A provider behind HTTP.
    Http(HttpProvider),
    /// Scripts, played in this process.
    Scripted(ScriptedProvider),
}

impl Provider {
    /// The name used in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Http(provider) => provider.name(),
            Self::Scripted(provider) => provider.name(),
        }
    }

    /// Sends one request and gives the reply once its head is there.
    ///
    /// `path` stands behind the base URL and begins with `/`. `accept_stream` sets the `Accept`
    /// header only: whether the reply streams is said by the request's own body. The call is made
    /// once; dropping the future ends the request.
    ///
    /// # Errors
    /// `UPSTREAM_REFUSED`, `UPSTREAM_TIMEOUT`, `UPSTREAM_ENDED_EARLY`, `UPSTREAM_PROTOCOL`, and
    /// `UPSTREAM_STATUS` for every status but 2xx.
    pub async fn send(
        &self,
        path: &str,
        body: Vec<u8>,
        accept_stream: bool,
    ) -> Result<Response, Fault> {
        self.send_with(path, body, accept_stream, &[]).await
    }

    /// The same with further headers for this request. What the provider's options say of a header
    /// counts more, and a value that HTTP does not allow is left out.
    ///
    /// # Errors
    /// As [`Provider::send`].
    pub async fn send_with(
        &self,
        path: &str,
        body: Vec<u8>,
        accept_stream: bool,
        headers: &[(&'static str, String)],
    ) -> Result<Response, Fault> {
        match self {
            Self::Http(provider) => provider.send_with(path, body, accept_stream, headers).await,
            Self::Scripted(provider) => provider.send(path, body, accept_stream).await,
        }
    }
}

impl From<HttpProvider> for Provider {
    fn from(provider: HttpProvider) -> Self {
        Self::Http(provider)
    }
}

impl From<ScriptedProvider> for Provider {
    fn from(provider: ScriptedProvider) -> Self {
        Self::Scripted(provider)
    }
}
