//! Drives one turn: pulls the provider, feeds the pipeline, gives the client what may go out.
//!
//! Nothing is read ahead of the client, so a slow one slows the provider; dropping a drive cancels
//! the provider's request. It decides nothing about the turn.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use callgate_pipeline::{Admitted, BodyEnd, ProviderRequest, Reply, Turn, Upstream};
use callgate_upstream::{Body, Response};
use callgate_wire::Fault;

use crate::route::Target;

type Sending = Pin<Box<dyn Future<Output = Result<Response, Fault>> + Send>>;

/// Where the provider's reply stands.
enum Source {
    Sending(Sending),
    Reading(Box<Body>),
    Over,
}

/// What came of waiting.
pub(crate) enum Step {
    /// Bytes for the client.
    Bytes(Bytes),
    /// Nothing, for as long as the wait lasted.
    Silence,
    /// The reply is over, or has failed before its first byte.
    Over,
}

/// One turn under way.
pub(crate) struct Drive {
    source: Source,
    turn: Turn,
    log: Log,
}

/// The turn's one line in the log, written when the drive ends, however it ends.
struct Log {
    model: String,
    provider: String,
    started: Instant,
    first_byte: Option<Duration>,
    bytes: u64,
}

impl Drive {
    /// Sends the request; the turn begins.
    pub(crate) fn new(
        admitted: &Admitted,
        target: &Arc<Target>,
        request: ProviderRequest,
        now: u64,
    ) -> Self {
        let model = target.model.as_deref().unwrap_or(admitted.model());
        let upstream = Upstream { api: target.api, model };
        let turn = admitted.turn(upstream, &target.policy, now);
        let sender = Arc::clone(target);
        let sending = async move {
            let ProviderRequest { body, stream, .. } = request;
            sender.provider.send(sender.api.path(), body, stream).await
        };
        let log = Log {
            model: admitted.model().to_owned(),
            provider: target.provider.name().to_owned(),
            started: Instant::now(),
            first_byte: None,
            bytes: 0,
        };
        Self { source: Source::Sending(Box::pin(sending)), turn, log }
    }

    /// The next bytes for the client, within `wait`. Cancel safe.
    pub(crate) async fn next(&mut self, wait: Duration) -> Step {
        let deadline = tokio::time::Instant::now() + wait;
        loop {
            if matches!(self.turn.reply(), Reply::Complete | Reply::Failed(_)) {
                self.source = Source::Over;
                return Step::Over;
            }
            let mut out = Vec::new();
            match &mut self.source {
                Source::Sending(sending) => {
                    match tokio::time::timeout_at(deadline, sending).await {
                        Err(_) => return Step::Silence,
                        Ok(Ok(response)) => {
                            self.source = Source::Reading(Box::new(response.body));
                        }
                        Ok(Err(fault)) => {
                            self.source = Source::Over;
                            self.turn.end(BodyEnd::Broken(fault), &mut out);
                        }
                    }
                }
                Source::Reading(body) => {
                    match tokio::time::timeout_at(deadline, body.next()).await {
                        Err(_) => return Step::Silence,
                        Ok(Some(Ok(bytes))) => self.turn.push(&bytes, &mut out),
                        Ok(Some(Err(fault))) => {
                            self.source = Source::Over;
                            self.turn.end(BodyEnd::Broken(fault), &mut out);
                        }
                        Ok(None) => {
                            self.source = Source::Over;
                            self.turn.end(BodyEnd::Complete, &mut out);
                        }
                    }
                }
                Source::Over => return Step::Over,
            }
            if !out.is_empty() {
                self.log.first_byte.get_or_insert(self.log.started.elapsed());
                self.log.bytes += out.len() as u64;
                return Step::Bytes(Bytes::from(out));
            }
        }
    }

    /// Bytes of the driver's own have gone out: from here on a fault is an event.
    pub(crate) fn commit(&mut self) {
        self.turn.commit();
    }

    /// What the turn failed with before its first byte.
    pub(crate) fn failure(&self) -> Option<Fault> {
        match self.turn.reply() {
            Reply::Failed(fault) => Some(fault.clone()),
            _ => None,
        }
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        let record = self.turn.record();
        let outcome = match (self.turn.reply(), record.failure, &record.finish) {
            (Reply::Unwritten | Reply::Open, ..) => "client_gone",
            (_, Some(code), _) => code.name(),
            (_, None, Some(finish)) => finish.name(),
            (_, None, None) => "ended",
        };
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(
            model = self.log.model,
            provider = self.log.provider,
            outcome,
            calls = record.calls,
            problems = record.problems.len(),
            repairs = record.repairs.len(),
            notes = record.notes.len(),
            first_byte_ms = self.log.first_byte.map(ms),
            total_ms = ms(self.log.started.elapsed()),
            bytes = self.log.bytes,
            "turn"
        );
    }
}
