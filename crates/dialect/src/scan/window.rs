//! A view of the bytes a machine may still look at: what it held, then the chunk just pushed.
//!
//! Positions are stream offsets, so a machine can go back to a byte it held without a copy.

use crate::Span;

/// Held bytes and the new chunk, contiguous in the stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'w> {
    base: u64,
    held: &'w [u8],
    chunk: &'w [u8],
}

impl<'w> Window<'w> {
    /// `base` is the offset of the first held byte.
    pub(crate) fn new(base: u64, held: &'w [u8], chunk: &'w [u8]) -> Self {
        Self { base, held, chunk }
    }

    /// One past the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.base + (self.held.len() + self.chunk.len()) as u64
    }

    /// The contiguous bytes from `at`, as far as one piece reaches and below `to`.
    pub(crate) fn piece(&self, at: u64, to: u64) -> &'w [u8] {
        let (at, to) = self.local(at, to);
        let border = self.held.len();
        if at < border {
            &self.held[at..to.min(border)]
        } else {
            &self.chunk[at - border..to - border]
        }
    }

    /// The one or two pieces of a span, each with its own span.
    pub(crate) fn pieces(&self, span: Span) -> impl Iterator<Item = (Span, &'w [u8])> + use<'w> {
        let window = *self;
        let mut at = span.start;
        std::iter::from_fn(move || {
            if at >= span.end {
                return None;
            }
            let piece = window.piece(at, span.end);
            let span = Span::new(at, at + piece.len() as u64);
            at = span.end;
            (!piece.is_empty()).then_some((span, piece))
        })
    }

    /// A copy of a span.
    pub(crate) fn copy(&self, span: Span) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(usize::try_from(span.len()).unwrap_or_default());
        for (_, piece) in self.pieces(span) {
            bytes.extend_from_slice(piece);
        }
        bytes
    }

    fn local(&self, at: u64, to: u64) -> (usize, usize) {
        let len = self.held.len() + self.chunk.len();
        let local =
            |offset: u64| usize::try_from(offset.saturating_sub(self.base)).unwrap_or(len).min(len);
        let (at, to) = (local(at), local(to));
        (at, to.max(at))
    }
}

/// The bytes from a place on that a machine may look at again, between pushes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    bytes: Vec<u8>,
    base: u64,
}

impl Held {
    /// What is held, and the chunk just pushed.
    pub(crate) fn window<'w>(&'w self, chunk: &'w [u8]) -> Window<'w> {
        Window::new(self.base, &self.bytes, chunk)
    }

    /// Keeps what stands from `from` on.
    pub(crate) fn keep(self, from: u64, chunk: &[u8]) -> Self {
        let Self { mut bytes, base } = self;
        let border = base + bytes.len() as u64;
        let end = border + chunk.len() as u64;
        let from = from.min(end);
        if from >= border {
            bytes.clear();
            bytes.shrink_to(1 << 16);
            bytes.extend_from_slice(&chunk[(from - border) as usize..]);
        } else {
            bytes.drain(..(from - base) as usize);
            bytes.extend_from_slice(chunk);
        }
        Self { bytes, base: from }
    }
}
