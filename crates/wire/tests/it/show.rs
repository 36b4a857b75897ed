//! Turn events and conversations as text, so that a whole expectation can be read.

use callgate_wire::{Part, Request, TurnEvent, Vendor};

/// One line an event.
pub(crate) fn show(events: &[TurnEvent]) -> Vec<String> {
    events
        .iter()
        .map(|event| match event {
            TurnEvent::Start { id, model, created, extra } => {
                let extra: Vec<_> =
                    extra.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("start {id:?} {model:?} {created:?} {}", extra.join(" "))
            }
            TurnEvent::Text(text) => format!("text {text}"),
            TurnEvent::Reasoning(text) => format!("reasoning {text}"),
            TurnEvent::Refusal(text) => format!("refusal {text}"),
            TurnEvent::Summary { index, text } => format!("summary {index} {text}"),
            TurnEvent::Annotation(raw) => format!("annotation {raw}"),
            TurnEvent::Vendor(Vendor { kind, value, .. }) => format!("{kind:?} {value}"),
            TurnEvent::CallStart { call, id, name } => {
                format!("call {call} {} {name}", id.as_deref().unwrap_or("-"))
            }
            TurnEvent::CallDelta { call, arguments } => format!("args {call} {arguments}"),
            TurnEvent::CallEnd { call } => format!("end {call}"),
            TurnEvent::Extra { name, value } => format!("extra {name}={value}"),
            TurnEvent::Finish(finish) => format!("finish {finish:?}"),
            TurnEvent::Usage(usage) => format!("usage {} {}", usage.input, usage.output),
            TurnEvent::Done => "done".to_owned(),
            TurnEvent::Fault(fault) => format!("fault {fault}"),
        })
        .collect()
}

/// One line a message: its role and its parts.
pub(crate) fn conversation(request: &Request) -> Vec<String> {
    let part = |part: &Part| match part {
        Part::Text(text) => format!("text {text}"),
        Part::Reasoning(part) => format!("reasoning {} ({})", part.text, part.raw.is_some()),
        Part::Call { id, name, arguments } => format!("call {id} {name} {arguments}"),
        Part::Result { call_id, is_error: false } => format!("result {call_id}"),
        Part::Result { call_id, is_error: true } => format!("failure {call_id}"),
        Part::Media(media) => {
            let name = media.name.as_deref().unwrap_or("-");
            format!("{:?} {name} {:?}", media.kind, media.source)
        }
        Part::Refusal(text) => format!("refusal {text}"),
        Part::Opaque(raw) => format!("opaque {raw}"),
    };
    let messages = request.messages.iter();
    messages
        .map(|message| {
            let parts: Vec<_> = message.parts.iter().map(part).collect();
            format!("{:?}: {}", message.role, parts.join(" | "))
        })
        .collect()
}
