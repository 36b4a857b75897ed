//! Stage 0: the only way in. The client's request is captured once; each target gets its own reading.
//!
//! It infers nothing from a response, and it does not choose the target.

use std::collections::HashSet;

use callgate_wire::{
    Code, Fault, Message, Part, Request, Role, ToolDeclaration,
    chat::{self, Framing, NewMessage, Rewrite},
    tool_map::ToolMap,
};

use crate::{
    Policy, Turn,
    choice::Choice,
    decode::{Decode, Passing},
    encode::Encode,
    finalize::Finalize,
    govern::Govern,
    history,
    orchestrate::Orchestrate,
    remap::Remap,
    verdict::Contract,
};

/// A client's request, captured.
#[derive(Clone, Debug)]
pub struct Admitted {
    body: String,
    request: Request,
    /// What the client's tools are in its API.
    tools: ToolMap,
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
}

impl Admitted {
    /// Captures a Chat Completions request.
    ///
    /// # Errors
    /// `REQUEST_INVALID` and `UNSUPPORTED_FEATURE`, naming the member.
    pub fn chat(body: &[u8]) -> Result<Self, Fault> {
        let chat::Incoming { request, tools, .. } = chat::request::decode(body)?;
        if request.choices > 1 {
            let message = "More than one choice cannot be given: each would need its own turn. \
                           Leave `n` out, or send it as 1.";
            return Err(Fault::new(Code::UnsupportedFeature, message).param("n"));
        }
        chat::check_pairing(&request.messages)?;
        let body = String::from_utf8(body.to_vec())
            .map_err(|_| Fault::new(Code::RequestInvalid, "The body is not UTF-8."))?;
        let ids = call_ids(&request.messages).map(str::to_owned).collect();
        Ok(Self {
            body,
            contract: Contract::new(&request.tools),
            choice: Choice::of(&request),
            ids,
            tools,
            request,
        })
    }

    /// The model the client asked for.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.request.model
    }

    /// Whether the client wants a stream.
    #[must_use]
    pub fn stream(&self) -> bool {
        self.request.stream
    }

    /// The request for a target: its model's name, and where it has a dialect, that dialect taught,
    /// the history written in it, and the tools taken out.
    ///
    /// # Errors
    /// The body cannot be edited.
    pub fn for_target(&self, model: &str, policy: &Policy) -> Result<ProviderRequest, Fault> {
        let mut change = Rewrite {
            model: (model != self.request.model).then(|| model.to_owned()),
            ..Rewrite::default()
        };
        if let Some(language) = policy.dialect {
            let taught = self.taught();
            let teaching = self.harvests(policy).then(|| {
                let mut text = language.teach(&taught.tools);
                if let Some(choice) = self.choice.teach() {
                    text.push('\n');
                    text.push_str(&choice);
                }
                text
            });
            change.messages =
                history::written(&self.request.messages, language, &self.contract.tools, teaching);
            change.remove = vec!["tools", "tool_choice", "parallel_tool_calls"];
        }
        Ok(ProviderRequest {
            body: chat::rewrite(&self.body, &change)?,
            stream: self.request.stream,
        })
    }

    /// The turn of a target that was sent [`Admitted::for_target`]. `now` is in Unix seconds.
    #[must_use]
    pub fn turn(&self, model: &str, policy: &Policy, now: u64) -> Turn {
        let framing = if self.request.stream { Framing::Stream } else { Framing::Whole };
        let harvests = self.harvests(policy);
        let passing = if harvests { Passing::Nothing } else { Passing::Frames(framing) };
        let is_renamed = model != self.request.model;
        Turn::new(
            Decode::new(passing),
            Govern::new(self.contract.clone(), policy, harvests),
            Orchestrate::new(policy, self.choice.clone()),
            Finalize::new(self.ids.clone()),
            Remap::new(&self.request.model, is_renamed, self.contract.clone(), framing, now),
            Encode::new(framing, self.request.include_usage, self.tools.clone()),
        )
    }

    /// Whether text of this turn can hold calls.
    fn harvests(&self, policy: &Policy) -> bool {
        policy.dialect.is_some() && !self.request.tools.is_empty() && self.choice.wants_calls()
    }

    /// The tools that the choice allows.
    fn taught(&self) -> Contract {
        let allowed: Vec<ToolDeclaration> = self
            .request
            .tools
            .iter()
            .filter(|tool| self.choice.allows(&tool.name))
            .cloned()
            .collect();
        Contract::new(&allowed)
    }
}

fn call_ids(messages: &[Message]) -> impl Iterator<Item = &str> {
    messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Call { id, .. } => Some(id.as_str()),
        _ => None,
    })
}

/// A message of one text.
pub(crate) fn text_message(role: Role, text: String) -> NewMessage {
    NewMessage::Text { role, text }
}
