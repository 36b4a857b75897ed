//! Model servers on this machine, on the ports they usually have.
//!
//! It is asked only by a gateway that has no configuration, once, when it starts.

use std::time::Duration;

use callgate_upstream::HttpProvider;
use callgate_wire::Api;

use super::ProviderConfig;

/// A server that does not say within this time what it has is not there.
const WAIT: Duration = Duration::from_millis(500);
/// Local servers load a model when it is first asked for.
const FIRST_BYTE_MS: u64 = 600_000;

/// Ollama, LM Studio, vLLM and llama.cpp, at the ports of their documentation.
const USUAL: [(&str, &str); 4] = [
    ("ollama", "http://127.0.0.1:11434/v1"),
    ("lmstudio", "http://127.0.0.1:1234/v1"),
    ("vllm", "http://127.0.0.1:8000/v1"),
    ("llamacpp", "http://127.0.0.1:8080/v1"),
];

/// A model server that has been found.
#[derive(Clone, Debug)]
pub struct LocalServer {
    /// How it is reached.
    pub provider: ProviderConfig,
    /// The models it has.
    pub models: Vec<String>,
}

impl LocalServer {
    /// Asks at the usual ports of this machine, all at once; takes half a second at most.
    pub async fn find() -> Vec<Self> {
        Self::find_at(&USUAL).await
    }

    /// Asks these servers, given by name and base URL.
    pub async fn find_at(places: &[(&str, &str)]) -> Vec<Self> {
        let asked = places.iter().map(|(name, base_url)| async move {
            let mut provider = ProviderConfig::new(*name, Api::Chat, *base_url);
            provider.first_byte_ms = FIRST_BYTE_MS;
            let models = HttpProvider::new(&provider.options()).ok()?.models(WAIT).await?;
            Some(Self { provider, models })
        });
        let found = futures_util::future::join_all(asked).await;
        found.into_iter().flatten().filter(|server| !server.models.is_empty()).collect()
    }
}
