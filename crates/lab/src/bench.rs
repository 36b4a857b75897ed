//! What the parser benchmarks run: streams with one long argument, prose, and the limit they are
//! compared with.
//!
//! Nothing here measures time; the programs that call it do.

use std::hint::black_box;

use callgate_dialect::{Call, Commit, End, Event, Language, Options, Span, Tools};
use memchr::memchr3;

/// A language under one commit policy.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// The language.
    pub language: Language,
    /// When calls are confirmed.
    pub commit: Commit,
}

/// Every language, under both policies where they differ.
#[must_use]
pub fn subjects() -> Vec<Subject> {
    let mut subjects = Vec::new();
    for language in Language::ALL {
        subjects.push(Subject { language, commit: Commit::Block });
        if language.has_blocks() {
            subjects.push(Subject { language, commit: Commit::Call });
        }
    }
    subjects
}

impl Subject {
    /// The language, with its policy where it has two.
    #[must_use]
    pub fn name(&self) -> String {
        match (self.language.has_blocks(), self.commit) {
            (false, _) => self.language.name().to_owned(),
            (true, Commit::Block) => format!("{}, block", self.language),
            (true, Commit::Call) => format!("{}, call", self.language),
        }
    }

    /// Reads a stream in pieces of `chunk` bytes; every event is looked at. The number of calls.
    #[must_use]
    pub fn read(&self, stream: &[u8], chunk: usize) -> usize {
        let options = Options { commit: self.commit, ..Options::default() };
        let mut parser = self.language.parser(options);
        let mut calls = 0_usize;
        let mut sink = |event: Event<'_>| {
            calls += usize::from(matches!(black_box(event), Event::CallReady { .. }));
        };
        for bytes in stream.chunks(chunk) {
            parser.push(bytes, &mut sink);
        }
        parser.finish(End::Stop, &mut sink);
        calls
    }
}

/// CTL bounds an argument at 8 MiB; above this size a stream has two arguments of half of it.
const ONE_ARGUMENT: usize = 6 << 20;

/// A message with one call whose arguments have `size` bytes of source code.
#[must_use]
pub fn stream(language: Language, size: usize) -> Vec<u8> {
    const LINE: &str = "let total = items.iter().map(|item| item.price * item.count).sum();\n";
    let code = |size: usize| LINE.repeat(size.div_ceil(LINE.len()));
    let arguments = if size > ONE_ARGUMENT {
        serde_json::json!({ "content": code(size / 2), "rest": code(size / 2) })
    } else {
        serde_json::json!({ "content": code(size) })
    };
    let call = Call {
        index: 0,
        id: None,
        name: "write".to_owned(),
        arguments: arguments.to_string(),
        span: Span::at(0),
    };
    // Without an id CTL writes one of its own, which is all that is inexact.
    language
        .render_call(&call, &Tools::default())
        .unwrap_or_else(|inexact| inexact.text)
        .into_bytes()
}

/// Prose in lines of ordinary length, without a call.
#[must_use]
pub fn prose(size: usize) -> Vec<u8> {
    const LINE: &str = "The parser holds what can still become a call, and lets everything else go at \
                        once, in order.\n";
    LINE.repeat(size.div_ceil(LINE.len())).into_bytes()
}

/// The limit for prose: finding the three bytes at which a dialect of tags has to look, in the same
/// pieces, going on behind each. The number found.
#[must_use]
pub fn search(stream: &[u8], chunk: usize) -> usize {
    let mut found = 0;
    for bytes in stream.chunks(chunk) {
        let mut rest = black_box(bytes);
        while let Some(at) = memchr3(b'\n', b'<', b'`', rest) {
            found += 1;
            rest = &rest[at + 1..];
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_finds_the_call_in_its_stream() {
        for subject in subjects() {
            for chunk in [8, 4096] {
                let calls = subject.read(&stream(subject.language, 3000), chunk);
                assert_eq!(calls, 1, "{}", subject.name());
                assert_eq!(subject.read(&prose(3000), chunk), 0, "{}", subject.name());
            }
        }
        assert!(search(&prose(1000), 64) > 5);
    }
}
