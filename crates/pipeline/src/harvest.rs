//! Calls out of one text, as the stages speak of them.
//!
//! The parser and the release of broken calls are the dialect's ([`Harvest`]); this names what came.

use callgate_dialect::{Call, End, Event, Harvest, NoteKind, Parser, RepairKind, Violation};

/// What a text gave, in order.
#[derive(Clone, Debug)]
pub(crate) enum Harvested {
    Text(String),
    /// Bytes of a call that are not text: it was opened, or its block was. It is not a call yet.
    Markup,
    Call(Call),
    Violation(Violation),
    Repair(RepairKind),
    Note(NoteKind),
}

/// A parser of one text.
#[derive(Clone, Debug)]
pub(crate) struct Harvester(Harvest);

impl Harvester {
    pub(crate) fn new(parser: Parser) -> Self {
        Self(Harvest::new(parser))
    }

    pub(crate) fn push(&mut self, text: &str, out: &mut Vec<Harvested>) {
        self.0.push(text.as_bytes(), &mut |event: Event<'_>| take(event, out));
    }

    pub(crate) fn finish(&mut self, end: End, out: &mut Vec<Harvested>) {
        self.0.finish(end, &mut |event: Event<'_>| take(event, out));
    }
}

fn take(event: Event<'_>, out: &mut Vec<Harvested>) {
    let harvested = match event {
        Event::Text { bytes, .. } => {
            // The input is text, so a parser that keeps sequences whole gives text.
            let text = String::from_utf8_lossy(bytes);
            match out.last_mut() {
                Some(Harvested::Text(last)) => return last.push_str(&text),
                _ => Harvested::Text(text.into_owned()),
            }
        }
        Event::CallReady { call, .. } => Harvested::Call(call),
        Event::Violation(violation) => Harvested::Violation(violation),
        Event::Repair { kind, .. } => Harvested::Repair(kind),
        Event::Note { kind, .. } => Harvested::Note(kind),
        Event::CallStart { .. } | Event::Structure { .. } => match out.last() {
            Some(Harvested::Markup) => return,
            _ => Harvested::Markup,
        },
        Event::ArgStart { .. } | Event::ArgDelta { .. } | Event::ArgEnd { .. } => return,
    };
    out.push(harvested);
}

#[cfg(test)]
mod tests {
    use callgate_dialect::{Commit, Language, Options};

    use super::*;

    /// Text as it is, `[name]` for a call, `{kind}` for a violation; markup is left out.
    fn check(language: Language, commit: Commit, input: &str, expected: &str) {
        for width in [1, 3, 1000] {
            let mut harvest =
                Harvester::new(language.parser(Options { commit, ..Options::default() }));
            let mut out = Vec::new();
            let chars: Vec<char> = input.chars().collect();
            for chunk in chars.chunks(width) {
                harvest.push(&chunk.iter().collect::<String>(), &mut out);
            }
            harvest.finish(End::Stop, &mut out);
            let shown: String = out
                .into_iter()
                .map(|item| match item {
                    Harvested::Text(text) => text,
                    Harvested::Call(call) => format!("[{}]", call.name),
                    Harvested::Violation(violation) => format!("{{{}}}", violation.kind.name()),
                    Harvested::Markup | Harvested::Repair(_) | Harvested::Note(_) => String::new(),
                })
                .collect();
            assert_eq!(shown, expected, "{width} characters at a time");
        }
    }

    #[test]
    fn the_bytes_of_a_call_that_broke_are_text_in_its_place() {
        let ctl =
            |input: &str, expected| check(Language::CtlHeredoc, Commit::Block, input, expected);
        ctl("é\ncall c1 now\nend\nx", "é\n[now]x");
        ctl("é\ncall c1 f\narg p 🦀\nhm\nx", "é\ncall c1 f\narg p 🦀\nhm\n{unexpected_line}x");
        ctl("call c1 now\nend\ncall c2 f\narg p", "[now]call c2 f\narg p{frame_eof}");
        let xml = |input: &str, expected| check(Language::Xml, Commit::Call, input, expected);
        let open = "<tool_calls><invoke name=\"f\">";
        xml(&format!("é{open}</invoke></tool_calls>x"), "é[f]x");
        let broken = format!("é{open}🦀</invoke></tool_calls>x");
        xml(&broken, &broken.replace('🦀', "{stray_text}🦀"));
    }
}
