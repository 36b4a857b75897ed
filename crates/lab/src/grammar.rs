//! Grammars that keep a model to a dialect, in GBNF (llama.cpp's notation), made from the tools.
//!
//! They are for recording: smaller than the language, so that a small model finds its way. A string
//! is a few short lines, and only declared parameters occur, the required ones always, in their
//! order. Nothing here parses.

use callgate_dialect::{Language, Tools};
use serde_json::Value;

/// The languages that have a grammar.
pub const LANGUAGES: [Language; 3] = [Language::Xml, Language::Ctl, Language::CtlHeredoc];

/// A grammar for one or two calls behind a short sentence; `None` if the language has none.
#[must_use]
pub fn gbnf(language: Language, tools: &Tools) -> Option<String> {
    let calls: Vec<String> =
        tools.iter().map(|tool| call(language, &tool.name, &tool.parameters)).collect();
    let any = calls.join(" | ");
    let rules = match language {
        Language::Xml => format!(
            "root ::= text? \"<tool_calls>\\n\" call call? \"</tool_calls>\"\n\
             call ::= {any}\n\
             string ::= \"<![CDATA[\" line (\"\\n\" line){{0,8}} \"]]>\"\n\
             line ::= [^\\]\\n]{{0,80}}\n"
        ),
        Language::Ctl => format!(
            "root ::= text? call call?\n\
             call ::= {any}\n\
             string ::= length \"\\n\" line (\"\\n\" line){{0,8}}\n\
             length ::= [0-9] [0-9]? [0-9]?\n\
             line ::= [^\\n]{{0,80}}\n"
        ),
        Language::CtlHeredoc => format!(
            "root ::= text? call call?\n\
             call ::= {any}\n\
             string ::= inline | \"<<EOT\\n\" (line \"\\n\"){{1,8}} \"EOT\"\n\
             inline ::= [^<\\n] [^\\n]{{0,80}}\n\
             line ::= ([^E\\n] [^\\n]{{0,80}})?\n"
        ),
        _ => return None,
    };
    Some(format!(
        "{rules}text ::= [A-Z] [^\\n<`]{{0,100}} \"\\n\"\n\
         integer ::= \"-\"? [0-9]{{1,4}}\n\
         boolean ::= \"true\" | \"false\"\n"
    ))
}

/// The rule of one tool's call.
fn call(language: Language, name: &str, schema: &Value) -> String {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let arguments: Vec<String> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, schema)| {
            let argument = argument(language, key, schema["type"].as_str().unwrap_or("string"));
            if required.contains(&key.as_str()) { argument } else { format!("({argument})?") }
        })
        .collect();
    let (open, close) = match language {
        Language::Xml => (format!("  <invoke name=\"{name}\">\n"), "  </invoke>\n"),
        _ => (format!(" {name}\n"), "end\n"),
    };
    let open = match language {
        Language::Xml => literal(&open),
        _ => format!("\"call c\" [1-9] {}", literal(&open)),
    };
    format!("{open} {} {}", arguments.join(" "), literal(close))
}

fn argument(language: Language, key: &str, kind: &str) -> String {
    let value = match (language, kind) {
        // Digits alone are a length in `ctl`.
        (Language::Ctl, "integer" | "number") => "length \"\\n\" integer",
        (_, "integer" | "number") => "integer",
        (_, "boolean") => "boolean",
        _ => "string",
    };
    match language {
        Language::Xml => {
            let open = literal(&format!("    <parameter name=\"{key}\">"));
            format!("{open} {value} {}", literal("</parameter>\n"))
        }
        _ => format!("{} {value} \"\\n\"", literal(&format!("arg {key} "))),
    }
}

/// A literal of the notation.
fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Tools {
        let schemas = r#"{"read": {"properties": {"path": {"type": "string"},
            "limit": {"type": "integer"}}, "required": ["path"]}}"#;
        Tools::from_schemas(serde_json::from_str(schemas).unwrap())
    }

    fn check(language: Language, expected: &str) {
        let grammar = gbnf(language, &tools()).unwrap();
        let rule = grammar.lines().find(|line| line.starts_with("call ::= ")).unwrap();
        assert_eq!(rule, expected);
    }

    #[test]
    fn a_call_has_its_tools_parameters() {
        check(
            Language::Xml,
            r#"call ::= "  <invoke name=\"read\">\n" "    <parameter name=\"path\">" string "</parameter>\n" ("    <parameter name=\"limit\">" integer "</parameter>\n")? "  </invoke>\n""#,
        );
        check(
            Language::Ctl,
            r#"call ::= "call c" [1-9] " read\n" "arg path " string "\n" ("arg limit " length "\n" integer "\n")? "end\n""#,
        );
        check(
            Language::CtlHeredoc,
            r#"call ::= "call c" [1-9] " read\n" "arg path " string "\n" ("arg limit " integer "\n")? "end\n""#,
        );
    }
}
