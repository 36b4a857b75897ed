//! Loads `corpus/<dialect>/<case>/{stream.txt,case.json}`.
//!
//! Folders are data: this neither runs a parser nor writes anything. The format is described for
//! people in `corpus/README.md`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use callgate_dialect::{Commit, End, Language, Tools};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::Outcome;

/// One stream with its right outcome.
#[derive(Clone, Debug)]
pub struct Case {
    /// `<dialect>/<case>`.
    pub name: String,
    /// The language it is read in.
    pub language: Language,
    /// What it shows.
    pub about: String,
    /// Where it comes from.
    pub origin: Origin,
    /// How the stream ends.
    pub end: End,
    /// The declared tools.
    pub tools: Tools,
    /// Their schemas, as written.
    pub schemas: Map<String, Value>,
    /// The bytes the model wrote.
    pub stream: Vec<u8>,
    /// The right outcome where calls are confirmed per block.
    pub per_block: Outcome,
    /// The right outcome where each call is confirmed at its own closer.
    pub per_call: Outcome,
}

impl Case {
    /// The right outcome.
    #[must_use]
    pub fn expected(&self, commit: Commit) -> &Outcome {
        match commit {
            Commit::Block => &self.per_block,
            Commit::Call => &self.per_call,
        }
    }
}

/// Where a stream comes from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Written for the corpus.
    Synthetic,
    /// An example of the design.
    Design,
    /// Reduced from a public report; in other words.
    Reported,
    /// Recorded from a model.
    Recorded,
}

/// A folder of the corpus that can't be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum CorpusError {
    #[error("{}: cannot read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: cannot write: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{}: not a case: {source}", path.display())]
    Parse { path: PathBuf, source: serde_json::Error },
    #[error("{}: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
}

/// The corpus of this repository.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// All cases of one language, by name; none if it has no folder.
///
/// # Errors
/// The first folder that can't be used.
pub fn load(root: &Path, language: Language) -> Result<Vec<Case>, CorpusError> {
    let folder = root.join(language.name());
    folders(&folder)?.iter().map(|folder| load_case(folder, language)).collect()
}

/// The folders in a folder, by name; none if it does not exist.
pub(crate) fn folders(folder: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let read = |source| CorpusError::Read { path: folder.to_owned(), source };
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

/// All cases of all languages.
///
/// # Errors
/// The first folder that can't be used.
pub fn load_all(root: &Path) -> Result<Vec<Case>, CorpusError> {
    let mut all = Vec::new();
    for language in Language::ALL {
        all.extend(load(root, language)?);
    }
    Ok(all)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    about: String,
    origin: Origin,
    #[serde(default)]
    end: EndName,
    #[serde(default)]
    tools: Map<String, Value>,
    #[serde(default)]
    repeat: Vec<Repeat>,
    expect: Value,
    #[serde(default)]
    expect_call: Option<Value>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EndName {
    #[default]
    Stop,
    Length,
    Broken,
}

/// Writes every `needle` of the stream and of the expectation `times` times.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    needle: String,
    times: usize,
}

fn load_case(folder: &Path, language: Language) -> Result<Case, CorpusError> {
    let stream = read(&folder.join("stream.txt"))?;
    case(folder, language.name(), language, stream)
}

/// The case that `case.json` of a folder makes of a stream.
pub(crate) fn case(
    folder: &Path,
    group: &str,
    language: Language,
    mut stream: Vec<u8>,
) -> Result<Case, CorpusError> {
    let invalid = |path: &Path, reason: String| CorpusError::Invalid { path: path.into(), reason };
    let case_path = folder.join("case.json");
    let file: File = parse(&case_path, &read(&case_path)?)?;
    if file.about.trim().is_empty() {
        return Err(invalid(&case_path, "`about` is empty; say what the case shows".into()));
    }
    let mut expect = file.expect;
    let mut expect_call = file.expect_call;
    for repeat in &file.repeat {
        let needle = repeat.needle.as_bytes();
        if needle.is_empty() || !stream.windows(needle.len()).any(|window| window == needle) {
            let reason = format!("`repeat`: the stream does not hold {:?}", repeat.needle);
            return Err(invalid(&case_path, reason));
        }
        stream = repeated(&stream, needle, repeat.times);
        repeat_strings(&mut expect, repeat);
        if let Some(expect) = &mut expect_call {
            repeat_strings(expect, repeat);
        }
    }
    let outcome = |value: Value| -> Result<Outcome, CorpusError> {
        serde_json::from_value(value)
            .map_err(|source| CorpusError::Parse { path: case_path.clone(), source })
    };
    let per_block = outcome(expect)?;
    let per_call = expect_call.map(outcome).transpose()?.unwrap_or_else(|| per_block.clone());
    let case = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    Ok(Case {
        name: format!("{group}/{case}"),
        language,
        about: file.about,
        origin: file.origin,
        end: match file.end {
            EndName::Stop => End::Stop,
            EndName::Length => End::Length,
            EndName::Broken => End::Broken,
        },
        tools: Tools::from_schemas(file.tools.clone()),
        schemas: file.tools,
        stream,
        per_block,
        per_call,
    })
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, CorpusError> {
    fs::read(path).map_err(|source| CorpusError::Read { path: path.into(), source })
}

pub(crate) fn parse<T: DeserializeOwned>(path: &Path, json: &[u8]) -> Result<T, CorpusError> {
    serde_json::from_slice(json).map_err(|source| CorpusError::Parse { path: path.into(), source })
}

fn repeated(bytes: &[u8], needle: &[u8], times: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        if rest.starts_with(needle) {
            out.extend(needle.repeat(times));
            rest = &rest[needle.len()..];
        } else {
            out.push(rest[0]);
            rest = &rest[1..];
        }
    }
    out
}

fn repeat_strings(value: &mut Value, repeat: &Repeat) {
    match value {
        Value::String(text) => {
            *text = text.replace(&repeat.needle, &repeat.needle.repeat(repeat.times));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| repeat_strings(item, repeat)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| repeat_strings(member, repeat));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, expected: &str) {
        let path = Path::new("corpus/xml/x/case.json");
        let error = parse::<File>(path, json.as_bytes()).err().unwrap();
        let message = error.to_string();
        assert!(message.starts_with("corpus/xml/x/case.json: "), "{message}");
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn a_bad_case_names_its_file_and_fault() {
        check("{", "EOF");
        check(r#"{"about":"a","origin":"synthetic"}"#, "missing field `expect`");
        check(r#"{"about":"a","origin":"made up","expect":{}}"#, "unknown variant");
        check(r#"{"about":"a","origin":"design","expect":{},"ends":"stop"}"#, "unknown field");
    }

    #[test]
    fn needles_are_repeated_in_stream_and_expectation() {
        assert_eq!(repeated(b"a@b@", b"@", 3), b"a@@@b@@@");
        let mut value = serde_json::json!({"text": "x@", "calls": [{"arguments": {"p": "@"}}]});
        repeat_strings(&mut value, &Repeat { needle: "@".into(), times: 2 });
        assert_eq!(value["text"], "x@@");
        assert_eq!(value["calls"][0]["arguments"]["p"], "@@");
    }
}
