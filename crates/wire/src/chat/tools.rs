//! Declared tools, and the choice among them.
//!
//! A custom tool becomes a function of one string whose description holds its grammar.

use serde_json::value::RawValue;

use super::{
    foreign::TOOL,
    member::{Path, kind},
};
use crate::{
    Fault, ToolChoice, ToolDeclaration,
    foreign::{lost, unread},
    loss::{Loss, LossKind},
    members::Members,
    tool_map::{Declared, ToolKind},
};

/// Reads the declared tools.
pub(super) fn declare(
    path: &Path<'_>,
    raw: &RawValue,
    losses: &mut Vec<Loss>,
) -> Result<Declared, Fault> {
    let mut declared = Declared::default();
    for (i, raw) in path.array(raw)?.into_iter().enumerate() {
        tool(&Path::Element(path, i), raw, &mut declared, losses)?;
    }
    Ok(declared)
}

fn tool(
    path: &Path<'_>,
    raw: &RawValue,
    declared: &mut Declared,
    losses: &mut Vec<Loss>,
) -> Result<(), Fault> {
    let object = Members::of(path, raw)?;
    let kind = tool_kind(path, &object)?;
    let member = if kind == ToolKind::Custom { "custom" } else { "function" };
    let inner_path = Path::Member(path, member);
    let inner = Members::of(&inner_path, inner_path.required(object.get(member))?)?;
    unread(path, &object, &TOOL, losses);
    let path = inner_path;
    let name_path = Path::Member(&path, "name");
    let name = name_path.name(name_path.required(inner.get("name"))?)?;
    let description = match inner.get("description") {
        Some(raw) => Some(Path::Member(&path, "description").string(raw)?),
        None => None,
    };
    let is_new = if kind == ToolKind::Custom {
        let grammar = grammar(&path, &inner, losses)?;
        let grammar = grammar.as_ref().map(|(syntax, text)| (syntax.as_str(), text.as_str()));
        if grammar.is_some() {
            losses.push(lost(
                LossKind::Lossy,
                &Path::Member(&path, "format"),
                "the grammar is described to the model, but not enforced",
            ));
        }
        declared.add_custom(None, &name, description, grammar)
    } else {
        let parameters = parameters(&path, &inner)?;
        declared.add(ToolKind::Function, None, &name, description, parameters)
    };
    if !is_new {
        let reason = "a tool of this name is declared before it";
        losses.push(lost(LossKind::Dropped, &name_path, reason));
    }
    unread(&path, &inner, &TOOL, losses);
    Ok(())
}

fn parameters(path: &Path<'_>, function: &Members<'_>) -> Result<Option<Box<RawValue>>, Fault> {
    match function.get("parameters") {
        Some(raw) if kind(raw) == "an object" => Ok(Some(raw.to_owned())),
        Some(raw) => Err(Path::Member(path, "parameters").invalid(format_args!(
            "must be a JSON Schema object, but it is {}; leave it out for a tool without \
             parameters",
            kind(raw)
        ))),
        None => Ok(None),
    }
}

/// The syntax and the definition of a custom tool's grammar.
fn grammar(
    path: &Path<'_>,
    custom: &Members<'_>,
    losses: &mut Vec<Loss>,
) -> Result<Option<(String, String)>, Fault> {
    let Some(raw) = custom.get("format") else { return Ok(None) };
    let format_path = Path::Member(path, "format");
    let format = Members::of(&format_path, raw)?;
    // It says whether there is a grammar, which its member says too.
    format.pass(&["type"]);
    let grammar = format.get("grammar");
    unread(&format_path, &format, &[], losses);
    let Some(raw) = grammar else { return Ok(None) };
    let path = Path::Member(&format_path, "grammar");
    let grammar = Members::of(&path, raw)?;
    let definition_path = Path::Member(&path, "definition");
    let definition =
        definition_path.string(definition_path.required(grammar.get("definition"))?)?;
    let syntax = match grammar.get("syntax") {
        Some(raw) => Path::Member(&path, "syntax").string(raw)?,
        None => String::new(),
    };
    unread(&path, &grammar, &[], losses);
    Ok(Some((syntax, definition)))
}

/// What a tool, a call or a choice is; without a type, a member `function` says it.
pub(super) fn tool_kind(path: &Path<'_>, object: &Members<'_>) -> Result<ToolKind, Fault> {
    let type_path = Path::Member(path, "type");
    match object.get("type") {
        None if object.get("function").is_some() => Ok(ToolKind::Function),
        raw => match type_path.string(type_path.required(raw)?)?.as_str() {
            "function" => Ok(ToolKind::Function),
            "custom" => Ok(ToolKind::Custom),
            other => Err(type_path.unsupported(format_args!(
                "is `{other}`, which cannot be expressed; only `function` and `custom` can"
            ))),
        },
    }
}

/// Reads the choice among the tools.
pub(super) fn choice(
    raw: &RawValue,
    tools: &[ToolDeclaration],
    losses: &mut Vec<Loss>,
) -> Result<ToolChoice, Fault> {
    let path = Path::Member(&Path::Root, "tool_choice");
    if kind(raw) == "a string" {
        let choice = match path.string(raw)?.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            other => {
                return Err(path.invalid(format_args!(
                    "is `{other}`; it must be auto, none, required or an object that names tools"
                )));
            }
        };
        if choice == ToolChoice::Required && tools.is_empty() {
            return Err(path.invalid("is `required`, but `tools` declares no tool to call"));
        }
        return Ok(choice);
    }
    let object = Members::of(&path, raw)?;
    let type_path = Path::Member(&path, "type");
    let choice = match type_path.string(type_path.required(object.get("type"))?)?.as_str() {
        "function" | "custom" => named(&path, &object, tools, losses).map(ToolChoice::Named),
        "allowed_tools" => {
            let path = Path::Member(&path, "allowed_tools");
            let allowed = Members::of(&path, path.required(object.get("allowed_tools"))?)?;
            allowed_tools(&path, &allowed, tools, losses)
        }
        other => Err(type_path.invalid(format_args!(
            "is `{other}`; it must be `function`, `custom` or `allowed_tools`"
        ))),
    }?;
    unread(&path, &object, &[], losses);
    Ok(choice)
}

fn allowed_tools(
    allowed_path: &Path<'_>,
    allowed: &Members<'_>,
    tools: &[ToolDeclaration],
    losses: &mut Vec<Loss>,
) -> Result<ToolChoice, Fault> {
    let mode_path = Path::Member(allowed_path, "mode");
    let required = match mode_path.string(mode_path.required(allowed.get("mode"))?)?.as_str() {
        "auto" => false,
        "required" => true,
        other => {
            return Err(
                mode_path.invalid(format_args!("is `{other}`; it must be `auto` or `required`"))
            );
        }
    };
    let path = Path::Member(allowed_path, "tools");
    let list = path.array(path.required(allowed.get("tools"))?)?;
    if list.is_empty() {
        return Err(path.invalid("must name at least one tool; use `none` to forbid calls"));
    }
    let mut names = Vec::with_capacity(list.len());
    for (i, raw) in list.into_iter().enumerate() {
        let path = Path::Element(&path, i);
        let object = Members::of(&path, raw)?;
        names.push(named(&path, &object, tools, losses)?);
        unread(&path, &object, &[], losses);
    }
    unread(allowed_path, allowed, &[], losses);
    Ok(ToolChoice::Allowed { names, required })
}

/// Reads the name that a choice names, and makes sure that the tool is declared.
fn named(
    path: &Path<'_>,
    object: &Members<'_>,
    tools: &[ToolDeclaration],
    losses: &mut Vec<Loss>,
) -> Result<String, Fault> {
    let member = match tool_kind(path, object)? {
        ToolKind::Custom => "custom",
        _ => "function",
    };
    let path = Path::Member(path, member);
    let inner = Members::of(&path, path.required(object.get(member))?)?;
    let inner_path = path;
    let path = Path::Member(&inner_path, "name");
    let name = path.name(path.required(inner.get("name"))?)?;
    unread(&inner_path, &inner, &[], losses);
    if tools.iter().any(|tool| tool.name == name) {
        return Ok(name);
    }
    Err(path.invalid(format_args!("is `{name}`, which `tools` does not declare; declare it there")))
}
