//! Ids of calls as another API takes them: each API restricts their length or alphabet differently.
//!
//! The map is made from a conversation and from nothing else (no clock, no chance), so the same
//! conversation always has the same ids, and one that has grown keeps those it had. It is for what a
//! provider is sent; a client sees its own ids only.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use crate::{Message, Part};

/// What an API takes as the id of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// OpenAI Chat and Responses: 1 to 64 characters.
    OpenAi,
    /// Anthropic Messages: 1 to 64 ASCII letters, digits, `_` and `-` (the API documents the
    /// alphabet, the clouds that resell it also the length).
    Anthropic,
}

/// A longer id fits no API.
const MAX_CHARS: usize = 64;
/// Hexadecimal digits of the hash in an id that stands for another.
const HASH_DIGITS: usize = 32;

impl Rule {
    /// Whether an API takes an id as it is.
    #[must_use]
    pub fn fits(self, id: &str) -> bool {
        match self {
            Self::OpenAi => !id.is_empty() && id.chars().take(MAX_CHARS + 1).count() <= MAX_CHARS,
            Self::Anthropic => {
                !id.is_empty() && id.len() <= MAX_CHARS && id.chars().all(is_portable)
            }
        }
    }
}

/// The ids of one conversation for one API: no two ids become the same one, and an id that fits
/// stays.
#[derive(Clone, Debug, Default)]
pub struct CallIds {
    /// Ids that do not fit, and what stands for them.
    changed: HashMap<String, String>,
}

impl CallIds {
    /// The map for a conversation.
    #[must_use]
    pub fn of(rule: Rule, messages: &[Message]) -> Self {
        let ids =
            messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
                Part::Call { id, .. } => Some(id.as_str()),
                Part::Result { call_id, .. } => Some(call_id.as_str()),
                _ => None,
            });
        Self::of_ids(rule, ids)
    }

    /// The map for ids in the order in which they first occur.
    #[must_use]
    pub fn of_ids<'a>(rule: Rule, ids: impl IntoIterator<Item = &'a str>) -> Self {
        let (fitting, others): (Vec<&str>, Vec<&str>) =
            ids.into_iter().partition(|id| rule.fits(id));
        let mut changed = HashMap::new();
        if others.is_empty() {
            return Self { changed };
        }
        let mut taken: HashSet<Cow<'_, str>> = fitting.into_iter().map(Cow::Borrowed).collect();
        for id in others {
            if changed.contains_key(id) {
                continue;
            }
            let mut salt = 0;
            let mut name = portable(id, salt);
            while taken.contains(name.as_str()) {
                salt += 1;
                name = portable(id, salt);
            }
            taken.insert(Cow::Owned(name.clone()));
            changed.insert(id.to_owned(), name);
        }
        Self { changed }
    }

    /// The id as the API takes it. An id that the map was not made from stays.
    #[must_use]
    pub fn get<'a>(&'a self, id: &'a str) -> &'a str {
        self.changed.get(id).map_or(id, String::as_str)
    }
}

/// An id that every API takes: a readable beginning, and a hash of all of it.
fn portable(id: &str, salt: u64) -> String {
    // FNV-1a of 128 bits. Ids that meet in it are told apart by the salt.
    let hash = id.bytes().chain(salt.to_le_bytes()).fold(
        0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128,
        |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        },
    );
    let beginning: String = id
        .chars()
        .take(MAX_CHARS - HASH_DIGITS - 1)
        .map(|char| if is_portable(char) { char } else { '_' })
        .collect();
    format!("{beginning}_{hash:0HASH_DIGITS$x}")
}

const fn is_portable(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULES: [Rule; 2] = [Rule::OpenAi, Rule::Anthropic];

    #[test]
    fn what_fits() {
        let check = |id: &str, open_ai, anthropic| {
            assert_eq!(RULES.map(|rule| rule.fits(id)), [open_ai, anthropic], "{id}");
        };
        check("call_1-A", true, true);
        check("", false, false);
        check("functions.bash:0", true, false);
        check("é", true, false);
        check(&"x".repeat(64), true, true);
        check(&"x".repeat(65), false, false);
        check(&"é".repeat(64), true, false);
    }

    #[test]
    fn what_stands_for_an_id_is_fixed() {
        // Providers keep what they have cached only while a conversation's beginning is the same.
        let ids = CallIds::of_ids(Rule::Anthropic, ["functions.bash:0"]);
        assert_eq!(
            ids.get("functions.bash:0"),
            "functions_bash_0_d2b67ec39fdcf3d4debc86d0213ab3ac"
        );
    }

    proptest! {
        #[test]
        fn no_two_ids_become_one(
            mut ids in proptest::collection::vec("[a:é]{0,3}|[a.]{60,70}|.{0,80}", 0..12),
            later in proptest::collection::vec("[a:é]{0,3}|[a.]{60,70}", 0..4),
        ) {
            for rule in RULES {
                // An id may be what would stand for another one.
                let stands: Vec<_> = ids.iter().take(3).map(|id| portable(id, 0)).collect();
                ids.extend(stands);
                let map = CallIds::of_ids(rule, ids.iter().map(String::as_str));
                let mut back: HashMap<&str, &str> = HashMap::new();
                for id in &ids {
                    let found = map.get(id);
                    prop_assert!(rule.fits(found), "{found}");
                    prop_assert!(!rule.fits(id) || found == id);
                    prop_assert_eq!(*back.entry(found).or_insert(id), id.as_str());
                }
                // A conversation that goes on keeps its ids.
                let all = ids.iter().chain(&later).map(String::as_str);
                let grown = CallIds::of_ids(rule, all);
                for id in &ids {
                    prop_assert_eq!(grown.get(id), map.get(id));
                }
            }
        }
    }
}
