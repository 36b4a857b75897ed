//! Parameters of the two APIs as clients write them.

use crate::{
    Effort, Format, Parameters,
    chat::member::{Path, kind},
    foreign::{lost, unread},
    loss::LossKind,
    members::Members,
    reader::Reader,
};

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
            stop: self.stop(body, "stop"),
            user: identifier.or(user),
            service_tier: self.text(root, body, "service_tier"),
            cache_key: self.text(root, body, "prompt_cache_key"),
            ..Parameters::default()
        }
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
}
