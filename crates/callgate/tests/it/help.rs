//! The help texts, and what a wrong command line says.

use crate::program::{expect, run};

#[test]
fn the_help_texts() {
    for name in ["", "serve", "parse", "script", "check", "demo", "lab run"] {
        let arguments: Vec<&str> = name.split_whitespace().chain(["--help"]).collect();
        let help = run(&arguments);
        assert_eq!((help.code, help.err.as_str()), (0, ""));
        let file = if name.is_empty() {
            "help.txt".to_owned()
        } else {
            format!("help-{}.txt", name.replace(' ', "-"))
        };
        expect(&file, &help.out);
        if !name.is_empty() {
            assert!(help.out.contains(&format!("Example:\n  callgate {name}")), "{}", help.out);
        }
    }
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    let check = |arguments: &[&str], expected: &str| {
        let got = run(arguments);
        assert_eq!((got.code, got.out.as_str()), (2, ""), "{arguments:?}");
        assert!(got.err.contains(expected), "{arguments:?}: {}", got.err);
    };
    check(&[], "Usage: callgate <COMMAND>");
    check(&["pars"], "a similar subcommand exists: 'parse'");
    check(&["parse", "x"], "--dialect <NAME>");
    check(&["parse", "--dialect", "xml", "--chunk", "0", "x"], "0 is not in 1..");
    check(&["parse", "--dialect", "xml", "--json", "--events", "x"], "cannot be used with");
    check(&["parse", "--dialect", "xml", "--deltas", "x"], "--events");
    check(&["serve", "--dialect", "xml"], "--upstream <URL>");
    check(&["serve", "--upstream", "http://127.0.0.1:1", "--config", "x"], "cannot be used with");
    check(&["serve", "--listen", "8787"], "write an IP address and a port");
    check(
        &["serve", "--upstream", "http://127.0.0.1:1", "--dialect", "yaml"],
        "unknown dialect `yaml`; known are: xml, minimax, anthropic, dsml, ctl, ctl-heredoc, json-object, \
         json-whole, rcc, and `native`",
    );
    check(
        &["serve", "--upstream", "http://127.0.0.1:1", "--key-env", "CALLGATE_TEST_NOT_SET"],
        "--key-env CALLGATE_TEST_NOT_SET: the environment has no such variable",
    );
    check(&["serve", "--upstream", "nowhere"], "base_url is no URL");
    check(&["serve", "--listen", "0.0.0.0:0"], "no loopback address");
    check(&["lab", "run", "c4"], "possible values: c1, c2, c3, d, all");
    check(&["lab", "run", "--corpus", "no-such-folder"], "no-such-folder is no folder; `--corpus`");
    check(&["demo", "--once", "none"], "--once none: there is no such model; there are demo/");
}

#[test]
fn what_fails_while_running_is_exit_code_1() {
    let check = |arguments: &[&str], expected: &str| {
        let got = run(arguments);
        assert_eq!((got.code, got.out.as_str()), (1, ""), "{arguments:?}");
        assert!(got.err.starts_with(expected), "{arguments:?}: {}", got.err);
    };
    check(&["parse", "--dialect", "xml", "no-such-file"], "error: cannot read no-such-file: ");
    check(&["parse", "--dialect", "xml", "."], "error: cannot read .: ");
    check(&["script", "no-such-file"], "error: cannot read the script no-such-file: ");
}
