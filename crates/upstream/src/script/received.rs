//! What the HTTP server of the scripts has received, for tests that ask for it. Bounded, and
//! without the values of headers that carry keys.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use hyper::{HeaderMap, Method};
use serde_json::{Map, Value, json};

/// How many requests are kept.
const REQUESTS: usize = 64;
/// How much of a request's body is kept.
const BODY_BYTES: usize = 1024 * 1024;
/// Headers whose values are not kept.
const AUTH: [&str; 6] =
    ["authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"];

/// The last requests, and how many were given up by the peer.
#[derive(Debug, Default)]
pub(crate) struct Received {
    requests: Mutex<VecDeque<Value>>,
    cancelled: AtomicU64,
}

impl Received {
    pub(crate) fn add(&self, method: &Method, path: &str, headers: &HeaderMap, body: &[u8]) {
        let mut shown = Map::new();
        for (name, value) in headers {
            let value = match AUTH.contains(&name.as_str()) {
                true => "[redacted]".into(),
                false => String::from_utf8_lossy(value.as_bytes()),
            };
            shown.insert(name.as_str().to_owned(), json!(value));
        }
        let kept = &body[..body.len().min(BODY_BYTES)];
        let request = json!({
            "method": method.as_str(),
            "path": path,
            "headers": shown,
            "body": String::from_utf8_lossy(kept),
            "body_bytes": body.len(),
        });
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() == REQUESTS {
            requests.pop_front();
        }
        requests.push_back(request);
    }

    /// The requests, oldest first, as a JSON array.
    pub(crate) fn requests(&self) -> String {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        json!(*requests).to_string()
    }

    /// How many replies the peer did not wait for, as a JSON object.
    pub(crate) fn cancelled(&self) -> String {
        json!({ "cancelled": self.cancelled.load(Ordering::Relaxed) }).to_string()
    }
}

/// Counts a reply as given up if it is dropped before it is over.
pub(crate) struct Witness {
    received: Arc<Received>,
    over: bool,
}

impl Witness {
    pub(crate) fn new(received: Arc<Received>) -> Self {
        Self { received, over: false }
    }

    /// The reply has come to its end, whatever that is.
    pub(crate) fn over(&mut self) {
        self.over = true;
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if !self.over {
            self.received.cancelled.fetch_add(1, Ordering::Relaxed);
        }
    }
}
