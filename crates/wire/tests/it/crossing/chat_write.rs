//! Chat requests that are written for clients of other APIs.

use callgate_wire::{
    Effort, Loss, LossKind, Media, MediaKind, Message, Names, Outgoing, Parameters, Part, Places,
    Reasoning, Request, Role, Source, ToolChoice, chat,
};
use serde_json::{Value, json, value::RawValue};

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn message(role: Role, parts: Vec<Part>) -> Message {
    Message { role, parts, raw: raw("{}") }
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn media(kind: MediaKind, source: Source) -> Part {
    Part::Media(Media { kind, source, name: None, detail: None, raw: raw("{}") })
}

fn image() -> Part {
    media(MediaKind::Image, Source::Url("u".to_owned()))
}

fn call(id: &str) -> Part {
    Part::Call { id: id.to_owned(), name: "f".to_owned(), arguments: "{broken".to_owned() }
}

fn result(id: &str, is_error: bool) -> Part {
    Part::Result { call_id: id.to_owned(), is_error }
}

fn request(messages: Vec<Message>, parameters: Parameters) -> Request {
    Request {
        model: "m".to_owned(),
        messages,
        tools: Vec::new(),
        tool_choice: ToolChoice::None,
        parallel_calls: false,
        stream: false,
        include_usage: false,
        choices: 1,
        parameters,
    }
}

fn write(request: &Request) -> (Value, Vec<(LossKind, String)>) {
    let places = Places { names: Names::CHAT, messages: vec!["system".to_owned()] };
    let Outgoing { body, losses } = chat::write(request, &places, "gpt", &[]);
    let losses = losses.into_iter().map(|Loss { kind, path, .. }| (kind, path)).collect();
    (serde_json::from_slice(&body).unwrap(), losses)
}

fn check_messages(messages: Vec<Message>, expected: &Value, losses: &[(LossKind, &str)]) {
    let (body, found) = write(&request(messages, Parameters::default()));
    // Without tools there is no choice among them to forbid.
    assert_eq!(body, json!({ "model": "gpt", "messages": *expected }));
    let losses: Vec<_> = losses.iter().map(|(kind, path)| (*kind, (*path).to_owned())).collect();
    assert_eq!(found, losses);
}

#[test]
fn media_of_results_come_behind_all_results() {
    use LossKind::Lossy;
    let results = || {
        vec![
            message(Role::Assistant, vec![text("t"), call("1"), call("2:x"), call("3")]),
            message(Role::Tool, vec![result("1", false), image()]),
            message(Role::Tool, vec![result("2:x", true), text("a"), image(), text("b")]),
            message(Role::Tool, vec![result("3", false), text("c")]),
        ]
    };
    let written = json!([
        { "role": "assistant", "content": "t", "tool_calls": [
            { "id": "1", "type": "function", "function": { "name": "f", "arguments": "{broken" } },
            { "id": "2:x", "type": "function", "function": { "name": "f", "arguments": "{broken" } },
            { "id": "3", "type": "function", "function": { "name": "f", "arguments": "{broken" } },
        ] },
        { "role": "tool", "tool_call_id": "1", "content": "What it returned is in the user's next message." },
        { "role": "tool", "tool_call_id": "2:x", "content": "The tool failed:\n\na\n\nb" },
        { "role": "tool", "tool_call_id": "3", "content": "c" },
        { "role": "user", "content": [
            { "type": "text", "text": "What the tool call `1` returned:" },
            { "type": "image_url", "image_url": { "url": "u" } },
            { "type": "text", "text": "What the tool call `2:x` returned:" },
            { "type": "image_url", "image_url": { "url": "u" } },
        ] },
    ]);
    let losses = [(Lossy, "messages[1]"), (Lossy, "messages[2]"), (Lossy, "messages[2]")];
    check_messages(results(), &written, &losses);

    // The user's own words come in the same message.
    let mut with_user = results();
    with_user.push(message(Role::User, vec![text("go on")]));
    let mut expected = written;
    let last = expected[4]["content"].as_array_mut().unwrap();
    last.push(json!({ "type": "text", "text": "go on" }));
    check_messages(with_user, &expected, &losses);
}

#[test]
fn media_by_their_source() {
    use LossKind::{Lossy, Unsupported};
    let check = |part: Part, expected: Option<Value>, lost: Option<LossKind>| {
        let content = match expected {
            None => json!(""),
            Some(part) => json!([part]),
        };
        let losses: Vec<_> = lost.into_iter().map(|kind| (kind, "system")).collect();
        check_messages(
            vec![message(Role::User, vec![part])],
            &json!([{ "role": "user", "content": content }]),
            &losses,
        );
    };
    let data = |media_type: &str| Source::Data {
        media_type: media_type.to_owned(),
        base64: "AAAA".to_owned(),
    };
    check(
        media(MediaKind::Image, data("image/png")),
        Some(json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } })),
        None,
    );
    check(
        media(MediaKind::Document, data("application/pdf")),
        Some(json!({ "type": "file", "file": { "filename": "document.pdf",
            "file_data": "data:application/pdf;base64,AAAA" } })),
        None,
    );
    check(
        media(MediaKind::Audio, data("audio/x-wav")),
        Some(json!({ "type": "input_audio", "input_audio": { "data": "AAAA", "format": "wav" } })),
        None,
    );
    check(media(MediaKind::Audio, data("audio/flac")), None, Some(Unsupported));
    check(media(MediaKind::Document, Source::Url("u".to_owned())), None, Some(Unsupported));
    for kind in [MediaKind::Image, MediaKind::Document, MediaKind::Audio] {
        check(media(kind, Source::File("file-1".to_owned())), None, Some(Unsupported));
    }
    // A text is one, whatever it was.
    let (body, losses) = write(&request(
        vec![message(
            Role::User,
            vec![media(MediaKind::Document, Source::Text("inside".to_owned()))],
        )],
        Parameters::default(),
    ));
    assert!(body["messages"][0]["content"].to_string().contains("inside"));
    assert_eq!(losses, [(Lossy, "system".to_owned())]);
}

#[test]
fn reasoning_of_another_origin_is_never_sent() {
    let sealed =
        Reasoning { text: "secret".to_owned(), raw: Some(raw(r#"{"signature":"secret"}"#)) };
    let open = Reasoning { text: "secret".to_owned(), raw: None };
    let messages = vec![
        message(Role::Assistant, vec![Part::Reasoning(sealed), text("a")]),
        message(Role::Assistant, vec![Part::Reasoning(open)]),
    ];
    check_messages(
        messages,
        &json!([{ "role": "assistant", "content": "a" }]),
        &[(LossKind::Dropped, "system"), (LossKind::Dropped, "messages[1]")],
    );
}

#[test]
fn how_much_to_reason() {
    let check = |effort, expected: Option<&str>, is_lossy: bool| {
        let parameters = Parameters { effort: Some(effort), ..Parameters::default() };
        let (body, losses) =
            write(&request(vec![message(Role::User, vec![text("a")])], parameters));
        assert_eq!(body.get("reasoning_effort").and_then(Value::as_str), expected);
        let expected = is_lossy.then(|| (LossKind::Lossy, "reasoning_effort".to_owned()));
        assert_eq!(losses, expected.into_iter().collect::<Vec<_>>());
    };
    check(Effort::Off, Some("none"), false);
    check(Effort::Budget(0), Some("none"), false);
    check(Effort::Level("max".to_owned()), Some("max"), false);
    check(Effort::Adaptive, None, true);
    check(Effort::Budget(1), Some("low"), true);
    check(Effort::Budget(10_000), Some("medium"), true);
    check(Effort::Budget(u64::MAX), Some("high"), true);
}

#[test]
fn a_stream_ends_with_its_usage() {
    let mut request = request(vec![message(Role::User, vec![text("a")])], Parameters::default());
    request.stream = true;
    let places = Places { names: Names::RESPONSES, messages: Vec::new() };
    let members = [("x", "1.50".to_owned())];
    let body = String::from_utf8(chat::write(&request, &places, "gpt", &members).body).unwrap();
    assert_eq!(
        body,
        r#"{"model":"gpt","messages":[{"role":"user","content":"a"}],"stream":true,"stream_options":{"include_usage":true},"x":1.50}"#
    );
}

#[test]
fn a_call_that_is_asked_for_without_a_tool() {
    let body =
        r#"{"model":"m","input":"a","tools":[{"type":"web_search"}],"tool_choice":"required"}"#;
    let crossed = super::view::from_responses(body);
    let lost =
        |kind, path: &str| crossed.losses.iter().any(|loss| loss.kind == kind && loss.path == path);
    assert!(lost(LossKind::Dropped, "tools[0]") && lost(LossKind::Unsupported, "tool_choice"));
}
