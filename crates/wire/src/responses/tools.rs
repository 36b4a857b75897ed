//! Declared tools as functions under flat names, and the choice among them.
//!
//! A custom tool becomes a function of one string whose description holds its grammar; a namespace's
//! tools carry its name; client-executed search is a function like any other. Tools that a provider
//! runs itself are no functions: they are losses for every other API.

use serde_json::value::RawValue;

use super::foreign::TOOL;
use crate::{
    Fault, ToolChoice, ToolDeclaration,
    chat::member::{Path, kind},
    foreign::{self, lost},
    loss::{Loss, LossKind},
    members::Members,
    tool_map::{Declared, TOOL_SEARCH, ToolKind, ToolMap},
};

/// Reads a list of tools.
pub(super) fn declare(
    path: &Path<'_>,
    raw: &RawValue,
    declared: &mut Declared,
    losses: &mut Vec<Loss>,
) -> Result<(), Fault> {
    for (i, raw) in path.array(raw)?.into_iter().enumerate() {
        tool(&Path::Element(path, i), raw, None, declared, losses)?;
    }
    Ok(())
}

fn tool(
    path: &Path<'_>,
    raw: &RawValue,
    namespace: Option<&str>,
    declared: &mut Declared,
    losses: &mut Vec<Loss>,
) -> Result<(), Fault> {
    let object = Members::of(path, raw)?;
    let type_path = Path::Member(path, "type");
    let kind = type_path.string(type_path.required(object.get("type"))?)?;
    let name_path = Path::Member(path, "name");
    let name = || name_path.name(name_path.required(object.get("name"))?);
    match kind.as_str() {
        "function" => {
            let parameters = parameters(path, &object)?;
            let description = description(path, &object)?;
            declared.add(ToolKind::Function, namespace, &name()?, description, parameters);
        }
        "custom" => {
            let grammar = grammar(path, &object, losses)?;
            let grammar = grammar.as_ref().map(|(syntax, text)| (syntax.as_str(), text.as_str()));
            if grammar.is_some() {
                losses.push(lost(
                    LossKind::Lossy,
                    &Path::Member(path, "format"),
                    "the grammar is described to the model, but not enforced",
                ));
            }
            declared.add_custom(namespace, &name()?, description(path, &object)?, grammar);
        }
        "namespace" if namespace.is_none() => {
            let name = name()?;
            let path = Path::Member(path, "tools");
            for (i, raw) in path.array(path.required(object.get("tools"))?)?.iter().enumerate() {
                tool(&Path::Element(&path, i), raw, Some(&name), declared, losses)?;
            }
        }
        "tool_search" if is_clients(object.get("execution")) => {
            let parameters = parameters(path, &object)?;
            let description = description(path, &object)?;
            declared.add(ToolKind::ToolSearch, namespace, TOOL_SEARCH, description, parameters);
        }
        _ => {
            // Clients send these by default; a model without them answers from what it knows.
            let is_extra = kind.starts_with("web_search") || kind == "tool_search";
            losses.push(lost(
                if is_extra { LossKind::Dropped } else { LossKind::Unsupported },
                path,
                &format!("a tool of the type `{kind}` exists in the Responses API only"),
            ));
            return Ok(());
        }
    }
    foreign::unread(path, &object, &TOOL, losses);
    Ok(())
}

/// Whether the client runs a search itself.
pub(super) fn is_clients(execution: Option<&RawValue>) -> bool {
    execution.is_some_and(|raw| raw.get() == "\"client\"")
}

fn description(path: &Path<'_>, object: &Members<'_>) -> Result<Option<String>, Fault> {
    match object.get("description") {
        Some(raw) => Path::Member(path, "description").string(raw).map(Some),
        None => Ok(None),
    }
}

/// The syntax and the definition of a custom tool's grammar.
fn grammar(
    path: &Path<'_>,
    tool: &Members<'_>,
    losses: &mut Vec<Loss>,
) -> Result<Option<(String, String)>, Fault> {
    let Some(raw) = tool.get("format") else { return Ok(None) };
    let path = Path::Member(path, "format");
    let format = Members::of(&path, raw)?;
    // It says whether there is a grammar, which its definition says too.
    format.pass(&["type"]);
    let text = |name| match format.get(name) {
        Some(raw) => Path::Member(&path, name).string(raw).map(Some),
        None => Ok(None),
    };
    let (definition, syntax) = (text("definition")?, text("syntax")?);
    foreign::unread(&path, &format, &[], losses);
    Ok(definition.map(|definition| (syntax.unwrap_or_default(), definition)))
}

fn parameters(path: &Path<'_>, object: &Members<'_>) -> Result<Option<Box<RawValue>>, Fault> {
    match object.get("parameters") {
        Some(raw) if kind(raw) == "an object" => Ok(Some(raw.to_owned())),
        Some(raw) => Err(Path::Member(path, "parameters").invalid(format_args!(
            "must be a JSON Schema object, but it is {}; leave it out for a tool without parameters",
            kind(raw)
        ))),
        None => Ok(None),
    }
}

/// Reads the choice among the tools.
pub(super) fn choice(
    raw: &RawValue,
    tools: &[ToolDeclaration],
    map: &ToolMap,
    losses: &mut Vec<Loss>,
) -> Result<ToolChoice, Fault> {
    let path = Path::Member(&Path::Root, "tool_choice");
    if kind(raw) == "a string" {
        return match path.string(raw)?.as_str() {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" => Ok(ToolChoice::Required),
            other => Err(path.invalid(format_args!(
                "is `{other}`; it must be auto, none, required or an object that names tools"
            ))),
        };
    }
    let object = Members::of(&path, raw)?;
    let type_path = Path::Member(&path, "type");
    let kind = type_path.string(type_path.required(object.get("type"))?)?;
    if kind == "allowed_tools" {
        return allowed(&path, &object, tools, map, losses);
    }
    match named(&path, &object, tools, map)? {
        Some(name) => {
            foreign::unread(&path, &object, &[], losses);
            Ok(ToolChoice::Named(name))
        }
        None => {
            losses.push(lost(
                LossKind::Unsupported,
                &path,
                &format!("a tool of the type `{kind}` exists in the Responses API only"),
            ));
            Ok(ToolChoice::Auto)
        }
    }
}

fn allowed(
    path: &Path<'_>,
    object: &Members<'_>,
    tools: &[ToolDeclaration],
    map: &ToolMap,
    losses: &mut Vec<Loss>,
) -> Result<ToolChoice, Fault> {
    let mode_path = Path::Member(path, "mode");
    let required = match mode_path.string(mode_path.required(object.get("mode"))?)?.as_str() {
        "auto" => false,
        "required" => true,
        other => {
            return Err(
                mode_path.invalid(format_args!("is `{other}`; it must be `auto` or `required`"))
            );
        }
    };
    let list = object.get("tools");
    foreign::unread(path, object, &[], losses);
    let path = Path::Member(path, "tools");
    let list = path.array(path.required(list)?)?;
    if list.is_empty() {
        return Err(path.invalid("must name at least one tool; use `none` to forbid calls"));
    }
    let mut names = Vec::with_capacity(list.len());
    for (i, raw) in list.into_iter().enumerate() {
        let path = Path::Element(&path, i);
        let object = Members::of(&path, raw)?;
        match named(&path, &object, tools, map)? {
            Some(name) => {
                foreign::unread(&path, &object, &[], losses);
                names.push(name);
            }
            None => losses.push(lost(
                LossKind::Unsupported,
                &path,
                "a tool of this type exists in the Responses API only",
            )),
        }
    }
    Ok(if names.is_empty() { ToolChoice::Auto } else { ToolChoice::Allowed { names, required } })
}

/// The flat name of a tool that a choice names; `None` if it is no function here.
fn named(
    path: &Path<'_>,
    object: &Members<'_>,
    tools: &[ToolDeclaration],
    map: &ToolMap,
) -> Result<Option<String>, Fault> {
    let type_path = Path::Member(path, "type");
    let kind = type_path.string(type_path.required(object.get("type"))?)?;
    let flat = match kind.as_str() {
        "function" | "custom" => {
            let path = Path::Member(path, "name");
            let name = path.name(path.required(object.get("name"))?)?;
            let namespace = match object.get("namespace") {
                Some(raw) => Some(Path::Member(&path, "namespace").string(raw)?),
                None => None,
            };
            let flat = map.flat(namespace.as_deref(), &name).into_owned();
            if tools.iter().all(|tool| tool.name != flat) {
                return Err(path.invalid(format_args!(
                    "is `{name}`, which `tools` does not declare; declare it there"
                )));
            }
            flat
        }
        "tool_search" => TOOL_SEARCH.to_owned(),
        _ => return Ok(None),
    };
    Ok(tools.iter().any(|tool| tool.name == flat).then_some(flat))
}
