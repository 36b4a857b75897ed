//! What the decoder has found, in the canonical turn's words. It decides nothing.

use serde_json::value::RawValue;

use crate::{Api, TurnEvent, Vendor, VendorKind, raw};

/// A thing of this API alone, from text that is JSON.
pub(super) fn vendor(kind: VendorKind, json: String) -> TurnEvent {
    let value = RawValue::from_string(json).unwrap_or_else(|_| RawValue::NULL.to_owned());
    TurnEvent::Vendor(Vendor { api: Api::Messages, kind, value })
}

/// A thing of this API alone, as it came.
pub(super) fn kept(kind: VendorKind, raw: &RawValue) -> TurnEvent {
    TurnEvent::Vendor(Vendor { api: Api::Messages, kind, value: raw.to_owned() })
}

/// An event that is not known. Its type may have stood beside it only, as the name of its frame.
pub(super) fn event(raw: &RawValue, kind: &str) -> TurnEvent {
    match raw::typed(raw.get(), kind) {
        Some(json) => vendor(VendorKind::Event, json),
        None => kept(VendorKind::Event, raw),
    }
}

/// More argument text of a call.
pub(super) fn arguments(call: u32, arguments: String, out: &mut Vec<TurnEvent>) {
    if !arguments.is_empty() {
        out.push(TurnEvent::CallDelta { call, arguments });
    }
}
