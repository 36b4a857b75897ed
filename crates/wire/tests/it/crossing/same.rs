//! On the same API nothing changes but what is named: a member of any name and value stays, byte for
//! byte.

use callgate_wire::{
    chat::{self, Rewrite},
    responses,
};
use proptest::prelude::*;

fn value() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "1.50",
        "1e400",
        "[ ]",
        "{\"a\" :1,\"a\":2}",
        "\"\\ud83d\"",
        "null",
        "false",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn unknown_members_stay(name in "[a-zé ]{1,8}", value in value(), blank in "[ \n]{0,2}") {
        prop_assume!(!["model", "messages", "input", "stream", "n", "user", "text", "tools"].contains(&name.as_str()));
        let change = Rewrite { model: Some("other".to_owned()), ..Rewrite::default() };
        let member = format!(r#"{blank}"{name}"{blank}:{blank}{value}"#);
        let chat = |model: &str| {
            format!(r#"{{"model":"{model}",{member},"messages":[{{"role":"user",{member},"content":[{{"type":"novel",{member}}}]}}]}}"#)
        };
        let body = chat("m");
        chat::request::decode(body.as_bytes()).unwrap();
        prop_assert_eq!(String::from_utf8(chat::rewrite(&body, &change).unwrap()).unwrap(), chat("other"));

        let responses = |model: &str| {
            format!(r#"{{"model":"{model}",{member},"input":[{{"role":"user",{member},"content":[{{"type":"novel",{member}}}]}}]}}"#)
        };
        let body = responses("m");
        let tools = responses::request::decode(body.as_bytes()).unwrap().shape.tools;
        let found = responses::rewrite(&body, &change, &tools).unwrap();
        prop_assert_eq!(String::from_utf8(found).unwrap(), responses("other"));
    }
}
