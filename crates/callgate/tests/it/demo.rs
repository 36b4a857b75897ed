//! The demo ends well, and its piped form is plain text.

use crate::program::run;

#[test]
fn every_case_ends_as_it_must() {
    let got = run(&["demo", "--fast"]);
    assert_eq!((got.code, got.err.as_str()), (0, ""), "{}", got.out);
    assert!(!got.out.contains(['\x1b', '\r']), "escapes in a pipe");
    assert!(!got.out.contains("WRONG"), "{}", got.out);
    let last: Vec<_> = got.out.lines().rev().take(2).collect();
    assert_eq!(last[0], "nothing leaked, lost or altered");
    assert!(
        last[1].starts_with("15 requests in ")
            && last[1].ends_with(": 6 calls delivered whole, 7 faults and 1 limit reported"),
        "{}",
        last[1]
    );
    for expected in [
        "    │ tool_calls[0] write_file",
        "    │ error TOOL_CALL_TRUNCATED",
        "    │ (the connection breaks)",
        "  CLIENT_TOOL_NAME_MISMATCH reported: ",
    ] {
        assert!(got.out.contains(expected), "no {expected:?} in\n{}", got.out);
    }
}

#[test]
fn one_case_by_its_short_name() {
    let got = run(&["demo", "--fast", "--once", "two-calls"]);
    assert_eq!(got.code, 0, "{}", got.err);
    assert!(got.out.contains("  2 calls delivered whole: "), "{}", got.out);
    assert!(got.out.contains("1 request in "), "{}", got.out);
}
