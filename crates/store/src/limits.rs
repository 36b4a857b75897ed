//! Every bound of the store, and how long a reply is kept.

use std::time::Duration;

/// How long a reply is kept unless the configuration says otherwise: 30 days, in milliseconds.
///
/// OpenAI's documentation: "Response objects are saved for 30 days by default."
pub const DEFAULT_TTL_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// The longest id that is kept, in bytes. Longer ones are never found.
pub(crate) const MAX_ID_BYTES: usize = 256;

/// What one call may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Input items, output items and body of one reply together, in bytes.
    pub response_bytes: usize,
    /// Replies in a chain.
    pub chain_links: usize,
    /// Input and output items of a chain together, in bytes.
    pub chain_bytes: usize,
    /// How long one call may take, waiting for a locked database or a lost connection included.
    pub wait: Duration,
}

impl Default for Limits {
    /// 48 MiB a reply (a request's 32 MiB and a reply's 16 MiB), 1,000 replies and 32 MiB a chain, 5 s.
    fn default() -> Self {
        Self {
            response_bytes: 48 << 20,
            chain_links: 1000,
            chain_bytes: 32 << 20,
            wait: Duration::from_secs(5),
        }
    }
}
