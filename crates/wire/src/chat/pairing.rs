//! Whether calls and results of a conversation belong together, checked before a provider sees it.
//!
//! A provider answers a broken pair with a message that names nothing. Calls of the last message
//! may be unanswered, and a result may come twice: neither leaves a question open.

use crate::{
    Code, Fault, Message,
    pairing::{self, Broken},
};

/// Checks that every result has an earlier call, and every call its result before the next turn.
///
/// # Errors
/// `REQUEST_INVALID` that names the id, with the member's path as `param`.
pub fn check_pairing(messages: &[Message]) -> Result<(), Fault> {
    pairing::check(messages).map_err(|broken| match broken {
        Broken::Unanswered { message, call, id, next } => {
            unanswered_call((message, call, id), next)
        }
        Broken::Orphan { message, id } => orphan_result(message, id),
    })
}

fn unanswered_call((message, call, id): (usize, usize, &str), next: usize) -> Fault {
    Fault::new(
        Code::RequestInvalid,
        format!(
            "The call `{id}` in messages[{message}] has no result before messages[{next}]. Send a \
             message with role `tool` and this `tool_call_id` between them."
        ),
    )
    .param(format!("messages[{message}].tool_calls[{call}].id"))
    .detail("call_id", id)
}

fn orphan_result(message: usize, id: &str) -> Fault {
    Fault::new(
        Code::RequestInvalid,
        format!(
            "messages[{message}] is the result of the call `{id}`, which no earlier assistant \
             message holds. Send the assistant message with this call before it."
        ),
    )
    .param(format!("messages[{message}].tool_call_id"))
    .detail("call_id", id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::request::decode;

    /// `messages` are given as roles: `a:1,2` calls 1 and 2, `t:1` answers 1, `u` and `s` speak.
    fn check(messages: &str, expected: Option<(&str, &str)>) {
        let list: Vec<String> = messages
            .split(' ')
            .map(|word| {
                let (role, ids) = word.split_once(':').unwrap_or((word, ""));
                let calls: Vec<String> = ids
                    .split(',')
                    .filter(|id| !id.is_empty())
                    .map(|id| format!(r#"{{"id":"{id}","function":{{"name":"f"}}}}"#))
                    .collect();
                match role {
                    "a" => format!(r#"{{"role":"assistant","tool_calls":[{}]}}"#, calls.join(",")),
                    "t" => format!(r#"{{"role":"tool","tool_call_id":"{ids}","content":""}}"#),
                    "s" => r#"{"role":"system","content":""}"#.to_owned(),
                    _ => r#"{"role":"user","content":""}"#.to_owned(),
                }
            })
            .collect();
        let body = format!(r#"{{"model":"m","messages":[{}]}}"#, list.join(","));
        let found = check_pairing(&decode(body.as_bytes()).unwrap().request.messages);
        match (found, expected) {
            (Ok(()), None) => {}
            (Err(fault), Some((param, id))) => {
                assert_eq!(fault.code, Code::RequestInvalid);
                assert_eq!(fault.param.as_deref(), Some(param), "{messages}");
                assert_eq!(fault.detail["call_id"], id);
                assert!(fault.message.contains(&format!("`{id}`")), "{}", fault.message);
            }
            (found, _) => panic!("{messages}: {found:?}"),
        }
    }

    #[test]
    fn pairs() {
        check("u a:1,2 t:2 t:1 u a:1 t:1 a", None);
        check("u a:1 s t:1 u", None);
        check("u a:1", None);
        check("u a:1 t:1 t:1 u", None);
        check("u t:1", Some(("messages[1].tool_call_id", "1")));
        check("u t:1 a:1", Some(("messages[1].tool_call_id", "1")));
        check("u a:1,2 t:1 u", Some(("messages[1].tool_calls[1].id", "2")));
        check("u a:1 a:2 t:1 t:2", Some(("messages[1].tool_calls[0].id", "1")));
        check("u a:1 u t:1", Some(("messages[1].tool_calls[0].id", "1")));
    }
}
