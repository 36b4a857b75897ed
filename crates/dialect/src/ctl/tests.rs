//! The machine of CTL against written-out events; every check also splits the input everywhere.

use proptest::prelude::*;

use crate::{
    Call, End, Language, Limits, Options, Recorded, RecordedEvent, Span, Tools, Violation,
};

const TOOLS: &str = r#"{"shell": {"properties": {"command": {"type": "string"},
    "timeout": {"type": "integer"}, "env": {"type": "object"}}}}"#;

fn tools(json: &str) -> Tools {
    Tools::from_schemas(serde_json::from_str(json).unwrap())
}

fn options(tools: Tools) -> Options {
    Options { tools, ..Options::default() }
}

fn read(language: Language, options: &Options, chunks: &[&[u8]], end: Option<End>) -> Recorded {
    let mut parser = language.parser(options.clone());
    let mut recorded = Recorded::default();
    for chunk in chunks {
        parser.push(chunk, &mut recorded);
        assert!(parser.pending() <= super::L_LINE + 8);
    }
    if let Some(end) = end {
        parser.finish(end, &mut recorded);
        assert_eq!(parser.pending(), 0);
    }
    recorded
}

/// Reads the input whole and in pieces, and holds the laws against it.
fn events(language: Language, options: &Options, input: &[u8], end: End) -> Recorded {
    let whole = read(language, options, &[input], Some(end));
    let mut at = 0;
    for event in &whole.events {
        let span = span(event);
        if !span.is_empty() {
            assert_eq!(span.start, at, "{event:?}");
            at = span.end;
        }
    }
    assert_eq!(at, input.len() as u64, "{whole:?}");
    let bytes: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(read(language, options, &bytes, Some(end)), whole, "one byte at a time");
    for at in (0..input.len()).step_by(1 + input.len() / 300) {
        let (head, tail) = input.split_at(at);
        assert_eq!(read(language, options, &[head, tail], Some(end)), whole, "split at {at}");
        let open = read(language, options, &[head], None);
        assert!(is_prefix(&open, &whole), "up to {at}: {open:#?}\n{whole:#?}");
    }
    whole
}

fn is_prefix(open: &Recorded, whole: &Recorded) -> bool {
    use RecordedEvent as R;
    let Some((last, settled)) = open.events.split_last() else { return true };
    if whole.events.len() <= settled.len() || settled != &whole.events[..settled.len()] {
        return false;
    }
    match (last, &whole.events[settled.len()]) {
        (R::Text { bytes: a, .. }, R::Text { bytes: b, .. })
        | (R::ArgDelta { bytes: a, .. }, R::ArgDelta { bytes: b, .. }) => b.starts_with(a),
        (R::Structure { span: a }, R::Structure { span: b }) => {
            a.start == b.start && a.end <= b.end
        }
        (a, b) => a == b,
    }
}

fn span(event: &RecordedEvent) -> Span {
    use RecordedEvent as R;
    match event {
        R::Text { span, .. }
        | R::Structure { span }
        | R::CallStart { span, .. }
        | R::ArgStart { span, .. }
        | R::ArgDelta { span, .. }
        | R::ArgEnd { span, .. }
        | R::CallReady { span, .. } => *span,
        R::Violation(violation) => violation.span,
        R::Repair { at, .. } | R::Note { at, .. } => Span::at(*at),
    }
}

/// One line an event.
fn told(recorded: &Recorded) -> Vec<String> {
    use RecordedEvent as R;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).escape_debug().to_string();
    recorded
        .events
        .iter()
        .map(|event| match event {
            R::Text { bytes, .. } => format!("text {}", text(bytes)),
            R::Structure { span } => format!("structure {}", span.len()),
            R::CallStart { call, id, name, span } => {
                format!("call {call} {} {name} {}", id.as_deref().unwrap(), span.len())
            }
            R::ArgStart { key, span, .. } => format!("arg {key} {}", span.len()),
            R::ArgDelta { bytes, .. } => format!("delta {}", text(bytes)),
            R::ArgEnd { value, span, .. } => format!("value {value} {}", span.len()),
            R::CallReady { call, span } => format!("ready {} {}", call.arguments, span.len()),
            R::Violation(v) => format!("{} {}+{}", v.kind.name(), v.offset, v.span.len()),
            R::Repair { at, kind } => format!("{} {at}", kind.name()),
            R::Note { at, kind } => format!("{} {at}", kind.name()),
        })
        .collect()
}

fn check_all(language: Language, tools: Tools, input: &str, end: End, expected: &[&str]) {
    let recorded = events(language, &options(tools), input.as_bytes(), end);
    assert_eq!(told(&recorded), expected, "{input:?}");
}

/// Both languages, no tools known, `Stop`.
fn check(input: &str, expected: &[&str]) {
    for language in [Language::Ctl, Language::CtlHeredoc] {
        check_all(language, Tools::default(), input, End::Stop, expected);
    }
}

fn check_ctl(input: &str, expected: &[&str]) {
    check_all(Language::Ctl, Tools::default(), input, End::Stop, expected);
}

fn violation(language: Language, input: &[u8], end: End) -> Violation {
    let recorded = events(language, &Options::default(), input, end);
    let violation = recorded.violations().next().cloned();
    violation.unwrap_or_else(|| panic!("no violation in {recorded:?}"))
}

fn calls(language: Language, tools: &str, input: &str) -> Vec<Call> {
    let tools = tools_of(tools);
    events(language, &options(tools), input.as_bytes(), End::Stop).calls().cloned().collect()
}

fn tools_of(json: &str) -> Tools {
    if json.is_empty() { Tools::default() } else { tools(json) }
}

#[test]
fn a_call_is_confirmed_line_by_line() {
    check(
        "Hi.\ncall c1 shell\narg command ls -l\narg empty\narg blank \nend\n",
        &[
            "text Hi.\\n",
            "call 0 c1 shell 14",
            "arg command 12",
            "delta ls -l",
            "value \"ls -l\" 1",
            "arg empty 9",
            "value \"\" 1",
            "arg blank 10",
            "value \"\" 1",
            "ready {\"command\":\"ls -l\",\"empty\":\"\",\"blank\":\"\"} 4",
        ],
    );
    check("call c1 now\nend\n", &["call 0 c1 now 12", "ready {} 4"]);
}

#[test]
fn a_delimited_value_keeps_everything_up_to_its_tag() {
    check(
        "call a b\narg t <<EOF\n call x y\nend\n```\r\nEOF \n\nEOF\nend\n",
        &[
            "call 0 a b 9",
            "arg t 12",
            "delta  call x y\\nend\\n```\\r\\nEOF \\n\\n",
            "value \" call x y\\nend\\n```\\r\\nEOF \\n\\n\" 4",
            "ready {\"t\":\" call x y\\nend\\n```\\r\\nEOF \\n\\n\"} 4",
        ],
    );
    for tag in ["<<\"E_1\"", "<<'E_1'", "<<E_1"] {
        let call = &calls(Language::Ctl, "", &format!("call a b\narg t {tag}\nE_1\nend\n"))[0];
        assert_eq!(call.arguments, r#"{"t":""}"#);
    }
}

#[test]
fn a_length_takes_exactly_its_bytes() {
    check_ctl(
        "call a b\narg t 7\na\nend\n\u{e9}\narg u 2\nx\nend\n",
        &[
            "call 0 a b 9",
            "arg t 8",
            "delta a\\nend\\n",
            "bad_arg 24+1",
            "text \u{fffd}\\narg u 2\\nx\\nend\\n",
        ],
    );
    check_ctl(
        "call a b\narg t 8\na\nend\n\u{e9}\r\narg u 2\nx\nend\n",
        &[
            "call 0 a b 9",
            "arg t 8",
            "delta a\\nend\\n\u{e9}",
            "value \"a\\nend\\n\u{e9}\" 0",
            "structure 2",
            "arg u 8",
            "delta x\\n",
            "value \"x\\n\" 0",
            "ready {\"t\":\"a\\nend\\n\u{e9}\",\"u\":\"x\\n\"} 4",
        ],
    );
    check_ctl(
        "call a b\narg t 0\n\nend\n",
        &["call 0 a b 9", "arg t 8", "value \"\" 0", "structure 1", "ready {\"t\":\"\"} 4"],
    );
}

#[test]
fn digits_are_a_value_where_there_is_no_length() {
    let input = "call a shell\narg timeout 30\nend\n";
    assert_eq!(calls(Language::CtlHeredoc, TOOLS, input)[0].arguments, r#"{"timeout":30}"#);
    assert_eq!(calls(Language::CtlHeredoc, "", input)[0].arguments, r#"{"timeout":"30"}"#);
    let eof = violation(Language::Ctl, input.as_bytes(), End::Stop);
    assert_eq!((eof.kind.name(), eof.declared, eof.actual), ("body_eof", Some(30), Some(4)));
    assert!(eof.detail.starts_with("declared 30 bytes but only 4 arrived"), "{eof}");
    assert!(eof.detail.contains("`arg timeout 2\\n30\\n`"), "{eof}");
    let input = "call a shell\narg timeout 2\n30\nend\n";
    assert_eq!(calls(Language::Ctl, TOOLS, input)[0].arguments, r#"{"timeout":30}"#);
}

#[test]
fn values_are_typed_by_the_schema() {
    let input = "call a shell\narg timeout <<T\n 9223372036854775808\nT\narg env {\"a\": 1}\n\
                 arg command {\"a\": 1}\narg other 1\nend\n";
    assert_eq!(
        calls(Language::CtlHeredoc, TOOLS, input)[0].arguments,
        r#"{"timeout":9223372036854775808,"env":{"a": 1},"command":"{\"a\": 1}","other":"1"}"#
    );
}

#[test]
fn prose_with_call_is_text() {
    for text in [
        "call",
        "call \n",
        "call me back at nine\n",
        "Call c1 shell\nend\n",
        " call c1 shell\nend\n",
        "call\tc1\tshell\nend\n",
        "callback c1\n",
        "call c1 shell",
        "end\narg x 1\nresult c1 exit=0 2\n",
        "\n\ncall",
    ] {
        check(text, &[&format!("text {}", text.escape_debug())]);
    }
    let long = format!("call {}\ncall a b\nend\n", "x".repeat(5000));
    let expected = format!("text call {}\\n", "x".repeat(5000));
    check(&long, &[&expected, "call 0 a b 9", "ready {} 4"]);
}

#[test]
fn an_undeclared_name_needs_a_frame_behind_it() {
    let check = |input: &str, expected: &[&str]| {
        check_all(Language::CtlHeredoc, tools(TOOLS), input, End::Stop, expected);
    };
    check("call the police\n", &["text call the police\\n"]);
    check("call the police\nare here\n", &["text call the police\\nare here\\n"]);
    check("call the police\narguably\n", &["text call the police\\narguably\\n"]);
    check("call the police\nendless\n", &["text call the police\\nendless\\n"]);
    check(
        "call the police\r\ncall a shell\nend",
        &["text call the police\\r\\n", "call 0 a shell 13", "ready {} 3"],
    );
    check("call the police\nend\r\n", &["call 0 the police 16", "ready {} 5"]);
    check("call the police\nend", &["call 0 the police 16", "ready {} 3"]);
    check(
        "call the police\narg to 1\nend\n",
        &["call 0 the police 16", "arg to 7", "delta 1", "value \"1\" 1", "ready {\"to\":\"1\"} 4"],
    );
    check_all(
        Language::CtlHeredoc,
        tools(TOOLS),
        "call the police\nend",
        End::Length,
        &["text call the police\\nend"],
    );
}

#[test]
fn fences_hold_text() {
    check(
        "```\ncall a b\nend\n```\ncall c d\nend\n",
        &[
            "text ```\\ncall a b\\n",
            "call_in_code 4",
            "text end\\n```\\n",
            "call 0 c d 9",
            "ready {} 4",
        ],
    );
    check("~~~ x\ncall a b", &["text ~~~ x\\ncall a b"]);
    check("```\ncall a\n", &["text ```\\ncall a\\n"]);
}

#[test]
fn blanks_and_one_fence_line_behind_a_frame_are_structure() {
    check(
        "call a b\nend\n \r\n```\n\ncall c d\nend\n",
        &["call 0 a b 9", "ready {} 4", "structure 8", "call 1 c d 9", "ready {} 4"],
    );
    check("call a b\nend\n~~~~", &["call 0 a b 9", "ready {} 4", "structure 4"]);
    check("call a b\nend\n~~", &["call 0 a b 9", "ready {} 4", "text ~~"]);
    check(
        "call a b\nend\n```sh\ncall c d\n",
        &["call 0 a b 9", "ready {} 4", "text ```sh\\ncall c d\\n", "call_in_code 19"],
    );
    check(
        "call a b\nend\n```\n```\ncall c d\nend\n",
        &[
            "call 0 a b 9",
            "ready {} 4",
            "structure 4",
            "text ```\\ncall c d\\n",
            "call_in_code 21",
            "text end\\n",
        ],
    );
    check("call a b\nend\nDone.\n\n", &["call 0 a b 9", "ready {} 4", "text Done.\\n\\n"]);
    check("call a b\nend\n  Done.\n", &["call 0 a b 9", "ready {} 4", "text   Done.\\n"]);
    let blanks = " ".repeat(5000);
    let text = format!("text {blanks}\\n");
    check(&format!("call a b\nend\n{blanks}\n"), &["call 0 a b 9", "ready {} 4", &text]);
}

#[test]
fn a_bad_call_line_is_text_and_a_violation() {
    for line in
        ["call c1", "call c1 shell ", "call  c1 shell", "call c1 sh/ell", "call c,1 x", "call a\tb"]
    {
        let text = format!("text {line}\\n").replace('\t', "\\t");
        let violation = format!("bad_call {}+0", line.len());
        let input = format!("{line}\ncall a b\nend\n");
        check(&input, &[&text, &violation, "text call a b\\nend\\n"]);
    }
    let id = format!("call {} x\n", "i".repeat(65));
    assert_eq!(violation(Language::Ctl, id.as_bytes(), End::Stop).kind.name(), "bad_call");
    let name = format!("call i {}\n", "x".repeat(129));
    let limit = violation(Language::Ctl, name.as_bytes(), End::Stop);
    assert_eq!((limit.kind.name(), limit.declared, limit.actual), ("limit", Some(128), Some(129)));
    let encoding = violation(Language::Ctl, b"call a b\xff\n", End::Stop);
    assert_eq!((encoding.kind.name(), encoding.offset, encoding.call), ("encoding", 8, None));
}

#[test]
fn damage_inside_a_frame() {
    let check = |lines: &str, kind: &str, offset: u64, bytes: u64| {
        let input = format!("call a b\n{lines}\nend\n");
        let found = violation(Language::Ctl, input.as_bytes(), End::Stop);
        assert_eq!((found.kind.name(), found.offset), (kind, offset), "{input:?}: {found}");
        assert_eq!((found.call, found.span.len()), (Some(0), bytes), "{input:?}: {found:?}");
        assert_eq!(found.raw, Span::new(0, found.span.end));
        assert_eq!(found.name.as_deref(), Some("b"));
    };
    check("noise", "unexpected_line", 14, 6);
    check("", "unexpected_line", 9, 1);
    check("argument x", "unexpected_line", 19, 11);
    check(" end", "unexpected_line", 13, 5);
    check("call c d", "unexpected_line", 17, 9);
    check("arg t 1\nxyz", "unexpected_line", 20, 3);
    check("arg", "bad_arg", 12, 4);
    check("arg  x", "bad_arg", 15, 7);
    check("arg a:b x", "bad_arg", 18, 10);
    check("arg a <<", "bad_arg", 17, 9);
    check("arg a <<E E", "bad_arg", 20, 12);
    check("arg a <<\"E", "bad_arg", 19, 11);
    check("arg a x\narg a y", "bad_arg", 24, 8);
    check("arg a 8388609", "limit", 22, 14);
    check("arg a 99999999999999999999999", "limit", 38, 30);
    check(&format!("arg {} x", "k".repeat(257)), "limit", 272, 264);
    check(&format!("arg a {}", "x".repeat(4091)), "line_too_long", 9 + 4096, 4096);
    check(&format!("arg a <<T\n{}\nT", "x".repeat(4097)), "line_too_long", 19 + 4096, 4096);
    let fits =
        format!("call a b\narg a {}\narg b <<T\n{}\nT\nend\n", "x".repeat(4090), "y".repeat(4096));
    assert_eq!(calls(Language::Ctl, "", &fits).len(), 1);
}

#[test]
fn a_too_small_length_says_so() {
    let found = violation(Language::Ctl, b"call a b\narg t 3\nabcd\nend\n", End::Stop);
    assert_eq!((found.kind.name(), found.declared), ("unexpected_line", Some(3)));
    assert!(found.detail.starts_with("declared 3 bytes for the argument `t`"), "{found}");
}

#[test]
fn values_must_be_utf8() {
    let check = |input: &[u8], language: Language, offset: u64, bytes: u64| {
        let found = violation(language, input, End::Stop);
        assert_eq!((found.kind.name(), found.offset), ("encoding", offset), "{found}");
        assert_eq!(found.span.len(), bytes);
    };
    check(b"call a b\narg t x\xffy\nend\n", Language::CtlHeredoc, 16, 10);
    check(b"call a b\narg t <<T\nok\nx\xff\nT\nend\n", Language::CtlHeredoc, 23, 3);
    check(b"call a b\narg t 6\na\xe2\x82xyz\nend\n", Language::Ctl, 18, 2);
    check(b"call a b\narg t 6\na\xffxyzz\nend\n", Language::Ctl, 18, 1);
}

#[test]
fn the_end_of_the_stream() {
    let check = |input: &str, end: End, expected: &str| {
        let recorded = events(Language::Ctl, &Options::default(), input.as_bytes(), end);
        let said = told(&recorded);
        assert_eq!(said.last().map(String::as_str), Some(expected), "{input:?}");
        for violation in recorded.violations().filter(|v| v.kind.name().ends_with("_eof")) {
            assert_eq!(violation.cut, Some(end));
        }
    };
    check("call a b\nend", End::Stop, "ready {} 3");
    check("call a b\nend", End::Length, "frame_eof 12+3");
    check("call a b\nend", End::Broken, "frame_eof 12+3");
    check("call a b\nend\r", End::Stop, "frame_eof 13+4");
    check("call a b\narg t x", End::Stop, "frame_eof 16+7");
    check("call a b\nnoise", End::Stop, "unexpected_line 14+5");
    check("call a b\n", End::Stop, "frame_eof 9+0");
    check("call a b\narg t <<T\nx\nT", End::Stop, "frame_eof 22+0");
    check("call a b\narg t <<T\nx\nT", End::Length, "heredoc_eof 22+1");
    check("call a b\narg t <<T\nx\nend\n", End::Stop, "heredoc_eof 25+0");
    check("call a b\narg t 5\nabc", End::Stop, "body_eof 20+0");
    check("call a b\narg t 3\nabc\r", End::Stop, "frame_eof 21+1");
    check("call a b\narg t 3\nabcend", End::Stop, "ready {\"t\":\"abc\"} 3");
    check("call a b\nend\n  ", End::Length, "text   ");
}

#[test]
fn limits_are_violations() {
    let limits = Limits { argument_bytes: 8, call_bytes: 40, calls: 2, ..Limits::DEFAULT };
    let options = Options { limits, ..Options::default() };
    let check = |input: &str, expected: &str| {
        let recorded = events(Language::Ctl, &options, input.as_bytes(), End::Stop);
        let found = recorded.violations().next().unwrap();
        assert_eq!(found.kind.name(), "limit");
        assert_eq!(format!("{}+{}", found.offset, found.span.len()), expected, "{found}");
    };
    check("call a b\narg t 123456789\nend\n", "24+16");
    check("call a b\narg t <<T\n1234\n12345\nT\nend\n", "29+6");
    check("call a b\narg t 9\n123456789\nend\n", "16+8");
    check("call a b\narg t ab\narg u abc\narg v abc\nend\n", "40+2");
    check("call a b\nend\ncall a b\nend\ncall a b\nend\n", "34+0");
    let fits = "call a b\narg t ab\narg u abc\narg v ab\nend\n";
    assert_eq!(events(Language::Ctl, &options, fits.as_bytes(), End::Stop).calls().count(), 0);
    let fits = "call a b\narg t ab\narg u abc\narg v \nend\n";
    assert_eq!(fits.len(), 39);
    assert_eq!(events(Language::Ctl, &options, fits.as_bytes(), End::Stop).calls().count(), 1);
}

#[test]
fn call_syntax_is_seen_outside_fences() {
    let check = |input: &str, tools: &str, saw: bool| {
        let mut parser = Language::Ctl.parser(options(tools_of(tools)));
        parser.push(input.as_bytes(), &mut Recorded::default());
        assert_eq!(parser.saw_call_syntax(), saw, "{input:?}");
    };
    check("call a b\n", "", true);
    check("call a\n", "", true);
    check("```\ncall a b\n", "", false);
    check("call the police\nnow\n", TOOLS, false);
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "call a shell\n",
            "call b other\r\n",
            "call c\n",
            "call ",
            "arg command x y\n",
            "arg command\n",
            "arg timeout 3\n",
            "arg timeout 12\r\n",
            "arg env <<EOF\n",
            "arg t <<'X'\r\n",
            "arg ",
            "EOF\n",
            "X\r\n",
            "end\n",
            "end\r\n",
            "end",
            "\n",
            "\r\n",
            "\r",
            " ",
            "```\n",
            "```rs\n",
            "~~~\n",
            "```",
            "prose\n",
            "c",
            "ca",
            "a",
            "\u{e9}",
            "\u{1F600}",
            "x\n",
            "30",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        prop::sample::select(vec![0xff_u8, 0xe2, 0x82]).prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_laws_hold_for_any_stream(
        input in stream(),
        frame in any::<bool>(),
        known in any::<bool>(),
        small in any::<bool>(),
        language in prop::sample::select(vec![Language::Ctl, Language::CtlHeredoc]),
        end in prop::sample::select(vec![End::Stop, End::Length, End::Broken]),
    ) {
        let input = if frame { [b"call a shell\n", &*input].concat() } else { input };
        let tools = if known { tools(TOOLS) } else { Tools::default() };
        let mut options = options(tools);
        if small {
            options.limits = Limits { argument_bytes: 9, call_bytes: 60, calls: 2, ..Limits::DEFAULT };
        }
        events(language, &options, &input, end);
    }
}
