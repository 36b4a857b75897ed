//! The documentation of the configuration: its tables are the schema's, its examples are valid.
//!
//! `CALLGATE_BLESS=1` writes the tables.

use std::path::{Path, PathBuf};

use callgate_gateway::{Config, Gateway};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What each part of the file is called in the document, and in the schema.
const PARTS: [(&str, &str); 6] = [
    ("top", ""),
    ("breaker", "BreakerConfig"),
    ("provider", "ProviderConfig"),
    ("model", "ModelConfig"),
    ("tier", "TierConfig"),
    ("target", "TargetConfig"),
];

fn table(schema: &Value, definition: &str) -> String {
    let part = match definition {
        "" => schema,
        name => &schema["$defs"][name],
    };
    let required: Vec<_> = part["required"].as_array().into_iter().flatten().collect();
    let mut table = "| key | values | default | meaning |\n|---|---|---|---|\n".to_owned();
    for (key, property) in part["properties"].as_object().unwrap() {
        let (values, first) = values(schema, property);
        let default = match property.get("default") {
            _ if required.iter().any(|name| *name == key) => "required".to_owned(),
            Some(Value::Null) => "none".to_owned(),
            Some(Value::Object(object)) if object.is_empty() => "none".to_owned(),
            Some(Value::String(text)) => format!("`{text}`"),
            Some(value) => format!("`{value}`"),
            None => first.unwrap_or_else(|| "none".to_owned()),
        };
        let meaning = property["description"].as_str().unwrap().replace('\n', " ");
        table.push_str(&format!("| `{key}` | {values} | {default} | {meaning} |\n"));
    }
    table
}

/// The values of a key in words, and the default of those that are listed: their first.
fn values(schema: &Value, property: &Value) -> (String, Option<String>) {
    let named = |reference: &Value| {
        let name = reference.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        schema["$defs"][&name].clone()
    };
    let list = |names: Vec<&str>, is_optional: bool| {
        let first = if is_optional { "none".to_owned() } else { format!("`{}`", names[0]) };
        (format!("`{}`", names.join("`, `")), Some(first))
    };
    if let Some(names) = property["enum"].as_array() {
        let is_optional = names.contains(&Value::Null);
        return list(names.iter().filter_map(Value::as_str).collect(), is_optional);
    }
    let (reference, is_optional) = match property["anyOf"].as_array() {
        Some(any) => (&any[0]["$ref"], true),
        None => (&property["$ref"], false),
    };
    if reference.is_string() {
        let definition = named(reference);
        let Some(variants) = definition["oneOf"].as_array() else {
            return ("table".to_owned(), None);
        };
        return list(variants.iter().map(|v| v["const"].as_str().unwrap()).collect(), is_optional);
    }
    let kind = match &property["type"] {
        Value::Array(kinds) => kinds[0].as_str(),
        kind => kind.as_str(),
    };
    let (low, high) = (property["minimum"].as_u64(), property["maximum"].as_u64());
    let words = match (kind.unwrap(), low, high) {
        ("integer", Some(low), Some(high)) => format!("{low} to {high}"),
        ("integer", Some(low), None) if low > 0 => format!("integer from {low}"),
        ("array", ..) => "tables".to_owned(),
        ("object", ..) => "table of strings".to_owned(),
        (kind, ..) => kind.to_owned(),
    };
    (words, None)
}

#[test]
fn the_tables_are_the_schemas() {
    let path = root().join("docs/configuration.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let schema: Value = serde_json::from_str(&Config::schema()).unwrap();
    let definitions = schema["$defs"].as_object().unwrap().iter();
    let tables = definitions.filter(|(_, definition)| definition["properties"].is_object());
    for (name, _) in tables {
        assert!(PARTS.iter().any(|(_, known)| known == name), "no table of {name}");
    }
    let mut expected = document.clone();
    for (part, definition) in PARTS {
        let begin = format!("<!-- keys: {part} -->\n");
        let from = expected.find(&begin).unwrap_or_else(|| panic!("no table {part}")) + begin.len();
        let length = expected[from..].find("<!-- end -->").unwrap();
        expected.replace_range(from..from + length, &format!("\n{}\n", table(&schema, definition)));
    }
    if std::env::var_os("CALLGATE_BLESS").is_some() {
        std::fs::write(&path, expected).unwrap();
    } else {
        assert!(
            document == expected,
            "{} differs (CALLGATE_BLESS=1 writes it)\n{expected}",
            path.display()
        );
    }
}

/// The first value of a list is the default: a configuration that says it is one that does not.
#[test]
fn the_first_value_is_the_default() {
    let schema: Value = serde_json::from_str(&Config::schema()).unwrap();
    let parse = |provider: &str, model: &str| {
        let text = format!(
            "[[provider]]\nname = \"p\"\nbase_url = \"http://127.0.0.1:1\"\n{provider}\n[[model]]\nname = \
             \"m\"\nprovider = \"p\"\n{model}\n"
        );
        let config = Config::parse(&text, Path::new("c.toml")).unwrap();
        format!("{:?} {:?}", config.providers, config.models)
    };
    let mut checked = 0;
    for definition in ["ProviderConfig", "ModelConfig"] {
        for (key, property) in schema["$defs"][definition]["properties"].as_object().unwrap() {
            let (_, Some(first)) = values(&schema, property) else { continue };
            let line = format!("{key} = \"{}\"", first.trim_matches('`'));
            let said = match definition {
                "ProviderConfig" => parse(&line, ""),
                _ => parse("", &line),
            };
            assert_eq!(said, parse("", ""), "{line}");
            checked += 1;
        }
    }
    assert_eq!(checked, 8, "keys with listed values");
}

/// Every block of TOML in a document, and the example file.
#[test]
fn the_examples_are_valid() {
    let check = |name: &str, text: &str| {
        let config = Config::parse_with(text, Path::new(name), &|_| Some("x".to_owned()));
        let config = config.unwrap_or_else(|error| panic!("{error}\n{text}"));
        Gateway::new(&config).unwrap_or_else(|error| panic!("{error}\n{text}"));
        config
    };
    let path = root().join("callgate.example.toml");
    let config = check("callgate.example.toml", &std::fs::read_to_string(path).unwrap());
    assert!(config.models.iter().any(|model| model.tiers.len() > 2), "it shows tiers");
    let mut blocks = 0;
    for name in ["docs/configuration.md", "README.md"] {
        let document = std::fs::read_to_string(root().join(name)).unwrap();
        for block in document.split("```toml\n").skip(1) {
            check(name, block.split("```").next().unwrap());
            blocks += 1;
        }
    }
    assert!(blocks >= 3, "{blocks} examples");
}
