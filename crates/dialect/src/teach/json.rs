//! Teaching of the JSON family.

use std::fmt::Write as _;

use super::{EXAMPLES, Example, Kind, Parameter, groups, listed};
use crate::{Tools, json::List, value::string};

const CALL: &str = "\
- A call is a JSON object with the members `name`, the tool's name, and `KEY`, an object with the \
parameters by their names from the schema. Give every required parameter, and of the others those you \
need.
- Write strict JSON: double quotes, no comma behind the last member, no comments. In a string write a \
line break as `\\n`, a double quote as `\\\"` and a backslash as `\\\\`.
- Give each parameter the type that its schema says.
";

const LINES: &str = "
# How to call a tool

You call a tool by writing a JSON object at the end of your answer, beginning on a line of its own. \
Several calls are several objects, each on a line of its own.

";

const WHOLE: &str = "
# How to call a tool

You call tools by writing one JSON object at the end of your answer, beginning on a line of its own. \
Its only member is `tool_calls`, a list with one object for each call.

";

const TAGGED: &str = "
# How to call a tool

You call tools by writing a block at the end of your answer: the line `<<RCC_TOOL_CALLS_JSON`, then a \
JSON object whose only member is `tool_calls`, a list with one object for each call, then the line \
`RCC_TOOL_CALLS_JSON`.

";

const END: &str = "\
- Write it as plain text of your answer, not in a code fence.
- If you don't know a required value, ask for it and call nothing.
- End your answer behind the calls. Each result comes in the next message, in an object with the \
member `tool_result`. Only tools write results.
";

/// The JSON family; empty if no tool is declared.
pub(crate) fn json(tools: &Tools, list: List) -> String {
    let examples = Example::all(tools, |_| true);
    let tools = listed(tools);
    if tools.is_empty() {
        return tools;
    }
    // A line that begins with a tool's object would be a call of it.
    let mut text = tools.replace("\n{", "\n- {");
    text.push_str(match list {
        List::Lines => LINES,
        List::Whole => WHOLE,
        List::Tagged => TAGGED,
    });
    let key = if list == List::Tagged { "input" } else { "arguments" };
    text.push_str(&CALL.replace("KEY", key));
    text.push_str(END);
    if !examples.is_empty() {
        text.push_str(EXAMPLES);
    }
    for group in groups(&examples) {
        let calls: Vec<String> = group.iter().map(|example| call(example, key)).collect();
        let _ = match list {
            List::Lines => write!(text, "\n{}\n", calls.join("\n")),
            List::Whole => write!(text, "\n{{\"tool_calls\": [{}]}}\n", calls.join(", ")),
            List::Tagged => write!(
                text,
                "\n<<RCC_TOOL_CALLS_JSON\n{{\"tool_calls\": [{}]}}\nRCC_TOOL_CALLS_JSON\n",
                calls.join(", ")
            ),
        };
    }
    text
}

fn call(example: &Example<'_>, key: &str) -> String {
    let parameters: Vec<String> = example
        .parameters
        .iter()
        .map(|Parameter { key, kind }| {
            let value = match kind {
                Kind::List | Kind::Object => kind.value(key),
                _ => string(&kind.value(key)),
            };
            format!("{}: {value}", string(key))
        })
        .collect();
    format!(
        "{{\"name\": {}, \"{key}\": {{{}}}}}",
        string(&example.tool.name),
        parameters.join(", ")
    )
}
