//! What each policy makes of the same turns, and what a tool choice makes of them.

use callgate_dialect::Language;
use callgate_pipeline::{BodyEnd, OnInvalid, OnViolation, Policy, Release, Validate};
use serde_json::{Value, json};

use crate::{
    bodies::{call, deltas, finish, opening, stream, text, tools},
    drive::{Framing, Setup},
};

const INVALID: &str = r#"{"path":1}"#;
const GOOD: &str = r#"{"path":"a"}"#;

/// Every combination of the four policies, with its name as the tables write it.
fn combinations() -> Vec<(String, Policy)> {
    let mut all = Vec::new();
    for (release_name, release) in [("turn", Release::Turn), ("call", Release::Call)] {
        for (violation_name, on_violation) in
            [("error", OnViolation::Error), ("text", OnViolation::Text)]
        {
            for (invalid_name, on_invalid) in
                [("error", OnInvalid::Error), ("forward", OnInvalid::Forward)]
            {
                for (validate_name, validate) in
                    [("schema", Validate::Schema), ("json", Validate::Json), ("off", Validate::Off)]
                {
                    let name =
                        format!("{release_name} {violation_name} {invalid_name} {validate_name}");
                    let policy =
                        Policy { release, on_violation, on_invalid, validate, ..Policy::default() };
                    all.push((name, policy));
                }
            }
        }
    }
    all
}

/// `table` has a row for every combination: four words, `*` for any, and what the client gets.
fn check(dialect: Option<Language>, body: &str, table: &[(&str, &str)]) {
    for (name, policy) in combinations() {
        let fits = |pattern: &str| {
            pattern.split(' ').zip(name.split(' ')).all(|(want, is)| want == "*" || want == is)
        };
        let rows: Vec<_> = table.iter().filter(|(pattern, _)| fits(pattern)).collect();
        let [(_, expected)] = rows.as_slice() else { panic!("{name}: {} rows", rows.len()) };
        let setup = Setup::new(tools(), Policy { dialect, ..policy });
        let read = |framing| setup.read(framing, body.as_bytes(), BodyEnd::Complete);
        assert_eq!(read(Framing::Stream).to_string(), *expected, "{name}");
        let expected = match expected.split_once('!') {
            Some((_, code)) => format!("!{code}"),
            None => (*expected).to_owned(),
        };
        assert_eq!(read(Framing::Whole).to_string(), expected, "{name}");
    }
}

fn xml(written: &str) -> String {
    stream(&deltas(written, 7), "stop")
}

const NOW: &str = "<tool_calls><invoke name=\"now\"></invoke></tool_calls>";
const DAMAGED: &str = "<tool_calls><invoke>x</invoke></tool_calls>";

#[test]
fn a_good_call_goes_out_under_every_policy() {
    check(
        None,
        &stream(&[call(0, "c1", "read", GOOD)], "stop"),
        &[("* * * *", "read {\"path\":\"a\"} tool_calls")],
    );
    check(Some(Language::Xml), &xml(NOW), &[("* * * *", "now {} tool_calls")]);
}

#[test]
fn a_damaged_call_in_text() {
    let shown = format!("\"{DAMAGED}\"");
    check(
        Some(Language::Xml),
        &xml(DAMAGED),
        &[
            ("* error * *", &format!("{shown} !TOOL_CALL_MALFORMED")),
            ("* text * *", &format!("{shown} stop")),
        ],
    );
}

#[test]
fn a_damaged_call_behind_a_good_one() {
    check(
        Some(Language::Xml),
        &xml(&format!("{NOW}{DAMAGED}")),
        &[
            ("turn error * *", &format!("\"{DAMAGED}\" !TOOL_CALL_MALFORMED")),
            ("call error * *", &format!("\"{DAMAGED}\" now {{}} tool_calls")),
            ("* text * *", &format!("\"{DAMAGED}\" now {{}} tool_calls")),
        ],
    );
}

#[test]
fn a_damaged_call_before_a_good_one() {
    // Nothing goes out behind a fault that decides the turn.
    check(
        Some(Language::Xml),
        &xml(&format!("{DAMAGED}{NOW}")),
        &[
            ("* error * *", &format!("\"{DAMAGED}\" !TOOL_CALL_MALFORMED")),
            ("* text * *", &format!("\"{DAMAGED}\" now {{}} tool_calls")),
        ],
    );
}

#[test]
fn a_call_that_the_model_did_not_finish() {
    let open = "So.\ncall c1 now\nend\ncall c2 read\narg path x\n";
    let raw = "call c2 read\\narg path x\\n";
    check(
        Some(Language::CtlHeredoc),
        &stream(&deltas(open, 5), "stop"),
        &[
            ("turn error * *", &format!("\"So.\\n{raw}\" !TOOL_CALL_MALFORMED")),
            ("call error * *", &format!("\"So.\\n{raw}\" now {{}} tool_calls")),
            ("* text * *", &format!("\"So.\\n{raw}\" now {{}} tool_calls")),
        ],
    );
}

#[test]
fn an_undeclared_tool() {
    check(
        None,
        &stream(&[call(0, "c1", "rm", GOOD)], "tool_calls"),
        &[
            ("* * error *", "!CLIENT_TOOL_NAME_MISMATCH"),
            ("* * forward *", "rm {\"path\":\"a\"} tool_calls"),
        ],
    );
}

#[test]
fn arguments_against_the_schema() {
    check(
        None,
        &stream(&[call(0, "c1", "read", INVALID)], "tool_calls"),
        &[
            ("* * error schema", "!CLIENT_TOOL_ARGS_INVALID"),
            ("* * forward schema", "read {\"path\":1} tool_calls"),
            ("* * * json", "read {\"path\":1} tool_calls"),
            ("* * * off", "read {\"path\":1} tool_calls"),
        ],
    );
}

#[test]
fn arguments_that_are_no_object() {
    check(
        None,
        &stream(&[call(0, "c1", "now", "[1")], "tool_calls"),
        &[
            ("* * error schema", "!CLIENT_TOOL_ARGS_INVALID"),
            ("* * error json", "!CLIENT_TOOL_ARGS_INVALID"),
            ("* * error off", "now [1 tool_calls"),
            ("* * forward *", "now [1 tool_calls"),
        ],
    );
    check(
        None,
        &stream(&[call(0, "c1", "now", "[1]")], "tool_calls"),
        &[
            ("* * error schema", "!CLIENT_TOOL_ARGS_INVALID"),
            ("* * error json", "!CLIENT_TOOL_ARGS_INVALID"),
            ("* * error off", "now [1] tool_calls"),
            ("* * forward *", "now [1] tool_calls"),
        ],
    );
}

#[test]
fn a_bad_call_behind_a_good_one() {
    // In text, since there the first call is certain before the second comes.
    let bad = NOW.replace("now", "rm");
    check(
        Some(Language::Xml),
        &xml(&format!("{NOW}{bad}")),
        &[
            ("turn * error *", "!CLIENT_TOOL_NAME_MISMATCH"),
            ("call * error *", "now {} tool_calls"),
            ("* * forward *", "now {} rm {} tool_calls"),
        ],
    );
}

#[test]
fn a_cut_call_is_never_forwarded() {
    let cut = [opening(), call(0, "c1", "read", "{\"path\":")].concat();
    check(None, &cut, &[("* * * *", "!TOOL_CALL_TRUNCATED")]);
    check(None, &(cut.clone() + &finish("length")), &[("* * * *", "length")]);
    let behind = [opening(), call(0, "c1", "read", GOOD), call(1, "c2", "read", "{")].concat();
    check(
        None,
        &behind,
        &[
            ("turn * * *", "!TOOL_CALL_TRUNCATED"),
            ("call * * *", "read {\"path\":\"a\"} tool_calls"),
        ],
    );
}

/// Bodies for the tool choices: how often which tool is called.
fn calls(names: &[&str], is_text: bool) -> String {
    if is_text {
        let invoked = names.iter().map(|name| NOW.replace("now", name)).collect::<String>();
        return xml(&format!("So.{invoked}"));
    }
    let calls: Vec<_> =
        names.iter().zip(0..).map(|(name, at)| call(at, &format!("c{at}"), name, "{}")).collect();
    stream(&[&[text("So.")], &calls[..]].concat(), "stop")
}

fn chosen(member: &str, value: &Value, names: &[&str], expected: &str) {
    let tools = json!([
        { "type": "function", "function": { "name": "now" } },
        { "type": "function", "function": { "name": "then" } },
    ]);
    for dialect in [None, Some(Language::Xml)] {
        for release in [Release::Turn, Release::Call] {
            let policy = Policy { dialect, release, ..Policy::default() };
            let setup = Setup::new(tools.clone(), policy).with(member, value.clone());
            let body = calls(names, dialect.is_some());
            let reading = setup.read(Framing::Stream, body.as_bytes(), BodyEnd::Complete);
            let name = format!("{value} {names:?} {dialect:?} {release:?}");
            assert_eq!(reading.to_string(), format!("\"So.\" {expected}"), "{name}");
            if let Some(error) = reading.error {
                assert_eq!(error["param"], member, "{name}");
            }
        }
    }
}

#[test]
fn the_tool_choice_is_verified() {
    let named = json!({ "type": "function", "function": { "name": "now" } });
    let allowed = |mode: &str| json!({ "type": "allowed_tools", "allowed_tools": { "mode": mode, "tools": [named.clone()] } });
    let violated = "!TOOL_CHOICE_VIOLATED";
    let choice = |value: &Value, names: &[&str], expected: &str| {
        chosen("tool_choice", value, names, expected);
    };
    choice(&json!("auto"), &[], "stop");
    choice(&json!("auto"), &["then"], "then {} tool_calls");
    choice(&json!("required"), &["then"], "then {} tool_calls");
    choice(&json!("required"), &[], violated);
    choice(&named, &["now"], "now {} tool_calls");
    choice(&named, &["then"], violated);
    choice(&named, &[], violated);
    choice(&allowed("auto"), &[], "stop");
    choice(&allowed("auto"), &["now"], "now {} tool_calls");
    choice(&allowed("auto"), &["then"], violated);
    choice(&allowed("required"), &[], violated);
    choice(&allowed("required"), &["now"], "now {} tool_calls");
    chosen("parallel_tool_calls", &json!(true), &["now", "then"], "now {} then {} tool_calls");
    chosen("parallel_tool_calls", &json!(false), &["now"], "now {} tool_calls");
}

#[test]
fn one_call_at_most() {
    let tools = json!([{ "type": "function", "function": { "name": "now" } }]);
    for (release, expected) in [
        (Release::Turn, "\"So.\" !TOOL_CHOICE_VIOLATED"),
        // The first has gone out.
        (Release::Call, "\"So.\" now {} tool_calls"),
    ] {
        for dialect in [None, Some(Language::Xml)] {
            let policy = Policy { dialect, release, ..Policy::default() };
            let setup = Setup::new(tools.clone(), policy).with("parallel_tool_calls", json!(false));
            let body = calls(&["now", "now"], dialect.is_some());
            let reading = setup.read(Framing::Stream, body.as_bytes(), BodyEnd::Complete);
            assert_eq!(reading.to_string(), expected, "{dialect:?}");
        }
    }
}

#[test]
fn no_call_was_wanted() {
    // A provider that calls all the same is told on; text in a dialect that nobody taught is text.
    let setup = Setup::new(tools(), Policy::default()).with("tool_choice", json!("none"));
    let native = calls(&["now"], false);
    let reading = setup.read(Framing::Stream, native.as_bytes(), BodyEnd::Complete);
    assert_eq!(reading.to_string(), "\"So.\" !TOOL_CHOICE_VIOLATED");
    let policy = Policy { dialect: Some(Language::Xml), ..Policy::default() };
    let setup = Setup::new(tools(), policy.clone()).with("tool_choice", json!("none"));
    let reading = setup.read(Framing::Stream, xml(NOW).as_bytes(), BodyEnd::Complete);
    assert_eq!(reading.to_string(), format!("\"{NOW}\" stop"));
    let setup = Setup::new(json!([]), policy);
    let reading = setup.read(Framing::Stream, xml(NOW).as_bytes(), BodyEnd::Complete);
    assert_eq!(reading.to_string(), format!("\"{NOW}\" stop"));
}

/// A limit or a filter that ends the turn excuses it from the choice.
#[test]
fn a_choice_is_not_demanded_of_a_turn_that_was_cut() {
    let setup = Setup::new(tools(), Policy::default()).with("tool_choice", json!("required"));
    for reason in ["length", "content_filter"] {
        let body = stream(&[text("So.")], reason);
        let reading = setup.read(Framing::Stream, body.as_bytes(), BodyEnd::Complete);
        assert_eq!(reading.to_string(), format!("\"So.\" {reason}"));
    }
}
