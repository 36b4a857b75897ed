//! A value of the page `minimax.md`: where it ends, and what puts its call in doubt.

use super::{
    tag::{self, Tag},
    value::{CUT, Fault, Piece, Whole},
};

/// Blanks that may stand between a closer and what must follow it.
const BLANKS: usize = 256;

/// Whether it is in doubt where a value ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doubt {
    #[default]
    None,
    Plain,
    Nested,
}

/// Reads the value that begins at `from`, and adds its doubt to that of its call.
pub(crate) fn value(
    text: &[u8],
    from: usize,
    [open, close]: [&str; 2],
    is_bare: bool,
    doubt: &mut Doubt,
) -> Result<Whole, Fault> {
    for i in from..text.len() {
        if tag::stands_bounded(text, i, "</parameter") {
            if let Tag::Whole { end, .. } = tag::end_tag(text, i, "</parameter".len()) {
                let next = tag::blanks(text, end);
                let follows = ["<parameter", "</invoke"];
                let closes = |word| tag::stands_bounded(text, next, word);
                if next - end <= BLANKS && follows.into_iter().any(closes) {
                    let value = &text[from..i];
                    if std::str::from_utf8(value).is_err() {
                        return Err(Fault::new("encoding", i));
                    }
                    return Ok(Whole { pieces: vec![Piece::Plain(value.to_vec())], end });
                }
            }
            *doubt = (*doubt).max(Doubt::Plain);
        }
        if ["<parameter", "</invoke", close].iter().any(|word| tag::stands_bounded(text, i, word)) {
            *doubt = Doubt::Nested;
        }
        let form = tag::Form { may_be_empty: false, unquoted: true };
        if is_bare
            && tag::stands_bounded(text, i, open)
            && let Tag::Whole { .. } = tag::start_tag(text, i, open.len(), form)
        {
            *doubt = Doubt::Nested;
            return Err(Fault::new("ambiguous", i));
        }
    }
    Err(Fault::new(CUT, text.len()))
}
