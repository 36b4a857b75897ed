//! What the decoder has found, in the canonical turn's words. It decides nothing.

use serde_json::value::RawValue;

use super::item::Channel;
use crate::TurnEvent;

pub(super) fn text(channel: Channel, _item: Option<&str>, _part: u64, text: String) -> TurnEvent {
    match channel {
        Channel::Refusal => TurnEvent::Refusal(text),
        Channel::Reasoning | Channel::Summary => TurnEvent::Reasoning(text),
        Channel::Text | Channel::Input | Channel::Opaque => TurnEvent::Text(text),
    }
}

pub(super) fn call(
    call: u32,
    id: Option<&str>,
    _is_custom: bool,
    _namespace: Option<&str>,
    name: &str,
) -> TurnEvent {
    TurnEvent::CallStart { call, id: id.map(str::to_owned), name: name.to_owned() }
}

pub(super) fn annotation(raw: &RawValue) -> TurnEvent {
    TurnEvent::Extra { name: "annotation".to_owned(), value: raw.to_owned() }
}

pub(super) fn item(raw: &RawValue) -> TurnEvent {
    TurnEvent::Extra { name: "item".to_owned(), value: raw.to_owned() }
}

pub(super) fn part(raw: &RawValue) -> TurnEvent {
    TurnEvent::Extra { name: "part".to_owned(), value: raw.to_owned() }
}

pub(super) fn event(raw: &RawValue) -> TurnEvent {
    TurnEvent::Extra { name: "event".to_owned(), value: raw.to_owned() }
}

pub(super) fn sealed(_item: &RawValue, sealed: &RawValue) -> TurnEvent {
    TurnEvent::Extra { name: "encrypted_content".to_owned(), value: sealed.to_owned() }
}
