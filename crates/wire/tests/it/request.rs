//! A client's request as the canonical one, and the member that every refusal names.

use callgate_wire::{
    Code, Part, Request, Role, ToolChoice,
    chat::{Incoming, request::decode},
};

const HI: &str = r#""messages":[{"role":"user","content":"hi"}]"#;
const TOOLS: &str = r#""tools":[{"type":"function","function":{"name":"f","description":"d",
    "parameters":{"type":"object","x":1.50},"strict":true}},{"type":"function","function":{"name":"g"}}]"#;

fn incoming(members: &str) -> Incoming {
    let body = format!(r#"{{"model":"m",{members}}}"#);
    decode(body.as_bytes()).unwrap_or_else(|fault| panic!("{body}: {fault}"))
}

fn read(members: &str) -> Request {
    incoming(members).request
}

fn messages(list: &str) -> Request {
    read(&format!(r#""messages":[{list}]"#))
}

fn show(parts: &[Part]) -> Vec<String> {
    parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => format!("text {text}"),
            Part::Reasoning(part) => format!("reasoning {}", part.text),
            Part::Call { id, name, arguments } => format!("call {id} {name} {arguments}"),
            Part::Result { call_id, .. } => format!("result {call_id}"),
            Part::Media(media) => format!("{:?} {:?}", media.kind, media.source),
            Part::Refusal(text) => format!("refusal {text}"),
            Part::Opaque(raw) => format!("opaque {raw}"),
        })
        .collect()
}

fn check_parts(message: &str, role: Role, expected: &[&str]) {
    let request = messages(message);
    assert_eq!(request.messages[0].role, role);
    assert_eq!(request.messages[0].raw.get(), message);
    assert_eq!(show(&request.messages[0].parts), expected, "{message}");
}

fn check_refused(body: &str, code: Code, param: Option<&str>, says: &str) {
    let fault = decode(body.as_bytes()).expect_err(body);
    assert_eq!((fault.code, fault.param.as_deref()), (code, param), "{body}: {}", fault.message);
    assert!(fault.message.contains(says), "{body}: {}", fault.message);
    assert_eq!(fault.status(), 400);
}

#[test]
fn defaults() {
    let request = read(HI);
    assert_eq!(request.model, "m");
    assert_eq!(request.tool_choice, ToolChoice::Auto);
    assert_eq!(
        (request.parallel_calls, request.stream, request.include_usage),
        (true, false, false)
    );
    assert_eq!((request.choices, request.tools.len()), (1, 0));
    let nulls = r#""stream":null,"stream_options":null,"n":null,"tools":null,"tool_choice":null,
        "parallel_tool_calls":null,"functions":null,"function_call":null"#;
    assert_eq!(read(&format!("{HI},{nulls}")).choices, 1);
}

#[test]
fn parameters() {
    let request = read(&format!(
        r#"{HI},{TOOLS},"stream":true,"stream_options":{{"include_usage":true,"x":1}},"n":3,
        "parallel_tool_calls":false,"temperature":1e400,"unknown":{{"a":[1]}}"#
    ));
    assert_eq!(
        (request.parallel_calls, request.stream, request.include_usage),
        (false, true, true)
    );
    assert_eq!(request.choices, 3);
    let [f, g] = &request.tools[..] else { panic!("{:?}", request.tools) };
    assert_eq!((f.name.as_str(), f.description.as_deref()), ("f", Some("d")));
    assert_eq!(f.parameters.as_ref().unwrap().get(), r#"{"type":"object","x":1.50}"#);
    assert!(g.parameters.is_none() && g.description.is_none());
}

#[test]
fn tool_choices() {
    let choice = |json: &str| read(&format!(r#"{HI},{TOOLS},"tool_choice":{json}"#)).tool_choice;
    assert_eq!(choice(r#""auto""#), ToolChoice::Auto);
    assert_eq!(choice(r#""none""#), ToolChoice::None);
    assert_eq!(choice(r#""required""#), ToolChoice::Required);
    assert_eq!(
        choice(r#"{"type":"function","function":{"name":"g"}}"#),
        ToolChoice::Named("g".to_owned())
    );
    assert_eq!(
        choice(
            r#"{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[
            {"type":"function","function":{"name":"g"}},{"type":"function","function":{"name":"f"}}]}}"#
        ),
        ToolChoice::Allowed { names: vec!["g".to_owned(), "f".to_owned()], required: true }
    );
    assert_eq!(read(&format!(r#"{HI},"tool_choice":"none""#)).tool_choice, ToolChoice::None);
}

#[test]
fn roles_and_contents() {
    check_parts(
        r#"{"role":"developer","content":"a\ud83d\n"}"#,
        Role::System,
        &["text a\u{fffd}\n"],
    );
    check_parts(
        r#"{"role":"user","name":"n","content":[{"type":"text","text":"a","cache_control":{}},
            {"type":"image_url","image_url":{"url":"u"}},"b"]}"#,
        Role::User,
        &["text a", r#"Image Url("u")"#, "text b"],
    );
    check_parts(
        r#"{"role":"assistant","content":null,"reasoning_content":"r","refusal":"no","tool_calls":[
            {"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":"}},
            {"id":"2","function":{"name":"","arguments":{"b": 1.0}}},
            {"id":"3","type":"function","function":{"name":"invalid","arguments":null}}]}"#,
        Role::Assistant,
        &[
            "reasoning r",
            "refusal no",
            r#"call 1 f {"a":"#,
            r#"call 2  {"b": 1.0}"#,
            "call 3 invalid ",
        ],
    );
    check_parts(
        r#"{"role":"assistant","content":"t","reasoning_content":null,"reasoning":"r","tool_calls":null}"#,
        Role::Assistant,
        &["reasoning r", "text t"],
    );
    check_parts(
        r#"{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"t"}]}"#,
        Role::Tool,
        &["result 1", "text t"],
    );
    check_parts(r#"{"role":"tool","tool_call_id":"1"}"#, Role::Tool, &["result 1"]);
    let request = messages(
        r#"{"role":"user","content":"a"},{"role":"system","content":"b"},{"role":"assistant"}"#,
    );
    assert_eq!(request.messages.len(), 3);
}

#[test]
fn refused_bodies() {
    let check = |body, says| check_refused(body, Code::RequestInvalid, None, says);
    check("", "not JSON");
    check("{", "not JSON");
    check(r#"{"model":"m"} x"#, "not JSON");
    check("[1]", "an array");
    check("7", "a number");
    assert!(decode(b"{\"a\":\"\xff\"}").unwrap_err().message.contains("UTF-8"));
}

#[test]
fn refused_members() {
    let check = |members: &str, param, says| {
        check_refused(&format!("{{{members}}}"), Code::RequestInvalid, Some(param), says);
    };
    check(HI, "model", "missing");
    check(&format!(r#""model":7,{HI}"#), "model", "a number");
    check(&format!(r#""model":"",{HI}"#), "model", "empty");
    check(r#""model":"m""#, "messages", "missing");
    check(r#""model":"m","messages":{}"#, "messages", "an object");
    check(r#""model":"m","messages":[]"#, "messages", "at least one");
    let check = |members: &str, param, says| {
        let body = format!(r#"{{"model":"m",{HI},{members}}}"#);
        check_refused(&body, Code::RequestInvalid, Some(param), says);
    };
    check(r#""stream":"yes""#, "stream", "a string");
    check(r#""stream_options":{"include_usage":1}"#, "stream_options.include_usage", "a number");
    check(r#""stream_options":true"#, "stream_options", "a boolean");
    for n in ["0", "-1", "1.5", "\"1\""] {
        check(&format!(r#""n":{n}"#), "n", "at least 1");
    }
    check(r#""tools":{}"#, "tools", "an object");
    check(r#""tools":[{"type":"function"}]"#, "tools[0].function", "missing");
    check(r#""tools":[{}]"#, "tools[0].type", "missing");
    check(r#""tools":[{"function":{"name":""}}]"#, "tools[0].function.name", "empty");
    check(
        r#""tools":[{"function":{"name":"f","parameters":"s"}}]"#,
        "tools[0].function.parameters",
        "a string",
    );
    check(r#""tool_choice":"any""#, "tool_choice", "`any`");
    check(r#""tool_choice":7"#, "tool_choice", "a number");
    check(r#""tool_choice":"required""#, "tool_choice", "declares no tool");
    check(r#""tool_choice":{"type":"x"}"#, "tool_choice.type", "`x`");
    check(
        r#""tool_choice":{"type":"function","function":{"name":"h"}}"#,
        "tool_choice.function.name",
        "does not declare",
    );
    check(
        &format!(
            r#"{TOOLS},"tool_choice":{{"type":"allowed_tools","allowed_tools":{{"mode":"auto",
            "tools":[{{"type":"function","function":{{"name":"f"}}}},{{"type":"function","function":
            {{"name":"h"}}}}]}}}}"#
        ),
        "tool_choice.allowed_tools.tools[1].function.name",
        "`h`",
    );
    check(
        r#""tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"x","tools":[]}}"#,
        "tool_choice.allowed_tools.mode",
        "`x`",
    );
}

#[test]
fn refused_messages() {
    let check = |message: &str, param: &str, says| {
        let body =
            format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}},{message}]}}"#);
        let param = format!("messages[1]{param}");
        check_refused(&body, Code::RequestInvalid, Some(&param), says);
    };
    check("7", "", "a number");
    check("{}", ".role", "missing");
    check(r#"{"role":"x"}"#, ".role", "`x`");
    check(r#"{"role":"user"}"#, ".content", "missing");
    check(r#"{"role":"user","content":7}"#, ".content", "a number");
    check(r#"{"role":"user","content":[7]}"#, ".content[0]", "a number");
    check(r#"{"role":"user","content":[{"text":"a"}]}"#, ".content[0].type", "missing");
    check(r#"{"role":"user","content":[{"type":"text"}]}"#, ".content[0].text", "missing");
    check(r#"{"role":"tool","content":"a"}"#, ".tool_call_id", "missing");
    check(r#"{"role":"assistant","tool_calls":{}}"#, ".tool_calls", "an object");
    for (call, param, says) in [
        (r#"{"function":{"name":"f"}}"#, ".id", "missing"),
        (r#"{"id":7,"function":{"name":"f"}}"#, ".id", "a number"),
        (r#"{"id":"1","type":"function"}"#, ".function", "missing"),
        (r#"{"id":"1","type":"function","function":{}}"#, ".function.name", "missing"),
    ] {
        let message = format!(r#"{{"role":"assistant","tool_calls":[{call}]}}"#);
        check(&message, &format!(".tool_calls[0]{param}"), says);
    }
}

#[test]
fn unsupported() {
    let check = |members: &str, param| {
        let body = format!(r#"{{"model":"m",{HI},{members}}}"#);
        check_refused(&body, Code::UnsupportedFeature, Some(param), "");
    };
    check(r#""functions":[]"#, "functions");
    check(r#""function_call":"auto""#, "function_call");
    check(r#""tools":[{"type":"novel","novel":{"name":"c"}}]"#, "tools[0].type");
    let check = |message: &str, param| {
        let body = format!(r#"{{"model":"m","messages":[{message}]}}"#);
        check_refused(&body, Code::UnsupportedFeature, Some(param), "");
    };
    check(r#"{"role":"function","name":"f","content":"a"}"#, "messages[0].role");
    check(r#"{"role":"assistant","function_call":{"name":"f"}}"#, "messages[0].function_call");
    check(
        r#"{"role":"assistant","tool_calls":[{"id":"1","type":"novel","novel":{}}]}"#,
        "messages[0].tool_calls[0].type",
    );
}
