//! `check`: the table, the warnings, and errors with their place.

use crate::program::{command, expect, file, run};

const GOOD: &str = r#"listen = "127.0.0.1:9000"

[[provider]]
name = "local"
base_url = "http://127.0.0.1:8000/v1"

[[provider]]
name = "spare"
base_url = "http://127.0.0.1:8001/v1"

[[provider]]
name = "big"
base_url = "http://127.0.0.1:8002/v1"

[[model]]
name = "qwen*"
provider = "local"
dialect = "xml"
commit = "call"
release = "call"

[[model]]
name = "gpt"
provider = "local"
model = "gpt-oss"
on_violation = "text"

[[model]]
name = "coder"
dialect = "xml"

[[model.tier]]
targets = [
  { provider = "local", model = "coder-30b", weight = 3 },
  { provider = "big", model = "coder-480b", dialect = "native" },
]

[[model.tier]]
targets = [{ provider = "big", dialect = "native" }]

[[model.tier]]
long_context = true
targets = [{ provider = "big", model = "coder-1m", dialect = "native" }]
"#;

#[test]
fn a_table_of_the_routes_and_warnings() {
    let path = file("good.toml", GOOD.as_bytes());
    let got = run(&["check", "--config", path.to_str().unwrap()]);
    assert_eq!((got.code, got.err.as_str()), (0, ""));
    let (first, rest) = got.out.split_once('\n').unwrap();
    assert_eq!(first, format!("configuration  {}", path.display()));
    expect("check.txt", rest);
}

#[test]
fn an_invalid_configuration_says_where_and_what_was_meant() {
    let check = |name: &str, text: &str, expected: &str| {
        let path = file(name, text.as_bytes());
        for command in ["check", "serve"] {
            let got = run(&[command, "--config", path.to_str().unwrap()]);
            assert_eq!((got.code, got.out.as_str()), (2, ""), "{command}");
            let expected = format!("error: {}{expected}", path.display());
            assert!(got.err.starts_with(&expected), "{command}: {}", got.err);
        }
    };
    let typo = GOOD.replace("dialect", "dialct");
    check("typo.toml", &typo, ":18:1: unknown key `dialct`; did you mean `dialect`?\n");
    check("value.toml", &GOOD.replace("\"call\"", "\"cal\""), ":19:10: ");
    check("syntax.toml", "[[model]\n", ":1:");
    let gone = GOOD.replace("provider = \"local\"", "provider = \"lokal\"");
    let expected = ":17:12: model `qwen*` names the provider `lokal`, which does not exist; did you \
                    mean `local`?\n";
    check("gone.toml", &gone, expected);
    let public = GOOD.replace("127.0.0.1:9000", "0.0.0.0:9000");
    check("public.toml", &public, ":1:10: listen = \"0.0.0.0:9000\" is no loopback address");
}

#[test]
fn the_file_is_found_by_flag_variable_or_place() {
    let folder = crate::program::folder("found");
    std::fs::write(folder.join("callgate.toml"), "listen = \"127.0.0.1:9001\"").unwrap();
    let at = |path: &std::path::Path, port: u16| {
        let output = command().arg("check").current_dir(path).env("CALLGATE_CONFIG", "").output();
        let out = String::from_utf8(output.unwrap().stdout).unwrap();
        assert!(out.contains(&format!(":{port}/v1")), "{out}");
    };
    at(&folder, 9001);
    at(&crate::program::folder("empty"), 8787);
    let named = command().arg("check").env("CALLGATE_CONFIG", "no-such.toml").output().unwrap();
    assert_eq!(named.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&named.stderr)
            .contains("cannot read the configuration no-such.toml: ")
    );
}

#[test]
fn without_a_file_the_keys_of_the_environment_count() {
    let output = command().arg("check").env("GROQ_API_KEY", "gsk-secret").output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.starts_with("configuration  no file, so the providers whose keys"), "{out}");
    for row in ["groq/*", "*      ", "demo/plain"] {
        assert!(out.contains(&format!("\n{row}")), "{out}");
    }
    assert!(!out.contains("secret"), "{out}");
}

#[test]
fn the_example_has_no_warning() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../callgate.example.toml");
    let mut check = command();
    check.args(["check", "--config"]).arg(&path).env("OPENROUTER_API_KEY", "sk-1");
    let output = check.output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && !out.contains("warning:"), "{out}");
    let got = run(&["check", "--config", path.to_str().unwrap()]);
    assert_eq!(got.code, 2);
    let expected = ":25:7: provider.key: the environment has no `OPENROUTER_API_KEY`; set it, or write the value";
    assert!(got.err.contains(expected), "{}", got.err);
}

#[test]
fn the_schema_is_json() {
    let got = run(&["check", "--schema"]);
    let schema: serde_json::Value = serde_json::from_str(&got.out).unwrap();
    assert!(schema["properties"]["provider"].is_object());
}
