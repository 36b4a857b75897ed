//! One attempt: a request sent to one target, and the turn that comes of it.
//!
//! It tries nothing twice.

use std::{future::Future, pin::Pin};

use callgate_pipeline::{Admitted, BodyEnd, ProviderRequest, Reply, Turn, Upstream};
use callgate_upstream::{Body, Response};
use callgate_wire::Fault;

use crate::target::Target;

type Sending = Pin<Box<dyn Future<Output = Result<Response, Fault>> + Send>>;

/// Where the provider's reply stands.
enum Source {
    Sending(Sending),
    Reading(Box<Body>),
    Over,
}

/// A turn of one target under way. Dropping it ends the provider's request.
pub(crate) struct Attempt {
    source: Source,
    turn: Turn,
}

impl Attempt {
    /// Sends the request, with `headers` and the name that the provider is sent; `now` is in Unix
    /// seconds. Also says what the request lost on its way to the target's API.
    ///
    /// # Errors
    /// The target cannot be told what the client asked for.
    pub(crate) fn new(
        admitted: &Admitted,
        headers: &[(&'static str, String)],
        target: &Target,
        model: &str,
        now: u64,
    ) -> Result<(Self, Option<String>), Fault> {
        let upstream = Upstream { api: target.api, model };
        let ProviderRequest { body, stream, losses } =
            admitted.for_target(upstream, &target.policy)?;
        let turn = admitted.turn(upstream, &target.policy, now);
        let (provider, path) = (target.provider.clone(), target.api.path());
        let headers = target.headers(headers);
        let sending = async move { provider.send_with(path, body, stream, &headers).await };
        Ok((Self { source: Source::Sending(Box::pin(sending)), turn }, losses))
    }

    /// Takes the next thing that comes from the provider, and appends what may go to the client.
    /// Cancel safe; does nothing once the turn has ended.
    pub(crate) async fn advance(&mut self, out: &mut Vec<u8>) {
        if matches!(self.turn.reply(), Reply::Complete | Reply::Failed(_)) {
            self.source = Source::Over;
        }
        match &mut self.source {
            Source::Sending(sending) => match sending.await {
                Ok(response) => self.source = Source::Reading(Box::new(response.body)),
                Err(fault) => self.end(BodyEnd::Broken(fault), out),
            },
            Source::Reading(body) => match body.next().await {
                Some(Ok(bytes)) => self.turn.push(&bytes, out),
                Some(Err(fault)) => self.end(BodyEnd::Broken(fault), out),
                None => self.end(BodyEnd::Complete, out),
            },
            Source::Over => {}
        }
    }

    fn end(&mut self, end: BodyEnd, out: &mut Vec<u8>) {
        self.source = Source::Over;
        self.turn.end(end, out);
    }

    pub(crate) fn turn(&self) -> &Turn {
        &self.turn
    }
}
