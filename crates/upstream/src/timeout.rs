//! How long a provider may take, in one place. There is deliberately no limit on a whole reply: a
//! model that keeps writing is not slow.

use std::time::Duration;

use tokio::time::Instant;

/// How long a provider may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start of a connection to its being usable, TLS included.
    pub connect: Duration,
    /// From sending the request to the first byte of the reply's body.
    pub first_byte: Duration,
    /// Between two reads of the body. It counts while a read is wanted, not while the consumer of
    /// the body is busy.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
        }
    }
}

/// The moment `wait` from now. A wait beyond what the clock can express is a year.
pub(crate) fn deadline(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait).unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 3600))
}
