//! Recorded streams: a provider's bytes as they came, when they came, and what they mean.
//!
//! A recording is a corpus case whose stream is the visible text of a provider's reply. The text is
//! what `callgate-wire` decodes; nothing here reads a provider's bytes a second way, and nothing
//! here speaks to a provider. The format is described for people in `corpus/README.md`.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use callgate_dialect::{End, Language};
use callgate_wire::{Finish, TurnEvent, chat, sse};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Case, CorpusError, corpus};

/// The folder of recordings in a corpus.
pub const FOLDER: &str = "recorded";

const BODY: &str = "body.sse";
const ARRIVALS: &str = "arrivals.json";
const PROVENANCE: &str = "recording.json";

/// A recorded stream.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The visible text with its right outcome.
    pub case: Case,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The body of the provider's reply, as it came.
    pub body: Vec<u8>,
    /// Each read of the body.
    pub arrivals: Vec<Arrival>,
}

/// Where a recording comes from, and under which terms.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The dialect that the model was taught.
    pub dialect: String,
    /// The model, as precisely as it is known.
    pub model: String,
    /// The server and its version.
    pub server: String,
    /// Under which terms model and text can be used, as far as it is known.
    pub licence: String,
    /// The day, as `YYYY-MM-DD`.
    pub date: String,
    /// Whether a grammar kept the model to the dialect.
    pub constrained: bool,
    /// Whether the calls are those that the task asks for, as a person judges it.
    pub as_intended: bool,
    /// The request body, as it was sent.
    pub request: Value,
}

/// One read of a body.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Arrival(
    /// Microseconds since the request was sent.
    pub u64,
    /// Bytes that came with this read.
    pub usize,
);

/// Text and when it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimedText {
    /// The visible text.
    pub bytes: Vec<u8>,
    /// Microseconds since the request was sent, and how much of the text had come then; growing.
    pub arrived: Vec<(u64, usize)>,
    /// The provider's finish reason.
    pub finish: Option<Finish>,
}

impl TimedText {
    /// What the finish reason says of the text's end.
    #[must_use]
    pub fn end(&self) -> End {
        match &self.finish {
            Some(Finish::Stop | Finish::ToolCalls) => End::Stop,
            Some(Finish::Length) => End::Length,
            _ => End::Broken,
        }
    }
}

/// The visible text of a streamed Chat reply that came in these reads.
///
/// # Errors
/// What is wrong with the body, in words.
pub fn timed_text(body: &[u8], arrivals: &[Arrival]) -> Result<TimedText, String> {
    let counted: usize = arrivals.iter().map(|arrival| arrival.1).sum();
    if counted != body.len() {
        let len = body.len();
        return Err(format!("the arrivals count {counted} bytes, but the body has {len}"));
    }
    let mut decoder = chat::Decoder::new();
    let mut frames = sse::Decoder::new(sse::MAX_EVENT_BYTES);
    let mut text = TimedText::default();
    let mut events = Vec::new();
    let mut rest = body;
    for Arrival(micros, len) in arrivals {
        let (read, behind) = rest.split_at(*len);
        rest = behind;
        let mut take = |frame: sse::Frame<'_>| match frame.data.trim_ascii() {
            b"[DONE]" => decoder.done(&mut events),
            data => decoder.chunk(data, &mut events),
        };
        frames.push(read, &mut take).map_err(|error| error.to_string())?;
        let before = text.bytes.len();
        for event in events.drain(..) {
            match event {
                TurnEvent::Text(more) => text.bytes.extend_from_slice(more.as_bytes()),
                TurnEvent::Finish(finish) => text.finish = Some(finish),
                TurnEvent::Fault(fault) => return Err(fault.message),
                _ => {}
            }
        }
        if text.bytes.len() > before {
            text.arrived.push((*micros, text.bytes.len()));
        }
    }
    Ok(text)
}

impl Recording {
    /// Reads one folder.
    ///
    /// # Errors
    /// The file that can't be used, and why.
    pub fn load(folder: &Path) -> Result<Self, CorpusError> {
        let invalid = |file: &str, reason| CorpusError::Invalid { path: folder.join(file), reason };
        let body = corpus::read(&folder.join(BODY))?;
        let path = folder.join(ARRIVALS);
        let arrivals: Vec<Arrival> = corpus::parse(&path, &corpus::read(&path)?)?;
        let path = folder.join(PROVENANCE);
        let provenance: Provenance = corpus::parse(&path, &corpus::read(&path)?)?;
        let language: Language =
            provenance.dialect.parse().map_err(|unknown: callgate_dialect::UnknownLanguage| {
                invalid(PROVENANCE, unknown.to_string())
            })?;
        let text = timed_text(&body, &arrivals).map_err(|reason| invalid(BODY, reason))?;
        let end = text.end();
        let case = corpus::case(folder, FOLDER, language, text.bytes)?;
        if case.end != end {
            let reason = format!("`end` is not how the body ended, which is `{}`", end.name());
            return Err(invalid("case.json", reason));
        }
        Ok(Self { case, provenance, body, arrivals })
    }

    /// When the text came. Loading has read the body once, so this is never empty-handed.
    #[must_use]
    pub fn text(&self) -> TimedText {
        timed_text(&self.body, &self.arrivals).unwrap_or_default()
    }
}

/// All recordings of a corpus, by name; none if it has no such folder.
///
/// # Errors
/// The first folder that can't be used.
pub fn load_all(root: &Path) -> Result<Vec<Recording>, CorpusError> {
    corpus::folders(&root.join(FOLDER))?.iter().map(|folder| Recording::load(folder)).collect()
}

/// What a recording is written from.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The contents of `case.json`.
    pub case: Value,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The body.
    pub body: Vec<u8>,
    /// Its reads.
    pub arrivals: Vec<Arrival>,
}

/// Writes a recording as a new folder: all of it, or nothing.
///
/// # Errors
/// The folder exists, or can't be written.
pub fn save(root: &Path, name: &str, draft: &Draft) -> Result<PathBuf, CorpusError> {
    let folder = root.join(FOLDER).join(name);
    let write = |source| CorpusError::Write { path: folder.clone(), source };
    if folder.exists() {
        let reason = "exists; choose another name, or remove it".to_owned();
        return Err(CorpusError::Invalid { path: folder, reason });
    }
    let partial = root.join(FOLDER).join(format!(".{name}.partial"));
    fs::create_dir_all(&partial).map_err(write)?;
    let put = |file: &str, bytes: &[u8]| fs::write(partial.join(file), bytes).map_err(write);
    put(BODY, &draft.body)?;
    put(ARRIVALS, &lines_of(&draft.arrivals))?;
    put(PROVENANCE, &pretty(&serde_json::to_value(&draft.provenance).unwrap_or_default()))?;
    put("case.json", &pretty(&draft.case))?;
    fs::rename(&partial, &folder).map_err(write)?;
    Ok(folder)
}

/// One arrival a line, so that a difference can be read.
fn lines_of(arrivals: &[Arrival]) -> Vec<u8> {
    let mut out = b"[\n".to_vec();
    for (index, Arrival(micros, bytes)) in arrivals.iter().enumerate() {
        let comma = if index + 1 < arrivals.len() { "," } else { "" };
        // Writing into memory does not fail.
        let _ = writeln!(out, "[{micros},{bytes}]{comma}");
    }
    out.extend_from_slice(b"]\n");
    out
}

fn pretty(value: &Value) -> Vec<u8> {
    let mut json = serde_json::to_vec_pretty(value).unwrap_or_default();
    json.push(b'\n');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(text: &str) -> String {
        let text = Value::from(text);
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text}}}}}]}}\n\n")
    }

    #[test]
    fn text_is_timed_by_the_read_that_completes_it() {
        let (first, second) = (chunk("é"), chunk("b"));
        let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n\
                   data: [DONE]\n\n";
        let body = format!("{first}{second}{end}");
        let arrivals =
            [Arrival(5, first.len() - 1), Arrival(9, 1 + second.len()), Arrival(12, end.len())];
        let text = timed_text(body.as_bytes(), &arrivals).unwrap();
        assert_eq!(text.bytes, "éb".as_bytes());
        assert_eq!(text.arrived, [(9, 3)]);
        assert_eq!(text.end(), End::Length);
        let short = timed_text(body.as_bytes(), &arrivals[..2]).unwrap_err();
        assert!(short.starts_with("the arrivals count "), "{short}");
    }

    #[test]
    fn arrivals_are_one_a_line() {
        let lines = lines_of(&[Arrival(1, 2), Arrival(3, 4)]);
        assert_eq!(lines, b"[\n[1,2],\n[3,4]\n]\n");
        let read: Vec<Arrival> = serde_json::from_slice(&lines).unwrap();
        assert_eq!(read, [Arrival(1, 2), Arrival(3, 4)]);
    }
}
