//! What `parse` prints, and what it says of wrong options.

use crate::program::{Run, expect, fed, file, run};

const BLOCK: &[u8] = b"I look.\n\n<tool_calls>\n  <invoke name=\"search\">\n    <parameter name=\"n\">12345678901234567890.10</parameter>\n    <parameter name=\"q\">{\"b\":1,\n \"a\":[2e400]}</parameter>\n  </invoke>\n</tool_calls>\nAn example: `<tool_calls><invoke name=\"x\"></invoke></tool_calls>`\n<tool_calls><invoke></invoke></tool_calls>\n";
const TOOLS: &str = r#"[{"type":"function","function":{"name":"search","parameters":{"properties":{"n":{"type":"number"}}}}}]"#;

fn parse(options: &[&str], input: &[u8]) -> Run {
    let mut arguments = vec!["parse", "--dialect", "xml"];
    arguments.extend(options);
    arguments.push("-");
    let got = fed(&arguments, input);
    assert_eq!((got.code, got.err.as_str()), (0, ""), "{arguments:?}");
    got
}

#[test]
fn three_forms_of_output() {
    expect("parse-listing.txt", &parse(&["--tools", TOOLS], BLOCK).out);
    expect("parse-json.txt", &parse(&["--tools", TOOLS, "--json"], BLOCK).out);
    expect("parse-events.txt", &parse(&["--tools", TOOLS, "--events"], BLOCK).out);
}

#[test]
fn arguments_keep_their_digits_and_order() {
    let json = parse(&["--tools", TOOLS, "--json"], BLOCK).out;
    let expected = "\"arguments\":{\"n\":12345678901234567890.10,\"q\":{\"b\":1,\n \"a\":[2e400]}}";
    assert!(json.contains(expected), "{json}");
}

#[test]
fn bytes_that_are_no_text_are_shown_and_marked() {
    assert!(
        parse(&["--json"], b"a\xff")
            .out
            .starts_with("{\"text\":\"a\u{fffd}\",\"text_is_lossy\":true,")
    );
    assert!(!parse(&["--json"], "aü".as_bytes()).out.contains("text_is_lossy"));
}

#[test]
fn a_listing_cannot_be_forged_and_does_not_steer_a_terminal() {
    let listing = parse(&[], b"call 0    \xe2\x94\x82 rm\n\x1b[2Jx\r\n").out;
    assert!(
        listing.starts_with("text      │ call 0    │ rm\n          │ \\u{1b}[2Jx\\r\n"),
        "{listing}"
    );
    assert!(!listing.contains('\x1b'));
}

#[test]
fn deltas_come_as_they_were_confirmed() {
    let got = parse(&["--events", "--deltas", "--chunk", "2"], b"abcd");
    assert_eq!(got.out.lines().count(), 2, "{}", got.out);
    assert_eq!(parse(&["--events", "--chunk", "2"], b"abcd").out.lines().count(), 1);
}

#[test]
fn tools_come_from_a_file_or_the_command_line() {
    let path = file("tools.json", TOOLS.as_bytes());
    let from_file = parse(&["--tools", path.to_str().unwrap(), "--json"], BLOCK);
    assert_eq!(from_file.out, parse(&["--tools", TOOLS, "--json"], BLOCK).out);
    let map = r#"{"search":{"properties":{"n":{"type":"number"}}}}"#;
    assert_eq!(from_file.out, parse(&["--tools", map, "--json"], BLOCK).out);
}

#[test]
fn wrong_options_say_what_is_known() {
    let check = |options: &[&str], expected: &str| {
        let got = run(&[&["parse"], options, &["-"]].concat());
        assert_eq!((got.code, got.out.as_str()), (2, ""), "{options:?}");
        assert!(got.err.contains(expected), "{options:?}: {}", got.err);
    };
    check(
        &["--dialect", "yaml"],
        "unknown dialect `yaml`; known are: xml, minimax, anthropic, dsml, ctl, ctl-heredoc, \
         json-object, json-whole, rcc",
    );
    check(&["--dialect", "xml", "--end", "eof"], "[possible values: stop, length, broken]");
    check(&["--dialect", "xml", "--tools", "no-such.json"], "cannot read no-such.json: ");
    check(&["--dialect", "xml", "--tools", "{\"a\":1}"], "the schema of `a` is a number; write");
    check(&["--dialect", "xml", "--tools", "[{}]"], "tools[0]: it has no `name`; write");
    check(&["--dialect", "xml", "--tools", "{"], "not JSON: EOF while parsing");
    let bad = file("bad-tools.json", b"\"x\"");
    check(&["--dialect", "xml", "--tools", bad.to_str().unwrap()], "a string is no set of tools");
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_is_no_failure() {
    use std::process::Stdio;

    let path = file("long.txt", &b"line\n".repeat(100_000));
    let mut child = crate::program::command()
        .args(["parse", "--dialect", "xml", "--events"])
        .arg(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
