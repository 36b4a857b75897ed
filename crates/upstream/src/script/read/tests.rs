//! Every kind of step, and what the reader says of a script that it cannot use.

use super::*;

fn check(toml: &str, expected: Result<&[Step], &str>) {
    match (Script::parse(toml), expected) {
        (Ok(script), Ok(steps)) => assert_eq!(script.replies[0].steps, steps),
        (Err(error), Err(message)) => assert_eq!(error.to_string(), message),
        (result, _) => panic!("{result:?}"),
    }
}

/// One reply of these steps, the first of them on line 4.
fn steps(steps: &str) -> String {
    format!("name = \"t\"\nabout = \"\"\n[[replies]]\nsteps = [{steps}]\n")
}

fn text(text: &str, chunk: usize, every_ms: u64) -> Step {
    let delivery = Delivery::Bytes(chunk);
    let every = Duration::from_millis(every_ms);
    Step::Text(Pieces { pieces: vec![text.into()], delivery, every })
}

#[test]
fn every_kind_of_step() {
    check(&steps(""), Ok(&[]));
    check(&steps("{ text = 'a' }"), Ok(&[text("a", CHUNK, 0)]));
    check(&steps("{ text = 'a', chunk = 2, every_ms = 3 }"), Ok(&[text("a", 2, 3)]));
    let paced = "chunk = 7\nevery_ms = 9\n".to_owned() + &steps("{ text = 'a', chunk = 2 }");
    check(&paced, Ok(&[text("a", 2, 9)]));
    check(
        &steps("{ pause_ms = 5 }, { raw = '' }, { finish = 'x' }, { cut = true }"),
        Ok(&[
            Step::Pause(Duration::from_millis(5)),
            Step::Raw(String::new()),
            Step::Finish("x".to_owned()),
            Step::Cut,
        ]),
    );
    check(&steps("{ end = true }"), Ok(&[Step::End]));
    check(&steps("{ hang = true }"), Ok(&[Step::Hang]));
    let status = |retry_after: Option<&str>, body: &str| Step::Status {
        status: 429,
        retry_after: retry_after.map(str::to_owned),
        body: body.to_owned(),
    };
    check(&steps("{ status = 429 }"), Ok(&[status(None, "")]));
    check(&steps("{ status = 429, retry_after = '2', body = 'b' }"), Ok(&[status(Some("2"), "b")]));
    let call = r#"{ call = { name = "f", arguments = ['{"a":"', { text = "x", times = 3 }, '"}'], chunk = 2 } }"#;
    let pieces = vec![r#"{"a":""#.into(), Piece { text: "x".into(), times: 3 }, r#""}"#.into()];
    let arguments = Pieces { pieces, delivery: Delivery::Bytes(2), every: Duration::ZERO };
    check(&steps(call), Ok(&[Step::Call { id: None, name: "f".to_owned(), arguments }]));
}

#[test]
fn complaints_name_the_line_and_what_to_do() {
    let line4 = |what: &str| format!("script, line 4: {what}");
    let at4 = |toml: &str, what: &str| check(&steps(toml), Err(&line4(what)));
    at4("{ text = 'a', cut = true }", "a step does one thing, not text and cut");
    at4(
        "{ chunk = 3 }",
        "a step does one of: text, chunks, repeat, reasoning, call, raw, pause_ms, finish, \
         cut, end, hang, status",
    );
    at4("{ cut = true }, { text = 'a' }", "`cut`, `end`, `hang` and `status` are last steps");
    at4("{ text = 'a' }, { status = 500 }", "only `pause_ms` can stand before `status`");
    at4("{ status = 200 }", "`status` is an error's, 300 to 599, not 200");
    at4("{ text = 'a', body = 'b' }", "`body` does not stand beside `text`");
    at4("{ chunks = ['a'], chunk = 1 }", "`chunk` does not stand beside `chunks`");
    at4("{ text = 'a', chunk = 0 }", "`chunk` is a number of bytes, at least 1");
    at4("{ cut = false }", "write `cut = true`, or leave the step out");
    at4("{ pause_ms = 99999999 }", "a pause is at most 3600000 ms, not 99999999");
    at4(
        "{ finish = 'a' }, { finish = 'b' }",
        "a reply has one `finish`; write a second one as `raw`",
    );
    at4(
        "{ repeat = { text = 'aaaa', times = 100000000 } }",
        "the reply has 400000000 bytes; at most 268435456 are allowed",
    );
    let lines = "\n{ text = 'a' },\n{ text = 'b', cut = true },\n";
    check(&steps(lines), Err("script, line 6: a step does one thing, not text and cut"));
    check(
        "name = 'a?b'\nabout = ''\nreplies = []",
        Err("script, line 1: `name` is a model name: at least one character, no blanks, no `?`"),
    );
    check(
        "name = 'a b'\nabout = ''\nreplies = []",
        Err("script, line 1: `name` is a model name: at least one character, no blanks, no `?`"),
    );
    check(
        "name = 'a'\nabout = ''\nreplies = []",
        Err("script, line 3: `replies` is empty; give at least one reply"),
    );
    check(
        "name = 'a'\nabout = ''\napi = 'massages'\n[[replies]]\nsteps = []",
        Err("script, line 3: unknown wire `massages`; known are: chat, responses, messages"),
    );
    check(
        "name = 'a'\nabout = ''\napi = 'messages'\n[[replies]]\nsteps = [{ text = 'a' }]",
        Err("script, line 3: a script of `messages` has one reply, of `raw` steps"),
    );
    let message = Script::parse(&steps("{ txet = 'a' }")).unwrap_err().to_string();
    assert!(message.starts_with("script, line 4: unknown field `txet`"), "{message}");
    let message = Script::parse("name = \n").unwrap_err().to_string();
    assert!(message.starts_with("script, line 1: "), "{message}");
}
