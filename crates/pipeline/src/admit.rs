//! Stage 0: the only way in. The client's request is captured once; each target gets its own reading.
//!
//! It infers nothing from a response, and it does not choose the target.

use std::collections::HashSet;

use callgate_wire::{
    Api, Code, Fault, Message, Part, Request, ToolChoice, ToolDeclaration,
    chat::{Framing, Rewrite},
    codec::{self, Decoder, Encoder, Incoming, Kept},
    loss,
    tool_map::ToolMap,
};

use crate::{
    Policy, Turn,
    choice::Choice,
    decode::{Decode, Passing},
    encode::Encode,
    finalize::Finalize,
    govern::Govern,
    history::{self, Written},
    orchestrate::Orchestrate,
    remap::Remap,
    verdict::Contract,
};

/// A client's request, captured.
#[derive(Clone, Debug)]
pub struct Admitted {
    body: String,
    incoming: Incoming,
    contract: Contract,
    choice: Choice,
    /// The ids of calls in the history.
    ids: HashSet<String>,
}

/// What a provider is sent.
#[derive(Clone, Debug)]
pub struct ProviderRequest {
    /// The body.
    pub body: Vec<u8>,
    /// Whether a stream is asked for.
    pub stream: bool,
    /// What the request could not carry to the provider's API, for the header [`loss::HEADER`].
    pub losses: Option<String>,
}

/// A model as a provider of some API knows it.
#[derive(Clone, Copy, Debug)]
pub struct Upstream<'u> {
    /// The provider's API.
    pub api: Api,
    /// The model's name there.
    pub model: &'u str,
}

impl Admitted {
    /// Captures a request that came by an API.
    ///
    /// # Errors
    /// `REQUEST_INVALID` and `UNSUPPORTED_FEATURE`, naming the member.
    pub fn new(api: Api, body: &[u8]) -> Result<Self, Fault> {
        let incoming = codec::decode(api, body)?;
        let request = &incoming.request;
        if request.choices > 1 {
            let message = "More than one choice cannot be given: each would need its own turn. \
                           Leave `n` out, or send it as 1.";
            return Err(Fault::new(Code::UnsupportedFeature, message).param("n"));
        }
        let body = String::from_utf8(body.to_vec())
            .map_err(|_| Fault::new(Code::RequestInvalid, "The body is not UTF-8."))?;
        let ids = call_ids(&request.messages).map(str::to_owned).collect();
        Ok(Self {
            body,
            contract: Contract::new(&request.tools),
            choice: Choice::of(request),
            ids,
            incoming,
        })
    }

    /// The API that the request came by.
    #[must_use]
    pub fn api(&self) -> Api {
        self.incoming.api
    }

    /// The model the client asked for.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.incoming.request.model
    }

    /// Whether the client wants a stream.
    #[must_use]
    pub fn stream(&self) -> bool {
        self.incoming.request.stream
    }

    /// The request continues a kept reply, whose conversation is in it. Its own reply says so.
    pub fn continues(&mut self, id: &str) {
        self.incoming.shape.echo.set("previous_response_id", &serde_json::json!(id).to_string());
    }

    /// What the request asks of kept replies.
    #[must_use]
    pub fn kept(&self) -> &Kept {
        &self.incoming.kept
    }

    /// The request for a target: its model's name, and where it has a dialect, that dialect taught,
    /// the history written in it, and the tools taken out; in the provider's API.
    ///
    /// # Errors
    /// `UNSUPPORTED_FEATURE` if the provider's API cannot carry what would change the meaning.
    pub fn for_target(
        &self,
        target: Upstream<'_>,
        policy: &Policy,
    ) -> Result<ProviderRequest, Fault> {
        let written = policy.dialect.and_then(|language| {
            let teaching = self.harvests(policy).then(|| {
                let mut text = language.teach(&self.taught().tools);
                if let Some(choice) = self.choice.teach() {
                    text.push('\n');
                    text.push_str(&choice);
                }
                text
            });
            history::written(&self.request().messages, language, &self.contract.tools, teaching)
        });
        if target.api == self.api() {
            self.rewritten(target, policy, written)
        } else {
            self.translated(target, policy, written)
        }
    }

    /// The client's own body with what has to change in it.
    fn rewritten(
        &self,
        target: Upstream<'_>,
        policy: &Policy,
        written: Option<Vec<Written<'_>>>,
    ) -> Result<ProviderRequest, Fault> {
        let change = Rewrite {
            model: (target.model != self.model()).then(|| target.model.to_owned()),
            messages: written
                .map(|list| list.into_iter().map(Written::native).collect())
                .or_else(|| history::mended(target.api, &self.request().messages)),
            remove: match policy.dialect {
                Some(_) => vec!["tools", "tool_choice", "parallel_tool_calls"],
                None => Vec::new(),
            },
            ..Rewrite::default()
        };
        let body = codec::rewrite(target.api, &self.body, &change, &self.incoming.shape.tools)?;
        Ok(ProviderRequest { body, stream: self.stream(), losses: None })
    }

    /// The request in another API.
    fn translated(
        &self,
        target: Upstream<'_>,
        policy: &Policy,
        written: Option<Vec<Written<'_>>>,
    ) -> Result<ProviderRequest, Fault> {
        let Incoming { places, losses, kept, .. } = &self.incoming;
        for (name, is_asked) in [
            ("previous_response_id", kept.previous_response_id.is_some()),
            ("conversation", kept.conversation.is_some()),
        ] {
            if is_asked {
                let message = format!(
                    "`{name}` names what another reply left behind, which the model's provider does \
                     not keep. Send the whole conversation in `input`."
                );
                return Err(Fault::new(Code::UnsupportedFeature, message).param(name));
            }
        }
        let mut request = self.request().clone();
        if let Some(written) = written {
            request.messages = written.into_iter().map(Written::canonical).collect();
        }
        let mends = history::mend(&mut request.messages, places);
        if policy.dialect.is_some() {
            request.tools.clear();
            request.tool_choice = ToolChoice::Auto;
            request.parallel_calls = true;
        }
        let outgoing = codec::write(target.api, &request, places, target.model, &[]);
        let own = losses.iter().filter(|loss| policy.dialect.is_none() || !is_of_tools(&loss.path));
        let losses = loss::settle(own.chain(&mends).chain(&outgoing.losses))?;
        Ok(ProviderRequest { body: outgoing.body, stream: request.stream, losses })
    }

    /// The turn of a target that was sent [`Admitted::for_target`]. `now` is in Unix seconds.
    #[must_use]
    pub fn turn(&self, target: Upstream<'_>, policy: &Policy, now: u64) -> Turn {
        let framing = if self.stream() { Framing::Stream } else { Framing::Whole };
        let harvests = self.harvests(policy);
        let is_native = target.api == self.api();
        let passing =
            if harvests || !is_native { Passing::Nothing } else { Passing::Frames(framing) };
        let is_renamed = target.model != self.model();
        // Another API's provider was given functions under the names they have inside.
        let tools = if is_native { &self.incoming.shape.tools } else { &ToolMap::default() };
        let shape = self.incoming.shape.clone();
        let include_usage = self.request().include_usage;
        let apis = (self.api(), target.api);
        let contract = self.contract.clone();
        Turn::new(
            Decode::new(target.api, Decoder::new(target.api, tools), passing),
            Govern::new(contract.clone(), policy, harvests),
            Orchestrate::new(policy, self.choice.clone()),
            Finalize::new(self.ids.clone(), !is_native),
            Remap::new(self.model(), is_renamed, contract, apis, framing, now),
            Encode::new(Encoder::new(self.api(), framing, shape, include_usage), framing),
        )
    }

    fn request(&self) -> &Request {
        &self.incoming.request
    }

    /// Whether text of this turn can hold calls.
    fn harvests(&self, policy: &Policy) -> bool {
        policy.dialect.is_some() && !self.request().tools.is_empty() && self.choice.wants_calls()
    }

    /// The tools that the choice allows.
    fn taught(&self) -> Contract {
        let allowed: Vec<ToolDeclaration> = self
            .request()
            .tools
            .iter()
            .filter(|tool| self.choice.allows(&tool.name))
            .cloned()
            .collect();
        Contract::new(&allowed)
    }
}

/// Whether a member says something of tools that a dialect says in its own way.
fn is_of_tools(path: &str) -> bool {
    path.starts_with("tool_choice")
}

fn call_ids(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Call { id, .. } => Some(id.as_str()),
        _ => None,
    })
}
