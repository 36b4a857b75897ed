//! Turn events as text, so that a whole expectation can be read.

use callgate_wire::{TurnEvent, Vendor};

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
