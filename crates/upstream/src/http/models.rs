//! Which models a provider says it has: `GET /models`, in OpenAI's shape.
//!
//! It is a question, not a health check: whoever does not answer it in time has no models.

use std::time::Duration;

use reqwest::header;
use serde::Deserialize;
use tokio::time::timeout;

use super::HttpProvider;

/// A list may be this long, in bytes.
const LIST_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
struct List {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
}

impl HttpProvider {
    /// The names of its models, or nothing if no list of them comes within `wait`.
    pub async fn models(&self, wait: Duration) -> Option<Vec<String>> {
        timeout(wait, self.list()).await.ok().flatten()
    }

    async fn list(&self) -> Option<Vec<String>> {
        let inner = &*self.0;
        let mut url = inner.base.clone();
        url.set_path(&format!("{}/models", inner.base.path().trim_end_matches('/')));
        let request = inner.client.get(url).headers(inner.headers.clone());
        let mut reply = request.header(header::ACCEPT, "application/json").send().await.ok()?;
        if !reply.status().is_success() {
            return None;
        }
        let mut body = Vec::new();
        while let Some(piece) = reply.chunk().await.ok()? {
            if body.len() + piece.len() > LIST_BYTES {
                return None;
            }
            body.extend_from_slice(&piece);
        }
        let List { data } = serde_json::from_slice(&body).ok()?;
        Some(data.into_iter().map(|model| model.id).filter(|id| !id.is_empty()).collect())
    }
}
