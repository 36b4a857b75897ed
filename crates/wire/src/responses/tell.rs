//! What the decoder has found, in the canonical turn's words. It decides nothing.

use serde_json::value::RawValue;

use super::slot::Channel;
use crate::{Api, TurnEvent, Vendor, VendorKind, object::Object, raw};

/// More of a text.
pub(super) fn text(channel: Channel, part: u64, text: String) -> TurnEvent {
    match channel {
        Channel::Refusal => TurnEvent::Refusal(text),
        Channel::Reasoning => TurnEvent::Reasoning(text),
        Channel::Summary => {
            TurnEvent::Summary { index: u32::try_from(part).unwrap_or(u32::MAX), text }
        }
        Channel::Text | Channel::Input | Channel::Opaque => TurnEvent::Text(text),
    }
}

/// How an item is named: the members that there are, and those that nobody knows.
pub(super) fn head(
    members: &[(&str, Option<&str>)],
    rest: &[(String, Box<RawValue>)],
) -> TurnEvent {
    let mut object = Object::default();
    for (name, value) in members {
        if let Some(value) = value {
            object.text(name, value);
        }
    }
    for (name, value) in rest {
        object.raw(name, value.get());
    }
    let value = RawValue::from_string(object.json());
    vendor(VendorKind::Head, value.unwrap_or_else(|_| RawValue::NULL.to_owned()))
}

/// A whole item of another type.
pub(super) fn item(raw: &RawValue) -> TurnEvent {
    vendor(VendorKind::Item, raw.to_owned())
}

/// A part of a message, of another type.
pub(super) fn part(raw: &RawValue) -> TurnEvent {
    vendor(VendorKind::Part, raw.to_owned())
}

/// An event that is not known. Its type may have stood beside it only, as the name of its frame.
pub(super) fn event(raw: &RawValue, kind: &str) -> TurnEvent {
    let typed = raw::typed(raw.get(), kind).and_then(|json| RawValue::from_string(json).ok());
    vendor(VendorKind::Event, typed.unwrap_or_else(|| raw.to_owned()))
}

/// The encrypted form of reasoning.
pub(super) fn sealed(raw: &RawValue) -> TurnEvent {
    vendor(VendorKind::Sealed, raw.to_owned())
}

/// Members of the envelope that have changed.
pub(super) fn members(members: &[(&str, &RawValue)]) -> TurnEvent {
    let members: Vec<_> = members
        .iter()
        .map(|(name, value)| format!("{}:{value}", serde_json::json!(name)))
        .collect();
    let value = RawValue::from_string(format!("{{{}}}", members.join(",")));
    vendor(VendorKind::Members, value.unwrap_or_else(|_| RawValue::NULL.to_owned()))
}

const fn vendor(kind: VendorKind, value: Box<RawValue>) -> TurnEvent {
    TurnEvent::Vendor(Vendor { api: Api::Responses, kind, value })
}
