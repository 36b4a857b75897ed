//! The laws of a turn as its client has got it. That it is well formed says [`crate::client`].

use callgate_pipeline::Release;

use super::{Broken, Law, broken};
use crate::client::Seen;

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
