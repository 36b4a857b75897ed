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
pub(crate) struct Harvester {
    harvest: Harvest,
    /// The beginning of a character, the rest of which is in the next text: a length that the model
    /// declared, or a limit, may end inside of one.
    begun: Vec<u8>,
}

impl Harvester {
    pub(crate) fn new(parser: Parser) -> Self {
        Self { harvest: Harvest::new(parser), begun: Vec::new() }
    }

    pub(crate) fn push(&mut self, text: &str, out: &mut Vec<Harvested>) {
        let Self { harvest, begun } = self;
        harvest.push(text.as_bytes(), &mut |event: Event<'_>| take(event, begun, out));
    }

    pub(crate) fn finish(&mut self, end: End, out: &mut Vec<Harvested>) {
        let Self { harvest, begun } = self;
        harvest.finish(end, &mut |event: Event<'_>| take(event, begun, out));
    }
}

fn take(event: Event<'_>, begun: &mut Vec<u8>, out: &mut Vec<Harvested>) {
    let harvested = match event {
        Event::Text { bytes, .. } => {
            let text = whole_characters(bytes, begun);
            match out.last_mut() {
                Some(Harvested::Text(last)) => return last.push_str(&text),
                _ => Harvested::Text(text),
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

/// The text of some bytes of it, without a character that they only begin.
fn whole_characters(bytes: &[u8], begun: &mut Vec<u8>) -> String {
    begun.extend_from_slice(bytes);
    let whole = match str::from_utf8(begun) {
        // All bytes are of one text, so what is wrong is their end.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => begun.len(),
    };
    let text = String::from_utf8_lossy(&begun[..whole]).into_owned();
    begun.drain(..whole);
    text
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
        // A length that ends inside of a character does not part it.
        let inside = "é\ncall c1 f\narg p 3\na字b\nend\n";
        check(Language::Ctl, Commit::Block, inside, &inside.replace('字', "{bad_arg}字"));
        let xml = |input: &str, expected| check(Language::Xml, Commit::Call, input, expected);
        let open = "<tool_calls><invoke name=\"f\">";
        xml(&format!("é{open}</invoke></tool_calls>x"), "é[f]x");
        let broken = format!("é{open}🦀</invoke></tool_calls>x");
        xml(&broken, &broken.replace('🦀', "{stray_text}🦀"));
    }
}
