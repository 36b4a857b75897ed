//! A piece of JSON that may be a call, or a list of calls, and how far it has shown.
//!
//! It reads the JSON around call objects; the objects are `member.rs`'s.

use super::{
    Skip,
    fault::{Fault, FaultKind},
    log::Log,
    member::{Member, Place, Shape},
    wrapper::Tag,
};
use crate::{
    Limits, Sink,
    scan::json::{Container, Lexer, Step},
};

/// What the candidates of a language look like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Framing {
    /// The bytes that may begin one, at the start of a line.
    pub(super) first: &'static [u8],
    /// Whether a line with a tag stands before and behind it.
    pub(super) wrapper: bool,
    /// What it holds.
    content: Content,
    /// Whether a call object stands alone, so that it may be confirmed as it comes.
    pub(super) may_live: bool,
    /// The keys under which arguments may stand.
    arguments: &'static [&'static str],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// One call object.
    Call,
    /// `{"tool_calls": […]}`, or the list alone.
    ObjectOrList,
    /// `{"tool_calls": […]}`.
    Object,
}

/// `json-object`.
pub(crate) const OBJECT: Framing = Framing {
    first: b"{[",
    wrapper: false,
    content: Content::Call,
    may_live: true,
    arguments: &["arguments", "parameters"],
};

/// `json-whole`.
pub(crate) const WHOLE: Framing = Framing {
    first: b"{[",
    wrapper: false,
    content: Content::ObjectOrList,
    may_live: false,
    arguments: &["arguments", "parameters"],
};

/// `rcc`.
pub(crate) const RCC: Framing = Framing {
    first: b"<",
    wrapper: true,
    content: Content::Object,
    may_live: false,
    arguments: &["arguments", "input"],
};

/// Where a candidate stands after some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    More,
    /// It closed, and all of it are calls.
    Calls,
    /// It closed and holds no call.
    NoCall,
}

/// The JSON that is being read.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    framing: Framing,
    shape: Shape,
    /// What belongs to it begins here: its opener, or what stands between it and the call before.
    pub(super) start: u64,
    /// Its JSON begins here.
    pub(super) open: u64,
    /// The tag of its wrapper.
    pub(super) tag: Option<Tag>,
    pub(super) log: Log,
    lexer: Lexer,
    member: Option<Member>,
    /// The wrapper object's key that is being read.
    key: Vec<u8>,
    has_list: bool,
    /// Whether the list is called `tool_calls`.
    has_key: bool,
    has_read_key: bool,
    first_call: u32,
    calls: u32,
    engaged: bool,
    /// Whether the JSON is valid so far.
    is_valid: bool,
    is_list: bool,
}

impl Candidate {
    pub(super) fn new(
        framing: Framing,
        live: bool,
        start: u64,
        open: u64,
        first_call: u32,
        limits: &Limits,
    ) -> Self {
        let shape = Shape { arguments: framing.arguments, bare_name: false, live };
        Self {
            framing,
            shape,
            start,
            open,
            tag: None,
            log: Log::new(start),
            // Around the arguments stand at most a list in an object, a call and its function.
            lexer: Lexer::new(limits.nesting + 4),
            member: None,
            key: Vec::new(),
            has_list: false,
            has_key: false,
            has_read_key: false,
            first_call,
            calls: 0,
            engaged: false,
            is_valid: true,
            is_list: false,
        }
    }

    /// Whether a call has shown in it.
    pub(super) fn is_engaged(&self) -> bool {
        self.engaged || self.member.as_ref().is_some_and(Member::is_engaged)
    }

    /// Whether a key has been read, so that it is more than a bracket.
    pub(super) fn has_key(&self) -> bool {
        self.has_read_key || self.calls > 0 || self.member.as_ref().is_some_and(Member::has_key)
    }

    /// Whether it is a list.
    pub(super) fn is_list(&self) -> bool {
        self.is_list
    }

    /// The number of calls in the message, if all of this are calls.
    pub(super) fn next_call(&self) -> u32 {
        self.first_call + self.calls
    }

    /// The number of calls in the message whose identity has gone out.
    pub(super) fn identified(&self) -> u32 {
        self.first_call + u32::from(self.log.is_live())
    }

    /// The call whose identity has gone out.
    pub(super) fn call(&self) -> u32 {
        self.member.as_ref().map_or(self.first_call, Member::call)
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.member.as_ref().and_then(Member::name)
    }

    /// The brackets and strings that are open.
    pub(super) fn skip(&self) -> Skip {
        let inner = self.member.as_ref().and_then(Member::inner);
        let last = inner.unwrap_or(&self.lexer);
        Skip {
            depth: self.lexer.depth() + inner.map_or(0, Lexer::depth),
            is_in_string: last.is_in_string(),
            is_in_escape: last.is_in_escape(),
        }
    }

    /// The lexer of the whole, if the JSON is valid so far.
    pub(super) fn into_lexer(self) -> Option<Lexer> {
        let inner = self.member.as_ref().and_then(Member::inner).cloned();
        let mut lexer = self.lexer;
        if let Some(inner) = inner {
            lexer.absorb(inner);
        }
        (self.is_valid && lexer.depth() > 0).then_some(lexer)
    }

    /// Takes bytes from offset `at` on: how many, and where it stands then.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        at: u64,
        limits: &Limits,
        sink: &mut impl Sink,
    ) -> Result<(usize, Progress), Fault> {
        let mut used = 0;
        while used < bytes.len() {
            let from = at + used as u64;
            let result = match &mut self.member {
                Some(member) => member.take(
                    &bytes[used..],
                    from,
                    &mut self.lexer,
                    &self.shape,
                    limits,
                    &mut self.log,
                    sink,
                ),
                None => self.around(&bytes[used..], from, sink),
            };
            match result {
                Ok((count, false)) => used += count,
                Ok((count, true)) => {
                    used += count;
                    if let Some(member) = self.member.take() {
                        self.engaged |= member.is_engaged();
                        self.calls += 1;
                    }
                    if self.lexer.depth() == 0 {
                        let is_call = self.calls > 0;
                        let end = if is_call { Progress::Calls } else { Progress::NoCall };
                        return Ok((used, end));
                    }
                }
                Err(fault) => {
                    // In a string, the lexer has read beyond the fault.
                    self.is_valid =
                        !matches!(fault.kind, FaultKind::Json(_)) && !self.lexer.is_in_string();
                    return Err(fault);
                }
            }
        }
        Ok((used, Progress::More))
    }

    /// Takes one step outside call objects: how many bytes, and whether something closed.
    fn around(
        &mut self,
        bytes: &[u8],
        at: u64,
        sink: &mut impl Sink,
    ) -> Result<(usize, bool), Fault> {
        let (used, step) = self.lexer.step(bytes);
        let to = at + used as u64;
        let depth = self.lexer.depth();
        let no_call = |what: &str| Err(Fault::new(FaultKind::Member(what.to_owned()), to));
        let mut closed = false;
        self.has_read_key |= step == Step::StringEnd;
        self.is_list |= step == Step::Open(Container::Array) && depth == 1;
        match step {
            Step::Bad(fault) => return Err(Fault::new(FaultKind::Json(fault), to)),
            Step::Open(Container::Object)
                if depth == 1 && self.framing.content == Content::Call || self.is_in_list() =>
            {
                self.log.structure(to - 1, sink);
                // A bare list says less than one that is called `tool_calls`.
                self.shape.bare_name = self.has_key;
                let call = self.first_call + self.calls;
                let place = Place { call, start: to - 1, depth };
                self.member = Some(Member::new(place, &mut self.log));
            }
            Step::Open(Container::Object) if depth == 1 => {}
            Step::Open(Container::Array)
                if depth == 1 && self.framing.content == Content::ObjectOrList
                    || depth == 2 && self.has_key && !self.has_list =>
            {
                self.has_list = true;
            }
            Step::Key => self.key.clear(),
            Step::Text(bytes) => self.key.extend_from_slice(bytes),
            Step::StringEnd if self.key == b"tool_calls" && !self.has_key => self.has_key = true,
            Step::Close(_) => closed = depth == 0,
            Step::Colon | Step::More => {}
            _ => {
                return no_call("a list of calls holds call objects, and nothing stands beside it");
            }
        }
        self.log.structure(to, sink);
        Ok((used, closed))
    }

    fn is_in_list(&self) -> bool {
        let depth = if self.has_key { 3 } else { 2 };
        self.has_list && self.lexer.depth() == depth
    }
}
