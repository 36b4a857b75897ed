//! A canonical request as lines that can be compared, without what the two APIs say differently.
//!
//! Left out: the borders between neighbouring texts, empty texts, and the choice among no tools.

use std::collections::BTreeMap;

use callgate_wire::{
    Format, Loss, LossKind, Part, Places, Request, Role,
    call_id::{CallIds, Rule},
    chat,
    responses::{self, Incoming},
};

/// The parameters by name, each as text.
pub(super) fn parameters(request: &Request) -> BTreeMap<&'static str, String> {
    let p = &request.parameters;
    let format = p.format.as_ref().map(|format| match format {
        Format::JsonObject => "object".to_owned(),
        Format::JsonSchema { name, description, schema, strict } => {
            // OpenAI's APIs want a name.
            let name = name.as_deref().unwrap_or("response");
            format!("{name:?} {description:?} {schema} {strict:?}")
        }
    });
    let number = |number: &Option<Box<serde_json::value::RawValue>>| {
        number.as_ref().map(|number| number.get().to_owned())
    };
    let tools = !request.tools.is_empty();
    let list = [
        ("stream", Some(request.stream.to_string())),
        ("tool_choice", tools.then(|| format!("{:?}", request.tool_choice))),
        ("parallel_tool_calls", tools.then(|| request.parallel_calls.to_string())),
        ("max_tokens", p.max_tokens.map(|limit| limit.to_string())),
        ("temperature", number(&p.temperature)),
        ("top_p", number(&p.top_p)),
        ("top_k", number(&p.top_k)),
        ("frequency_penalty", number(&p.frequency_penalty)),
        ("presence_penalty", number(&p.presence_penalty)),
        ("seed", number(&p.seed)),
        ("stop", (!p.stop.is_empty()).then(|| format!("{:?}", p.stop))),
        ("effort", p.effort.as_ref().map(|effort| format!("{effort:?}"))),
        ("verbosity", p.verbosity.clone()),
        ("format", format),
        ("user", p.user.clone()),
        ("service_tier", p.service_tier.clone()),
        ("cache_key", p.cache_key.clone()),
    ];
    list.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The tools, each as text.
pub(super) fn tools(request: &Request) -> Vec<String> {
    let empty = r#"{"type":"object","properties":{}}"#;
    let tools = request.tools.iter();
    tools
        .map(|tool| {
            let parameters = tool.parameters.as_ref().map_or(empty, |raw| raw.get());
            format!("{} {:?} {parameters}", tool.name, tool.description)
        })
        .collect()
}

/// The conversation: each message's place, and its lines. Messages of the model that follow each
/// other are one, as Responses has them. `ids` are what ids of calls become.
pub(super) fn messages(request: &Request, ids: &CallIds) -> Vec<(usize, Vec<String>)> {
    let mut merged: Vec<(usize, Role, Vec<&Part>)> = Vec::new();
    for (at, message) in request.messages.iter().enumerate() {
        let says = |part: &&Part| match part {
            Part::Text(text) => !text.is_empty(),
            Part::Reasoning(_) | Part::Opaque(_) => false,
            _ => true,
        };
        let parts: Vec<_> = message.parts.iter().filter(says).collect();
        match merged.last_mut() {
            // Only a model can say nothing.
            _ if parts.is_empty() && message.role == Role::Assistant => {}
            Some((_, Role::Assistant, known)) if message.role == Role::Assistant => {
                known.extend(parts);
            }
            _ => merged.push((at, message.role, parts)),
        }
    }
    let lines = merged.into_iter();
    lines.map(|(at, role, parts)| (at, lines_of(role, &parts, ids))).collect()
}

fn lines_of(role: Role, parts: &[&Part], ids: &CallIds) -> Vec<String> {
    let mut lines = vec![format!("{role:?}")];
    let mut text = String::new();
    for part in parts {
        let line = match part {
            Part::Text(part) => {
                if !text.is_empty() {
                    text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
                }
                text.push_str(part);
                continue;
            }
            Part::Media(media) => {
                format!("{:?} {:?} {:?} {:?}", media.kind, media.source, media.name, media.detail)
            }
            Part::Refusal(text) => format!("refusal {text}"),
            Part::Call { id, name, arguments } => {
                format!("call {} {name} {arguments}", ids.get(id))
            }
            Part::Result { call_id, is_error } => {
                format!("result {} {is_error}", ids.get(call_id))
            }
            Part::Reasoning(_) | Part::Opaque(_) => continue,
        };
        flush(role, &mut text, &mut lines);
        match (lines.last_mut(), line.strip_prefix("refusal ")) {
            (Some(last), Some(more)) if last.starts_with("refusal ") => {
                *last = format!("{last}\n\n{more}");
            }
            _ => lines.push(line),
        }
    }
    flush(role, &mut text, &mut lines);
    lines
}

fn flush(role: Role, text: &mut String, lines: &mut Vec<String>) {
    if !text.is_empty() {
        lines.push(format!("text {role:?} {}", std::mem::take(text)));
    }
}

/// A request on both sides of a crossing.
pub(super) struct Crossed {
    pub(super) before: Request,
    pub(super) places: Places,
    pub(super) losses: Vec<Loss>,
    pub(super) body: String,
    pub(super) after: Request,
    /// What the second reading lists: nothing but what the target's own reading cannot help.
    pub(super) again: Vec<Loss>,
}

/// A Chat client's request, sent to a provider of Responses.
pub(super) fn from_chat(body: &str) -> Crossed {
    let incoming =
        chat::request::decode(body.as_bytes()).unwrap_or_else(|fault| panic!("{fault} in {body}"));
    let outgoing = responses::write(&incoming.request, &incoming.places, "m", &[]);
    let body = String::from_utf8(outgoing.body).unwrap();
    let again = responses::request::decode(body.as_bytes())
        .unwrap_or_else(|fault| panic!("{fault} in {body}"));
    Crossed {
        before: incoming.request,
        places: incoming.places,
        losses: [incoming.losses, outgoing.losses].concat(),
        body,
        after: again.request,
        again: again.losses,
    }
}

/// A Responses client's request, sent to a provider of Chat.
pub(super) fn from_responses(body: &str) -> Crossed {
    let Incoming { request, places, losses, .. } = responses::request::decode(body.as_bytes())
        .unwrap_or_else(|fault| panic!("{fault} in {body}"));
    let outgoing = chat::write(&request, &places, "m", &[]);
    let body = String::from_utf8(outgoing.body).unwrap();
    let again =
        chat::request::decode(body.as_bytes()).unwrap_or_else(|fault| panic!("{fault} in {body}"));
    Crossed {
        before: request,
        places,
        losses: [losses, outgoing.losses].concat(),
        body,
        after: again.request,
        again: again.losses,
    }
}

impl Crossed {
    /// Whether a member, or something in it, is listed as lost.
    pub(super) fn lost(&self, path: &str) -> bool {
        self.losses.iter().any(|loss| {
            loss.path.strip_prefix(path).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('.') || rest.starts_with('[')
            })
        })
    }

    /// Checks the law: what is not listed as lost is the same.
    pub(super) fn check(&self) {
        let Self { before, after, body, .. } = self;
        let names = self.places.names;
        let (told, found) = (parameters(before), parameters(after));
        for (name, value) in &told {
            let path = match *name {
                "max_tokens" => names.max_tokens,
                "top_k" => names.top_k,
                "stop" => names.stop,
                "service_tier" => names.service_tier,
                "effort" => names.effort,
                "verbosity" => names.verbosity,
                "format" => names.format,
                "user" => names.user,
                "cache_key" => names.cache_key,
                name => name,
            };
            if !self.lost(path) {
                assert_eq!(found.get(name), Some(value), "{name} in {body}");
            }
        }
        for name in found.keys() {
            assert!(told.contains_key(name), "{name} came from nowhere in {body}");
        }
        assert_eq!(tools(before), tools(after), "{body}");
        self.check_messages();
        // A body that was just written has nothing that its own API does not know.
        let unknown: Vec<_> =
            self.again.iter().filter(|loss| loss.kind == LossKind::Unsupported).collect();
        assert!(unknown.is_empty(), "{unknown:?} in {body}");
    }

    fn check_messages(&self) {
        for (at, message) in self.before.messages.iter().enumerate() {
            let reasons = message.parts.iter().any(|part| matches!(part, Part::Reasoning(_)));
            let path = self.places.message(at);
            assert!(!reasons || self.lost(&path), "{path}: reasoning is silently gone");
        }
        let mut found =
            messages(&self.after, &CallIds::default()).into_iter().map(|(_, lines)| lines);
        let ids = CallIds::of(Rule::OpenAi, &self.before.messages);
        for (at, lines) in messages(&self.before, &ids) {
            let path = self.places.message(at);
            let found = found.next().unwrap_or_else(|| panic!("{path} is gone in {}", self.body));
            let is_exact = self.losses.iter().all(|loss| {
                !loss.path.starts_with(path.as_ref()) || loss.kind == LossKind::Dropped
            });
            if is_exact {
                assert_eq!(found, lines, "{path} in {}", self.body);
            } else {
                assert_eq!(loosely(&found), loosely(&lines), "{path} in {}", self.body);
            }
        }
        assert_eq!(found.next(), None, "{}", self.body);
    }
}

/// A message without media, without its order and without the mark of a failed result, which its text
/// says: its text in one, its refusals, its other lines.
fn loosely(lines: &[String]) -> (String, String, Vec<&str>) {
    let is_other = |line: &&String| {
        let beginnings = ["text ", "refusal ", "Image ", "Document ", "Audio "];
        !beginnings.iter().any(|beginning| line.starts_with(beginning))
    };
    let text = lines.iter().filter_map(|line| line.strip_prefix("text ")?.split_once(' '));
    let text = text.map(|(_, text)| text.strip_prefix("The tool failed:").unwrap_or(text));
    let text: String = text.map(|text| text.split_whitespace().collect::<String>()).collect();
    let refusal = lines.iter().filter_map(|line| line.strip_prefix("refusal "));
    let refusal = refusal.map(|text| text.split_whitespace().collect::<String>()).collect();
    let rest = lines.iter().filter(is_other);
    let mut rest: Vec<_> =
        rest.map(|line| line.trim_end_matches(" true").trim_end_matches(" false")).collect();
    rest.sort();
    (text, refusal, rest)
}
