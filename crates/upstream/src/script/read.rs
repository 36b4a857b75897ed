//! From TOML to a script: unknown keys are refused, and every complaint names its line.

use std::{ops::Range, time::Duration};

use callgate_wire::Api;
use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;

use super::{Delivery, Piece, Pieces, Reply, Sample, Script, ScriptError, Step};

/// Bytes per delta where a script does not say.
const CHUNK: usize = 16;
/// The longest pause.
const PAUSE_MS: u64 = 60 * 60 * 1000;
/// How many bytes a reply may have.
const REPLY_BYTES: u64 = 256 * 1024 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    name: Spanned<String>,
    about: String,
    api: Option<Spanned<String>>,
    dialect: Option<String>,
    commit: Option<Spanned<String>>,
    chunk: Option<usize>,
    every_ms: Option<u64>,
    #[serde(default)]
    sample: RawSample,
    replies: Spanned<Vec<RawReply>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSample {
    #[serde(default)]
    user: String,
    tools: Option<Spanned<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReply {
    steps: Spanned<Vec<Spanned<RawStep>>>,
    whole: Option<String>,
    usage: Option<RawUsage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    text: Option<String>,
    chunks: Option<Vec<String>>,
    repeat: Option<RawRepeat>,
    reasoning: Option<String>,
    call: Option<RawCall>,
    raw: Option<String>,
    pause_ms: Option<u64>,
    finish: Option<String>,
    cut: Option<bool>,
    end: Option<bool>,
    hang: Option<bool>,
    status: Option<u16>,
    // Beside one of those.
    chunk: Option<usize>,
    every_ms: Option<u64>,
    retry_after: Option<String>,
    body: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRepeat {
    text: String,
    times: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    id: Option<String>,
    name: String,
    #[serde(default = "no_arguments")]
    arguments: RawText,
    chunk: Option<usize>,
    every_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string, or a list of strings and { text, times }")]
enum RawText {
    One(String),
    Many(Vec<RawPiece>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or { text = \"…\", times = N }")]
enum RawPiece {
    Text(String),
    Repeat(RawRepeat),
}

fn no_arguments() -> RawText {
    RawText::One("{}".to_owned())
}

impl From<RawRepeat> for Piece {
    fn from(RawRepeat { text, times }: RawRepeat) -> Self {
        Self { text, times }
    }
}

/// Reads a script.
pub(super) fn script(text: &str) -> Result<Script, ScriptError> {
    let reader = Reader { text };
    let raw: RawScript = toml::from_str(text).map_err(|error| {
        let at = error.span().unwrap_or_default();
        reader.error(&at, error.message())
    })?;
    reader.script(raw)
}

/// The pace of a script: what its steps use unless they say otherwise.
#[derive(Clone, Copy)]
struct Pace {
    chunk: usize,
    every: Duration,
}

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn error(&self, at: &Range<usize>, what: impl Into<String>) -> ScriptError {
        let before = &self.text.as_bytes()[..at.start.min(self.text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        ScriptError::Format { line, what: what.into() }
    }

    fn script(&self, raw: RawScript) -> Result<Script, ScriptError> {
        let name = raw.name.get_ref();
        if name.is_empty()
            || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '?')
        {
            let what = "`name` is a model name: at least one character, no blanks, no `?`";
            return Err(self.error(&raw.name.span(), what));
        }
        if let Some(commit) = &raw.commit {
            if raw.dialect.is_none() {
                return Err(self.error(&commit.span(), "`commit` needs a `dialect`"));
            }
            if !matches!(commit.get_ref().as_str(), "block" | "call") {
                return Err(self.error(&commit.span(), "`commit` is `block` or `call`"));
            }
        }
        let name_at = raw.name.span();
        let pace = Pace {
            chunk: self.chunk(&name_at, raw.chunk.unwrap_or(CHUNK))?,
            every: self.pause(&name_at, raw.every_ms.unwrap_or(0))?,
        };
        let replies_at = raw.replies.span();
        let replies = raw.replies.into_inner();
        if replies.is_empty() {
            return Err(self.error(&replies_at, "`replies` is empty; give at least one reply"));
        }
        let replies = replies.into_iter().map(|reply| self.reply(reply, pace));
        let replies = replies.collect::<Result<Vec<_>, _>>()?;
        Ok(Script {
            about: raw.about,
            api: self.api(raw.api, &replies)?,
            dialect: raw.dialect,
            commit: raw.commit.map(Spanned::into_inner),
            sample: self.sample(raw.sample)?,
            replies,
            name: raw.name.into_inner(),
        })
    }

    /// The API, which must be one that these replies can be written in.
    fn api(&self, raw: Option<Spanned<String>>, replies: &[Reply]) -> Result<Api, ScriptError> {
        let Some(name) = raw else { return Ok(Api::Chat) };
        let at = name.span();
        let api = name.get_ref().parse().map_err(|what: String| self.error(&at, what))?;
        if api != Api::Chat && !matches!(replies, [reply] if reply.is_raw()) {
            let what = format!("a script of `{api}` has one reply, of `raw` steps");
            return Err(self.error(&at, what));
        }
        Ok(api)
    }

    fn sample(&self, raw: RawSample) -> Result<Sample, ScriptError> {
        let Some(tools) = raw.tools else {
            return Ok(Sample { user: raw.user, tools: Vec::new() });
        };
        let at = tools.span();
        let value = match tools.into_inner() {
            Value::String(json) => serde_json::from_str(&json)
                .map_err(|e| self.error(&at, format!("`tools` is no JSON: {e}")))?,
            value => value,
        };
        match value {
            Value::Array(tools) => Ok(Sample { user: raw.user, tools }),
            _ => Err(self.error(&at, "`tools` is an array of declared tools, or its JSON text")),
        }
    }

    fn reply(&self, raw: RawReply, pace: Pace) -> Result<Reply, ScriptError> {
        let at = raw.steps.span();
        let steps = raw.steps.into_inner();
        let count = steps.len();
        let mut read: Vec<Step> = Vec::with_capacity(count);
        let mut bytes = 0_u64;
        for (i, step) in steps.into_iter().enumerate() {
            let at = step.span();
            let step = self.step(&at, step.into_inner(), pace)?;
            self.place(&at, &step, &read, i + 1 == count)?;
            bytes = bytes.saturating_add(match &step {
                Step::Text(text) | Step::Reasoning(text) | Step::Call { arguments: text, .. } => {
                    text.len()
                }
                _ => 0,
            });
            read.push(step);
        }
        if bytes > REPLY_BYTES {
            let what = format!("the reply has {bytes} bytes; at most {REPLY_BYTES} are allowed");
            return Err(self.error(&at, what));
        }
        Ok(Reply {
            steps: read,
            whole: raw.whole,
            usage: raw.usage.map(|usage| (usage.prompt_tokens, usage.completion_tokens)),
        })
    }

    /// Whether a step may stand here.
    fn place(
        &self,
        at: &Range<usize>,
        step: &Step,
        before: &[Step],
        is_last: bool,
    ) -> Result<(), ScriptError> {
        match step {
            Step::Cut | Step::End | Step::Hang | Step::Status { .. } if !is_last => {
                Err(self.error(at, "`cut`, `end`, `hang` and `status` are last steps"))
            }
            Step::Status { .. } if !before.iter().all(|step| matches!(step, Step::Pause(_))) => {
                Err(self.error(at, "only `pause_ms` can stand before `status`"))
            }
            Step::Finish(_) if before.iter().any(|step| matches!(step, Step::Finish(_))) => {
                Err(self.error(at, "a reply has one `finish`; write a second one as `raw`"))
            }
            _ => Ok(()),
        }
    }

    fn step(&self, at: &Range<usize>, raw: RawStep, pace: Pace) -> Result<Step, ScriptError> {
        let set = [
            ("text", raw.text.is_some()),
            ("chunks", raw.chunks.is_some()),
            ("repeat", raw.repeat.is_some()),
            ("reasoning", raw.reasoning.is_some()),
            ("call", raw.call.is_some()),
            ("raw", raw.raw.is_some()),
            ("pause_ms", raw.pause_ms.is_some()),
            ("finish", raw.finish.is_some()),
            ("cut", raw.cut.is_some()),
            ("end", raw.end.is_some()),
            ("hang", raw.hang.is_some()),
            ("status", raw.status.is_some()),
        ];
        let named = |names: &[(&'static str, bool)]| {
            names.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect::<Vec<_>>()
        };
        let done = named(&set);
        let [done] = done[..] else {
            let what = match done[..] {
                [] => {
                    let all = set.map(|(name, _)| name).join(", ");
                    format!("a step does one of: {all}")
                }
                _ => format!("a step does one thing, not {}", done.join(" and ")),
            };
            return Err(self.error(at, what));
        };
        let beside = named(&[
            ("chunk", raw.chunk.is_some()),
            ("every_ms", raw.every_ms.is_some()),
            ("retry_after", raw.retry_after.is_some()),
            ("body", raw.body.is_some()),
        ]);
        let allowed: &[&str] = match done {
            "text" | "repeat" | "reasoning" => &["chunk", "every_ms"],
            "chunks" => &["every_ms"],
            "status" => &["retry_after", "body"],
            _ => &[],
        };
        if let Some(other) = beside.iter().find(|name| !allowed.contains(name)) {
            return Err(self.error(at, format!("`{other}` does not stand beside `{done}`")));
        }
        if [raw.cut, raw.end, raw.hang].contains(&Some(false)) {
            return Err(self.error(at, format!("write `{done} = true`, or leave the step out")));
        }

        let pieces = |pieces: Vec<Piece>| self.pieces(at, pieces, raw.chunk, raw.every_ms, pace);
        Ok(if let Some(text) = raw.text {
            Step::Text(pieces(vec![Piece { text, times: 1 }])?)
        } else if let Some(text) = raw.reasoning {
            Step::Reasoning(pieces(vec![Piece { text, times: 1 }])?)
        } else if let Some(repeat) = raw.repeat {
            Step::Text(pieces(vec![repeat.into()])?)
        } else if let Some(chunks) = raw.chunks {
            let chunks = chunks.into_iter().map(|text| Piece { text, times: 1 }).collect();
            Step::Text(Pieces { delivery: Delivery::Pieces, ..pieces(chunks)? })
        } else if let Some(call) = raw.call {
            self.call(at, call, pace)?
        } else if let Some(text) = raw.raw {
            Step::Raw(text)
        } else if let Some(pause) = raw.pause_ms {
            Step::Pause(self.pause(at, pause)?)
        } else if let Some(reason) = raw.finish {
            Step::Finish(reason)
        } else if let Some(status) = raw.status {
            if !(300..=599).contains(&status) {
                let what = format!("`status` is an error's, 300 to 599, not {status}");
                return Err(self.error(at, what));
            }
            let body = raw.body.unwrap_or_default();
            Step::Status { status, retry_after: raw.retry_after, body }
        } else if raw.hang.is_some() {
            Step::Hang
        } else if raw.end.is_some() {
            Step::End
        } else {
            Step::Cut
        })
    }

    fn call(&self, at: &Range<usize>, raw: RawCall, pace: Pace) -> Result<Step, ScriptError> {
        let pieces = match raw.arguments {
            RawText::One(text) => vec![Piece { text, times: 1 }],
            RawText::Many(pieces) => pieces
                .into_iter()
                .map(|piece| match piece {
                    RawPiece::Text(text) => Piece { text, times: 1 },
                    RawPiece::Repeat(repeat) => repeat.into(),
                })
                .collect(),
        };
        let arguments = self.pieces(at, pieces, raw.chunk, raw.every_ms, pace)?;
        Ok(Step::Call { id: raw.id, name: raw.name, arguments })
    }

    fn pieces(
        &self,
        at: &Range<usize>,
        pieces: Vec<Piece>,
        chunk: Option<usize>,
        every_ms: Option<u64>,
        pace: Pace,
    ) -> Result<Pieces, ScriptError> {
        let chunk = chunk.map_or(Ok(pace.chunk), |chunk| self.chunk(at, chunk))?;
        let every = every_ms.map_or(Ok(pace.every), |every| self.pause(at, every))?;
        Ok(Pieces { pieces, delivery: Delivery::Bytes(chunk), every })
    }

    fn chunk(&self, at: &Range<usize>, chunk: usize) -> Result<usize, ScriptError> {
        match chunk {
            0 => Err(self.error(at, "`chunk` is a number of bytes, at least 1")),
            chunk => Ok(chunk),
        }
    }

    fn pause(&self, at: &Range<usize>, ms: u64) -> Result<Duration, ScriptError> {
        if ms > PAUSE_MS {
            return Err(self.error(at, format!("a pause is at most {PAUSE_MS} ms, not {ms}")));
        }
        Ok(Duration::from_millis(ms))
    }
}

#[cfg(test)]
mod tests;
