//! The languages by name, and the one dispatch over them.

use std::{fmt, str::FromStr};

use crate::{
    Call, Dialect, End, Inexact, Options, ResultFrame, Sink, Tools,
    ctl::Ctl,
    json::{self, Json},
    render,
    scan::utf8::Whole,
    teach,
    xml::{self, Xml},
};

/// A dialect by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Language {
    /// Canonical XML: `<tool_calls><invoke name><parameter name>`.
    Xml,
    /// MiniMax: `<minimax:tool_call>`, raw values.
    Minimax,
    /// Canonical XML that also reads the tags of Anthropic's models.
    Anthropic,
    /// Canonical XML that also reads DeepSeek's tags.
    Dsml,
    /// CTL with inline, delimited and length-prefixed arguments.
    Ctl,
    /// CTL with inline and delimited arguments only.
    CtlHeredoc,
    /// JSON call objects, each beginning a line.
    JsonObject,
    /// One JSON list of calls, as `tool_calls` in OpenAI's API.
    JsonWhole,
    /// A JSON list of calls between lines with a tag.
    Rcc,
}

impl Language {
    /// Every language, in the order they are listed to people.
    pub const ALL: [Self; 9] = [
        Self::Xml,
        Self::Minimax,
        Self::Anthropic,
        Self::Dsml,
        Self::Ctl,
        Self::CtlHeredoc,
        Self::JsonObject,
        Self::JsonWhole,
        Self::Rcc,
    ];

    /// The name used in configuration and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xml => "xml",
            Self::Minimax => "minimax",
            Self::Anthropic => "anthropic",
            Self::Dsml => "dsml",
            Self::Ctl => "ctl",
            Self::CtlHeredoc => "ctl-heredoc",
            Self::JsonObject => "json-object",
            Self::JsonWhole => "json-whole",
            Self::Rcc => "rcc",
        }
    }

    /// Whether a call can be confirmed before what it stands in, so that [`crate::Commit`] has a meaning.
    #[must_use]
    pub const fn has_blocks(self) -> bool {
        match self {
            Self::Xml | Self::Minimax | Self::Anthropic | Self::Dsml | Self::JsonObject => true,
            Self::Ctl | Self::CtlHeredoc | Self::JsonWhole | Self::Rcc => false,
        }
    }

    /// Whether values may be raw, so that [`Options::run_ambiguous`] has a meaning.
    #[must_use]
    pub const fn has_raw_values(self) -> bool {
        match self {
            Self::Minimax | Self::Anthropic | Self::Dsml => true,
            Self::Xml
            | Self::Ctl
            | Self::CtlHeredoc
            | Self::JsonObject
            | Self::JsonWhole
            | Self::Rcc => false,
        }
    }

    /// Whether a call carries an id of the model's own.
    #[must_use]
    pub const fn has_ids(self) -> bool {
        match self {
            Self::Xml | Self::Minimax | Self::Anthropic | Self::Dsml => false,
            Self::Ctl | Self::CtlHeredoc | Self::JsonObject | Self::JsonWhole | Self::Rcc => true,
        }
    }

    /// A parser for one stream.
    #[must_use]
    pub fn parser(self, options: Options) -> Parser {
        let family = |grammar| Machine::Xml(Box::new(Xml::new(grammar, options.clone())));
        let machine = match self {
            Self::Xml => family(&xml::CANONICAL),
            Self::Minimax => family(&xml::MINIMAX),
            Self::Anthropic => family(&xml::ANTHROPIC),
            Self::Dsml => family(&xml::DSML),
            Self::Ctl => Machine::Ctl(Box::new(Ctl::new(crate::ctl::Forms::All, options))),
            Self::CtlHeredoc => {
                Machine::Ctl(Box::new(Ctl::new(crate::ctl::Forms::Heredoc, options)))
            }
            Self::JsonObject => Machine::Json(Box::new(Json::new(json::OBJECT, options))),
            Self::JsonWhole => Machine::Json(Box::new(Json::new(json::WHOLE, options))),
            Self::Rcc => Machine::Json(Box::new(Json::new(json::RCC, options))),
        };
        Parser { machine, whole: Whole::default() }
    }

    /// What a model is told so that it writes this language; empty if no tool is declared.
    #[must_use]
    pub fn teach(self, tools: &Tools) -> String {
        match self {
            Self::Xml | Self::Anthropic | Self::Dsml => teach::xml(tools),
            Self::Minimax => teach::minimax(tools),
            Self::Ctl => teach::ctl(tools, crate::ctl::Forms::All),
            Self::CtlHeredoc => teach::ctl(tools, crate::ctl::Forms::Heredoc),
            Self::JsonObject => teach::json(tools, json::List::Lines),
            Self::JsonWhole => teach::json(tools, json::List::Whole),
            Self::Rcc => teach::json(tools, json::List::Tagged),
        }
    }

    /// An earlier call in this language, for the history a model is shown.
    ///
    /// # Errors
    /// [`Inexact`] if parsing the text would not give the same call; it carries the nearest text.
    pub fn render_call(self, call: &Call, tools: &Tools) -> Result<String, Inexact> {
        match self {
            Self::Xml | Self::Anthropic | Self::Dsml => {
                render::xml_calls(std::slice::from_ref(call), tools)
            }
            Self::Minimax => render::minimax_calls(std::slice::from_ref(call), tools),
            Self::Ctl => render::ctl_call(call, tools, crate::ctl::Forms::All),
            Self::CtlHeredoc => render::ctl_call(call, tools, crate::ctl::Forms::Heredoc),
            Self::JsonObject | Self::JsonWhole | Self::Rcc => {
                self.render_calls(std::slice::from_ref(call), tools)
            }
        }
    }

    /// The calls of one earlier message, as a model would have written them together.
    ///
    /// # Errors
    /// As [`Language::render_call`], for the first call that is inexact.
    pub fn render_calls(self, calls: &[Call], tools: &Tools) -> Result<String, Inexact> {
        match self {
            Self::Xml | Self::Anthropic | Self::Dsml => render::xml_calls(calls, tools),
            Self::Minimax => render::minimax_calls(calls, tools),
            Self::Ctl | Self::CtlHeredoc => render::joined(self, calls, tools),
            Self::JsonObject => render::json_calls(calls, json::List::Lines),
            Self::JsonWhole => render::json_calls(calls, json::List::Whole),
            Self::Rcc => render::json_calls(calls, json::List::Tagged),
        }
    }

    /// A tool's result in this language, for the next message to the model.
    #[must_use]
    pub fn render_result(self, result: &ResultFrame<'_>) -> String {
        match self {
            Self::Xml | Self::Minimax | Self::Anthropic | Self::Dsml => render::xml_result(result),
            Self::Ctl | Self::CtlHeredoc => render::ctl_result(result),
            Self::JsonObject | Self::JsonWhole | Self::Rcc => render::json_result(result),
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name is no dialect's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLanguage(pub String);

impl fmt::Display for UnknownLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Language::ALL.map(Language::name).join(", ");
        write!(f, "unknown dialect `{}`; known are: {known}", self.0)
    }
}

impl std::error::Error for UnknownLanguage {}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|language| language.name() == name)
            .ok_or_else(|| UnknownLanguage(name.to_owned()))
    }
}

#[derive(Clone, Debug)]
enum Machine {
    Xml(Box<Xml>),
    Ctl(Box<Ctl>),
    Json(Box<Json>),
}

/// A streaming parser of one stream in one language: `push` any number of times, then `finish` once.
#[derive(Clone, Debug)]
pub struct Parser {
    machine: Machine,
    whole: Whole,
}

impl Parser {
    /// Takes the next bytes, split anywhere, and emits what has become certain.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let sink = &mut self.whole.before(sink);
        match &mut self.machine {
            Machine::Xml(machine) => machine.push(bytes, sink),
            Machine::Ctl(machine) => machine.push(bytes, sink),
            Machine::Json(machine) => machine.push(bytes, sink),
        }
    }

    /// Takes the end of the stream. After it every byte is accounted for.
    pub fn finish(&mut self, end: End, sink: &mut impl Sink) {
        {
            let sink = &mut self.whole.before(sink);
            match &mut self.machine {
                Machine::Xml(machine) => machine.finish(end, sink),
                Machine::Ctl(machine) => machine.finish(end, sink),
                Machine::Json(machine) => machine.finish(end, sink),
            }
        }
        self.whole.flush(sink);
    }

    /// Bytes read and not yet accounted for by an event.
    #[must_use]
    pub fn pending(&self) -> usize {
        let held = match &self.machine {
            Machine::Xml(machine) => machine.pending(),
            Machine::Ctl(machine) => machine.pending(),
            Machine::Json(machine) => machine.pending(),
        };
        held + self.whole.pending()
    }

    /// Whether the language's call syntax was seen outside code context.
    #[must_use]
    pub fn saw_call_syntax(&self) -> bool {
        match &self.machine {
            Machine::Xml(machine) => machine.saw_call_syntax(),
            Machine::Ctl(machine) => machine.saw_call_syntax(),
            Machine::Json(machine) => machine.saw_call_syntax(),
        }
    }
}
