//! Parameters as clients write them.
//!
//! A value of a wrong type is no reason to refuse a request that its own API will judge anyway: it is
//! left out of the canonical request, and a loss that says why.

use serde_json::value::RawValue;

use crate::{
    Effort, Format, Parameters,
    chat::{
        member::{Path, kind},
        view::count,
    },
    foreign::{lost, unread},
    loss::{Loss, LossKind},
    members::Members,
};

/// Reads members, and lists what it cannot.
pub(crate) struct Reader<'r> {
    pub(crate) losses: &'r mut Vec<Loss>,
}

impl Reader<'_> {
    /// What both APIs call the same.
    pub(crate) fn shared(&mut self, body: &Members<'_>) -> Parameters {
        let root = &Path::Root;
        let user = self.text(root, body, "user");
        let identifier = self.text(root, body, "safety_identifier");
        if let (Some(user), Some(identifier)) = (&user, &identifier)
            && user != identifier
        {
            let reason = "`safety_identifier` says who the user is";
            self.losses.push(lost(LossKind::Dropped, &Path::Member(root, "user"), reason));
        }
        Parameters {
            temperature: self.number(body, "temperature"),
            top_p: self.number(body, "top_p"),
            top_k: self.number(body, "top_k"),
            frequency_penalty: self.number(body, "frequency_penalty"),
            presence_penalty: self.number(body, "presence_penalty"),
            seed: self.number(body, "seed"),
            stop: self.stop(body),
            user: identifier.or(user),
            service_tier: self.text(root, body, "service_tier"),
            cache_key: self.text(root, body, "prompt_cache_key"),
            ..Parameters::default()
        }
    }

    /// A number as it was written.
    fn number(&mut self, body: &Members<'_>, name: &str) -> Option<Box<RawValue>> {
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

    fn stop(&mut self, body: &Members<'_>) -> Vec<String> {
        let Some(raw) = body.get("stop") else { return Vec::new() };
        let path = Path::Member(&Path::Root, "stop");
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

    /// How much to reason, in the words of both APIs.
    pub(crate) fn effort(
        &mut self,
        parent: &Path<'_>,
        object: &Members<'_>,
        name: &str,
    ) -> Option<Effort> {
        let word = self.text(parent, object, name)?;
        Some(if word == "none" { Effort::Off } else { Effort::Level(word) })
    }

    /// The shape of the text at `path`. Chat has what a schema is in a member of its own, `inner`.
    pub(crate) fn format(
        &mut self,
        path: &Path<'_>,
        format: &Members<'_>,
        inner: Option<&str>,
    ) -> Option<Format> {
        let kind = self.text(path, format, "type");
        match kind.as_deref() {
            Some("text") => None,
            Some("json_object") => Some(Format::JsonObject),
            Some("json_schema") => match inner {
                None => self.schema(path, format),
                Some(name) => {
                    let inner = self.object(path, format, name)?;
                    let path = Path::Member(path, name);
                    let found = self.schema(&path, &inner);
                    unread(&path, &inner, &[], self.losses);
                    found
                }
            },
            Some(other) => {
                let reason = format!("a text of the type `{other}` exists in its own API only");
                self.losses.push(lost(LossKind::Unsupported, path, &reason));
                None
            }
            None => {
                let path = Path::Member(path, "type");
                self.losses.push(lost(LossKind::Unsupported, &path, "it is missing"));
                None
            }
        }
    }

    fn schema(&mut self, path: &Path<'_>, object: &Members<'_>) -> Option<Format> {
        let schema_path = Path::Member(path, "schema");
        let Some(schema) = object.get("schema") else {
            self.losses.push(lost(LossKind::Unsupported, &schema_path, "it is missing"));
            return None;
        };
        if kind(schema) != "an object" {
            self.wrong(&schema_path, "a JSON Schema object", schema);
            return None;
        }
        let strict = object.get("strict");
        let strict = strict.and_then(|raw| Path::Member(path, "strict").bool(raw).ok());
        Some(Format::JsonSchema {
            name: self.text(path, object, "name"),
            description: self.text(path, object, "description"),
            schema: schema.to_owned(),
            strict,
        })
    }

    /// What is wrong cannot be carried; only its own API can say what it makes of it.
    fn wrong(&mut self, path: &Path<'_>, expected: &str, found: &RawValue) {
        let reason = format!("it must be {expected}, but it is {}", kind(found));
        self.losses.push(lost(LossKind::Unsupported, path, &reason));
    }
}
