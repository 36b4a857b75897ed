//! Parameters of this API as clients write them.

use super::foreign::{OUTPUT, THINKING};
use crate::{
    Effort, Format, Parameters,
    chat::member::{Path, kind},
    foreign::{lost, unread},
    loss::{Loss, LossKind},
    members::Members,
    place::Names,
    reader::Reader,
};

/// What this request calls what has two names.
pub(super) fn names(body: &Members<'_>) -> Names {
    let mut names = Names::MESSAGES;
    if !body.has("thinking") {
        names.effort = "output_config.effort";
    }
    if body.has("output_format") {
        names.format = "output_format";
    }
    names
}

/// Reads a request's parameters.
pub(super) fn read(body: &Members<'_>, losses: &mut Vec<Loss>) -> Parameters {
    let root = &Path::Root;
    let mut reader = Reader { losses };
    let config = reader.object(root, body, "output_config");
    let config_path = Path::Member(root, "output_config");
    let (mut level, mut format) = (None, None);
    if let Some(config) = &config {
        level = reader.text(&config_path, config, "effort");
        format = reader.schema_of(&config_path, config, "format");
        unread(&config_path, config, &OUTPUT, reader.losses);
    }
    // The name that it had before.
    let older = reader.schema_of(root, body, "output_format");
    let metadata = reader.object(root, body, "metadata");
    let metadata_path = Path::Member(root, "metadata");
    let mut user = None;
    if let Some(metadata) = &metadata {
        user = reader.text(&metadata_path, metadata, "user_id");
        unread(&metadata_path, metadata, &[], reader.losses);
    }
    Parameters {
        max_tokens: reader.count(root, body, "max_tokens"),
        temperature: reader.number(body, "temperature"),
        top_p: reader.number(body, "top_p"),
        top_k: reader.number(body, "top_k"),
        stop: reader.stop(body, "stop_sequences"),
        effort: reader.thinking(body, level),
        format: format.or(older),
        user,
        service_tier: reader.text(root, body, "service_tier"),
        ..Parameters::default()
    }
}

impl Reader<'_> {
    /// How much to reason: a level says it better than a number of tokens.
    fn thinking(&mut self, body: &Members<'_>, level: Option<String>) -> Option<Effort> {
        let level = level.map(Effort::Level);
        let Some(thinking) = self.object(&Path::Root, body, "thinking") else { return level };
        let path = Path::Member(&Path::Root, "thinking");
        let kind = self.text(&path, &thinking, "type");
        let budget = self.count(&path, &thinking, "budget_tokens");
        unread(&path, &thinking, &THINKING, self.losses);
        match kind.as_deref() {
            Some("disabled") => Some(Effort::Off),
            Some("adaptive") => level.or(Some(Effort::Adaptive)),
            Some("enabled") => level.or(Some(budget.map_or(Effort::Adaptive, Effort::Budget))),
            other => {
                let reason = format!("`{}` is not known", other.unwrap_or_default());
                let path = Path::Member(&path, "type");
                self.losses.push(lost(LossKind::Dropped, &path, &reason));
                level
            }
        }
    }

    fn schema_of(&mut self, parent: &Path<'_>, object: &Members<'_>, name: &str) -> Option<Format> {
        let format = self.object(parent, object, name)?;
        let path = Path::Member(parent, name);
        let is_schema = self.text(&path, &format, "type").as_deref() == Some("json_schema");
        match format.get("schema") {
            Some(schema) if is_schema && kind(schema) == "an object" => {
                unread(&path, &format, &[], self.losses);
                // This API always enforces it.
                let (schema, strict) = (schema.to_owned(), Some(true));
                Some(Format::JsonSchema { name: None, description: None, schema, strict })
            }
            _ => {
                let reason = "only a text of a JSON schema can be carried";
                self.losses.push(lost(LossKind::Unsupported, &path, reason));
                None
            }
        }
    }
}
