//! Events of a candidate: kept until it is certain that it is a call, or told as they come.
//!
//! Only the bytes that are an argument's text have an event of their own; all others are structure.

use crate::{Call, Event, Sink, Span, scan::window::Window};

/// One event in owned form; calls are counted within the candidate.
#[derive(Clone, Debug)]
enum Item {
    Structure(Span),
    Start { span: Span, call: u32, id: Option<String>, name: String },
    Argument { span: Span, call: u32, key: String },
    Text { span: Span, call: u32, text: Vec<u8> },
    End { span: Span, call: u32, value: String },
    Ready { span: Span, call: Box<Call> },
}

/// Accounts for the bytes of a candidate, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    items: Vec<Item>,
    is_live: bool,
    /// Everything before it has an event, told or kept.
    done: u64,
}

impl Log {
    /// A candidate that begins at `at`.
    pub(super) fn new(at: u64) -> Self {
        Self { items: Vec::new(), is_live: false, done: at }
    }

    /// Whether events go out as they come.
    pub(super) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Everything before it has an event.
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    fn span_to(&mut self, to: u64) -> Span {
        let span = Span::new(self.done, to.max(self.done));
        self.done = span.end;
        span
    }

    pub(super) fn structure(&mut self, to: u64, sink: &mut impl Sink) {
        if self.done >= to {
            return;
        }
        let span = self.span_to(to);
        match self.items.last_mut() {
            Some(Item::Structure(last)) => last.end = span.end,
            _ => self.put(Item::Structure(span), sink),
        }
    }

    /// A call's identity. It stands where the call begins, even if its name came later.
    pub(super) fn start(
        &mut self,
        at: usize,
        call: u32,
        id: Option<String>,
        name: String,
        sink: &mut impl Sink,
    ) {
        let place = match self.items.get(at) {
            Some(Item::Structure(span)) => Span::at(span.start),
            _ => Span::at(self.done),
        };
        let item = Item::Start { span: place, call, id, name };
        if self.is_live {
            self.put(item, sink);
        } else {
            self.items.insert(at.min(self.items.len()), item);
        }
    }

    /// Where the next call's identity will stand.
    pub(super) fn place(&mut self) -> usize {
        // What follows must not be merged into what stands before the call.
        if let Some(Item::Structure(_)) = self.items.last() {
            self.items.push(Item::Structure(Span::at(self.done)));
            return self.items.len() - 1;
        }
        self.items.len()
    }

    pub(super) fn argument(&mut self, call: u32, key: String, to: u64, sink: &mut impl Sink) {
        let span = self.span_to(to);
        self.put(Item::Argument { span, call, key }, sink);
    }

    pub(super) fn text(&mut self, call: u32, bytes: &[u8], to: u64, sink: &mut impl Sink) {
        let span = self.span_to(to);
        if self.is_live {
            return sink.event(Event::ArgDelta { span, call, bytes });
        }
        match self.items.last_mut() {
            Some(Item::Text { span: last, text, .. }) => {
                last.end = span.end;
                text.extend_from_slice(bytes);
            }
            _ => self.items.push(Item::Text { span, call, text: bytes.to_vec() }),
        }
    }

    pub(super) fn end(&mut self, call: u32, value: &str, to: u64, sink: &mut impl Sink) {
        let span = self.span_to(to);
        if self.is_live {
            return sink.event(Event::ArgEnd { span, call, value });
        }
        self.items.push(Item::End { span, call, value: value.to_owned() });
    }

    pub(super) fn ready(&mut self, call: Call, to: u64, sink: &mut impl Sink) {
        let span = self.span_to(to);
        self.put(Item::Ready { span, call: Box::new(call) }, sink);
    }

    fn put(&mut self, item: Item, sink: &mut impl Sink) {
        if self.is_live { item.tell(sink) } else { self.items.push(item) }
    }

    /// From here on events go out as they come; first the kept ones.
    pub(super) fn go_live(&mut self, sink: &mut impl Sink) {
        self.is_live = true;
        for item in std::mem::take(&mut self.items) {
            item.tell(sink);
        }
    }
}

impl Item {
    fn tell(self, sink: &mut impl Sink) {
        if let Self::Ready { span, call } = self {
            return sink.event(Event::CallReady { span, call: *call });
        }
        sink.event(match &self {
            Self::Structure(span) if span.is_empty() => return,
            Self::Structure(span) => Event::Structure { span: *span },
            Self::Start { span, call, id, name } => {
                Event::CallStart { span: *span, call: *call, id: id.as_deref(), name }
            }
            Self::Argument { span, call, key } => Event::ArgStart { span: *span, call: *call, key },
            Self::Text { span, call, text } => {
                Event::ArgDelta { span: *span, call: *call, bytes: text }
            }
            Self::End { span, call, value } => Event::ArgEnd { span: *span, call: *call, value },
            Self::Ready { span, call } => Event::CallReady { span: *span, call: (**call).clone() },
        });
    }
}

/// Tells the bytes of a span as text.
pub(super) fn tell_text(span: Span, window: &Window<'_>, sink: &mut impl Sink) {
    for (span, bytes) in window.pieces(span) {
        sink.event(Event::Text { span, bytes });
    }
}
