//! A client's body edited for a provider of the same API; what is not named stays byte for byte.
//!
//! It decides nothing: which messages a provider is to see, and as what, is the caller's.

use super::compose::Composer;
use crate::{Code, Fault, chat::Rewrite, escape, raw, tool_map::ToolMap};

/// Applies `rewrite` to a request's body. New messages stand for the instructions too, which the
/// canonical request has as its first message. `tools` says what their calls are in this API.
///
/// # Errors
/// The body is not a JSON object.
pub fn rewrite(body: &str, rewrite: &Rewrite, tools: &ToolMap) -> Result<Vec<u8>, Fault> {
    let quoted = rewrite.model.as_ref().map(|model| {
        let mut out = Vec::new();
        escape::write(model, &mut out);
        String::from_utf8(out).unwrap_or_default()
    });
    let input = rewrite.messages.as_ref().map(|messages| {
        let mut composer = Composer::own(tools);
        for message in messages {
            composer.new_message("input", message);
        }
        composer.json()
    });
    let mut edits = Vec::new();
    for (name, json) in [("model", &quoted), ("input", &input)] {
        edits.extend(json.as_ref().map(|json| raw::Edit::Set { name, json }));
    }
    if input.is_some() {
        edits.push(raw::Edit::Remove { name: "instructions" });
    }
    edits.extend(rewrite.set.iter().map(|(name, json)| raw::Edit::Set { name, json }));
    edits.extend(rewrite.remove.iter().map(|name| raw::Edit::Remove { name }));
    raw::edit(body, &edits).map(String::into_bytes).map_err(|error| {
        Fault::new(Code::RequestInvalid, format!("The body cannot be read as JSON: {error}."))
    })
}
