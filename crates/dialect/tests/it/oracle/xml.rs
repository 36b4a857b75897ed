//! The pages `xml.md` and `code-context.md`, read naively.

use callgate_dialect::{Commit, End};
use callgate_lab::Outcome;

use super::{
    Question, Said, json, object,
    tag::{self, Tag},
    value::{self, Fault},
};

/// Blanks and comments between the wrapper's opener and its first call.
const GAP: usize = 256;
/// Runs of back-ticks that may wait on a line.
const WAITING: usize = 32;
/// A block behind a waiting run is decided within this many bytes.
const DECIDED: usize = 4096;

/// The outcome of a text.
pub(crate) fn read(question: &Question<'_>) -> Outcome {
    let page = Page { question: *question, text: question.text };
    let mut place = Place::default();
    while place.at < question.text.len() {
        page.step(&mut place);
    }
    let mut said = Vec::new();
    let mut saw = place.saw;
    for piece in place.pieces {
        match piece {
            Top::Text(from, to) => said.push(Said::Text(from, to)),
            Top::Block { from, to, is_code: true, .. } => said.push(Said::Text(from, to)),
            Top::Block { said: inner, .. } => {
                saw = true;
                said.extend(inner);
            }
        }
    }
    super::outcome(question.text, &said, saw)
}

struct Page<'a> {
    question: Question<'a>,
    text: &'a [u8],
}

/// How far the page is read, and what is known there.
#[derive(Clone)]
struct Place {
    at: usize,
    is_line_start: bool,
    /// How many lines of text have ended.
    line: usize,
    /// Runs of back-ticks that wait for their equal.
    runs: Vec<usize>,
    /// No block begins before this offset.
    off_until: usize,
    /// The `<!--` here is read as if it were no comment.
    no_comment_at: Option<usize>,
    /// How many of the waiting runs are looked at, and where one of them was closed.
    watched: usize,
    closed_at: Option<usize>,
    /// A complete opener was excluded, and no closer has been seen since.
    void: bool,
    saw: bool,
    pieces: Vec<Top>,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            at: 0,
            is_line_start: true,
            line: 0,
            runs: Vec::new(),
            off_until: 0,
            no_comment_at: None,
            watched: 0,
            closed_at: None,
            void: false,
            saw: false,
            pieces: Vec::new(),
        }
    }
}

/// A stretch of the text outside of blocks, or a block.
#[derive(Clone)]
enum Top {
    Text(usize, usize),
    Block {
        from: usize,
        to: usize,
        said: Vec<Said>,
        /// How many runs of its line waited when it began; 0 once it is decided.
        behind: usize,
        is_code: bool,
    },
}

impl Place {
    fn pass(&mut self, to: usize) {
        self.pieces.push(Top::Text(self.at, to));
        self.at = to;
    }

    /// A line of text is over: no run waits any more, and what waited for its rest is a block.
    fn end_line(&mut self) {
        self.line += 1;
        self.runs.clear();
        for piece in &mut self.pieces {
            if let Top::Block { behind, .. } = piece {
                *behind = 0;
            }
        }
    }

    /// A maximal run of back-ticks.
    fn tick(&mut self, len: usize) {
        let end = self.at + len;
        match self.runs.iter().position(|waiting| *waiting == len) {
            Some(closed) => {
                self.runs.truncate(closed);
                if closed < self.watched {
                    self.closed_at.get_or_insert(end);
                }
                for piece in &mut self.pieces {
                    if let Top::Block { to, behind, is_code, .. } = piece {
                        if closed < *behind && end - *to <= DECIDED {
                            *is_code = true;
                            *behind = 0;
                        }
                    }
                }
            }
            None if self.runs.len() < WAITING => self.runs.push(len),
            None => {}
        }
        self.pass(end);
    }
}

/// Code context: text outside of blocks, line by line.
impl Page<'_> {
    fn step(&self, place: &mut Place) {
        let text = self.text;
        let i = place.at;
        if std::mem::take(&mut place.is_line_start) {
            match line_start(text, i) {
                Line::Quote => {
                    place.pass(line_end(text, i));
                    place.is_line_start = true;
                    place.end_line();
                    return;
                }
                Line::Fence { byte, len } => {
                    let mut end = line_end(text, i);
                    while end < text.len() && !closes_fence(text, end, byte, len) {
                        end = line_end(text, end);
                    }
                    place.pass(line_end(text, end));
                    place.is_line_start = true;
                    place.end_line();
                    return;
                }
                Line::NoFence { next_tick } => place.off_until = place.off_until.max(next_tick),
                Line::Plain => {}
            }
        }
        match text[i] {
            b'\n' => {
                place.pass(i + 1);
                place.is_line_start = true;
                place.end_line();
            }
            b'`' => place.tick(run(text, i)),
            b'<' if tag::stands(text, i, "<!--") && place.no_comment_at != Some(i) => {
                self.comment(place);
            }
            b'<' if tag::stands_bounded(text, i, "<tool_calls") && i >= place.off_until => {
                self.opener(place);
            }
            b'<' if tag::stands_bounded(text, i, "<invoke")
                && i >= place.off_until
                && !place.void =>
            {
                self.bare(place);
            }
            b'<' if is_end_tag(text, i, "</tool_calls") => {
                if self.closed_on_line(place, None).is_none() {
                    place.void = false;
                }
                place.pass(i + 1);
            }
            _ => place.pass(i + 1),
        }
    }

    /// Where on this line one of the runs that wait is closed, if it is; with `no_comment_at`, as
    /// if no comment began there.
    fn closed_on_line(&self, place: &Place, no_comment_at: Option<usize>) -> Option<usize> {
        if place.runs.is_empty() {
            return None;
        }
        let mut ahead = place.clone();
        ahead.watched = place.runs.len();
        ahead.closed_at = None;
        ahead.no_comment_at = no_comment_at;
        if no_comment_at.is_some() {
            let known = arrow_on_line(self.text, place.at);
            ahead.off_until = ahead.off_until.max(known);
        } else {
            ahead.pass(place.at + 1);
        }
        while ahead.at < self.text.len() && ahead.line == place.line && ahead.closed_at.is_none() {
            self.step(&mut ahead);
        }
        ahead.closed_at
    }

    /// A `<!--` outside of blocks.
    fn comment(&self, place: &mut Place) {
        let text = self.text;
        let i = place.at;
        if let Some(closed) = self.closed_on_line(place, Some(i)) {
            let known = arrow_on_line(text, i).min(closed);
            place.off_until = place.off_until.max(known);
            place.pass(i + 1);
            return;
        }
        let (end, starts_line) = comment_end(text, i);
        if text[i..end].contains(&b'\n') {
            place.end_line();
        }
        place.pass(end);
        place.is_line_start = starts_line;
    }

    /// A `<tool_calls` and a boundary, outside of code.
    fn opener(&self, place: &mut Place) {
        let text = self.text;
        let at = place.at;
        let Tag::Whole { end, .. } = tag::start_tag(text, at, "<tool_calls".len(), false) else {
            place.pass(at + 1);
            return;
        };
        let mut first = end;
        loop {
            first = tag::blanks(text, first);
            match tag::stands(text, first, "<!--").then(|| tag::comment(text, first)) {
                Some(Some(end)) => first = end,
                _ => break,
            }
        }
        if first - end > GAP || !tag::stands_bounded(text, first, "<invoke") {
            if self.closed_on_line(place, None).is_none() {
                place.void = true;
                place.saw = true;
            }
            place.pass(at + 1);
            return;
        }
        place.void = false;
        let Block { said, end, damaged_at } = self.block(at, first, !place.runs.is_empty());
        let mut behind = place.runs.len();
        if let Some(damaged_at) = damaged_at {
            if self.is_closed_behind(damaged_at, &place.runs) {
                place.pass(damaged_at);
                return;
            }
            behind = 0;
        }
        place.pieces.push(Top::Block { from: at, to: end, said, behind, is_code: false });
        place.at = end;
    }

    /// Whether the rest of the line at `at` closes one of the runs.
    fn is_closed_behind(&self, at: usize, waiting: &[usize]) -> bool {
        let text = self.text;
        let mut runs = waiting.to_vec();
        let mut i = at;
        while i < text.len() && text[i] != b'\n' {
            if text[i] != b'`' {
                i += 1;
                continue;
            }
            let len = run(text, i);
            i += len;
            match runs.iter().position(|waiting| *waiting == len) {
                Some(closed) if closed < waiting.len() => return i - at <= DECIDED,
                Some(closed) => runs.truncate(closed),
                None if runs.len() < WAITING => runs.push(len),
                None => {}
            }
        }
        false
    }

    /// An `<invoke` with no block open.
    fn bare(&self, place: &mut Place) {
        let text = self.text;
        let at = place.at;
        let mut said = vec![Said::Repair { at }];
        let mut i = at;
        loop {
            match self.call(i, true) {
                Ok((call, end)) => {
                    said.push(call);
                    i = tag::blanks(text, end);
                }
                Err(damage) => {
                    i = damage.at;
                    break;
                }
            }
            if tag::stands_bounded(text, i, "<invoke") {
                continue;
            }
            if is_end_tag(text, i, "</tool_calls") {
                let Tag::Whole { end, .. } = tag::end_tag(text, i, "</tool_calls".len()) else {
                    break;
                };
                let behind = place.runs.len();
                place.pieces.push(Top::Block { from: at, to: end, said, behind, is_code: false });
                place.at = end;
                return;
            }
            break;
        }
        // Its bytes are text; no opener in them is looked at.
        place.off_until = place.off_until.max(i);
        place.pass(at + 1);
    }
}

/// One past the `-->` behind `at` on its line, or the line's end.
fn arrow_on_line(text: &[u8], at: usize) -> usize {
    let end = line_end(text, at);
    tag::comment(&text[..end], at).unwrap_or(end)
}

fn is_end_tag(text: &[u8], at: usize, word: &str) -> bool {
    tag::stands(text, at, word) && matches!(tag::end_tag(text, at, word.len()), Tag::Whole { .. })
}

/// What the start of a line says about it.
enum Line {
    Plain,
    Quote,
    Fence { byte: u8, len: usize },
    NoFence { next_tick: usize },
}

fn line_start(text: &[u8], at: usize) -> Line {
    let first = at + text[at..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let len = run(text, first);
    match text.get(first) {
        Some(b'>') => Line::Quote,
        Some(b'~') if len >= 3 => Line::Fence { byte: b'~', len },
        Some(b'`') if len >= 3 => {
            let rest = &text[first + len..line_end(text, at)];
            match rest.iter().position(|byte| *byte == b'`') {
                None => Line::Fence { byte: b'`', len },
                Some(next) => Line::NoFence { next_tick: first + len + next },
            }
        }
        _ => Line::Plain,
    }
}

/// How often the byte at `at` stands there.
fn run(text: &[u8], at: usize) -> usize {
    text[at..].iter().take_while(|byte| **byte == text[at]).count()
}

/// One past the LF of the line that `at` is in, or the end of the text.
fn line_end(text: &[u8], at: usize) -> usize {
    text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |lf| at + lf + 1)
}

fn closes_fence(text: &[u8], line: usize, byte: u8, len: usize) -> bool {
    let first = line + text[line..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    text.get(first) == Some(&byte)
        && run(text, first) >= len
        && text[first + run(text, first)..line_end(text, line)].iter().all(|b| tag::is_blank(*b))
}

/// The end of an HTML comment in text, and whether a line starts there.
fn comment_end(text: &[u8], at: usize) -> (usize, bool) {
    let arrow = tag::comment(text, at).unwrap_or(text.len());
    let mut line = line_end(text, at);
    while line < arrow {
        let end = line_end(text, line);
        let ended = text[..end].ends_with(b"\n");
        if ended && text[line..end].iter().all(|byte| tag::is_blank(*byte)) {
            return (end, true);
        }
        line = end;
    }
    (arrow, false)
}

/// Why a call is none.
struct Damage {
    kind: &'static str,
    /// The first byte of the offending construct; reading goes on there.
    at: usize,
    in_section: bool,
    /// Whether the call's identity was confirmed.
    started: bool,
    /// Whether it is an `<invoke` where the closer of this call is missing.
    is_next_call: bool,
}

/// What a block says, its end, and where it was damaged first.
struct Block {
    said: Vec<Said>,
    end: usize,
    damaged_at: Option<usize>,
}

/// Blocks.
impl Page<'_> {
    /// The engaged block from `open` with its first call at `first`.
    fn block(&self, open: usize, first: usize, is_held: bool) -> Block {
        match self.question.commit {
            Commit::Block => self.whole_block(open, first),
            Commit::Call => self.block_by_calls(open, first, is_held),
        }
    }

    fn whole_block(&self, open: usize, first: usize) -> Block {
        let text = self.text;
        let mut said = Vec::new();
        let mut i = first;
        let damage = loop {
            match between(text, i) {
                Between::Structure(end) => i = end,
                Between::Prose(end) => {
                    said.push(Said::Text(i, end));
                    i = end;
                }
                Between::Invoke => match self.call(i, false) {
                    Ok((call, end)) => {
                        said.push(call);
                        i = end;
                    }
                    Err(damage) => break damage,
                },
                Between::Closer(end) => return Block { said, end, damaged_at: None },
                Between::End => break self.cut(false),
            }
        };
        let end = end_of_stretch(text, damage.at, damage.in_section, &["</tool_calls"])
            .map_or(text.len(), |(_, end)| end);
        let violation = Said::Violation { kind: damage.kind, offset: damage.at };
        let said = vec![Said::Text(open, damage.at), violation, Said::Text(damage.at, end)];
        Block { said, end, damaged_at: Some(damage.at) }
    }

    /// While a run waits nothing is confirmed: a call that is damaged then was never started.
    fn block_by_calls(&self, open: usize, first: usize, is_held: bool) -> Block {
        let text = self.text;
        let mut block = Block { said: Vec::new(), end: text.len(), damaged_at: None };
        let mut i = first;
        let mut completed = false;
        loop {
            let damage = match between(text, i) {
                Between::Structure(end) => {
                    i = end;
                    continue;
                }
                Between::Prose(end) => {
                    block.said.push(Said::Text(i, end));
                    i = end;
                    continue;
                }
                Between::Closer(end) => {
                    if !completed {
                        block.said.push(Said::Text(i, end));
                    }
                    block.end = end;
                    return block;
                }
                Between::End => return block,
                Between::Invoke => match self.call(i, false) {
                    Ok((call, end)) => {
                        block.said.push(call);
                        completed = true;
                        i = end;
                        continue;
                    }
                    Err(damage) => damage,
                },
            };
            if !damage.started || is_held && block.damaged_at.is_none() {
                let from = if i == first { open } else { i };
                block.said.push(Said::Text(from, damage.at));
            }
            block.said.push(Said::Violation { kind: damage.kind, offset: damage.at });
            block.damaged_at.get_or_insert(damage.at);
            i = damage.at;
            if damage.is_next_call {
                continue;
            }
            let words = ["</invoke", "</tool_calls"];
            match end_of_stretch(text, i, damage.in_section, &words) {
                Some((from, _)) if tag::stands(text, from, "</tool_calls") => {
                    block.said.push(Said::Text(i, from));
                    i = from;
                }
                Some((_, end)) => {
                    block.said.push(Said::Text(i, end));
                    i = end;
                }
                None => {
                    block.said.push(Said::Text(i, text.len()));
                    return block;
                }
            }
        }
    }

    fn cut(&self, started: bool) -> Damage {
        let kind = match self.question.end {
            End::Stop => "unclosed",
            End::Length | End::Broken => "truncated",
        };
        let at = self.text.len();
        Damage { kind, at, in_section: false, started, is_next_call: false }
    }

    /// The call at `at`, where `<invoke` and a boundary stand, and its end.
    fn call(&self, at: usize, is_bare: bool) -> Result<(Said, usize), Damage> {
        let text = self.text;
        let limits = self.question.limits;
        let damage =
            |kind, at| Damage { kind, at, in_section: false, started: true, is_next_call: false };
        let unnamed = |kind| Damage { started: false, ..damage(kind, at) };
        let (name, mut i) = match tag::start_tag(text, at, "<invoke".len(), false) {
            Tag::Whole { end, name, .. } => match named(name, limits.name_bytes) {
                Ok(name) => (name, end),
                Err(kind) => return Err(unnamed(kind.unwrap_or("nameless"))),
            },
            Tag::Malformed(_) => return Err(unnamed("nameless")),
            Tag::Cut => return Err(self.cut(false)),
        };
        let mut arguments = Vec::new();
        loop {
            i = tag::blanks(text, i);
            if tag::stands(text, i, "<!--") {
                i = tag::comment(text, i).unwrap_or(text.len());
                continue;
            }
            let words = ["<parameter", "</invoke", "</parameter"];
            let Some(word) = words.into_iter().find(|word| tag::stands_bounded(text, i, word))
            else {
                let is_next_call = tag::stands_bounded(text, i, "<invoke");
                let starts = words.into_iter().chain(["<!--"]);
                let is_undecided = starts.into_iter().any(|word| {
                    let rest = &text[i..];
                    rest.len() <= word.len() && tag::stands(rest, 0, &word[..rest.len()])
                });
                return Err(if is_undecided {
                    self.cut(true)
                } else {
                    Damage { is_next_call, ..damage("stray_text", i) }
                });
            };
            if word == "</parameter" {
                return Err(damage("wrong_closer", i));
            }
            if word == "</invoke" {
                return match tag::end_tag(text, i, word.len()) {
                    Tag::Whole { end, .. } => {
                        let arguments = object(&arguments);
                        Ok((Said::Call { id: None, name, arguments }, end))
                    }
                    Tag::Malformed(_) => Err(damage("wrong_closer", i)),
                    Tag::Cut => Err(self.cut(true)),
                };
            }
            let (key, from) = match tag::start_tag(text, i, word.len(), false) {
                Tag::Whole { end, name, .. } => match named(name, limits.key_bytes) {
                    Ok(name) => (name, end),
                    Err(kind) => return Err(damage(kind.unwrap_or("bad_parameter"), i)),
                },
                Tag::Malformed(_) => return Err(damage("bad_parameter", i)),
                Tag::Cut => return Err(self.cut(true)),
            };
            match value::value(text, from, is_bare) {
                Ok(whole) => {
                    let place = json::argument(self.question.schemas, &name, &key);
                    arguments.push((key, json::xml(place, &whole)));
                    i = whole.end;
                }
                Err(Fault { kind: value::CUT, .. }) => return Err(self.cut(true)),
                Err(Fault { kind, at, in_section }) => {
                    return Err(Damage { in_section, ..damage(kind, at) });
                }
            }
        }
    }
}

/// A name from its attribute; the kind of violation where it is none, if that is a special one.
fn named(source: Option<Vec<u8>>, longest: usize) -> Result<String, Option<&'static str>> {
    let decoded = tag::decoded(&source.ok_or(None)?);
    let name = tag::trimmed(&decoded).to_vec();
    if name.is_empty() {
        return Err(None);
    }
    if name.len() > longest {
        return Err(Some("limit"));
    }
    String::from_utf8(name).map_err(|_| Some("encoding"))
}

/// What stands between the calls of a block.
enum Between {
    Structure(usize),
    Invoke,
    Closer(usize),
    Prose(usize),
    End,
}

fn between(text: &[u8], at: usize) -> Between {
    if at == text.len() {
        return Between::End;
    }
    let behind = tag::blanks(text, at);
    if behind > at {
        return Between::Structure(behind);
    }
    match mark(text, at) {
        Some(found) => found,
        None => {
            let end = (at..text.len()).find(|i| mark(text, *i).is_some());
            Between::Prose(end.unwrap_or(text.len()))
        }
    }
}

/// What ends prose.
fn mark(text: &[u8], at: usize) -> Option<Between> {
    if tag::stands(text, at, "<!--") {
        return Some(Between::Structure(tag::comment(text, at).unwrap_or(text.len())));
    }
    if tag::stands_bounded(text, at, "<invoke") {
        return Some(Between::Invoke);
    }
    if tag::stands(text, at, "</tool_calls") {
        if let Tag::Whole { end, .. } = tag::end_tag(text, at, "</tool_calls".len()) {
            return Some(Between::Closer(end));
        }
    }
    None
}

/// The next end tag of one of the elements, outside of sections.
fn end_of_stretch(
    text: &[u8],
    from: usize,
    in_section: bool,
    words: &[&str],
) -> Option<(usize, usize)> {
    let mut in_section = in_section;
    let mut i = from;
    while i < text.len() {
        if in_section {
            if text[i..].starts_with(b"]]>") {
                let behind = i + "]]>".len();
                let closer = tag::blanks(text, behind);
                if closer - behind <= 256 && text[closer..].starts_with(b"</") {
                    in_section = false;
                    i = closer;
                    continue;
                }
            }
            i += 1;
            continue;
        }
        if tag::stands(text, i, "<![CDATA[") {
            in_section = true;
            i += "<![CDATA[".len();
            continue;
        }
        for word in words {
            if tag::stands(text, i, word) {
                if let Tag::Whole { end, .. } = tag::end_tag(text, i, word.len()) {
                    return Some((i, end));
                }
            }
        }
        i += 1;
    }
    None
}
