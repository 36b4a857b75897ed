//! A call in the shape that its tool's kind wants.
//!
//! The call is complete and judged; here it only gets its shape. Clients refuse a call that comes as
//! another kind than its tool.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::{
    Api, TurnEvent, Vendor, VendorKind, escape,
    object::Object,
    raw,
    tool_map::{Origin, ToolKind, ToolMap, unwrap},
};

/// Members of calls that nobody knows, such as the signature that one vendor wants back with a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Heads {
    list: Vec<(String, Vec<(String, String)>)>,
}

impl Heads {
    /// Notes what an event of [`Head`] says.
    pub(super) fn note(&mut self, json: &str) {
        let Ok(object) = raw::Object::parse(json) else { return };
        let id = escape::unescape(object.get("id").unwrap_or_default()).into_owned();
        let at = self.list.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
            self.list.push((id, Vec::new()));
            self.list.len() - 1
        });
        let members = &mut self.list[at].1;
        for (name, value) in object.members().filter(|(name, _)| !Head::OWN.contains(name)) {
            let value = raw::one_line(value).into_owned();
            match members.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => *known = value,
                None => members.push((name.to_owned(), value)),
            }
        }
    }

    /// Writes the members of a call behind others of it.
    pub(super) fn write(&mut self, id: &str, out: &mut Vec<u8>) {
        let Some(at) = self.list.iter().position(|(known, _)| known == id) else { return };
        for (name, value) in self.list.swap_remove(at).1 {
            out.push(b',');
            escape::write(&name, out);
            out.push(b':');
            out.extend_from_slice(value.as_bytes());
        }
    }
}

/// What names a call of this API beside what a call is.
pub(super) struct Head;

impl Head {
    /// Members that a call has anyway.
    const OWN: [&str; 5] = ["id", "type", "index", "function", "custom"];

    /// The event for members of a call.
    pub(super) fn event(id: &str, rest: &[(String, Box<RawValue>)]) -> TurnEvent {
        let mut object = Object::default();
        object.text("id", id);
        for (name, value) in rest.iter().filter(|(name, _)| !Self::OWN.contains(&name.as_str())) {
            object.raw(name, value.get());
        }
        let value = RawValue::from_string(object.json());
        let value = value.unwrap_or_else(|_| RawValue::NULL.to_owned());
        TurnEvent::Vendor(Vendor { api: Api::Chat, kind: VendorKind::Head, value })
    }
}

/// A call in this API's words.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// Its type, and the member that holds it.
    pub(super) kind: &'static str,
    /// What its input is called there.
    pub(super) input_name: &'static str,
    pub(super) name: &'a str,
    pub(super) input: Cow<'a, str>,
}

impl<'a> Call<'a> {
    /// What a call of a flat name is. A tool that the map does not know is a function.
    pub(super) fn of(tools: &'a ToolMap, flat: &'a str, arguments: &'a str) -> Self {
        match tools.origin(flat) {
            Some(Origin { kind: ToolKind::Custom, name, .. }) => {
                Self { kind: "custom", input_name: "input", name, input: unwrap(arguments) }
            }
            _ => Self {
                kind: "function",
                input_name: "arguments",
                name: flat,
                input: Cow::Borrowed(arguments),
            },
        }
    }
}
