//! Whether calls and results of an input belong together, checked before a provider sees it.
//!
//! Only calls that a client answers count. Calls at the end may be unanswered, and a result may come
//! twice. If the input continues a stored conversation, or refers to stored items, the call of a
//! result may stand there.

use std::collections::HashSet;

use super::{input::Item, tools::is_clients};
use crate::{Code, Fault};

/// Checks that every result has an earlier call, and every call its result before the user speaks.
///
/// # Errors
/// `REQUEST_INVALID` that names the id, with the member's path as `param`.
pub(super) fn check(items: &[Item<'_>], continues: bool) -> Result<(), Fault> {
    let mut known: HashSet<String> = HashSet::new();
    // Where the calls came that no result has answered yet.
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut may_be_stored = continues;
    for (at, item) in items.iter().enumerate() {
        may_be_stored |= item.kind == "item_reference";
        let Some(id) = item.call_id() else {
            let speaks = item.kind == "message"
                && item.object.get("role").is_none_or(|role| role.get() == "\"user\"");
            match open.first() {
                Some((call, id)) if speaks => return Err(unanswered(*call, id, at)),
                _ => continue,
            }
        };
        match item.kind.as_str() {
            "function_call" | "custom_tool_call" => {
                known.insert(id.clone());
                open.push((at, id));
            }
            kind if kind.ends_with("_call") => {
                known.insert(id);
            }
            "tool_search_output" if !is_clients(item.object.get("execution")) => {}
            "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
                if !known.contains(&id) && !may_be_stored {
                    return Err(orphan(at, &id));
                }
                open.retain(|(_, known)| *known != id);
            }
            _ => {}
        }
    }
    Ok(())
}

fn unanswered(call: usize, id: &str, next: usize) -> Fault {
    Fault::new(
        Code::RequestInvalid,
        format!(
            "The call `{id}` in input[{call}] has no output before input[{next}]. Send an output \
             item with this `call_id` between them."
        ),
    )
    .param(format!("input[{call}].call_id"))
    .detail("call_id", id)
}

fn orphan(at: usize, id: &str) -> Fault {
    Fault::new(
        Code::RequestInvalid,
        format!(
            "input[{at}] is the output of the call `{id}`, which no earlier item holds. Send the \
             call before it, or the `previous_response_id` of the reply that made it."
        ),
    )
    .param(format!("input[{at}].call_id"))
    .detail("call_id", id)
}
