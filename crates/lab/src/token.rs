//! Pieces of text that are likely to interact: the alphabet of generated streams and of the fuzzer.
//!
//! Only material; which sequences are meaningful is for the parsers and the readings to say.

mod api;

use std::sync::LazyLock;

use callgate_dialect::Language;

pub use api::{SSE, of_any_api, of_api};

/// The alphabet of a language.
#[must_use]
pub fn of(language: Language) -> &'static [&'static str] {
    static MINIMAX: LazyLock<Vec<&str>> = LazyLock::new(|| {
        [XML, &respelled("", "minimax:tool_call"), &respelled("", "minimax:tool_call"), RAW]
            .concat()
    });
    static ANTHROPIC: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let prefixed = respelled("antml:", "function_calls");
        [XML, &respelled("", "function_calls"), &prefixed, RAW].concat()
    });
    static DSML: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let full = respelled("｜DSML｜", "tool_calls");
        let half = respelled("|dsml|", "function_calls");
        [XML, &full, &full, &half, &respelled("｜DSML｜ ", "calls"), RAW, DSML_PIECES].concat()
    });
    match language {
        Language::Xml => XML,
        Language::Minimax => &MINIMAX,
        Language::Anthropic => &ANTHROPIC,
        Language::Dsml => &DSML,
        Language::Ctl | Language::CtlHeredoc => CTL,
        Language::JsonObject | Language::JsonWhole | Language::Rcc => JSON,
    }
}

/// Tags whole and in parts, sections, comments, code, entities, blanks, multi-byte characters.
pub const XML: &[&str] = &[
    "<tool_calls>",
    "</tool_calls>",
    "<invoke name=\"f\">",
    "<invoke name='g'>",
    "</invoke>",
    "<parameter name=\"p\">",
    "<parameter name=\"q\">",
    "</parameter>",
    "<![CDATA[",
    "]]>",
    "<tool_calls><invoke name=\"a\"><parameter name=\"k\">",
    "<tool_calls>\n<invoke name=\"b\">",
    "</parameter></invoke></tool_calls>",
    "</invoke>\n</tool_calls>",
    "]]></parameter>",
    "]]>\n </parameter>",
    "]]]]><![CDATA[>",
    "<parameter name=\"n\"><![CDATA[",
    "]]></k>",
    "<k>",
    "</k>",
    "<k/>",
    "<item>",
    "</item>",
    "<k a=\"&lt;\">",
    "<TOOL_CALLS>",
    "</Tool_Calls >",
    "<INVOKE NAME = 'h' >",
    "</Invoke\t>",
    "<Parameter Name=\"P\" x='1'>",
    "</PARAMETER\n>",
    "<![cdata[",
    "<tool_calls",
    "<tool_ca",
    "</tool_c",
    "<invoke",
    "<invoke ",
    "<inv",
    "<invoke>",
    "<invoke name=\"\">",
    "<invoke name=\"&#32;\">",
    "<invoke name=\"x&amp;y\">",
    "<invoke name=\"u\"/>",
    "<parameter",
    "<parameter>",
    "<parameter name=\"r\"/>",
    "<parameters>",
    "<invoker>",
    "<tool_call>",
    "</invoke x>",
    "</parameter x>",
    "</tool_calls x>",
    "</parameter ",
    "</",
    "<",
    ">",
    "/>",
    "<!--",
    "-->",
    "<!",
    "--",
    "<!-- c -->",
    "<!DOCTYPE",
    "`",
    "``",
    "```",
    "````",
    "~~~",
    "~",
    "```xml\n",
    "\n```\n",
    "\n~~~\n",
    "\n> ",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "\t",
    "  \n",
    "&lt;",
    "&amp;lt;",
    "&#65;",
    "&#x1F600;",
    "&#xD800;",
    "&nope;",
    "&",
    "a",
    "text ",
    "{\"a\":1}",
    "[1, 2]",
    "12",
    "null",
    "true",
    "é",
    "漢字",
    "😀",
    "=",
    "\"",
    "'",
    "name=\"z\"",
];

/// The pieces of [`XML`] that hold a structural tag, in another spelling.
fn respelled(prefix: &str, wrapper: &str) -> Vec<&'static str> {
    let tags = [("tool_calls", wrapper), ("invoke", "invoke"), ("parameter", "parameter")];
    let respell = |piece: &&'static str| {
        let mut text = (*piece).to_owned();
        for (name, spelling) in tags {
            for bracket in ["<", "</"] {
                let plain = format!("{bracket}{name}");
                text = text.replace(&plain, &format!("{bracket}{prefix}{spelling}"));
            }
        }
        (text != **piece).then(|| &*text.leak())
    };
    XML.iter().filter_map(respell).collect()
}

/// What raw values and names without quotes add.
pub const RAW: &[&str] = &[
    "<invoke name=f>",
    "<invoke name= g >",
    "<invoke name=u/>",
    "<invoke name=>",
    "<parameter name=k>",
    "<parameter name=q x=1>",
    "</parameter>\n</invoke>",
    "</parameter> <parameter name='n'>",
    "</parameter> ",
    "</parameter></inv",
    "</parameter></invoke/>",
];

/// What the tags of DeepSeek's models add.
pub const DSML_PIECES: &[&str] = &[
    "<｜DSML｜parameter name=\"p\" string=\"true\">",
    "<｜DSML｜parameter string='false' name=\"k\">",
    "<｜DSML｜ parameter name=\"n\" string=\"TRUE\">",
    "<|DSML|parameter name=\"q\" string=\"no\">",
    "<parameter name=\"q\" string=\"true\">",
    "</｜DSML｜parameter>\n</｜DSML｜invoke>",
    "</｜｜DSML｜｜parameter>",
    "<｜DSML｜",
    "</｜DSML｜ ",
    "｜",
    "DSML",
    "|",
];

/// Header lines right and wrong, the three forms, tags, fences, line ends.
pub const CTL: &[&str] = &[
    "call c1 read\n",
    "call c2 write\n",
    "call c1 read\narg path x\nend\n",
    "arg path a.txt\n",
    "arg path ",
    "arg path\n",
    "arg k 3\n",
    "arg k 0\n",
    "arg n 12\n",
    "arg k <<EOF\n",
    "arg k <<'END'\n",
    "arg k <<\"T_1\"\n",
    "arg k <<\n",
    "arg k <<E OF\n",
    "arg k <<EOF x\n",
    "EOF\n",
    "END\n",
    "T_1\n",
    " EOF\n",
    "EOF \n",
    "EOF",
    "end\n",
    "end",
    "end \n",
    " end\n",
    "end\r\n",
    "call c3 read\r\n",
    "arg k v\r\n",
    "arg k <<EOF\r\n",
    "EOF\r\n",
    "call ",
    "call",
    "cal",
    "call x\n",
    "call  x y\n",
    "call c1 read \n",
    "call the police now\n",
    "call the police\n",
    "call é read\n",
    "call c1 é\n",
    "arg ",
    "arg é x\n",
    "arg k 99999999999\n",
    "arg k  two\n",
    "result c1 exit=0 3\nabc\nend\n",
    "```\n",
    "```ctl\n",
    "````\n",
    " ```\n",
    "~~~\n",
    "``` x `\n",
    "\n",
    "\r\n",
    "\r",
    " ",
    "abc",
    "abc\n",
    "text\n",
    "7",
    "é",
    "漢字",
    "😀",
    "-",
    "<<EOF\n",
];

/// Call objects whole and in parts, lists, tags, escapes right and wrong, scalars, code, line ends.
pub const JSON: &[&str] = &[
    "{\"name\": \"f\", \"arguments\": {}}",
    "{\"name\":\"g\",\"arguments\":{\"k\":1}}\n",
    "{\"arguments\":{\"p\":\"x\"},\"name\":\"a\"}",
    "{\"tool_calls\":[",
    "]}",
    "[{\"name\":\"b\",\"parameters\":{}}]",
    "{\"type\":\"function\",\"id\":\"c1\",\"function\":{\"name\":\"f\"}}",
    "{\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"k\\\":2}\"}}",
    "{\"name\":\"f\",\"arguments\":",
    "{\"name\":\"f\",\"arguments\":{\"q\":",
    "{\"name\":\"f\",\"arguments\":\"{",
    "\"name\":\"f\"",
    "\"arguments\":",
    "\"arguments\":{",
    "\"parameters\":{",
    "\"input\":{",
    "\"id\":\"c2\",",
    "\"id\":null,",
    "\"type\":\"function\",",
    "\"function\":{",
    "\"other\":1",
    "\"k\":\"v\"",
    "\"k\":[1,{\"k\":2}]",
    "\"n\":-0.5e+3",
    "\"p\":\"a\\nb\\u00e9\\ud83d\\ude00\"",
    "<<RCC_TOOL_CALLS_JSON\n",
    "<<RCC_TOOL_CALLS\n",
    "<<RCC_TOOL_CALLS_JSON\n{\"tool_calls\":[{\"name\":\"f\",\"input\":{}}]}\nRCC_TOOL_CALLS_JSON\n",
    "\nRCC_TOOL_CALLS_JSON\n",
    "RCC_TOOL_CALLS",
    "_JSON",
    "<<RCC",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\\"",
    "\\n",
    "\\u00",
    "\\ud83d",
    "\\x",
    "'",
    ";",
    "; ",
    "null",
    "true",
    "nul",
    "12",
    "0",
    "-",
    ".5",
    "e9",
    "\n",
    "\r\n",
    "\n\n",
    " ",
    "\t",
    "`",
    "```",
    "```json\n",
    "\n```\n",
    "~~~\n",
    "> ",
    "<!--",
    "-->",
    "a",
    "text\n",
    "é",
    "漢字",
    "😀",
    "\u{1}",
];
