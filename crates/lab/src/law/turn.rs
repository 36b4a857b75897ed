//! The laws of a turn: one terminal event, and it says what happened; calls only with a true end.

use callgate_pipeline::{BodyEnd, Release, Reply, Turn};

use super::{Broken, Law, broken};
use crate::client::{Reader, Seen};
use callgate_wire::chat::Framing;

/// Ends a turn: what its client has got, if the reply is well formed. `before` has gone out, and of a
/// stream `reader` has read it.
///
/// # Errors
/// No terminal event or several, or bytes where a fault takes their place.
pub fn ended(turn: &Turn, reader: &Reader, before: &[u8], end: BodyEnd) -> Result<Seen, Broken> {
    let (mut turn, mut reader) = (turn.clone(), reader.clone());
    let mut tail = Vec::new();
    turn.end(end, &mut tail);
    let mut more = Vec::new();
    turn.push(b"data: {}\n\n", &mut more);
    turn.end(BodyEnd::Complete, &mut more);
    if !more.is_empty() {
        let shown = String::from_utf8_lossy(&more);
        return broken(Law::WellFormed, format!("something followed the terminal event: {shown}"));
    }
    if reader.framing() == Framing::Whole {
        tail = [before, &tail].concat();
    }
    match turn.reply() {
        Reply::Failed(fault) if tail.is_empty() && reader.seen == Seen::default() => {
            return Ok(Seen { end: Some(format!("fault {}", fault.code)), ..Seen::default() });
        }
        Reply::Complete => {}
        reply => {
            return broken(
                Law::WellFormed,
                format!("the turn has ended and its reply is {reply:?}"),
            );
        }
    }
    if let Err(error) = reader.push(&tail) {
        return broken(Law::WellFormed, error.to_string());
    }
    match reader.ends {
        1 => Ok(reader.seen),
        ends => {
            let shown = String::from_utf8_lossy(&tail);
            broken(Law::WellFormed, format!("{ends} terminal events: {shown}"))
        }
    }
}

/// The end says what became of the calls: none went out before a fault unless they go out at once, and
/// `tool_calls` means that there are some.
///
/// # Errors
/// What the end does not fit.
pub fn end_fits(seen: &Seen, release: Release) -> Result<(), Broken> {
    let end = seen.end.as_deref().unwrap_or("nothing");
    let why = match (seen.calls.is_empty(), seen.is_fault(), end) {
        (false, true, _) if release == Release::Turn => "calls before a fault",
        (false, _, "stop") => "calls and `stop`",
        (true, _, "tool_calls") => "`tool_calls` without calls",
        (_, _, "nothing") => "no end",
        _ => return Ok(()),
    };
    broken(Law::Complete, format!("{why}: {seen:?}"))
}

/// A client's bytes with the ids that Callgate makes at random replaced.
#[must_use]
pub fn normalised(out: &[u8]) -> String {
    let text = String::from_utf8_lossy(out);
    let mut normal = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    // An id of Callgate ends in the 32 digits of a UUID of version 7.
    while let Some(at) = rest.find('_').into_iter().chain(rest.find("-0")).min() {
        let (before, behind) = rest.split_at(at + 1);
        let digits = behind.bytes().take_while(u8::is_ascii_hexdigit).count();
        normal.push_str(before);
        rest = behind;
        if digits == 32 && behind.as_bytes()[12] == b'7' {
            normal.push_str("ID");
            rest = &behind[32..];
        }
    }
    normal + rest
}

#[cfg(test)]
mod tests {
    use callgate_wire::id;

    use super::*;

    #[test]
    fn ids_of_callgate_are_replaced() {
        let check = |text: &str, expected: &str| {
            assert_eq!(normalised(text.as_bytes()), expected);
        };
        check(
            &format!("\"{}\" \"{}\"", id::call(), id::chat_reply()),
            "\"call_ID\" \"chatcmpl-ID\"",
        );
        check(&format!("a_b {}_0", id::response()), "a_b resp_ID_0");
        check("call_0-0123 é_", "call_0-0123 é_");
    }
}
