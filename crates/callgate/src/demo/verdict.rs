//! Whether the client got what the model wrote: computed from both replies, not from the script.
//!
//! What the model's text means is read by `callgate-dialect` alone, without the gateway.

use std::{
    io::{self, Write},
    time::Duration,
};

use callgate_dialect::{Commit, End, Language, Options, Recorded, Tool, Tools};
use serde_json::Value;

use super::{
    case::{Case, Expected},
    reply::Reply,
};
use crate::paint::Paint;

/// How one request ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    /// Calls that the client got whole.
    pub(super) calls: usize,
    /// The code of the fault that it was told.
    pub(super) fault: Option<String>,
    /// The output limit ended the reply.
    pub(super) length: bool,
    /// What is not as it must be.
    pub(super) wrong: Vec<String>,
    /// What the outcome means.
    pub(super) meaning: &'static str,
}

impl Ending {
    /// The outcome in one line.
    pub(super) fn line(&self) -> String {
        if !self.wrong.is_empty() {
            return format!("WRONG: {}", self.wrong.join("; "));
        }
        let what = match (&self.fault, self.calls) {
            (Some(code), _) => format!("{code} reported"),
            (None, _) if self.length => "output limit reported".to_owned(),
            (None, 0) => "text delivered".to_owned(),
            (None, 1) => "1 call delivered whole".to_owned(),
            (None, calls) => format!("{calls} calls delivered whole"),
        };
        if self.meaning.is_empty() { what } else { format!("{what}: {}", self.meaning) }
    }

    /// A piece of that line in its colour.
    pub(super) fn paint(&self, paint: Paint, text: &str) -> String {
        if self.wrong.is_empty() { paint.green(text) } else { paint.red(text) }.to_string()
    }
}

/// Compares the two sides.
pub(super) fn judge(case: &Case, model: &Reply, client: &Reply) -> Ending {
    let mut wrong = Vec::new();
    let meant = meant(case, model);
    for call in &client.calls {
        let is_object = serde_json::from_str::<Value>(&call.arguments).is_ok_and(|v| v.is_object());
        if !is_object {
            wrong.push(format!("the call of {} arrived in pieces", call.name));
        }
    }
    let got: Vec<_> = client.calls.iter().map(|c| (c.name.clone(), c.arguments.clone())).collect();
    if client.error.is_some() {
        if !got.is_empty() {
            wrong.push("a faulted turn delivered calls".to_owned());
        }
    } else if client.broken || client.finish.is_none() {
        wrong.push("the reply broke without an error".to_owned());
    } else {
        if got != meant.calls {
            wrong.push(format!(
                "the model made {} calls, {} arrived so",
                meant.calls.len(),
                got.len()
            ));
        }
        if client.text != meant.text {
            wrong.push("the text is not the model's".to_owned());
        }
        if client.finish.as_deref() == Some("tool_calls") && got.is_empty() {
            wrong.push("the finish reason names calls, and there are none".to_owned());
        }
    }
    let length = client.finish.as_deref() == Some("length");
    let as_expected = match case.expected {
        Expected::Calls(calls) => client.error.is_none() && !length && got.len() == calls,
        Expected::Length => client.error.is_none() && length && got.is_empty(),
        Expected::Fault(code) => client.error.as_deref() == Some(code),
        Expected::Anything => true,
    };
    if !as_expected {
        wrong.push(format!("expected {:?}", case.expected));
    }
    Ending { calls: got.len(), fault: client.error.clone(), length, wrong, meaning: case.meaning }
}

/// What the model's reply means.
struct Meant {
    text: String,
    calls: Vec<(String, String)>,
}

fn meant(case: &Case, model: &Reply) -> Meant {
    let language = case.script.dialect.as_deref().and_then(|name| name.parse::<Language>().ok());
    let Some(language) = language else {
        let calls = model.calls.iter().map(|c| (c.name.clone(), c.arguments.clone())).collect();
        return Meant { text: model.text.clone(), calls };
    };
    let commit = match case.script.commit.as_deref() {
        Some("call") => Commit::Call,
        _ => Commit::Block,
    };
    let end = match model.finish.as_deref() {
        Some("length") => End::Length,
        Some(_) => End::Stop,
        None => End::Broken,
    };
    let tools = case.script.sample.tools.iter().filter_map(|tool| {
        let function = &tool["function"];
        let name = function["name"].as_str()?.to_owned();
        Some(Tool { name, description: None, parameters: function["parameters"].clone() })
    });
    let options = Options { tools: Tools::new(tools.collect()), commit, ..Options::default() };
    let mut parser = language.parser(options);
    let mut recorded = Recorded::default();
    parser.push(model.text.as_bytes(), &mut recorded);
    parser.finish(end, &mut recorded);
    Meant {
        text: String::from_utf8_lossy(&recorded.text()).into_owned(),
        calls: recorded.calls().map(|c| (c.name.clone(), c.arguments.clone())).collect(),
    }
}

/// All endings together.
#[derive(Debug, Default)]
pub(super) struct Tally {
    requests: usize,
    calls: usize,
    faults: usize,
    lengths: usize,
    wrong: usize,
}

impl Tally {
    pub(super) fn add(&mut self, ending: &Ending) {
        self.requests += 1;
        self.calls += ending.calls;
        self.faults += usize::from(ending.fault.is_some());
        self.lengths += usize::from(ending.length);
        self.wrong += usize::from(!ending.wrong.is_empty());
    }

    /// How many cases ended otherwise than they must.
    pub(super) fn wrong(&self) -> usize {
        self.wrong
    }

    pub(super) fn write(
        &self,
        out: &mut impl Write,
        paint: Paint,
        took: Duration,
    ) -> io::Result<()> {
        let plural = |n: usize, one: &str| {
            if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
        };
        let mut reported = plural(self.faults, "fault");
        if self.lengths > 0 {
            reported.push_str(&format!(" and {}", plural(self.lengths, "limit")));
        }
        let sum = format!(
            "{} in {:.1} s: {} delivered whole, {reported} reported",
            plural(self.requests, "request"),
            took.as_secs_f64(),
            plural(self.calls, "call"),
        );
        let rest = match self.wrong {
            0 => paint.green("nothing leaked, lost or altered").to_string(),
            wrong => paint.red(&format!("{} WRONG", plural(wrong, "case"))).to_string(),
        };
        writeln!(out, "{}\n{rest}", paint.bold(&sum))
    }
}
