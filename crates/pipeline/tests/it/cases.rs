//! The numbered cases of the design that need no server tool and stand in no table elsewhere.

use callgate_dialect::Language;
use callgate_pipeline::{BodyEnd, Policy, ReasoningCalls, Release, Repair, Reply};
use callgate_wire::{Api, Code, Fault};
use serde_json::{Value, json};

use crate::{
    bodies::{call, deltas, finish, more, opening, reasoning, stream, text, tools, whole},
    drive::{Framing, Setup},
    reading::Reading,
};

const READ: &str = "<tool_calls><invoke name=\"read\"><parameter name=\"path\"><![CDATA[a]]></parameter>\
                    </invoke></tool_calls>";
const A: &str = r#"{"path":"a"}"#;

fn xml() -> Setup {
    Setup::new(tools(), Policy { dialect: Some(Language::Xml), ..Policy::default() })
}

fn read(setup: &Setup, body: &str) -> Reading {
    let stream = setup.read(Framing::Stream, body.as_bytes(), BodyEnd::Complete);
    let whole = setup.read(Framing::Whole, body.as_bytes(), BodyEnd::Complete);
    assert_eq!(stream.as_whole(), whole.as_whole());
    stream
}

fn check(setup: &Setup, parts: &[String], expected: &str) {
    for release in [Release::Turn, Release::Call] {
        let mut setup = setup.clone();
        setup.policy.release = release;
        let reading = read(&setup, &stream(parts, "stop"));
        assert_eq!(reading.to_string(), expected, "{release:?}");
    }
}

#[test]
fn a_structured_call_and_the_same_in_text_are_one() {
    let one = "read {\"path\":\"a\"} tool_calls";
    let two = "read {\"path\":\"a\"} read {\"path\":\"a\"} tool_calls";
    let structured = |at: u32| call(at, &format!("c{at}"), "read", "{ \"path\": \"a\" }");
    let setup = xml();
    check(&setup, &[deltas(READ, 9), vec![call(0, "c1", "read", A)]].concat(), one);
    check(&setup, &[vec![call(0, "c1", "read", A)], deltas(READ, 9)].concat(), one);
    // Layout makes no difference; which comes first is kept.
    check(&setup, &[vec![structured(0)], vec![more(0, "")], deltas(READ, 9)].concat(), one);
    // Text is certain at its closer, structured calls when the turn ends.
    let calls = [structured(0), call(1, "c1", "now", "{}")];
    let parts = [&calls[..], &deltas(READ, 9)].concat();
    check(&setup, &parts, "read {\"path\":\"a\"} now {} tool_calls");
    check(&setup, &[call(0, "c1", "read", A), call(1, "c2", "read", A)], two);
    check(&setup, &deltas(&format!("{READ}{READ}"), 9), two);
    check(
        &setup,
        &[vec![call(0, "c1", "read", A), call(1, "c2", "read", A)], deltas(READ, 9)].concat(),
        two,
    );
}

#[test]
fn quoted_wrappers_are_text() {
    let quoted = format!("You wrote:\n> {READ}\nand `{READ}`.\n```\n{READ}\n```\n");
    let expected = format!("\"{}\" stop", quoted.replace('\n', "\\n"));
    check(&xml(), &deltas(&quoted, 9), &expected);
    let result = "<tool_result id=\"c1\" name=\"read\"><![CDATA[x]]></tool_result>";
    check(&xml(), &deltas(result, 9), &format!("\"{result}\" stop"));
}

fn thoughts(written: &str, width: usize) -> Vec<String> {
    deltas(written, width)
        .into_iter()
        .map(|delta| delta.replace("\"content\"", "\"reasoning_content\""))
        .collect()
}

#[test]
fn a_call_only_in_reasoning_counts_and_leaves_it() {
    let setup = xml();
    let thought = format!("I read. {READ} So.");
    for width in [1, 7, 200] {
        let parts = thoughts(&thought, width);
        let taken = "(I read.  So.) read {\"path\":\"a\"} tool_calls";
        check(&setup, &parts, taken);
        check(&setup, &[&parts[..], &[text(" \n")]].concat(), &taken.replace(") ", ") \" \\n\" "));
        // Visible text, and a visible or structured call, decide against it.
        let kept = format!("(I read. {READ} So.)");
        check(&setup, &[&parts[..], &[text("Done.")]].concat(), &format!("{kept} \"Done.\" stop"));
        check(
            &setup,
            &[&parts[..], &[call(0, "c1", "now", "{}")]].concat(),
            &format!("{kept} now {{}} tool_calls"),
        );
        let visible = deltas(&READ.replace("[a]", "[b]"), 9);
        check(
            &setup,
            &[&parts[..], &visible].concat(),
            &format!("{kept} read {{\"path\":\"b\"}} tool_calls"),
        );
    }
    let mut never = setup;
    never.policy.reasoning_calls = ReasoningCalls::Never;
    let expected = format!("(I read. {READ} So.) !EMPTY_ASSISTANT_RESPONSE");
    check(&never, &thoughts(&thought, 7), &expected);
}

/// Whatever stands in reasoning, if it is no call it comes out as it went in.
#[test]
fn reasoning_without_a_call_keeps_its_bytes() {
    for commit in [callgate_dialect::Commit::Block, callgate_dialect::Commit::Call] {
        let mut setup = xml();
        setup.policy.commit = commit;
        for thought in [
            "a < b, <tool_calls> and <invoke",
            "<tool_calls><invoke>x</invoke></tool_calls> é",
            "<tool_calls>\n<invoke name=\"read\"><parameter name=\"path\">x</invoke></tool_calls> 🦀",
            "<tool_calls>\n<invoke name=\"read\"><parameter name=\"path\">x",
            "```\n<tool_calls><invoke name=\"now\"></invoke></tool_calls>\n```",
            "Then </tool_calls>",
        ] {
            for width in [1, 5, 500] {
                let parts = [&thoughts(thought, width)[..], &[text("Done.")]].concat();
                let reading = read(&setup, &stream(&parts, "stop"));
                assert_eq!(reading.reasoning, thought, "{commit:?} {width}");
                let reading = read(&setup, &stream(&thoughts(thought, width), "stop"));
                assert_eq!(reading.reasoning, thought, "{commit:?} {width}");
                assert_eq!(reading.code(), Some("EMPTY_ASSISTANT_RESPONSE"));
            }
        }
    }
}

/// Reasoning goes out at once; only what may be a call waits.
#[test]
fn reasoning_streams() {
    let mut turn = xml().turn(Framing::Stream);
    let mut out = Vec::new();
    turn.push((opening() + &reasoning("Hm, a < b")).as_bytes(), &mut out);
    assert!(String::from_utf8_lossy(&out).contains("Hm, a < b"));
    out.clear();
    turn.push(reasoning(". <tool_ca").as_bytes(), &mut out);
    assert!(String::from_utf8_lossy(&out).contains("\". \""));
    out.clear();
    turn.push(text("Done").as_bytes(), &mut out);
    let out = String::from_utf8_lossy(&out).into_owned();
    assert!(out.find("<tool_ca").unwrap() < out.find("Done").unwrap());
}

#[test]
fn a_prefix_is_taken_off_and_recorded() {
    for (body, dialect) in [
        (stream(&[call(0, "c1", "functions.read", A)], "stop"), None),
        (
            stream(&deltas(&READ.replace("\"read\"", "\"functions.read\""), 9), "stop"),
            Some(Language::Xml),
        ),
    ] {
        let setup = Setup::new(tools(), Policy { dialect, ..Policy::default() });
        let (reading, _, turn) = setup.raw(Framing::Stream, body.as_bytes(), BodyEnd::Complete);
        assert_eq!(reading.to_string(), "read {\"path\":\"a\"} tool_calls");
        assert_eq!(turn.record().repairs, [Repair::NamePrefix]);
    }
    // A tool that is really called so keeps its name, and an unknown one gets no other.
    let tools = json!([{ "type": "function", "function": { "name": "functions.read" } },
        { "type": "function", "function": { "name": "read" } }]);
    let setup = Setup::new(tools, Policy::default());
    check(
        &setup,
        &[call(0, "c1", "functions.read", A)],
        "functions.read {\"path\":\"a\"} tool_calls",
    );
    check(&setup, &[call(0, "c1", "functions.rm", "{}")], "!CLIENT_TOOL_NAME_MISMATCH");
    check(&setup, &[call(0, "c1", "default_api.read", "{}")], "!CLIENT_TOOL_NAME_MISMATCH");
}

#[test]
fn argument_names_and_bytes_are_never_rewritten() {
    let arguments = "{ \"Path\":\"a\\u00e9\\/\",\n\"n\":1.0e+2, \"n\":12345678901234567890123 }";
    let tools = json!([{ "type": "function", "function": { "name": "any" } }]);
    let setup = Setup::new(tools, Policy::default());
    for cut in [1, 9, 30] {
        let parts = [call(0, "c1", "any", &arguments[..cut]), more(0, &arguments[cut..])];
        let reading = read(&setup, &stream(&parts, "tool_calls"));
        assert_eq!(reading.calls(), [("any", arguments)]);
    }
    let large = format!("{{\"text\":\"{}\"}}", "é\\n".repeat(200_000));
    let reading = read(&setup, &stream(&[call(0, "c1", "any", &large)], "tool_calls"));
    assert_eq!(reading.calls(), [("any", large.as_str())]);
}

#[test]
fn ids_survive_where_they_are_usable_and_new() {
    let history = json!([
        { "role": "user", "content": "Go." },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "old", "type": "function", "function": { "name": "now", "arguments": "{}" } } ] },
        { "role": "tool", "tool_call_id": "old", "content": "12:00" },
    ]);
    let setup = Setup::new(tools(), Policy::default()).with("messages", history);
    let long = "x".repeat(65);
    let longest = "y".repeat(64);
    let calls: Vec<_> = ["c1", "c1", "old", &long, &longest, ""]
        .into_iter()
        .zip(0..)
        .map(|(id, at)| call(at, id, "now", "{}"))
        .collect();
    for release in [Release::Turn, Release::Call] {
        let mut setup = setup.clone();
        setup.policy.release = release;
        for framing in Framing::ALL {
            let body = stream(&calls, "tool_calls");
            let reading = setup.read(framing, body.as_bytes(), BodyEnd::Complete);
            let ids: Vec<_> = reading.calls.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(ids.len(), 6);
            assert_eq!((ids[0], ids[4]), ("c1", longest.as_str()));
            for (at, id) in ids.iter().enumerate() {
                assert!(id.len() <= 64 && !ids[..at].contains(id) && *id != "old", "{ids:?}");
            }
        }
    }
}

#[test]
fn a_dialects_ids_are_kept_once() {
    let policy = Policy { dialect: Some(Language::CtlHeredoc), ..Policy::default() };
    let setup = Setup::new(tools(), policy);
    let written = "call c1 now\nend\ncall c1 now\nend\n";
    let reading = read(&setup, &stream(&deltas(written, 4), "stop"));
    assert_eq!(reading.calls[0].id, "c1");
    assert!(reading.calls[1].id.starts_with("call_"), "{:?}", reading.calls[1]);
}

/// Frames of a provider that has another name for the model, and members nobody knows.
#[test]
fn native_frames_keep_their_bytes() {
    let frame = |delta: &str| {
        format!(
            "{{ \"id\": \"chatcmpl-up\", \"object\": \"chat.completion.chunk\", \"created\": 5, \
             \"model\": \"real/name\", \"x_top\": [1.50, \"\\u00e9\"], \"choices\": [{{\"index\":0,\
             \"delta\":{delta},\"logprobs\":{{\"content\":[{{\"token\":\"a\"}}]}},\"finish_reason\":null}}],\
             \"usage\":null }}"
        )
    };
    let frames = [
        frame("{\"role\":\"assistant\",\"content\":\"\"}"),
        frame("{\"content\":\"a\",\"x_in\":{\"k\": 1e5}}"),
        frame("{\"reasoning_content\":\"b\",\"signature\":\"s==\"}"),
        frame("{\"content\":\"c\"}").replace("\"usage\":null", "\"usage\":{\"prompt_tokens\":1}"),
    ];
    let body: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    let body = body + &finish("stop").replace("1699999999", "5") + "data: [DONE]\n\n";
    let written = |setup: &Setup| {
        let (reading, out, _) = setup.raw(Framing::Stream, body.as_bytes(), BodyEnd::Complete);
        assert_eq!(reading.to_string(), "(b) \"ac\" stop");
        (String::from_utf8(out).unwrap(), reading.model)
    };
    // Unrenamed, the provider's own spelling of the name stands, in our frames as well.
    let mut setup = Setup::new(tools(), Policy::default());
    let (out, model) = written(&setup);
    assert_eq!(model, "real/name");
    for frame in &frames {
        assert!(out.contains(&format!("data: {frame}\n\n")), "{frame} in {out}");
    }
    setup.model = "real/name".to_owned();
    let (out, model) = written(&setup);
    assert_eq!(model, "m");
    for frame in &frames {
        let frame = frame.replace("\"model\": \"real/name\"", "\"model\": \"m\"");
        assert!(out.contains(&format!("data: {frame}\n\n")), "{frame} in {out}");
    }
}

#[test]
fn a_native_whole_reply_keeps_its_bytes() {
    let body = whole(&json!({ "content": "Hi", "annotations": [], "x": { "k": [1, 2] } }), "stop")
        .replace("\"model\":\"m\"", "\"model\":\"m\",\"x_top\": 1.50");
    let mut setup = Setup::new(tools(), Policy::default());
    let (_, out, _) = setup.raw(Framing::Whole, body.as_bytes(), BodyEnd::Complete);
    assert_eq!(String::from_utf8(out).unwrap(), body);
    setup.model = "other".to_owned();
    let (reading, out, _) = setup.raw(
        Framing::Whole,
        body.replace(":\"m\"", ":\"other\"").as_bytes(),
        BodyEnd::Complete,
    );
    assert_eq!(String::from_utf8(out).unwrap(), body);
    assert_eq!(reading.model, "m");
}

/// Members nobody knows come along where a frame has to be written anew.
#[test]
fn unknown_members_of_governed_turns_survive() {
    let extra = crate::bodies::delta(&json!({ "content": "So.", "x_in": { "k": 1.5 } }));
    let body = stream(&[extra, call(0, "c1", "now", "")], "tool_calls")
        .replace("\"created\"", "\"system_fingerprint\":\"fp\",\"created\"");
    for dialect in [None, Some(Language::Xml)] {
        let setup = Setup::new(tools(), Policy { dialect, ..Policy::default() });
        for framing in Framing::ALL {
            let (_, out, _) = setup.raw(framing, body.as_bytes(), BodyEnd::Complete);
            let out = String::from_utf8(out).unwrap();
            assert!(out.contains("\"x_in\":{\"k\":1.5}"), "{out}");
            assert!(out.contains("\"system_fingerprint\":\"fp\""), "{out}");
        }
    }
}

#[test]
fn usage_goes_out_as_it_came_and_only_if_asked_for() {
    let body = stream(&[text("Hi")], "stop")
        .replace("data: [DONE]", &(crate::bodies::usage() + "data: [DONE]"));
    let setup = Setup::new(tools(), Policy::default());
    let reading = setup.read(Framing::Stream, body.as_bytes(), BodyEnd::Complete);
    let sent = json!({ "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "x_ms": 4 });
    assert_eq!(reading.usage, Some(sent.clone()));
    let whole = setup.read(Framing::Whole, body.as_bytes(), BodyEnd::Complete);
    assert_eq!(whole.usage, Some(sent));
    let unasked = setup.with("stream", json!(true));
    let mut turn =
        callgate_pipeline::Admitted::new(Api::Chat, unasked.request.to_string().as_bytes())
            .unwrap()
            .turn(crate::drive::chat("m"), &unasked.policy, 0);
    let mut out = Vec::new();
    turn.push(body.as_bytes(), &mut out);
    assert!(!String::from_utf8_lossy(&out).contains("prompt_tokens"));
    assert_eq!(turn.record().usage.as_ref().map(|usage| usage.output), Some(3));
}

/// Until the first byte a fault is a status; after a keep-alive it is an event.
#[test]
fn where_the_reply_stands() {
    let setup = Setup::new(tools(), Policy::default());
    let fault = || BodyEnd::Broken(Fault::new(Code::UpstreamIdle, "silence"));
    let mut out = Vec::new();
    let mut turn = setup.turn(Framing::Stream);
    turn.push(opening().as_bytes(), &mut out);
    assert_eq!((turn.reply(), out.len()), (Reply::Unwritten, 0));
    let mut open = turn.clone();
    open.push(text("Hi").as_bytes(), &mut out);
    assert_eq!(open.reply(), Reply::Open);
    let mut alive = turn.clone();
    alive.commit();
    assert_eq!(alive.reply(), Reply::Open);
    let mut out = Vec::new();
    alive.end(fault(), &mut out);
    assert_eq!(alive.reply(), Reply::Complete);
    let event: Value =
        serde_json::from_str(std::str::from_utf8(&out).unwrap()[6..].trim()).unwrap();
    assert_eq!(event["error"]["code"], "UPSTREAM_IDLE");
    turn.end(fault(), &mut Vec::new());
    assert!(matches!(turn.reply(), Reply::Failed(fault) if fault.code == Code::UpstreamIdle));
    assert_eq!(turn.record().failure, Some(Code::UpstreamIdle));
    // A whole reply has no bytes of the driver's in it.
    let mut whole = setup.turn(Framing::Whole);
    whole.commit();
    whole.end(fault(), &mut Vec::new());
    assert!(matches!(whole.reply(), Reply::Failed(_)));
}
