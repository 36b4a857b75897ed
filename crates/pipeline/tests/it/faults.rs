//! The error a client gets for each fault: code, status, whether to ask again, and what it names.

use callgate_dialect::Language;
use callgate_pipeline::{Admitted, BodyEnd, Policy};
use callgate_wire::{Api, Code, Fault};
use serde_json::{Value, json};

use crate::{
    bodies::{call, deltas, opening, stream, text, tools},
    drive::{Framing, Setup, broken},
};

/// What a fault is to be, and the words that its message must hold.
struct Expected<'a> {
    code: Code,
    status: u16,
    should_retry: bool,
    detail: Value,
    words: &'a [&'a str],
}

/// The fault before the first byte; behind text the same object is the terminal event.
fn check(setup: &Setup, parts: &[String], reason: Option<&str>, expected: &Expected<'_>) {
    let body = |parts: &[String]| match reason {
        Some(reason) => stream(parts, reason),
        None => opening() + &parts.concat(),
    };
    let fault =
        setup.fault(Framing::Whole, body(parts).as_bytes(), BodyEnd::Complete).expect("no fault");
    judge(&fault, expected);
    let said = [&[text("So.\n")], parts].concat();
    if expected.code == Code::EmptyAssistantResponse {
        return;
    }
    let reading = setup.read(Framing::Stream, body(&said).as_bytes(), BodyEnd::Complete);
    let error = reading.error.expect("no error event");
    let known = fault.openai_body()["error"].clone();
    assert_eq!(error["type"], "server_error");
    for (member, value) in known.as_object().unwrap() {
        // A stream's client has the text by now.
        if member != "text" {
            assert_eq!(error[member], *value, "{member}");
        }
    }
}

fn judge(fault: &Fault, expected: &Expected<'_>) {
    assert_eq!(fault.code, expected.code);
    assert_eq!((fault.status(), fault.should_retry()), (expected.status, expected.should_retry));
    let mut detail = fault.detail.clone();
    detail.remove("text");
    assert_eq!(Value::Object(detail), expected.detail, "{}", fault.message);
    for word in expected.words {
        assert!(fault.message.contains(word), "{word:?} in {:?}", fault.message);
    }
    assert!(fault.message.starts_with(char::is_uppercase), "{}", fault.message);
}

fn native() -> Setup {
    Setup::new(tools(), Policy::default())
}

#[test]
fn arguments() {
    let fault = |arguments: &str, path: &str, words: &[&str]| {
        let detail =
            json!({ "path": path, "tool": "read", "arguments": arguments, "call_id": "c1" });
        check(
            &native(),
            &[call(0, "c1", "read", arguments)],
            Some("tool_calls"),
            &Expected {
                code: Code::ClientToolArgsInvalid,
                status: 502,
                should_retry: false,
                detail,
                words: &[words, &["`read`", "did not run", "Send the request again"]].concat(),
            },
        );
    };
    fault("{\"path\":1}", "/path", &["at /path", "string"]);
    fault("{}", "", &["\"path\" is a required property"]);
    fault("{\"path\":\"a\",\"mode\":2}", "", &["mode"]);
    fault("[]", "", &["not a JSON object"]);
    fault("{\"path\":", "", &["not JSON", "column"]);
    fault("{\"path\":\"a\nb\"}", "", &["control character"]);
}

/// What a model wrote may be long; what is said of it is not.
#[test]
fn long_arguments_are_cut_in_the_error() {
    let arguments = format!("{{\"path\":[\"{}\"]}}", "é".repeat(100_000));
    let body = stream(&[call(0, "c1", "read", &arguments)], "tool_calls");
    let fault = native().fault(Framing::Whole, body.as_bytes(), BodyEnd::Complete).unwrap();
    assert!(fault.openai_body().to_string().len() < 6000);
    let name = "é".repeat(100_000);
    let body = stream(&[call(0, "c1", &name, "{}")], "tool_calls");
    let fault = native().fault(Framing::Whole, body.as_bytes(), BodyEnd::Complete).unwrap();
    assert!(fault.openai_body().to_string().len() < 6000);
}

#[test]
fn names() {
    let declared = json!(["read", "add", "now"]);
    check(
        &native(),
        &[call(0, "c1", "rm", "{}")],
        Some("tool_calls"),
        &Expected {
            code: Code::ClientToolNameMismatch,
            status: 502,
            should_retry: false,
            detail: json!({ "declared": declared, "tool": "rm", "arguments": "{}", "call_id": "c1" }),
            words: &["`rm`", "`read`, `add`, `now`", "declare the tool"],
        },
    );
    check(
        &native(),
        &[call(0, "c1", "", "{}")],
        Some("tool_calls"),
        &Expected {
            code: Code::ClientToolNameMismatch,
            status: 502,
            should_retry: false,
            detail: json!({ "declared": declared, "tool": "", "arguments": "{}", "call_id": "c1" }),
            words: &["without a name"],
        },
    );
    let without = Setup::new(json!([]), Policy::default());
    check(
        &without,
        &[call(0, "c1", "rm", "{}")],
        Some("tool_calls"),
        &Expected {
            code: Code::ClientToolNameMismatch,
            status: 502,
            should_retry: false,
            detail: json!({ "declared": [], "tool": "rm", "arguments": "{}", "call_id": "c1" }),
            words: &["no tool is declared"],
        },
    );
}

#[test]
fn calls_in_text_that_break_their_format() {
    let policy = Policy { dialect: Some(Language::Ctl), ..Policy::default() };
    let setup = Setup::new(tools(), policy);
    let written = "call c1 read\narg path 3\nabcdef\nend\n";
    let body = stream(&deltas(written, 5), "stop");
    let fault = setup.read(Framing::Stream, body.as_bytes(), BodyEnd::Complete).error.unwrap();
    assert_eq!(fault["code"], "TOOL_CALL_MALFORMED");
    assert_eq!((&fault["kind"], &fault["tool"]), (&json!("unexpected_line"), &json!("read")));
    assert!(fault["offset"].is_u64() && fault["stage"] == "govern", "{fault}");
    let message = fault["message"].as_str().unwrap();
    for word in
        ["at byte", "unexpected_line", "did not run", "stayed text", "Send the request again"]
    {
        assert!(message.contains(word), "{word:?} in {message:?}");
    }
    let written = "call c1 read\narg path 495\nabc";
    let body = stream(&deltas(written, 5), "stop");
    let fault = setup.read(Framing::Stream, body.as_bytes(), BodyEnd::Complete).error.unwrap();
    assert_eq!(fault["kind"], "body_eof");
    assert_eq!((&fault["declared"], &fault["actual"]), (&json!(495), &json!(3)));
}

/// What a stream's client has been shown comes with a whole reply's error.
#[test]
fn a_failed_whole_reply_brings_its_text() {
    let policy = Policy { dialect: Some(Language::Xml), ..Policy::default() };
    let setup = Setup::new(tools(), policy);
    let damaged = "So. <tool_calls><invoke>é</invoke></tool_calls>";
    let body = stream(&deltas(damaged, 5), "stop");
    let fault = setup.fault(Framing::Whole, body.as_bytes(), BodyEnd::Complete).unwrap();
    assert_eq!(fault.code, Code::ToolCallMalformed);
    assert_eq!(fault.detail["text"], damaged);
    let long = opening() + &text(&"é".repeat(200_000));
    let fault = setup.fault(Framing::Whole, long.as_bytes(), BodyEnd::Complete).unwrap();
    assert_eq!(fault.code, Code::UpstreamEndedEarly);
    assert!(fault.detail["text"].as_str().unwrap().len() <= 64 << 10);
}

#[test]
fn cut_calls() {
    let half = [call(0, "c1", "read", "{\"path\":")];
    check(
        &native(),
        &half,
        None,
        &Expected {
            code: Code::ToolCallTruncated,
            status: 502,
            should_retry: Code::ToolCallTruncated.is_transient(),
            detail: json!({ "cause": "UPSTREAM_ENDED_EARLY", "tool": "read" }),
            words: &["`read`", "did not run", "without a finish reason", "Send the request again"],
        },
    );
    check(
        &native(),
        &half,
        Some("tired"),
        &Expected {
            code: Code::ToolCallTruncated,
            status: 502,
            should_retry: Code::ToolCallTruncated.is_transient(),
            detail: json!({ "tool": "read", "arguments": "{\"path\":", "call_id": "c1" }),
            words: &["`read`", "did not run"],
        },
    );
    let body = opening() + &half.concat();
    let fault = native().fault(Framing::Whole, body.as_bytes(), broken()).unwrap();
    assert_eq!(fault.detail["cause"], "UPSTREAM_IDLE");
    assert!(fault.message.contains("60 s"), "{}", fault.message);
}

#[test]
fn choices() {
    let required = native().with("tool_choice", json!("required"));
    check(
        &required,
        &[text("Hm")],
        Some("stop"),
        &Expected {
            code: Code::ToolChoiceViolated,
            status: 502,
            should_retry: false,
            detail: json!({}),
            words: &["a call was asked for", "the model made none", "`tool_choice`"],
        },
    );
    let named = json!({ "type": "function", "function": { "name": "now" } });
    let named = native().with("tool_choice", named);
    check(
        &named,
        &[call(0, "c1", "read", "{\"path\":\"a\"}")],
        Some("stop"),
        &Expected {
            code: Code::ToolChoiceViolated,
            status: 502,
            should_retry: false,
            detail: json!({}),
            words: &["`now`", "`read`"],
        },
    );
}

#[test]
fn providers() {
    let of = |code, should_retry, words: &'static [&'static str]| Expected {
        code,
        status: 502,
        should_retry,
        detail: json!({}),
        words,
    };
    let setup = native();
    const AGAIN: &str = "Send the request again";
    check(&setup, &[], Some("stop"), &of(Code::EmptyAssistantResponse, true, &[AGAIN]));
    check(
        &setup,
        &[],
        Some("tool_calls"),
        &of(Code::UpstreamProtocol, true, &["`tool_calls`", AGAIN]),
    );
    check(&setup, &[], None, &of(Code::UpstreamEndedEarly, true, &["finish reason", AGAIN]));
    let nothing = setup.fault(Framing::Stream, b"", BodyEnd::Complete).unwrap();
    judge(&nothing, &of(Code::UpstreamEndedEarly, true, &["empty", AGAIN]));
    let silence = setup.fault(Framing::Stream, b"", broken()).unwrap();
    assert_eq!((silence.code, silence.status()), (Code::UpstreamIdle, 504));
    // The provider's own status stands before the first byte.
    let error =
        b"data: {\"error\":{\"message\":\"Slow down.\",\"type\":\"rate_limit\",\"code\":429}}\n\n";
    let fault = setup.fault(Framing::Stream, error, BodyEnd::Complete).unwrap();
    judge(
        &fault,
        &Expected {
            code: Code::UpstreamStatus,
            status: 429,
            should_retry: true,
            detail: json!({ "upstream_code": "429", "upstream_type": "rate_limit" }),
            words: &["Slow down."],
        },
    );
}

#[test]
fn requests() {
    let refused = |change: &dyn Fn(&mut Value), code: Code, param: &str| {
        let mut request = native().request;
        change(&mut request);
        let fault = Admitted::new(Api::Chat, request.to_string().as_bytes()).unwrap_err();
        assert_eq!((fault.code, fault.status()), (code, 400));
        assert_eq!(fault.param.as_deref(), Some(param));
        assert!(!fault.should_retry() && fault.message.contains(param), "{}", fault.message);
        assert_eq!(fault.openai_body()["error"]["type"], "invalid_request_error");
    };
    refused(&|request| request["n"] = json!(2), Code::UnsupportedFeature, "n");
    refused(&|request| request["n"] = json!(0), Code::RequestInvalid, "n");
    refused(&|request| request["functions"] = json!([]), Code::UnsupportedFeature, "functions");
    refused(
        &|request| request["messages"][0] = json!({ "role": "user" }),
        Code::RequestInvalid,
        "messages[0].content",
    );
    assert!(
        Admitted::new(Api::Chat, native().with("n", json!(1)).request.to_string().as_bytes())
            .is_ok()
    );
    for body in [&b"{"[..], b"[]", b"\"\xff\"", b""] {
        assert_eq!(Admitted::new(Api::Chat, body).unwrap_err().code, Code::RequestInvalid);
    }
}
