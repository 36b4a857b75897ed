//! What a mapping could not carry: every member is mapped or listed here, never silently gone.

use std::{collections::HashSet, fmt::Write};

use serde_json::json;

use crate::{Code, Fault};

/// The header that tells a client of the losses of its turn.
pub const HEADER: &str = "x-callgate-loss";

/// The header's value is no longer than this, in bytes.
const HEADER_MAX: usize = 512;
/// A path in the header is no longer than this, in bytes.
const PATH_MAX: usize = 64;
/// At most so many members are named by a fault.
const NAMED_MAX: usize = 20;

/// How much was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// Carried, with less detail.
    Lossy,
    /// Not carried; the meaning of the turn is the same.
    Dropped,
    /// Not carried; the request asked for something that cannot be done.
    Unsupported,
}

/// One loss of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// How much.
    pub kind: LossKind,
    /// The member, as a path in the client's request.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A request's body for a provider, and what it could not carry.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The body.
    pub body: Vec<u8>,
    /// What it could not carry.
    pub losses: Vec<Loss>,
}

/// What a turn's losses mean for it: the value of [`HEADER`], or `None` without a loss.
///
/// The value is visible ASCII of at most 512 bytes: `dropped=a b; lossy=tools[].format; more=2`.
/// Members of different elements of one list are named once, and `more` counts what has no room.
///
/// # Errors
/// `UNSUPPORTED_FEATURE` if anything is [`LossKind::Unsupported`], with the first such member as
/// `param`, and all of them (20 at most) as `members`.
pub fn settle<'l>(losses: impl IntoIterator<Item = &'l Loss>) -> Result<Option<String>, Fault> {
    let mut unsupported = Vec::new();
    let mut known = HashSet::new();
    let (mut dropped, mut lossy) = (Vec::new(), Vec::new());
    for loss in losses {
        let list = match loss.kind {
            LossKind::Unsupported => {
                unsupported.push(loss);
                continue;
            }
            LossKind::Dropped => &mut dropped,
            LossKind::Lossy => &mut lossy,
        };
        let path = shown(&loss.path);
        if known.insert((loss.kind == LossKind::Lossy, path.clone())) {
            list.push(path);
        }
    }
    match unsupported.first() {
        Some(first) => Err(refused(first, &unsupported)),
        None => Ok(value(&dropped, &lossy)),
    }
}

fn refused(first: &Loss, all: &[&Loss]) -> Fault {
    let others = match all.len() - 1 {
        0 => String::new(),
        count => format!(" {count} more of its members cannot be carried either."),
    };
    let message = format!(
        "`{}` cannot be carried to the API of the model's provider: {}. Leave it out, or name a \
         model whose provider has the API of this request.{others}",
        first.path, first.reason
    );
    let named: Vec<_> = all.iter().take(NAMED_MAX).map(|loss| loss.path.as_str()).collect();
    Fault::new(Code::UnsupportedFeature, message)
        .param(first.path.as_str())
        .detail("members", json!(named))
}

fn value(dropped: &[String], lossy: &[String]) -> Option<String> {
    // There is always room for the count.
    let room = HEADER_MAX - "; more=".len() - 20;
    let mut out = String::new();
    let mut more = 0;
    for (kind, paths) in [("dropped=", dropped), ("lossy=", lossy)] {
        let mut is_first = true;
        for path in paths {
            let lead = match (is_first, out.is_empty()) {
                (false, _) => " ",
                (true, true) => "",
                (true, false) => "; ",
            };
            let name = if is_first { kind } else { "" };
            if out.len() + lead.len() + name.len() + path.len() > room {
                more += 1;
                continue;
            }
            is_first = false;
            out.extend([lead, name, path]);
        }
    }
    if more > 0 {
        // Writing to a string cannot fail.
        let _ = write!(out, "; more={more}");
    }
    (!out.is_empty()).then_some(out)
}

/// A path as the header shows it: without the numbers of elements, and without what separates paths.
fn shown(path: &str) -> String {
    let mut out = String::new();
    let mut chars = path.chars().peekable();
    while let Some(char) = chars.next() {
        out.push(match char {
            '[' => {
                while chars.next_if(char::is_ascii_digit).is_some() {}
                '['
            }
            '0'..='9' | 'a'..='z' | 'A'..='Z' | '_' | '-' | '.' | ']' => char,
            _ => '?',
        });
        if out.len() > PATH_MAX {
            out.truncate(PATH_MAX - 3);
            out.push_str("...");
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn losses(list: &[(LossKind, &str)]) -> Vec<Loss> {
        let loss = |(kind, path): &(LossKind, &str)| Loss {
            kind: *kind,
            path: (*path).to_owned(),
            reason: "of a reason".to_owned(),
        };
        list.iter().map(loss).collect()
    }

    fn check(list: &[(LossKind, &str)], expected: Option<&str>) {
        assert_eq!(settle(&losses(list)).unwrap().as_deref(), expected, "{list:?}");
    }

    #[test]
    fn what_is_lost_is_named_once() {
        use LossKind::{Dropped, Lossy};
        check(&[], None);
        check(&[(Dropped, "store")], Some("dropped=store"));
        check(
            &[
                (Lossy, "tools[0].format"),
                (Dropped, "messages[3].content[10].cache_control"),
                (Lossy, "tools[12].format"),
                (Dropped, "messages[4].content[0].cache_control"),
                (Dropped, "a b;c=é\r\n"),
            ],
            Some("dropped=messages[].content[].cache_control a?b?c????; lossy=tools[].format"),
        );
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        use LossKind::{Dropped, Unsupported};
        let list =
            losses(&[(Dropped, "store"), (Unsupported, "prompt"), (Unsupported, "input[2]")]);
        let fault = settle(&list).unwrap_err();
        assert_eq!(fault.code, Code::UnsupportedFeature);
        assert_eq!((fault.status(), fault.param.as_deref()), (400, Some("prompt")));
        assert_eq!(fault.detail["members"], json!(["prompt", "input[2]"]));
        assert!(fault.message.contains("`prompt`") && fault.message.contains("of a reason"));
    }

    proptest! {
        #[test]
        fn a_header_can_be_sent(paths in proptest::collection::vec(("\\PC{0,90}|[a-z]{1,5}", any::<bool>()), 0..80)) {
            let kind = |lossy| if lossy { LossKind::Lossy } else { LossKind::Dropped };
            let list: Vec<_> = paths.iter().map(|(path, lossy)| (kind(*lossy), path.as_str())).collect();
            let value = settle(&losses(&list)).unwrap();
            prop_assert_eq!(value.is_none(), list.is_empty());
            let value = value.unwrap_or_default();
            prop_assert!(value.len() <= HEADER_MAX);
            prop_assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
            // Nothing is silently gone here either.
            let (mut named, mut more) = (0, 0);
            for list in value.split("; ").filter(|list| !list.is_empty()) {
                match list.split_once('=').unwrap() {
                    ("more", count) => more = count.parse().unwrap(),
                    (_, list) => named += list.split(' ').count(),
                }
            }
            let distinct: HashSet<_> =
                paths.iter().map(|(path, lossy)| (*lossy, shown(path))).collect();
            prop_assert_eq!(named + more, distinct.len());
        }
    }
}
