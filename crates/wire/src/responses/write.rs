//! The canonical request as a body of this API, for a client of another one.
//!
//! It writes what the canonical request says; further members that mean the same in both APIs are
//! the caller's to add. The provider is asked to store nothing, since the client did not ask for it.

use super::{compose::Composer, tool_map::ToolMap};
use crate::{Request, ToolChoice, ToolDeclaration, escape, loss::Loss};

/// A body, and what it could not carry.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The body.
    pub body: Vec<u8>,
    /// What it could not carry.
    pub losses: Vec<Loss>,
}

/// Writes a request for `model`. `members` are added as they are, as JSON text.
#[must_use]
pub fn write(request: &Request, model: &str, members: &[(&str, String)]) -> Outgoing {
    // Another API's tools are functions under the names they have.
    let tools = ToolMap::default();
    let mut composer = Composer::new(&tools);
    for (i, message) in request.messages.iter().enumerate() {
        composer.parts(&format!("messages[{i}]"), message.role, &message.parts);
    }
    let mut body = br#"{"model":"#.to_vec();
    escape::write(model, &mut body);
    body.extend_from_slice(format!(r#","input":{}"#, composer.json()).as_bytes());
    if !request.tools.is_empty() {
        body.extend_from_slice(br#","tools":["#);
        for (i, tool) in request.tools.iter().enumerate() {
            if i > 0 {
                body.push(b',');
            }
            write_tool(tool, &mut body);
        }
        body.push(b']');
    }
    write_choice(&request.tool_choice, &mut body);
    if !request.parallel_calls {
        body.extend_from_slice(br#","parallel_tool_calls":false"#);
    }
    if request.stream {
        body.extend_from_slice(br#","stream":true"#);
    }
    body.extend_from_slice(br#","store":false"#);
    for (name, json) in members {
        body.push(b',');
        escape::write(name, &mut body);
        body.push(b':');
        body.extend_from_slice(json.as_bytes());
    }
    body.push(b'}');
    Outgoing { body, losses: composer.losses }
}

fn write_tool(tool: &ToolDeclaration, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"function","name":"#);
    escape::write(&tool.name, out);
    if let Some(description) = &tool.description {
        out.extend_from_slice(br#","description":"#);
        escape::write(description, out);
    }
    // This API wants a schema, and takes it strictly where nothing else is said.
    let empty = r#"{"type":"object","properties":{}}"#;
    let parameters = tool.parameters.as_ref().map_or(empty, |raw| raw.get());
    out.extend_from_slice(format!(r#","parameters":{parameters},"strict":false}}"#).as_bytes());
}

fn write_choice(choice: &ToolChoice, out: &mut Vec<u8>) {
    let function = |name: &str| serde_json::json!({ "type": "function", "name": name });
    let json = match choice {
        ToolChoice::Auto => return,
        ToolChoice::None => "\"none\"".to_owned(),
        ToolChoice::Required => "\"required\"".to_owned(),
        ToolChoice::Named(name) => function(name).to_string(),
        ToolChoice::Allowed { names, required } => serde_json::json!({
            "type": "allowed_tools",
            "mode": if *required { "required" } else { "auto" },
            "tools": names.iter().map(|name| function(name)).collect::<Vec<_>>(),
        })
        .to_string(),
    };
    out.extend_from_slice(format!(r#","tool_choice":{json}"#).as_bytes());
}
