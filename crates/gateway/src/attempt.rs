//! One attempt: a request sent to one target, and the turn that comes of it.
//!
//! It tries nothing twice.

use std::{future::Future, pin::Pin};

use callgate_pipeline::{Admitted, BodyEnd, ProviderRequest, Reply, Turn};
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
    /// Sends the request, with the name the provider is sent; `now` is in Unix seconds.
    ///
    /// # Errors
    /// The target cannot be told what the client asked for.
    pub(crate) fn new(
        admitted: &Admitted,
        target: &Target,
        model: &str,
        now: u64,
    ) -> Result<Self, Fault> {
        let request = admitted.for_target(model, &target.policy)?;
        let turn = admitted.turn(model, &target.policy, now);
        let (provider, api) = (target.provider.clone(), target.api);
        let sending = async move {
            let ProviderRequest { body, stream } = request;
            provider.send(api.path(), body, stream).await
        };
        Ok(Self { source: Source::Sending(Box::pin(sending)), turn })
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
