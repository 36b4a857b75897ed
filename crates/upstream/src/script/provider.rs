//! Scripts as a provider in this process: the same head, body and faults as over HTTP, no socket.

use std::sync::Arc;

use callgate_wire::Fault;
use tokio::time::timeout_at;

use super::{
    Scripts,
    answer::{Answer, answer},
};
use crate::{
    Body, Response, Timeouts, refusal,
    response::{Source, first_byte_missing},
    timeout::deadline,
};

/// The name used in messages.
const NAME: &str = "scripted";

/// Scripts, played in this process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ScriptedProvider {
    scripts: Scripts,
    timeouts: Timeouts,
}

impl ScriptedProvider {
    /// A provider that answers with these scripts. `timeouts.connect` means nothing here.
    #[must_use]
    pub fn new(scripts: Scripts, timeouts: Timeouts) -> Self {
        Self { scripts, timeouts }
    }

    /// The name used in messages.
    #[must_use]
    #[allow(clippy::unused_self, reason = "the same signature as the other providers")]
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// The scripts it answers with.
    #[must_use]
    pub fn scripts(&self) -> &Scripts {
        &self.scripts
    }

    /// As [`crate::Provider::send`].
    ///
    /// # Errors
    /// As [`crate::Provider::send`].
    #[allow(clippy::needless_pass_by_value, reason = "the same signature as the other providers")]
    pub async fn send(
        &self,
        path: &str,
        body: Vec<u8>,
        _accept_stream: bool,
    ) -> Result<Response, Fault> {
        let until = deadline(self.timeouts.first_byte);
        let Answer { status, headers, mut play, .. } = answer(&self.scripts, path, &body);
        if timeout_at(until, play.ready()).await.is_err() {
            return Err(first_byte_missing(NAME, self.timeouts.first_byte));
        }
        let source = Source::Script(Box::new(play));
        let body = Body::new(source, Arc::from(NAME), self.timeouts, until);
        let response = Response { status, headers, body };
        if (200..300).contains(&status) {
            Ok(response)
        } else {
            Err(refusal::fault(NAME, response, &[]).await)
        }
    }
}
