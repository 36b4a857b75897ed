//! The law of history: what is rendered parses to the same call, or is said to be inexact.

use proptest::prelude::*;

use super::{Content, Draft, ResultFrame, arguments};
use crate::{Call, End, Language, Limits, Options, Recorded, Span, Tools};

fn call(id: Option<&str>, name: &str, arguments: &str) -> Call {
    Call {
        index: 0,
        id: id.map(str::to_owned),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        span: Span::default(),
    }
}

fn parse(language: Language, text: &str, tools: &Tools) -> Vec<Call> {
    let mut parser = language.parser(Options { tools: tools.clone(), ..Options::default() });
    let mut recorded = Recorded::default();
    parser.push(text.as_bytes(), &mut recorded);
    parser.finish(End::Stop, &mut recorded);
    recorded.calls().cloned().collect()
}

/// JSON without blanks between tokens.
fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    json.chars()
        .filter(|c| {
            let keep = in_string || !c.is_ascii_whitespace();
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = in_string,
                '"' => in_string = !in_string,
                _ => {}
            }
            keep
        })
        .collect()
}

fn meaning(call: &Call) -> Vec<(String, bool, String)> {
    let mut draft = Draft::default();
    let members = arguments(&call.arguments, &mut draft);
    assert_eq!(draft.lost, None, "{call:?}");
    members
        .into_iter()
        .map(|(key, content)| match content {
            Content::Text(text) => (key, true, text.into_owned()),
            Content::Json(json) => (key, false, compact(json)),
        })
        .collect()
}

fn same(language: Language, a: &Call, b: &Call) -> bool {
    a.name == b.name && meaning(a) == meaning(b) && (!language.has_ids() || a.id == b.id)
}

/// Renders and parses; whether the call came back. Pessimism is a failure too.
fn comes_back(language: Language, call: &Call, tools: &Tools) -> bool {
    let (text, reason) = match language.render_call(call, tools) {
        Ok(text) => (text, None),
        Err(inexact) => (inexact.text, Some(inexact.reason)),
    };
    let parsed = parse(language, &text, tools);
    let is_same = parsed.len() == 1 && same(language, &parsed[0], call);
    assert_eq!(is_same, reason.is_none(), "{language}: {reason:?}\n{text}\n{parsed:#?}\n{call:#?}");
    is_same
}

const KINDS: [&str; 9] =
    ["string", "integer", "number", "boolean", "object", "array", "nullable", "any", "none"];

fn tools() -> Tools {
    let schema = r#"{"t": {"properties": {
        "string": {"type": "string"}, "integer": {"type": "integer"},
        "number": {"type": "number"}, "boolean": {"type": "boolean"},
        "object": {"type": "object"}, "array": {"type": "array"},
        "nullable": {"type": ["string", "null"]}, "any": {}}}}"#;
    Tools::from_schemas(serde_json::from_str(schema).unwrap())
}

fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("]]>".to_owned()),
        Just("<![CDATA[".to_owned()),
        Just("<![cdata[".to_owned()),
        Just("<parameter name=\"x\"><![CDATA[".to_owned()),
        Just("]]></parameter>".to_owned()),
        Just("<parameter name=\"y\">".to_owned()),
        Just("</parameter>".to_owned()),
        Just("</｜DSML｜parameter>\n</invoke></function_calls>".to_owned()),
        Just(
            "<minimax:tool_call>\n<invoke name=\"t\">\n</invoke>\n</minimax:tool_call>".to_owned()
        ),
        Just("</parameter>\n</invoke>\n</tool_calls>".to_owned()),
        Just(
            "<tool_calls><invoke name=\"t\"><parameter name=\"x\"><![CDATA[v]]></parameter>\
             </invoke></tool_calls>"
                .to_owned()
        ),
        Just("call a b\narg x y\nend\n".to_owned()),
        Just("EOF\nEOF_2\r\n".to_owned()),
        Just("<<EOF".to_owned()),
        Just("```\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\0\u{1b}\u{7f}\u{85}\u{2028}".to_owned()),
        Just(" \t".to_owned()),
        Just("&amp;&#10;&".to_owned()),
        Just("null".to_owned()),
        Just("{\"a\": [1]}".to_owned()),
        Just("x".repeat(4090)),
        "[0-9]{1,3}",
        "[<>!\\[\\]CDAT/&;'\"\\\\]{1,8}",
        "\\PC{0,6}",
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn string() -> impl Strategy<Value = String> {
    nasty().prop_map(|text| serde_json::Value::from(text).to_string())
}

fn integer() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        "-?[1-9][0-9]{18,40}",
        Just("9223372036854775808".to_owned()),
    ]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        integer(),
        "-?(0|[1-9][0-9]{0,5})\\.[0-9]{1,30}",
        "[1-9]\\.[0-9]{2}[eE][+-]?[0-9]{1,3}"
    ]
}

fn nested() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![string(), number(), Just("true".to_owned()), Just("null".to_owned())];
    leaf.prop_recursive(6, 40, 6, |inner| {
        let gap = prop_oneof![Just(","), Just(", "), Just(",\r\n  ")];
        prop_oneof![
            (prop::collection::vec(inner.clone(), 0..6), gap.clone())
                .prop_map(|(items, gap)| format!("[{}]", items.join(gap))),
            (prop::collection::vec((string(), inner), 0..6), gap).prop_map(|(members, gap)| {
                let members: Vec<_> = members.iter().map(|(k, v)| format!("{k}: {v}")).collect();
                format!("{{{}}}", members.join(gap))
            }),
        ]
    })
}

/// A value that its schema admits.
fn fitting() -> impl Strategy<Value = (&'static str, String)> {
    prop_oneof![
        string().prop_map(|v| ("string", v)),
        string().prop_map(|v| ("nullable", v)),
        Just(("nullable", "null".to_owned())),
        integer().prop_map(|v| ("integer", v)),
        number().prop_map(|v| ("number", v)),
        any::<bool>().prop_map(|v| ("boolean", v.to_string())),
        nested().prop_map(|v| ("array", format!("[{v}]"))),
        nested().prop_map(|v| ("object", format!("{{\"k\":{v}}}"))),
    ]
}

fn anything() -> impl Strategy<Value = (&'static str, String)> {
    let kind = prop::sample::select(KINDS.to_vec());
    (kind, prop_oneof![string(), number(), nested(), Just("false".to_owned())])
}

fn object(members: &[(&'static str, String)]) -> String {
    let mut seen = Vec::new();
    let mut text = Vec::new();
    for (key, value) in members {
        if !seen.contains(key) {
            seen.push(key);
            text.push(format!("\"{key}\": {value}"));
        }
    }
    format!("{{{}}}", text.join(","))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_fitting_value_comes_back(members in prop::collection::vec(fitting(), 0..5)) {
        let call = call(Some("call_1.a:b-c"), "t", &object(&members));
        for language in [Language::Xml, Language::Anthropic, Language::Dsml, Language::Ctl] {
            // The one thing that a schema can't say outside CDATA.
            let is_null_text = language == Language::Ctl
                && meaning(&call).iter().any(|m| m == &("nullable".into(), true, "null".into()));
            prop_assert_eq!(comes_back(language, &call, &tools()), !is_null_text);
        }
        comes_back(Language::CtlHeredoc, &call, &tools());
        comes_back(Language::Minimax, &call, &tools());
    }

    #[test]
    fn any_other_value_comes_back_or_is_said_to_be_inexact(
        members in prop::collection::vec(anything(), 0..3)
    ) {
        let call = call(Some("1"), "t", &object(&members));
        for language in Language::ALL {
            comes_back(language, &call, &tools());
        }
    }

    #[test]
    fn names_come_back_or_are_said_to_be_inexact(id in nasty(), name in nasty(), key in nasty()) {
        let arguments = serde_json::json!({ key: "v" }).to_string();
        let call = call(Some(&id), &name, &arguments);
        for language in Language::ALL {
            comes_back(language, &call, &Tools::default());
        }
    }
}

#[test]
fn deep_nesting_comes_back() {
    let nested = |depth| {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        call(Some("1"), "t", &format!("{{\"array\":{deep}}}"))
    };
    for language in Language::ALL {
        assert!(comes_back(language, &nested(Limits::DEFAULT.nesting - 1), &tools()));
        // A dialect that is JSON itself reads its own nesting, which is bounded.
        let is_json =
            matches!(language, Language::JsonObject | Language::JsonWhole | Language::Rcc);
        assert_eq!(comes_back(language, &nested(500), &tools()), !is_json, "{language}");
    }
}

#[test]
fn long_json_is_broken_between_tokens() {
    let items: Vec<_> = (0..3000).map(|n| format!("{{\"a, b\": \"\\\"{n},\"}}")).collect();
    let call = call(Some("1"), "t", &format!("{{\"array\":[{}]}}", items.join(",")));
    assert!(comes_back(Language::CtlHeredoc, &call, &tools()));
}

fn check(language: Language, arguments: &str, expected: Result<&str, &str>) {
    let rendered = language.render_call(&call(Some("c1"), "t", arguments), &tools());
    match (rendered, expected) {
        (Ok(text), Ok(expected)) | (Err(super::Inexact { text, .. }), Err(expected)) => {
            assert_eq!(text, expected);
        }
        (rendered, _) => panic!("{arguments}: {rendered:?}"),
    }
}

#[test]
fn ctl_is_written_as_it_is_taught() {
    let check = |language, arguments: &str, expected| check(language, arguments, expected);
    let both = [Language::Ctl, Language::CtlHeredoc];
    for language in both {
        check(language, "{}", Ok("call c1 t\nend\n"));
        check(
            language,
            r#"{"string":"ls -l","nullable":"","object":{"a": 1}}"#,
            Ok("call c1 t\narg string ls -l\narg nullable\narg object {\"a\": 1}\nend\n"),
        );
    }
    check(Language::Ctl, r#"{"integer":30}"#, Ok("call c1 t\narg integer 2\n30\nend\n"));
    check(Language::CtlHeredoc, r#"{"integer":30}"#, Ok("call c1 t\narg integer 30\nend\n"));
    let text = r#"{"string":"EOF\nx\n"}"#;
    check(Language::Ctl, text, Ok("call c1 t\narg string 6\nEOF\nx\n\nend\n"));
    check(Language::CtlHeredoc, text, Ok("call c1 t\narg string <<EOF_2\nEOF\nx\nEOF_2\nend\n"));
    let text = r#"{"string":"a\nb"}"#;
    check(Language::CtlHeredoc, text, Err("call c1 t\narg string <<EOF\na\nb\nEOF\nend\n"));
    for language in both {
        check(language, "nonsense", Err("call c1 t\narg arguments nonsense\nend\n"));
        check(
            language,
            r#"{"integer":"7a","any":7}"#,
            Err("call c1 t\narg integer 7a\narg any 7\nend\n").map_err(|text: &str| {
                if language == Language::Ctl {
                    "call c1 t\narg integer 7a\narg any 1\n7\nend\n"
                } else {
                    text
                }
            }),
        );
    }
}

#[test]
fn what_the_grammar_forbids_is_said() {
    let check = |call: &Call, expected: &str| {
        let inexact = Language::CtlHeredoc.render_call(call, &tools()).unwrap_err();
        assert_eq!(inexact.text, expected, "{inexact}");
    };
    check(&call(None, "t", "{}"), "call c1 t\nend\n");
    check(&call(Some("a b"), "t", "{}"), "call a_b t\nend\n");
    check(&call(Some("a"), "", "{}"), "call a _\nend\n");
    check(&call(Some("a"), "t", r#"{"a:b":1}"#), "call a t\narg a_b 1\nend\n");
    check(&call(Some("a"), "t", r#"{"x":"1","x":"2"}"#), "call a t\narg x 2\nend\n");
    check(&call(Some("a"), "t", r#"{"x":"\ud800"}"#), "call a t\narg x \"\\ud800\"\nend\n");
}

#[test]
fn xml_is_written_as_it_is_taught() {
    check(
        Language::Xml,
        r#"{"string":"a]]><![CDATA[","integer":30,"array":[1, "<"]}"#,
        Ok("<tool_calls>\n  <invoke name=\"t\">\n    \
            <parameter name=\"string\"><![CDATA[a]]]]><![CDATA[><!]]><![CDATA[[CDATA[]]></parameter>\n    \
            <parameter name=\"integer\">30</parameter>\n    \
            <parameter name=\"array\"><![CDATA[[1, \"<\"]]]></parameter>\n  \
            </invoke>\n</tool_calls>"),
    );
    check(
        Language::Xml,
        "[1]",
        Err("<tool_calls>\n  <invoke name=\"t\">\n    \
             <parameter name=\"arguments\"><![CDATA[[1]]]></parameter>\n  \
             </invoke>\n</tool_calls>"),
    );
    assert_eq!(Language::Xml.render_calls(&[], &tools()), Ok(String::new()));
}

#[test]
fn several_calls_stand_in_one_message() {
    let calls = [call(Some("1"), "t", r#"{"string":"x"}"#), call(Some("2"), "u", "{}")];
    for language in Language::ALL {
        let text = language.render_calls(&calls, &tools()).unwrap();
        let parsed = parse(language, &text, &tools());
        assert_eq!(parsed.len(), 2);
        assert!(parsed.iter().zip(&calls).all(|(a, b)| same(language, a, b)), "{text}");
    }
}

#[test]
fn results_carry_id_and_name() {
    let result = ResultFrame { id: "a \"b", name: "t", text: "x ]]> \u{e9}\n", is_error: true };
    assert_eq!(Language::Ctl.render_result(&result), "result a__b exit=1 9\nx ]]> \u{e9}\n\nend\n");
    let xml = Language::Xml.render_result(&result);
    assert_eq!(
        xml,
        "<tool_result id=\"a &quot;b\" name=\"t\" is_error=\"true\">\
         <![CDATA[x ]]]]><![CDATA[> \u{e9}\n]]></tool_result>"
    );
    assert_eq!(parse(Language::Xml, &xml, &tools()), []);
}
