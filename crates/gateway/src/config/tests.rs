//! What configurations say, and what is said of those that cannot be used.

use super::*;

fn environment(name: &str) -> Option<String> {
    (name == "KEY").then(|| "sk-1".to_owned())
}

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse_with(text, Path::new("c.toml"), &environment)
}

/// `expected` is the message, or how many routes there are.
fn check(text: &str, expected: &str) {
    let got = match parse(text) {
        Ok(config) => format!("{} routes", config.models.len()),
        Err(error) => error.to_string(),
    };
    assert_eq!(got, expected, "{text}");
}

#[test]
fn errors_say_where_and_what_was_meant() {
    check("", "0 routes");
    check("listn = 1", "c.toml:1:1: unknown key `listn`; did you mean `listen`?");
    check("[breaker]\nfailure = 1", "c.toml:2:1: unknown key `failure`; did you mean `failures`?");
    check(
        "[[provider]]\nname = \"p\"\nurl = \"x\"\n",
        "c.toml:3:1: unknown key `url`; known are `name`, `wire`, `base_url`, `key`, `headers`, \
         `proxy`, `connect_ms`, `first_byte_ms`, `idle_ms`",
    );
    check(
        "[[model]]\nname = \"a\"\nprovider = \"b\"\ndialct = \"xml\"\n",
        "c.toml:4:1: unknown key `dialct`; did you mean `dialect`?",
    );
    check(
        "[[model]]\nname = \"a\"\nprovider = \"b\"\nrelease = \"trun\"\n",
        "c.toml:4:11: unknown value `trun`; did you mean `turn`?",
    );
    check(
        "[[model]]\nname = \"a\"\nprovider = \"b\"\ndialect = \"yaml\"\n",
        "c.toml:4:11: unknown dialect `yaml`; known are: xml, minimax, anthropic, dsml, ctl, \
         ctl-heredoc, json-object, json-whole, rcc, and `native` for structured calls",
    );
    check(
        "[[provider]]\nname = \"a\"\nbase_url = \"${NOT_SET}\"\n",
        "c.toml:3:12: provider.base_url: the environment has no `NOT_SET`; set it, or write the value",
    );
    check(
        "[[provider]]\nname = \"a\"\nbase_url = \"x\"\nheaders = { a = \"1\",\n b = \"${NOT_SET}\" }\n",
        "c.toml:5:6: provider.headers.b: the environment has no `NOT_SET`; set it, or write the value",
    );
}

#[test]
fn errors_in_tiers_say_where_and_what_was_meant() {
    let tiers = |tier: &str, expected: &str| {
        let text = format!(
            "[[provider]]\nname = \"local\"\nbase_url = \"http://127.0.0.1:1\"\n[[model]]\nname = \
             \"a\"\n{tier}"
        );
        check(&text, expected);
    };
    tiers("provider = \"local\"", "1 routes");
    tiers("[[model.tier]]\ntargets = [{ provider = \"local\" }]", "1 routes");
    tiers("", "c.toml:4:1: model `a` has no target; give it a provider, or a [[model.tier]]");
    tiers(
        "[[model.tier]]\ntargets = [\n  { provider = \"local\" },\n  { provider = \"locla\" },\n]",
        "c.toml:9:16: model `a` names the provider `locla`, which does not exist; did you mean `local`?",
    );
    tiers(
        "[[model.tier]]\ntargets = [{ provider = \"local\", wieght = 2 }]",
        "c.toml:7:34: unknown key `wieght`; did you mean `weight`?",
    );
    tiers(
        "[[model.tier]]\ntarget = []",
        "c.toml:7:1: unknown key `target`; did you mean `targets`?",
    );
    tiers(
        "[[model.tier]]\ntargets = [{ provider = \"local\", commit = \"cal\" }]",
        "c.toml:7:43: unknown value `cal`; did you mean `call`?",
    );
    tiers(
        "[[model.tier]]\ntargets = []",
        "c.toml:7:11: model `a`: the tier has no target; add one, or remove it",
    );
    tiers(
        "provider = \"local\"\n[[model.tier]]\ntargets = [{ provider = \"local\" }]",
        "c.toml:6:12: model `a` has a provider and tiers; keep one, such as `targets = [{ provider = \
         \"…\" }]` in a tier",
    );
    tiers(
        "model = \"x\"\n[[model.tier]]\ntargets = [{ provider = \"local\" }]",
        "c.toml:6:9: model `a` has tiers, so each of their targets says its model; move this there",
    );
    tiers(
        "[[model.tier]]\nlong_context = true\ntargets = [{ provider = \"local\" }]",
        "c.toml:7:16: model `a` has tiers for long contexts only, which are asked when another has \
         refused; add a tier without long_context",
    );
    tiers(
        "[[model.tier]]\ntargets = [{ provider = \"local\", weight = 0 }]",
        "c.toml:7:43: model `a`: a weight is at least 1; leave the target out, or put it in a later tier",
    );
    tiers(
        "provider = \"local\"\nattempts = 7",
        "c.toml:7:12: model `a`: attempts is a number from 1 to 6",
    );
    tiers(
        "provider = \"local\"\nmodel = \"x/*\"",
        "c.toml:7:9: model `a` has no `*` at its end that the `*` of the target's model could stand for",
    );
    tiers(
        "provider = \"local\"\n[[model]]\nname = \"a\"\nprovider = \"local\"",
        "c.toml:8:8: two routes are called `a`; remove one",
    );
}

#[test]
fn a_target_takes_the_policies_of_its_model_and_replaces_some() {
    let config = parse(
        r#"
[[provider]]
name = "p"
base_url = "http://127.0.0.1:1/v1"
key = "${KEY}$${KEY}"

[[model]]
name = "m"
dialect = "xml"
release = "call"

[[model.tier]]
targets = [
  { provider = "p", weight = 3 },
  { provider = "p", model = "n", dialect = "native", release = "turn" },
]
"#,
    )
    .unwrap();
    assert_eq!(config.providers[0].key.as_deref(), Some("sk-1${KEY}"));
    let model = &config.models[0];
    let [one, two] = model.tiers[0].targets.as_slice() else { panic!("two targets") };
    assert_eq!((one.weight, two.weight), (3, 1));
    let (one, two) = (model.policy(one), model.policy(two));
    assert_eq!(one.dialect.map(callgate_dialect::Language::name), Some("xml"));
    assert_eq!(one.release, callgate_pipeline::Release::Call);
    assert_eq!((two.dialect, two.release), (None, callgate_pipeline::Release::Turn));
}

#[test]
fn no_secret_shows_in_debug() {
    let text = "[[provider]]\nname = \"p\"\nbase_url = \"http://h/?k=secret-1\"\nkey = \"secret-2\"\n\
                headers = { x = \"secret-3\" }";
    let shown = format!("{:?}", parse(text).unwrap());
    assert!(shown.contains("\"p\"") && !shown.contains("secret"), "{shown}");
}
