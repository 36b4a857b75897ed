//! What a model is told, so that it writes a language: the tools, the rules, and examples.
//!
//! Examples use the request's own tools and their own parameters; where no tool fits, there is none.
//! Values in them are capitals that can't be taken for real ones. The text itself parses to those
//! examples and nothing else. Nothing here decides where it goes in a prompt.

mod json;

use std::fmt::Write;

use serde_json::Value;

use crate::{
    Tools,
    ctl::{Forms, KEY_BYTES, NAME_BYTES, is_word},
    tool::{Kinds, Schema, Tool},
};

pub(crate) use self::json::json;

const TOOLS: &str = "# Tools

You can call the tools below. Each line is one tool: its name, what it does, and the JSON Schema of \
its parameters.

";

const XML: &str = "
# How to call a tool

You call a tool by writing a block of tags at the end of your answer:

- The block opens with `<tool_calls>` and closes with `</tool_calls>`. Always write both.
- Each call in it is an element `<invoke name=\"…\">` with the tool's name, closed by `</invoke>`. Several \
calls follow each other in the same block.
- Each parameter of a call is an element `<parameter name=\"…\">` with the name from the schema, closed by \
`</parameter>`. Give every required parameter, and of the others those you need.
- A string always stands in `<![CDATA[` and `]]>`, even a short one. What stands between is taken \
exactly as it is: write line breaks, quotes, `<` and `&` as they are.
- Where a string itself holds `]]>`, write `]]]]><![CDATA[>` for it.
- A list or an object is written as JSON, also in CDATA.
- Numbers, `true`, `false` and `null` stand alone, as in JSON.
- Write the block as plain text of your answer, on lines of its own.
- If you don't know a required value, ask for it and call nothing.
- End your answer behind the block. Each result comes in the next message, in an element \
`tool_result` with the name of the tool. Only tools write results.
";

const MINIMAX: &str = "
# How to call a tool

You call a tool by writing a block of tags at the end of your answer:

- The block opens with `<minimax:tool_call>` and closes with `</minimax:tool_call>`. Always write both.
- Each call in it is an element `<invoke name=\"…\">` with the tool's name, closed by `</invoke>`. Several \
calls follow each other in the same block.
- Each parameter of a call is an element `<parameter name=\"…\">` with the name from the schema, closed by \
`</parameter>`. Give every required parameter, and of the others those you need.
- What stands between a parameter's tags is its value, exactly as it is, line breaks at its ends \
included. Nothing in it is escaped: write quotes, `<` and `&` as they are.
- Numbers, `true`, `false`, `null`, lists and objects are written as JSON.
- Write the block as plain text of your answer, on lines of its own.
- If you don't know a required value, ask for it and call nothing.
- End your answer behind the block. Each result comes in the next message, in an element \
`tool_result` with the name of the tool. Only tools write results.
";

const CTL: &str = "
# How to call a tool

You call a tool by writing these lines as plain text of your answer, each from the beginning of a line:

    call <id> <tool name>
    arg <parameter> <value>
    end

- The `call` line opens the call. The id is up to you: a short word that you use once. One space \
stands between the fields.
- Each `arg` line gives one parameter, with the name from the schema. Give every required parameter once, \
and of the others those you need.
- The `end` line completes the call; it runs as soon as you have written it. Several calls follow each \
other, each with its own `end`.
- Between `call` and `end` write nothing but `arg` lines and their values.
";

const HEREDOC: &str = "\
- A value on one line stands behind the parameter's name, as it is: no quotes around it, no escapes.
- A value of several lines, or one that begins with `<<`, stands between two lines with a tag. Choose a tag \
of capital letters that is no line of the value. What stands between is taken exactly as it is:

    arg <parameter> <<TAG
    first line of the value
    last line of the value
    TAG

- Numbers, `true`, `false`, `null`, lists and objects are written as JSON.
";

const LENGTH: &str = "\
- A text without line breaks that is no number stands behind the parameter's name, as it is: no quotes \
around it, no escapes.
- For any other value, write its length in bytes behind the parameter's name, and the value itself from \
the next line on, exactly as it is:

    arg <parameter> <number of bytes>
    the value

- A number alone behind the parameter's name is always a length: a number as a value is written the long way.
- Count bytes, not characters: a line break is one byte, a letter beyond ASCII is two or more.
- If you can't count a value of several lines, put it between two lines with a tag of capital letters that is \
no line of the value:

    arg <parameter> <<TAG
    first line of the value
    last line of the value
    TAG

- `true`, `false`, `null`, lists and objects are written as JSON.
";

const CTL_END: &str = "\
- If you don't know a required value, ask for it and call nothing.
- End your answer behind the last call. The results come in the next message, one for each call: a line \
`result <id> exit=<code> <number of bytes>`, the output, a line `end`. The code 0 means success. Only tools \
write results.
";

const EXAMPLES: &str = "
# Examples

Words in capitals that begin with YOUR stand for values of your own.
";

/// Canonical XML; empty if no tool is declared.
pub(crate) fn xml(tools: &Tools) -> String {
    let examples = Example::all(tools, |_| true);
    let mut text = listed(tools);
    if text.is_empty() {
        return text;
    }
    text.push_str(XML);
    if !examples.is_empty() {
        text.push_str(EXAMPLES);
    }
    for group in groups(&examples) {
        text.push_str("\n<tool_calls>\n");
        for example in group {
            let name = attribute(&example.tool.name);
            let _ = writeln!(text, "  <invoke name=\"{name}\">");
            for Parameter { key, kind } in &example.parameters {
                let value = match kind {
                    Kind::Plain => kind.value(key),
                    _ => format!("<![CDATA[{}]]>", kind.value(key).trim_end()),
                };
                let key = attribute(key);
                let _ = writeln!(text, "    <parameter name=\"{key}\">{value}</parameter>");
            }
            text.push_str("  </invoke>\n");
        }
        text.push_str("</tool_calls>\n");
    }
    text
}

/// MiniMax; empty if no tool is declared.
pub(crate) fn minimax(tools: &Tools) -> String {
    let examples = Example::all(tools, |_| true);
    let mut text = listed(tools);
    if text.is_empty() {
        return text;
    }
    text.push_str(MINIMAX);
    if !examples.is_empty() {
        text.push_str(EXAMPLES);
    }
    for group in groups(&examples) {
        text.push_str("\n<minimax:tool_call>\n");
        for example in group {
            let _ = writeln!(text, "<invoke name=\"{}\">", attribute(&example.tool.name));
            for Parameter { key, kind } in &example.parameters {
                let (name, value) = (attribute(key), kind.value(key));
                let _ = writeln!(text, "<parameter name=\"{name}\">{value}</parameter>");
            }
            text.push_str("</invoke>\n");
        }
        text.push_str("</minimax:tool_call>\n");
    }
    text
}

/// CTL; empty if no tool is declared.
pub(crate) fn ctl(tools: &Tools, forms: Forms) -> String {
    let examples = Example::all(tools, |example| {
        let keys = example.parameters.iter().map(|parameter| parameter.key);
        is_field(&example.tool.name, NAME_BYTES)
            && keys.into_iter().all(|key| is_field(key, KEY_BYTES) && !key.contains(':'))
    });
    let mut text = listed(tools);
    if text.is_empty() {
        return text;
    }
    text.push_str(CTL);
    text.push_str(if forms == Forms::All { LENGTH } else { HEREDOC });
    text.push_str(CTL_END);
    if !examples.is_empty() {
        text.push_str(EXAMPLES);
    }
    for group in groups(&examples) {
        text.push('\n');
        for (i, example) in group.iter().enumerate() {
            let _ = writeln!(text, "call c{} {}", i + 1, example.tool.name);
            for Parameter { key, kind } in &example.parameters {
                let value = kind.value(key);
                let _ = match (forms, kind) {
                    (Forms::All, Kind::Plain | Kind::Lines) => {
                        let value = value.trim_end();
                        writeln!(text, "arg {key} {}\n{value}", value.len())
                    }
                    (Forms::Heredoc, Kind::Lines) => writeln!(text, "arg {key} <<EOF\n{value}EOF"),
                    _ => writeln!(text, "arg {key} {value}"),
                };
            }
            text.push_str("end\n");
        }
    }
    text
}

/// The tools, one a line; empty if there is none.
fn listed(tools: &Tools) -> String {
    let mut text = String::new();
    for tool in declared(tools) {
        if text.is_empty() {
            text.push_str(TOOLS);
        }
        let mut line = serde_json::Map::new();
        line.insert("name".to_owned(), Value::from(tool.name.as_str()));
        if let Some(description) = &tool.description {
            line.insert("description".to_owned(), Value::from(description.as_str()));
        }
        line.insert("parameters".to_owned(), tool.parameters.clone());
        let _ = writeln!(text, "{}", Value::Object(line));
    }
    text
}

/// Of tools with one name the last counts.
fn declared(tools: &Tools) -> impl Iterator<Item = &Tool> {
    tools.iter().filter(|tool| tools.find(&tool.name).is_some_and(|t| std::ptr::eq(t, *tool)))
}

/// The first call alone, and the first two together.
fn groups<'e, 't>(examples: &'e [Example<'t>]) -> impl Iterator<Item = &'e [Example<'t>]> {
    (1..=examples.len()).map(|count| &examples[..count])
}

/// A call in an example.
struct Example<'t> {
    tool: &'t Tool,
    parameters: Vec<Parameter<'t>>,
}

struct Parameter<'t> {
    key: &'t str,
    kind: Kind,
}

/// How a value looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A text on one line.
    Line,
    /// A text of several lines.
    Lines,
    /// A number or another plain literal.
    Plain,
    List,
    Object,
}

impl<'t> Example<'t> {
    /// The first two tools that can be shown; those with parameters before those without.
    fn all(tools: &'t Tools, can_show: impl Fn(&Self) -> bool) -> Vec<Self> {
        let mut examples: Vec<_> =
            declared(tools).map(|tool| Self::of(tool, tools)).filter(can_show).collect();
        examples.sort_by_key(|example| example.parameters.is_empty());
        examples.truncate(2);
        examples
    }

    /// All required parameters, and optional ones as long as there are fewer than two.
    fn of(tool: &'t Tool, tools: &Tools) -> Self {
        let required = tool.parameters.get("required").and_then(Value::as_array);
        let is_required =
            |key: &str| required.is_some_and(|r| r.iter().any(|name| name.as_str() == Some(key)));
        let properties = tool.parameters.get("properties").and_then(Value::as_object);
        let keys = || properties.into_iter().flat_map(|p| p.keys()).map(String::as_str);
        let mut shown: Vec<&str> = keys().filter(|key| is_required(key)).collect();
        let optional = keys().filter(|key| !is_required(key));
        shown.extend(optional.take(2_usize.saturating_sub(shown.len())));
        let parameters = shown
            .into_iter()
            .map(|key| Parameter { key, kind: Kind::of(tool, key, tools) })
            .collect();
        Self { tool, parameters }
    }
}

impl Kind {
    fn of(tool: &Tool, key: &str, tools: &Tools) -> Self {
        /// Parameters by these names usually hold several lines.
        const LINES: [&str; 8] =
            ["content", "text", "body", "code", "script", "patch", "new_string", "diff"];
        let kinds = tools.argument(&tool.name, key).map(Schema::kinds).unwrap_or_default();
        if kinds.is_unknown() || kinds.admits(Kinds::STRING) {
            if LINES.contains(&key) { Self::Lines } else { Self::Line }
        } else if kinds.admits(Kinds::ARRAY) {
            Self::List
        } else if kinds.admits(Kinds::OBJECT) {
            Self::Object
        } else {
            Self::Plain
        }
    }

    /// A value that can't be taken for a real one.
    fn value(self, key: &str) -> String {
        let key: String = key
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' })
            .collect();
        match self {
            Self::Line | Self::Plain => format!("YOUR_{key}"),
            Self::Lines => format!("YOUR_{key}, FIRST LINE\nYOUR_{key}, LAST LINE\n"),
            Self::List => format!("[\"YOUR_{key}\"]"),
            Self::Object => format!("{{\"YOUR_KEY\": \"YOUR_{key}\"}}"),
        }
    }
}

fn is_field(text: &str, bound: usize) -> bool {
    (1..=bound).contains(&text.len()) && text.bytes().all(is_word)
}

/// Text of an attribute's value in double quotes.
fn attribute(text: &str) -> String {
    let mut escaped = String::new();
    crate::render::push_escaped(&mut escaped, text);
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, End, Language, Options, Recorded};

    fn tools() -> Tools {
        let schemas = r#"{
            "now": {"type": "object"},
            "read_file": {"properties": {
                "limit": {"type": "integer"}, "path": {"type": "string"},
                "raw": {"type": "boolean"}}, "required": ["path"]},
            "write_file": {"properties": {
                "content": {"type": "string"}, "path": {"type": "string"},
                "mode": {"type": "integer"}, "tags": {"type": "array"},
                "meta": {"type": "object"}},
                "required": ["path", "content", "mode", "tags", "meta"]}}"#;
        Tools::from_schemas(serde_json::from_str(schemas).unwrap())
    }

    /// Reads the whole text as if a model had written it.
    fn taught(language: Language, tools: &Tools) -> Vec<Call> {
        let options = Options { tools: tools.clone(), ..Options::default() };
        let mut recorded = Recorded::default();
        let mut parser = language.parser(options);
        let text = language.teach(tools);
        parser.push(text.as_bytes(), &mut recorded);
        parser.finish(End::Stop, &mut recorded);
        assert_eq!(recorded.violations().next(), None, "{text}");
        recorded.calls().cloned().collect()
    }

    #[test]
    fn examples_are_calls_of_declared_tools_with_their_parameters() {
        let tools = tools();
        for language in Language::ALL {
            let calls = taught(language, &tools);
            let names: Vec<_> = calls.iter().map(|call| &*call.name).collect();
            assert_eq!(names, ["read_file", "read_file", "write_file"], "{language}");
            for call in calls {
                let arguments: serde_json::Map<String, Value> =
                    serde_json::from_str(&call.arguments).unwrap();
                let schema = &tools.find(&call.name).unwrap().parameters;
                let properties = schema["properties"].as_object().unwrap();
                assert!(arguments.keys().all(|key| properties.contains_key(key)), "{call:?}");
                for name in schema["required"].as_array().unwrap() {
                    assert!(arguments.contains_key(name.as_str().unwrap()), "{call:?}");
                }
            }
        }
    }

    #[test]
    fn example_values_have_the_types_they_show() {
        for language in Language::ALL {
            let calls = taught(language, &tools());
            let arguments: Value = serde_json::from_str(&calls[2].arguments).unwrap();
            assert_eq!(arguments["path"], "YOUR_PATH", "{language}");
            assert_eq!(arguments["mode"], "YOUR_MODE");
            assert_eq!(arguments["tags"], serde_json::json!(["YOUR_TAGS"]));
            assert_eq!(arguments["meta"], serde_json::json!({"YOUR_KEY": "YOUR_META"}));
            let content = arguments["content"].as_str().unwrap();
            assert!(content.starts_with("YOUR_CONTENT, FIRST LINE\n"), "{content}");
        }
    }

    #[test]
    fn required_parameters_come_first() {
        for language in Language::ALL {
            let call = &taught(language, &tools())[0];
            let arguments = call.arguments.replace(": ", ":").replace(", ", ",");
            assert_eq!(arguments, r#"{"path":"YOUR_PATH","limit":"YOUR_LIMIT"}"#);
        }
    }

    #[test]
    fn every_tool_is_listed_and_no_fence_is_shown() {
        for language in Language::ALL {
            let text = language.teach(&tools());
            for name in ["now", "read_file", "write_file"] {
                assert!(text.contains(&format!("{{\"name\":\"{name}\",")), "{text}");
            }
            assert!(!text.contains("```"));
            assert_eq!(language.teach(&Tools::default()), "");
        }
    }

    #[test]
    fn a_tool_that_the_language_cannot_name_is_no_example() {
        let tool = |name: &str, key: &str| Tool {
            name: name.to_owned(),
            description: Some("Does it.".to_owned()),
            parameters: serde_json::json!({"properties": {key: {"type": "string"}}}),
        };
        let odd = Tools::new(vec![tool("do it", "x"), tool("it", "a b")]);
        for language in [Language::Ctl, Language::CtlHeredoc] {
            assert_eq!(taught(language, &odd), []);
            assert!(!language.teach(&odd).contains("# Examples"));
        }
        let calls = taught(Language::Xml, &odd);
        assert_eq!((calls.len(), &*calls[2].arguments), (3, r#"{"a b":"YOUR_A_B"}"#));
        let same = Tools::new(vec![tool("t", "old"), tool("t", "new")]);
        assert_eq!(taught(Language::Xml, &same)[0].arguments, r#"{"new":"YOUR_NEW"}"#);
    }
}
