//! A provider's reply: status, the headers that somebody reads, and a body that is pulled.
//!
//! It does not know what the bytes mean and keeps none of them.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use callgate_wire::{Code, Fault};
use tokio::time::{Instant, timeout_at};

use crate::{Timeouts, http::cause, script::Play, timeout::deadline};

/// A reply whose head has come.
#[derive(Debug)]
pub struct Response {
    /// HTTP status; always 2xx, every other one is a fault.
    pub status: u16,
    /// The headers that somebody reads.
    pub headers: Headers,
    /// The body.
    pub body: Body,
}

/// The headers of a reply that somebody reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// `content-type`.
    pub content_type: Option<String>,
    /// `retry-after`, as it was sent.
    pub retry_after: Option<String>,
    /// `x-request-id` or `request-id`: the provider's name for the request.
    pub request_id: Option<String>,
}

impl Headers {
    /// Whether the provider says that the body is a stream of events.
    #[must_use]
    pub fn is_event_stream(&self) -> bool {
        self.content_type.as_deref().is_some_and(|value| {
            let essence = value.split(';').next().unwrap_or_default().trim();
            essence.eq_ignore_ascii_case("text/event-stream")
        })
    }
}

/// The body of a reply, pulled piece by piece. Dropping it ends the request at once.
pub struct Body {
    /// Gone once the body is over, so that its connection is free or closed at once.
    source: Option<Source>,
    provider: Arc<str>,
    read: u64,
    timeouts: Timeouts,
    /// When the wait that is under way has lasted too long. Kept over cancelled calls of `next`,
    /// cleared by every piece.
    until: Option<Instant>,
}

/// Where the bytes come from.
pub(crate) enum Source {
    Http(Box<reqwest::Response>),
    Script(Box<Play>),
}

impl Source {
    /// The next piece; an error is what broke the connection, in words.
    async fn next(&mut self) -> Option<Result<Bytes, String>> {
        match self {
            Self::Http(response) => response.chunk().await.map_err(|e| cause(&e)).transpose(),
            Self::Script(play) => {
                let piece = play.next().await?;
                Some(piece.map_err(|cut| cut.to_string()))
            }
        }
    }
}

impl Body {
    pub(crate) fn new(
        source: Source,
        provider: Arc<str>,
        timeouts: Timeouts,
        first_byte_until: Instant,
    ) -> Self {
        Self { source: Some(source), provider, read: 0, timeouts, until: Some(first_byte_until) }
    }

    /// The next piece of the body, never empty; `None` behind its end and behind a fault.
    ///
    /// Cancel safe: a call that is dropped loses no byte, and the time it has waited counts.
    ///
    /// The faults are `UPSTREAM_TIMEOUT` (no first byte), `UPSTREAM_IDLE` (silence behind it) and
    /// `UPSTREAM_ENDED_EARLY` (the connection broke, with how many bytes had come).
    pub async fn next(&mut self) -> Option<Result<Bytes, Fault>> {
        let source = self.source.as_mut()?;
        let until = *self.until.get_or_insert_with(|| deadline(self.timeouts.idle));
        let piece = timeout_at(until, async {
            loop {
                match source.next().await {
                    Some(Ok(bytes)) if bytes.is_empty() => {}
                    piece => break piece,
                }
            }
        })
        .await;
        match piece {
            Ok(Some(Ok(bytes))) => {
                self.read += bytes.len() as u64;
                self.until = None;
                return Some(Ok(bytes));
            }
            Ok(None) => self.source = None,
            Ok(Some(Err(why))) => {
                self.source = None;
                return Some(Err(self.ended_early(&why)));
            }
            Err(_) => {
                self.source = None;
                return Some(Err(self.silent()));
            }
        }
        None
    }

    /// How many bytes of the body have come.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    fn ended_early(&self, why: &str) -> Fault {
        let Self { provider, read, .. } = self;
        Fault::new(
            Code::UpstreamEndedEarly,
            format!("provider `{provider}` broke the connection after {read} bytes: {why}"),
        )
        .detail("bytes", *read)
    }

    fn silent(&self) -> Fault {
        let Self { provider, read, timeouts, .. } = self;
        if *read == 0 {
            return first_byte_missing(provider, timeouts.first_byte);
        }
        let idle = Seconds(timeouts.idle);
        Fault::new(
            Code::UpstreamIdle,
            format!("provider `{provider}` sent nothing for {idle} after {read} bytes"),
        )
        .detail("bytes", *read)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body")
            .field("provider", &self.provider)
            .field("read", &self.read)
            .field("over", &self.source.is_none())
            .finish_non_exhaustive()
    }
}

/// The fault of a reply that did not begin in time.
pub(crate) fn first_byte_missing(provider: &str, limit: Duration) -> Fault {
    let limit = Seconds(limit);
    Fault::new(
        Code::UpstreamTimeout,
        format!(
            "provider `{provider}` sent no byte of a reply within {limit}; \
             ask again, or allow the provider more time for the first byte"
        ),
    )
}

/// A duration as people write it.
pub(crate) struct Seconds(pub(crate) Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.subsec_millis() == 0 && self.0.as_secs() > 0 {
            write!(f, "{} s", self.0.as_secs())
        } else {
            write!(f, "{} ms", self.0.as_millis())
        }
    }
}
