//! Parameters as clients write them, whatever API they are of.
//!
//! A value of a wrong type is no reason to refuse a request that its own API will judge anyway: it is
//! left out of the canonical request, and a loss that says why.

use serde_json::value::RawValue;

use crate::{
    chat::{
        member::{Path, kind},
        view::count,
    },
    foreign::lost,
    loss::{Loss, LossKind},
    members::Members,
};

/// Reads members, and lists what it cannot.
pub(crate) struct Reader<'r> {
    pub(crate) losses: &'r mut Vec<Loss>,
}

impl Reader<'_> {
    /// A number as it was written.
    pub(crate) fn number(&mut self, body: &Members<'_>, name: &str) -> Option<Box<RawValue>> {
        let raw = body.get(name)?;
        if kind(raw) == "a number" {
            return Some(raw.to_owned());
        }
        self.wrong(&Path::Member(&Path::Root, name), "a number", raw);
        None
    }

    /// A count of tokens.
    pub(crate) fn count(
        &mut self,
        parent: &Path<'_>,
        object: &Members<'_>,
        name: &str,
    ) -> Option<u64> {
        let raw = object.get(name)?;
        let found = count(Some(raw));
        if found.is_none() {
            self.wrong(&Path::Member(parent, name), "a number of tokens", raw);
        }
        found
    }

    /// A text. Empty counts as absent.
    pub(crate) fn text(
        &mut self,
        parent: &Path<'_>,
        object: &Members<'_>,
        name: &str,
    ) -> Option<String> {
        let raw = object.get(name)?;
        let path = Path::Member(parent, name);
        match path.string(raw) {
            Ok(text) => Some(text).filter(|text| !text.is_empty()),
            Err(_) => {
                self.wrong(&path, "a string", raw);
                None
            }
        }
    }

    /// An object.
    pub(crate) fn object<'a>(
        &mut self,
        parent: &Path<'_>,
        object: &Members<'a>,
        name: &str,
    ) -> Option<Members<'a>> {
        let raw = object.get(name)?;
        let path = Path::Member(parent, name);
        let found = Members::of(&path, raw).ok();
        if found.is_none() {
            self.wrong(&path, "an object", raw);
        }
        found
    }

    /// Texts that end the reply: one, or several.
    pub(crate) fn stop(&mut self, body: &Members<'_>, name: &str) -> Vec<String> {
        let Some(raw) = body.get(name) else { return Vec::new() };
        let path = Path::Member(&Path::Root, name);
        let texts = match kind(raw) {
            "a string" => path.string(raw).map(|text| vec![text]),
            _ => path.array(raw).and_then(|list| {
                let items = list.into_iter().enumerate();
                items.map(|(i, raw)| Path::Element(&path, i).string(raw)).collect()
            }),
        };
        texts.unwrap_or_else(|_| {
            self.wrong(&path, "a string or an array of strings", raw);
            Vec::new()
        })
    }

    /// What is wrong cannot be carried; only its own API can say what it makes of it.
    pub(crate) fn wrong(&mut self, path: &Path<'_>, expected: &str, found: &RawValue) {
        let reason = format!("it must be {expected}, but it is {}", kind(found));
        self.losses.push(lost(LossKind::Unsupported, path, &reason));
    }
}
