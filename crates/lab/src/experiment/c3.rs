//! C3, the whole pipeline: does any prefix of a provider's body give a client too much?
//!
//! Every body goes through the pipeline for clients of every API, streamed and whole, with calls
//! released at both times. It breaks at every place, is cut at random, and comes whole. The laws are
//! `crate::client`'s.

use callgate_pipeline::{OnInvalid, OnViolation, Policy, Release, Validate};
use callgate_wire::{Api, chat::Framing};
use serde::{Deserialize, Serialize};

use super::each;
use crate::{
    client::{Meant, Seen},
    cut,
    recording::Recording,
    reply::Reply,
};

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Every body breaks at every byte.
    pub full: bool,
    /// Of the samples and of the cuts.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Clients {
    /// One row for each client API over each provider API that there are bodies of.
    pub rows: Vec<Row>,
}

/// The bodies of one provider API, for clients of one API.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The client's API.
    pub client: String,
    /// The provider's API.
    pub provider: String,
    /// Bodies.
    pub bodies: u64,
    /// Of these, bodies with calls written as text.
    pub dialects: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Prefixes that were checked: for a stream and a whole reply, at each release.
    pub prefixes: u64,
    /// The first law that did not hold, of each body: must be none.
    pub violations: Vec<String>,
}

/// A provider's body, and what it means.
#[derive(Clone, Debug)]
pub struct Body {
    name: String,
    api: Api,
    framing: Framing,
    bytes: Vec<u8>,
    meant: Meant,
}

impl Body {
    /// A reply of the corpus, under the policies that a route has by default.
    #[must_use]
    pub fn of(reply: &Reply) -> Self {
        let expected = &reply.expected;
        let mut seen = Seen { end: Some(expected.end.clone()), ..Seen::default() };
        if !expected.text.is_empty() {
            seen.text("text ", &expected.text);
        }
        seen.reasoning.clone_from(&expected.reasoning);
        for call in &expected.calls {
            seen.call(&call.name, &call.arguments);
        }
        let policy = Policy { dialect: reply.dialect, ..Policy::default() };
        Self {
            name: reply.name.clone(),
            api: reply.api,
            framing: reply.framing,
            bytes: reply.body.clone(),
            meant: Meant {
                tools: reply.tools.clone(),
                policy,
                expected: seen,
                ordered: reply.dialect.is_none(),
            },
        }
    }

    /// A recorded stream, under policies that let everything out: what goes out is what the corpus
    /// says of the dialect.
    #[must_use]
    pub fn recorded(recording: &Recording) -> Self {
        let case = &recording.case;
        let mut seen = Seen::default();
        seen.text("text ", &case.per_block.text);
        for call in &case.per_block.calls {
            let arguments = match &call.arguments {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            seen.call(&call.name, &arguments);
        }
        let policy = Policy {
            dialect: Some(case.language),
            on_violation: OnViolation::Text,
            on_invalid: OnInvalid::Forward,
            validate: Validate::Off,
            ..Policy::default()
        };
        let end = match case.end {
            callgate_dialect::End::Length => "length",
            _ if seen.calls.is_empty() => "stop",
            _ => "tool_calls",
        };
        seen.end = Some(end.to_owned());
        Self {
            name: case.name.clone(),
            api: Api::Chat,
            framing: Framing::Stream,
            bytes: recording.body.clone(),
            meant: Meant { tools: case.schemas.clone(), policy, expected: seen, ordered: false },
        }
    }

    /// Checks it for clients of an API. Gives the number of prefixes.
    fn check(&self, client: Api, plan: Plan) -> Result<u64, String> {
        let places = match plan.full {
            true => (0..=self.bytes.len()).collect(),
            false => cut::offsets(&self.bytes, plan.seed),
        };
        let mut checked = 0;
        for release in [Release::Turn, Release::Call] {
            // Without calls there is nothing to release.
            if release == Release::Call && self.meant.expected.calls.is_empty() {
                continue;
            }
            let mut meant = self.meant.clone();
            meant.policy.release = release;
            let sent = (self.api, self.framing);
            checked += meant
                .check(client, sent, &self.bytes, &places, plan.seed)
                .map_err(|error| format!("{} ({release:?}): {error}", self.name))?;
        }
        Ok(checked)
    }
}

/// Checks all bodies for clients of all APIs.
#[must_use]
pub fn run(bodies: &[Body], plan: Plan) -> Clients {
    let mut rows = Vec::new();
    for (client, provider) in Api::ALL.into_iter().flat_map(|c| Api::ALL.map(|p| (c, p))) {
        let of: Vec<&Body> = bodies.iter().filter(|body| body.api == provider).collect();
        if of.is_empty() {
            continue;
        }
        let checked = each(&of, |body| body.check(client, plan));
        rows.push(Row {
            client: client.to_string(),
            provider: provider.to_string(),
            bodies: of.len() as u64,
            dialects: of.iter().filter(|body| body.meant.policy.dialect.is_some()).count() as u64,
            bytes: of.iter().map(|body| body.bytes.len() as u64).sum(),
            prefixes: checked.iter().flatten().sum(),
            violations: checked.into_iter().filter_map(Result::err).collect(),
        });
    }
    Clients { rows }
}

impl Clients {
    /// The first law that did not hold, of each body for each client.
    pub fn violations(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().flat_map(|row| &row.violations).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{corpus, recording, reply};

    #[test]
    fn no_prefix_of_a_real_body_gives_too_much() {
        let root = corpus::root();
        let replies = reply::load_all(&root).unwrap();
        assert!(replies.len() >= 50, "{} replies", replies.len());
        let mut bodies: Vec<Body> = replies.iter().map(Body::of).collect();
        // `callgate lab run` takes all of them.
        let recordings = recording::load_all(&root).unwrap();
        bodies.extend(recordings.iter().step_by(10).map(Body::recorded));
        let clients = run(&bodies, Plan { full: false, seed: 1 });
        let violations: Vec<&str> = clients.violations().collect();
        assert!(violations.is_empty(), "{}", violations.join("\n"));
        assert_eq!(clients.rows.len(), 9);
    }

    #[test]
    fn another_meaning_is_a_violation() {
        let replies = reply::load_all(&corpus::root()).unwrap();
        let reply = replies.iter().find(|reply| reply.name == "chat/two_calls").unwrap();
        let plan = Plan { full: true, seed: 1 };
        let failing = |change: fn(&mut Seen)| {
            let mut body = Body::of(reply);
            change(&mut body.meant.expected);
            let clients = run(&[body], plan);
            assert_eq!(clients.rows.len(), 3);
            assert!(clients.rows.iter().all(|row| row.violations.len() == 1), "{clients:?}");
        };
        failing(|seen| seen.calls[1].1.push(' '));
        failing(|seen| drop(seen.calls.pop()));
        failing(|seen| seen.end = Some("stop".to_owned()));
        failing(|seen| seen.text("text ", "More."));
    }
}
