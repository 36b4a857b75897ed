//! The page `ctl.md`, read naively, line by line over the whole text.

use callgate_dialect::End;
use callgate_lab::Outcome;

use super::{Question, Said, json, object, tag::is_blank};

/// Longest line of a frame, and longest line that can be a header.
const LINE: usize = 4096;
/// Largest declared length.
const BODY: u64 = 8 << 20;

/// The outcome of a text; with `lengths`, an argument of digits is a length. Where a violation is
/// certain is not asked here.
pub(crate) fn read(question: &Question<'_>, lengths: bool) -> Outcome {
    let mut page = Page { question, text: question.text, lengths, said: Vec::new(), saw: false };
    page.read();
    let mut outcome = super::outcome(question.text, &page.said, page.saw);
    for violation in &mut outcome.violations {
        violation.offset = None;
    }
    outcome
}

struct Page<'a> {
    question: &'a Question<'a>,
    text: &'a [u8],
    lengths: bool,
    said: Vec<Said>,
    saw: bool,
}

/// A line: without its LF and a CR before it; where the next one begins; whether its LF is there.
struct Line<'a> {
    bytes: &'a [u8],
    next: usize,
    whole: bool,
}

impl Page<'_> {
    fn read(&mut self) {
        let text = self.text;
        let mut fence: Option<(u8, usize)> = None;
        // Behind a frame: blank lines, and one lone fence line, are no text.
        let mut is_behind_frame = false;
        let mut may_skip_fence = false;
        let mut frames = 0;
        let mut i = 0;
        while i < text.len() {
            let line = line(text, i);
            let tick = fence_run(line.bytes);
            match (fence, tick) {
                (Some((byte, len)), Some((b, l, bare))) if b == byte && l >= len && bare => {
                    fence = None;
                }
                (Some(_), _) => {}
                (None, Some((_, _, true)))
                    if may_skip_fence && (line.whole || self.question.end == End::Stop) =>
                {
                    may_skip_fence = false;
                    i = line.next;
                    continue;
                }
                (None, Some((byte, len, bare))) => {
                    let rest = &line.bytes[len..];
                    if bare || byte == b'~' || !rest.contains(&b'`') {
                        fence = Some((byte, len));
                    }
                }
                (None, None) => match self.header(&line) {
                    Header::None => {}
                    Header::Bad(kind) => {
                        self.saw = true;
                        self.said.push(Said::Text(i, text.len()));
                        self.said.push(Said::Violation { kind, offset: i });
                        return;
                    }
                    Header::Call(..) if frames == self.question.limits.calls => {
                        self.said.push(Said::Text(i, text.len()));
                        self.said.push(Said::Violation { kind: "limit", offset: i });
                        return;
                    }
                    Header::Call(id, name) => {
                        self.saw = true;
                        frames += 1;
                        match self.frame(id, name, line.next) {
                            Ok((call, next)) => {
                                self.said.push(call);
                                i = next;
                                (is_behind_frame, may_skip_fence) = (true, true);
                                continue;
                            }
                            Err(kind) => {
                                self.said.push(Said::Text(i, text.len()));
                                self.said.push(Said::Violation { kind, offset: i });
                                return;
                            }
                        }
                    }
                },
            }
            let counts = line.whole || self.question.end == End::Stop;
            if is_behind_frame && counts && line.bytes.iter().all(|b| is_blank(*b)) {
                i = line.next;
                continue;
            }
            (is_behind_frame, may_skip_fence) = (false, false);
            self.said.push(Said::Text(i, line.next));
            i = line.next;
        }
    }

    fn header(&self, line: &Line<'_>) -> Header {
        let Some(rest) = line.bytes.strip_prefix(b"call ") else { return Header::None };
        if !line.whole || line.bytes.len() > LINE {
            return Header::None;
        }
        let fields: Vec<&[u8]> = rest
            .split(|byte| matches!(byte, b' ' | b'\t'))
            .filter(|field| !field.is_empty())
            .collect();
        match fields.as_slice() {
            [id, name]
                if word(id, 64, b"_.:-")
                    && word(name, 128, b"_.:-")
                    && rest.len() == id.len() + 1 + name.len() =>
            {
                let (id, name) = (string(id), string(name));
                let known = self.question.schemas;
                if known.is_empty() || known.contains_key(&name) || self.goes_on(line.next) {
                    Header::Call(id, name)
                } else {
                    Header::None
                }
            }
            [_] | [_, _] if std::str::from_utf8(rest).is_err() => Header::Bad("encoding"),
            [id, name] if word(id, 64, b"_.:-") && name.len() > 128 => Header::Bad("limit"),
            [_] | [_, _] => Header::Bad("bad_call"),
            _ => Header::None,
        }
    }

    /// Whether the line at `at` can only be a frame's.
    fn goes_on(&self, at: usize) -> bool {
        let line = line(self.text, at);
        line.bytes.starts_with(b"arg ")
            || line.bytes == b"end" && (line.whole || self.question.end == End::Stop)
    }

    /// The frame whose lines begin at `at`: the call and where it ends.
    fn frame(&self, id: String, name: String, at: usize) -> Result<(Said, usize), &'static str> {
        let text = self.text;
        let mut arguments: Vec<(String, String)> = Vec::new();
        let mut i = at;
        loop {
            let line = line(text, i);
            if line.bytes.len() > LINE {
                return Err("line_too_long");
            }
            let counts = line.whole || self.question.end == End::Stop;
            if line.bytes == b"end" && counts {
                let arguments = object(&arguments);
                return Ok((Said::Call { id: Some(id), name, arguments }, line.next));
            }
            let Some(rest) = line.bytes.strip_prefix(b"arg ") else {
                let can_be = |word: &[u8]| word.starts_with(line.bytes);
                let cut =
                    !line.whole && (can_be(b"arg ") || can_be(b"end") || line.bytes == b"end\r");
                return Err(if cut { "frame_eof" } else { "unexpected_line" });
            };
            if !line.whole {
                return Err("frame_eof");
            }
            if std::str::from_utf8(rest).is_err() {
                return Err("encoding");
            }
            let (key, value) = match rest.iter().position(|byte| *byte == b' ') {
                Some(space) => (&rest[..space], &rest[space + 1..]),
                None => (rest, &rest[rest.len()..]),
            };
            if key.len() > 256 && word(key, key.len(), b"_.-") {
                return Err("limit");
            }
            if !word(key, 256, b"_.-") {
                return Err("bad_arg");
            }
            let key = string(key);
            i = line.next;
            let is_length =
                self.lengths && !value.is_empty() && value.iter().all(u8::is_ascii_digit);
            if is_length && string(value).parse::<u64>().map_or(true, |length| length > BODY) {
                return Err("limit");
            }
            if arguments.iter().any(|(known, _)| *known == key) {
                return Err("bad_arg");
            }
            let value = if value.starts_with(b"<<") {
                self.lines_up_to(delimiter(value).ok_or("bad_arg")?, &mut i)?
            } else if is_length {
                self.body(value, &mut i)?
            } else {
                value.to_vec()
            };
            let value = String::from_utf8(value).map_err(|_| "encoding")?;
            let place = json::argument(self.question.schemas, &name, &key);
            let value = json::ctl(place, &value);
            arguments.push((key, value));
        }
    }

    fn lines_up_to(&self, tag: &[u8], i: &mut usize) -> Result<Vec<u8>, &'static str> {
        let from = *i;
        loop {
            let line = line(self.text, *i);
            if line.bytes.len() > LINE {
                return Err("line_too_long");
            }
            if line.bytes == tag && (line.whole || self.question.end == End::Stop) {
                let value = self.text[from..*i].to_vec();
                *i = line.next;
                return Ok(value);
            }
            if !line.whole {
                return Err("heredoc_eof");
            }
            if std::str::from_utf8(line.bytes).is_err() {
                return Err("encoding");
            }
            *i = line.next;
        }
    }

    fn body(&self, digits: &[u8], i: &mut usize) -> Result<Vec<u8>, &'static str> {
        let declared = string(digits).parse::<usize>().map_err(|_| "limit")?;
        let rest = &self.text[*i..];
        if rest.len() < declared {
            let broken = std::str::from_utf8(rest).is_err_and(|e| e.error_len().is_some());
            return Err(if broken { "encoding" } else { "body_eof" });
        }
        let value = rest[..declared].to_vec();
        match std::str::from_utf8(&value) {
            Err(error) if error.error_len().is_none() => return Err("bad_arg"),
            Err(_) => return Err("encoding"),
            Ok(_) => {}
        }
        *i += declared;
        if self.text[*i..] == *b"\r" {
            return Err("frame_eof");
        }
        for newline in [&b"\n"[..], b"\r\n"] {
            if self.text[*i..].starts_with(newline) {
                *i += newline.len();
                break;
            }
        }
        Ok(value)
    }
}

enum Header {
    None,
    Bad(&'static str),
    Call(String, String),
}

fn line(text: &[u8], at: usize) -> Line<'_> {
    match text[at..].iter().position(|byte| *byte == b'\n') {
        Some(len) => {
            let bytes = &text[at..at + len];
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            Line { bytes, next: at + len + 1, whole: true }
        }
        None => Line { bytes: &text[at..], next: text.len(), whole: false },
    }
}

/// A fence at column 0: its character, its length, and whether nothing but blanks is behind it.
fn fence_run(line: &[u8]) -> Option<(u8, usize, bool)> {
    let byte = *line.first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let len = line.iter().take_while(|b| **b == byte).count();
    let bare = line[len..].iter().all(|b| is_blank(*b));
    (len >= 3).then_some((byte, len, bare))
}

fn word(bytes: &[u8], longest: usize, also: &[u8]) -> bool {
    (1..=longest).contains(&bytes.len())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || also.contains(byte))
}

/// The TAG of `<<TAG`, `<<'TAG'` or `<<"TAG"`.
fn delimiter(value: &[u8]) -> Option<&[u8]> {
    let tag = value.strip_prefix(b"<<")?;
    let tag = [b'\'', b'"']
        .into_iter()
        .find_map(|quote| tag.strip_prefix(&[quote])?.strip_suffix(&[quote]))
        .unwrap_or(tag);
    word(tag, 32, b"_").then_some(tag)
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
