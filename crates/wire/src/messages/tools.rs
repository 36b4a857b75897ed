//! Declared tools, and the choice among them.
//!
//! A tool that the provider runs itself is nobody's to call. A tool of another type is the client's
//! under its name, but what it takes is known to the provider alone.

use serde_json::value::RawValue;

use super::{content::Content, foreign::TOOL};
use crate::{
    Fault, ToolChoice, ToolDeclaration,
    chat::member::{Path, kind},
    foreign::{lost, unread},
    loss::{Loss, LossKind},
    members::Members,
};

/// Beginnings of the types of tools that a provider runs itself.
const SERVERS: [&str; 6] =
    ["web_search", "web_fetch", "code_execution", "tool_search", "mcp_toolset", "advisor"];

/// Those of them that a model does without: it answers from what it knows.
const EXTRA: [&str; 3] = ["web_search", "web_fetch", "tool_search"];

/// What a request declares.
#[derive(Default)]
pub(super) struct Declared {
    pub(super) tools: Vec<ToolDeclaration>,
    /// Names of tools that the provider runs.
    servers: Vec<String>,
    has_server: bool,
}

/// Reads the tools.
pub(super) fn declare(raw: &RawValue, content: &mut Content) -> Result<Declared, Fault> {
    let path = Path::Member(&Path::Root, "tools");
    let mut declared = Declared::default();
    for (i, raw) in path.array(raw)?.into_iter().enumerate() {
        tool(&Path::Element(&path, i), raw, &mut declared, content)?;
    }
    Ok(declared)
}

fn tool(
    path: &Path<'_>,
    raw: &RawValue,
    declared: &mut Declared,
    content: &mut Content,
) -> Result<(), Fault> {
    let tool = Members::of(path, raw)?;
    content.mark(&tool);
    let type_path = Path::Member(path, "type");
    let type_name = match tool.get("type") {
        Some(raw) => type_path.string(raw)?,
        None => "custom".to_owned(),
    };
    let name_path = Path::Member(path, "name");
    if type_name == "custom" {
        let name = name_path.name(name_path.required(tool.get("name"))?)?;
        let description = match tool.get("description") {
            Some(raw) => Some(Path::Member(path, "description").string(raw)?),
            None => None,
        };
        let parameters = match tool.get("input_schema") {
            Some(raw) if kind(raw) == "an object" => Some(raw.to_owned()),
            Some(raw) => {
                return Err(Path::Member(path, "input_schema").invalid(format_args!(
                    "must be a JSON Schema object, but it is {}; leave it out for a tool without \
                     parameters",
                    kind(raw)
                )));
            }
            None => None,
        };
        unread(path, &tool, &TOOL, &mut content.losses);
        declared.tools.push(ToolDeclaration { name, description, parameters });
        return Ok(());
    }
    let begins = |list: &[&str]| list.iter().any(|start| type_name.starts_with(start));
    let name = tool.get("name").and_then(|raw| name_path.name(raw).ok());
    if begins(&SERVERS) {
        declared.has_server = true;
        declared.servers.extend(name);
    } else if let Some(name) = name {
        declared.tools.push(ToolDeclaration { name, description: None, parameters: None });
    }
    let kind = if begins(&EXTRA) { LossKind::Dropped } else { LossKind::Unsupported };
    let reason = format!("a tool of the type `{type_name}` exists in the Messages API only");
    content.losses.push(lost(kind, path, &reason));
    Ok(())
}

/// Reads the choice among the tools, and whether several calls a turn are wanted.
pub(super) fn choice(
    raw: &RawValue,
    declared: &Declared,
    losses: &mut Vec<Loss>,
) -> Result<(ToolChoice, bool), Fault> {
    let path = Path::Member(&Path::Root, "tool_choice");
    let object = Members::of(&path, raw)?;
    let type_path = Path::Member(&path, "type");
    let kind = type_path.string(type_path.required(object.get("type"))?)?;
    let parallel = match object.get("disable_parallel_tool_use") {
        Some(raw) => !Path::Member(&path, "disable_parallel_tool_use").bool(raw)?,
        None => true,
    };
    // A provider's own tool answers such a choice too, and only the provider can say that it does.
    let mut unsure = |reason: &str| {
        losses.push(lost(LossKind::Unsupported, &path, reason));
        ToolChoice::Auto
    };
    let choice = match kind.as_str() {
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::None,
        "any" if declared.has_server => unsure("a provider's own tool may answer it"),
        "any" if declared.tools.is_empty() => {
            return Err(type_path.invalid("is `any`, but `tools` declares no tool to call"));
        }
        "any" => ToolChoice::Required,
        "tool" => {
            let path = Path::Member(&path, "name");
            let name = path.name(path.required(object.get("name"))?)?;
            if declared.tools.iter().any(|tool| tool.name == name) {
                ToolChoice::Named(name)
            } else if declared.servers.contains(&name) {
                unsure("a provider's own tool exists in its API only")
            } else {
                return Err(path.invalid(format_args!(
                    "is `{name}`, which `tools` does not declare; declare it there"
                )));
            }
        }
        other => {
            return Err(type_path
                .invalid(format_args!("is `{other}`; it must be one of auto, any, tool, none")));
        }
    };
    unread(&path, &object, &[], losses);
    Ok((choice, parallel))
}
