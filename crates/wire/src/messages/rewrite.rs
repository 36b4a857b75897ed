//! A client's body edited for a provider of the same API; what is not named stays byte for byte.
//!
//! It decides nothing: which messages a provider is to see, and as what, is the caller's. Only
//! reasoning that no provider of this API has signed is always taken out ([`super::origin`]).

use super::{compose::Composer, origin};
use crate::{Code, Fault, chat::Rewrite, raw};

/// Applies `rewrite` to a request's body. New messages stand for the instructions too, which the
/// canonical request has as its first message.
///
/// # Errors
/// The body is not a JSON object.
pub fn rewrite(body: &str, rewrite: &Rewrite) -> Result<Vec<u8>, Fault> {
    let model = rewrite.model.as_ref().map(|model| serde_json::json!(model).to_string());
    let mut system = None;
    let messages = rewrite.messages.as_ref().map(|messages| {
        let mut composer = Composer::own();
        for message in messages {
            composer.new_message("messages", message);
        }
        system = composer.system();
        composer.finish("messages").0
    });
    let mut edits = Vec::new();
    for (name, json) in [("model", &model), ("system", &system), ("messages", &messages)] {
        edits.extend(json.as_ref().map(|json| raw::Edit::Set { name, json }));
    }
    if messages.is_some() && system.is_none() {
        edits.push(raw::Edit::Remove { name: "system" });
    }
    edits.extend(rewrite.set.iter().map(|(name, json)| raw::Edit::Set { name, json }));
    edits.extend(rewrite.remove.iter().map(|name| raw::Edit::Remove { name }));
    let body = raw::edit(body, &edits).map_err(|error| {
        Fault::new(Code::RequestInvalid, format!("The body cannot be read as JSON: {error}."))
    })?;
    Ok(origin::stripped(body).into_bytes())
}
