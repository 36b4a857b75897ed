//! Loads `corpus/replies/<api>/<reply>/{body.sse|body.json,case.json}`: bodies of real providers.
//!
//! Here the wire is what counts. What the text in it means is the corpus of the dialects' to say. The
//! format is described for people in `corpus/README.md`.

use std::path::Path;

use callgate_dialect::Language;
use callgate_wire::{Api, chat::Framing};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::corpus::{CorpusError, Origin, folders, parse, read};

/// The folder of replies in a corpus.
pub const FOLDER: &str = "replies";

/// One body, and what a client has to get for it.
#[derive(Clone, Debug)]
pub struct Reply {
    /// `<api>/<reply>`.
    pub name: String,
    /// The provider's API.
    pub api: Api,
    /// Whether it was streamed.
    pub framing: Framing,
    /// What it shows.
    pub about: String,
    /// Where it comes from.
    pub origin: Origin,
    /// The language that its calls are written in; none if they are the API's own.
    pub dialect: Option<Language>,
    /// The declared tools: name → schema.
    pub tools: Map<String, Value>,
    /// The bytes of the provider.
    pub body: Vec<u8>,
    /// The right outcome.
    pub expected: Expected,
    /// Of a recorded reply: by whom, and for what.
    pub source: Option<Source>,
}

/// Who made a recorded reply.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The model, as precisely as it is known.
    pub model: String,
    /// The server and its version.
    pub server: String,
    /// Under which terms model and text can be used, as far as it is known.
    pub licence: String,
    /// The day, as `YYYY-MM-DD`.
    pub date: String,
    /// The request's body, as it was sent.
    pub request: Value,
}

/// What a client of any API gets, in its words.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Expected {
    /// All text.
    pub text: String,
    /// All reasoning.
    pub reasoning: String,
    /// The calls, in order; they stand behind the text.
    pub calls: Vec<ExpectedCall>,
    /// The finish reason by its canonical name, or `fault CODE`.
    pub end: String,
}

/// A call that arrives.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ExpectedCall {
    /// The tool's name.
    pub name: String,
    /// The arguments, byte for byte.
    pub arguments: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    about: String,
    origin: Origin,
    #[serde(default)]
    dialect: Option<String>,
    tools: Map<String, Value>,
    expect: Expected,
    source: Option<Source>,
}

/// All replies of all APIs, by API and name.
///
/// # Errors
/// The first folder that can't be used.
pub fn load_all(root: &Path) -> Result<Vec<Reply>, CorpusError> {
    let mut all = Vec::new();
    for api in Api::ALL {
        for folder in folders(&root.join(FOLDER).join(api.name()))? {
            all.push(load(&folder, api)?);
        }
    }
    Ok(all)
}

fn load(folder: &Path, api: Api) -> Result<Reply, CorpusError> {
    let path = folder.join("case.json");
    let file: File = parse(&path, &read(&path)?)?;
    let invalid = |reason| CorpusError::Invalid { path: path.clone(), reason };
    let dialect = file.dialect.map(|name| name.parse::<Language>()).transpose();
    let dialect = dialect.map_err(|error| invalid(error.to_string()))?;
    if file.origin == Origin::Recorded && file.source.is_none() {
        return Err(invalid("a recorded reply says in `source` where it comes from".to_owned()));
    }
    let (stream, whole) = (folder.join("body.sse"), folder.join("body.json"));
    let (framing, body) = match stream.exists() {
        true => (Framing::Stream, stream),
        false => (Framing::Whole, whole),
    };
    let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    Ok(Reply {
        name: format!("{api}/{name}"),
        api,
        framing,
        about: file.about,
        origin: file.origin,
        dialect,
        tools: file.tools,
        body: read(&body)?,
        expected: file.expect,
        source: file.source,
    })
}
