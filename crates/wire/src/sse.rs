//! Server-sent events as bytes: a decoder that is pushed chunks of any size, and an encoder.
//!
//! The decoder hands out each event as it completes and copies only what a chunk leaves unfinished.
//! It reads no JSON, keeps no `id:` or `retry:`, and does no I/O.

use memchr::{memchr, memchr2};

/// How large one event may be if the caller does not say otherwise.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// Buffers that grew beyond this are given back after their event.
const KEEP_BYTES: usize = 64 * 1024;

const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// One event with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The `event:` field, if it is there, not empty and UTF-8.
    pub event: Option<&'a str>,
    /// The `data:` lines, joined with LF. Never empty.
    pub data: &'a [u8],
    /// The event's bytes as they came, comments and the closing blank line included.
    pub raw: &'a [u8],
    /// Whether a blank line closed it. Without one it ended with the stream and may be cut.
    pub closed: bool,
}

/// Why a stream cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is larger than the limit.
    #[error(
        "an event of the stream is larger than {limit} bytes; raise the limit if that is meant"
    )]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}

/// Where the next byte stands.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// At the first byte of a line. `bare_cr`: the line before it, in this event, ended with CR.
    LineStart { bare_cr: bool },
    /// Behind the first byte of a line.
    InLine,
    /// Behind a CR, to which an LF may belong; `blank`: the line was empty.
    AfterCr { blank: bool },
    /// Behind an event that a CR closed; an LF here belongs to no event.
    SwallowLf,
}

/// Decodes one stream. Push bytes as they come, then finish.
///
/// Every byte is searched once, whatever the size of the chunks. LF, CR and CRLF end a line.
/// Comments, unknown fields and events without data (also those whose data is empty) are skipped.
/// After an error every further push gives the same error.
#[derive(Clone, Debug)]
pub struct Decoder {
    max_event_bytes: usize,
    place: Place,
    /// How many bytes of a BOM have been seen; 3 once the question is settled.
    bom: usize,
    /// The unfinished event's bytes from earlier chunks.
    held: Vec<u8>,
    failed: Option<SseError>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(MAX_EVENT_BYTES)
    }
}

impl Decoder {
    /// A decoder that refuses events of more than `max_event_bytes`, and with them longer lines.
    #[must_use]
    pub const fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            place: Place::LineStart { bare_cr: false },
            bom: 0,
            held: Vec::new(),
            failed: None,
        }
    }

    /// Takes the next bytes and hands out every event that they complete.
    ///
    /// # Errors
    /// An event is larger than the limit. Events before it have been handed out.
    pub fn push(
        &mut self,
        bytes: &[u8],
        on_frame: &mut impl FnMut(Frame<'_>),
    ) -> Result<(), SseError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut at = self.skip_bom(bytes);
        // First byte in `bytes` of the current event.
        let mut start = at;
        while let Some(&byte) = bytes.get(at) {
            let mut ends = false;
            match self.place {
                Place::InLine => match memchr2(b'\n', b'\r', &bytes[at..]) {
                    None => at = bytes.len(),
                    Some(found) => {
                        at += found + 1;
                        self.place = if bytes[at - 1] == b'\n' {
                            Place::LineStart { bare_cr: false }
                        } else {
                            Place::AfterCr { blank: false }
                        };
                    }
                },
                Place::LineStart { bare_cr } => match byte {
                    b'\n' => {
                        at += 1;
                        ends = true;
                    }
                    // A stream that ends lines with CR need not wait for an LF that never comes.
                    b'\r' if bare_cr => {
                        at += 1;
                        ends = true;
                        self.place = Place::SwallowLf;
                    }
                    b'\r' => {
                        at += 1;
                        self.place = Place::AfterCr { blank: true };
                    }
                    _ => self.place = Place::InLine,
                },
                Place::AfterCr { blank } => {
                    let lf = byte == b'\n';
                    at += usize::from(lf);
                    ends = blank;
                    self.place = Place::LineStart { bare_cr: !lf && !blank };
                }
                Place::SwallowLf => {
                    at += usize::from(byte == b'\n');
                    start = at;
                    self.place = Place::LineStart { bare_cr: false };
                }
            }
            if ends {
                self.check(self.held.len() + at - start)?;
                if let Place::LineStart { bare_cr } = &mut self.place {
                    *bare_cr = false;
                }
                self.hand_out(&bytes[start..at], true, on_frame);
                start = at;
            }
        }
        self.check(self.held.len() + bytes.len() - start)?;
        self.held.extend_from_slice(&bytes[start..]);
        Ok(())
    }

    /// Says that the stream has ended; a last event without its blank line is handed out too.
    pub fn finish(&mut self, on_frame: &mut impl FnMut(Frame<'_>)) {
        if self.failed.is_none() {
            let closed = matches!(self.place, Place::AfterCr { blank: true });
            self.hand_out(&[], closed, on_frame);
            self.place = Place::LineStart { bare_cr: false };
        }
    }

    /// Settles whether the stream begins with a BOM and returns how many bytes belong to it.
    fn skip_bom(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let (Some(expected), Some(byte)) = (BOM.get(self.bom), bytes.get(at)) {
            if expected != byte {
                // What looked like a BOM is the beginning of a line after all, and one that a
                // decoder ignores: no field name begins so.
                if self.bom > 0 {
                    self.held.extend_from_slice(&BOM[..self.bom]);
                    self.place = Place::InLine;
                    // The part from this chunk is now held, so it must not be counted twice.
                }
                self.bom = BOM.len();
                return at;
            }
            self.bom += 1;
            at += 1;
        }
        at
    }

    fn check(&mut self, event_bytes: usize) -> Result<(), SseError> {
        if event_bytes <= self.max_event_bytes {
            return Ok(());
        }
        let error = SseError::TooLarge { limit: self.max_event_bytes };
        self.failed = Some(error);
        self.held = Vec::new();
        Err(error)
    }

    /// Hands out the event of the held bytes and `tail`.
    fn hand_out(&mut self, tail: &[u8], closed: bool, on_frame: &mut impl FnMut(Frame<'_>)) {
        if self.held.is_empty() {
            read_event(tail, closed, on_frame);
        } else {
            self.held.extend_from_slice(tail);
            read_event(&self.held, closed, on_frame);
            self.held.clear();
            self.held.shrink_to(KEEP_BYTES);
        }
    }
}

/// Reads the fields of one event's bytes.
fn read_event(raw: &[u8], closed: bool, on_frame: &mut impl FnMut(Frame<'_>)) {
    let mut event = None;
    let mut first: Option<&[u8]> = None;
    let mut joined: Vec<u8> = Vec::new();
    let mut rest = raw;
    while !rest.is_empty() {
        let end = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let (line, behind) = rest.split_at(end);
        rest = behind.get(1..).unwrap_or_default();
        // The LF of a CRLF would read as an empty line, which says nothing here.
        let colon = memchr(b':', line).unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match (name, first) {
            (b"data", None) => first = Some(value),
            (b"data", Some(first)) => {
                if joined.is_empty() {
                    joined.extend_from_slice(first);
                }
                joined.push(b'\n');
                joined.extend_from_slice(value);
            }
            (b"event", _) => {
                event = std::str::from_utf8(value).ok().filter(|name| !name.is_empty());
            }
            _ => {}
        }
    }
    let data = if joined.is_empty() { first.unwrap_or_default() } else { joined.as_slice() };
    if !data.is_empty() {
        on_frame(Frame { event, data, raw, closed });
    }
}

/// Appends one event with `data` to `out`; line breaks in it become further `data:` lines.
pub fn encode(data: &[u8], out: &mut Vec<u8>) {
    let mut rest = data;
    loop {
        out.extend_from_slice(b"data: ");
        let Some(end) = memchr2(b'\n', b'\r', rest) else {
            out.extend_from_slice(rest);
            out.extend_from_slice(b"\n\n");
            return;
        };
        out.extend_from_slice(&rest[..end]);
        out.push(b'\n');
        let width = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = &rest[end + width..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Owned = (Option<String>, Vec<u8>, Vec<u8>, bool);

    fn decode(chunks: &[&[u8]], limit: usize) -> (Vec<Owned>, Result<(), SseError>) {
        let mut decoder = Decoder::new(limit);
        let mut frames = Vec::new();
        let mut keep = |frame: Frame<'_>| {
            frames.push((
                frame.event.map(str::to_owned),
                frame.data.to_vec(),
                frame.raw.to_vec(),
                frame.closed,
            ));
        };
        let mut result = Ok(());
        for chunk in chunks {
            result = decoder.push(chunk, &mut keep);
        }
        decoder.finish(&mut keep);
        (frames, result)
    }

    fn check(stream: &str, expected: &[(Option<&str>, &str)]) {
        let bytes = stream.as_bytes();
        let (whole, result) = decode(&[bytes], 1000);
        assert_eq!(result, Ok(()));
        let found: Vec<_> = whole
            .iter()
            .map(|(event, data, ..)| (event.as_deref(), std::str::from_utf8(data).unwrap()))
            .collect();
        assert_eq!(found, expected, "{stream:?}");
        every_split(bytes, &whole);
    }

    fn every_split(bytes: &[u8], whole: &[Owned]) {
        for cut in 0..=bytes.len() {
            let (frames, _) = decode(&[&bytes[..cut], &bytes[cut..]], 1000);
            assert_eq!(frames, whole, "cut at {cut} of {bytes:?}");
        }
        let (frames, _) = decode(&bytes.chunks(1).collect::<Vec<_>>(), 1000);
        assert_eq!(frames, whole, "one byte at a time of {bytes:?}");
    }

    #[test]
    fn fields() {
        check("data: a\n\ndata:b\n\n", &[(None, "a"), (None, "b")]);
        check("event: x\ndata:  a\nid: 1\nretry: 3\n\n", &[(Some("x"), " a")]);
        check("data: a\ndata\ndata:b\n\n", &[(None, "a\n\nb")]);
        check("data:\ndata: a\n\n", &[(None, "\na")]);
        check(": ping\n\n:\n\nevent: x\n\ndata:\n\n\n\ndata: a\n: c\n\n", &[(None, "a")]);
        check("event: x\nevent:\ndata: a\n\n", &[(None, "a")]);
        check("datax: a\ndat: b\n data: c\n\n", &[]);
    }

    #[test]
    fn line_ends() {
        check("data: a\r\n\r\ndata: b\r\ndata: c\r\n\r\n", &[(None, "a"), (None, "b\nc")]);
        check("data: a\r\rdata: b\rdata: c\r\r", &[(None, "a"), (None, "b\nc")]);
        check("data: a\r\r\ndata: b\n\r\ndata: c\r\n\n", &[(None, "a"), (None, "b"), (None, "c")]);
        check("\r\n\r\r\n\ndata: a\n\n", &[(None, "a")]);
    }

    #[test]
    fn bom_and_end() {
        check("\u{feff}data: a\n\n", &[(None, "a")]);
        check("data: a\n\n\u{feff}data: b\n\n", &[(None, "a")]);
        check("data: a\n\ndata: [DONE]", &[(None, "a"), (None, "[DONE]")]);
        check("data: a\n", &[(None, "a")]);
        check("", &[]);
        let half_bom = b"\xef\xbbdata: a\ndata: b\n\n";
        let (whole, _) = decode(&[half_bom], 1000);
        assert_eq!(whole.len(), 1);
        assert_eq!(whole[0].1, b"b");
        every_split(half_bom, &whole);
    }

    #[test]
    fn raw_bytes_and_closing() {
        let (frames, _) = decode(&[b": c\r\ndata: a\r\n\r\ndata: b\n\ndata: c\n"], 1000);
        assert_eq!(frames[0].2, b": c\r\ndata: a\r\n\r\n");
        assert_eq!(frames[1].2, b"data: b\n\n");
        assert!(frames[1].3);
        assert_eq!(frames[2].2, b"data: c\n");
        assert!(!frames[2].3);
    }

    #[test]
    fn cr_stream_does_not_wait() {
        let mut decoder = Decoder::default();
        let mut seen = 0;
        decoder.push(b"data: a\r\r", &mut |_| seen += 1).unwrap();
        assert_eq!(seen, 1);
    }

    #[test]
    fn limit() {
        let error = Err(SseError::TooLarge { limit: 10 });
        for chunks in [
            vec![&b"data: a\n\ndata: 456789\n\n"[..]],
            vec![&b"data: a\n\n"[..], &b"data: 4"[..], &b"56789\n\n"[..]],
            b"data: a\n\n:3456789012345".chunks(1).collect(),
        ] {
            let (frames, result) = decode(&chunks, 10);
            assert_eq!((frames.len(), result), (1, error), "{chunks:?}");
        }
        assert_eq!(decode(&[b"data: 78\n\n"], 10).1, Ok(()));
    }

    #[test]
    fn whole_frames_are_borrowed() {
        let chunk = b"data: abc\n\n";
        let range = chunk.as_ptr_range();
        Decoder::default()
            .push(chunk, &mut |frame| assert!(range.contains(&frame.data.as_ptr())))
            .unwrap();
    }

    #[test]
    fn encoding() {
        let mut out = Vec::new();
        encode(b"{}", &mut out);
        encode(b"a\r\nb\rc\nd", &mut out);
        assert_eq!(out, b"data: {}\n\ndata: a\ndata: b\ndata: c\ndata: d\n\n");
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same(
            lines in proptest::collection::vec(
                "(data: ?|event: |:|data|x: |\u{feff}|)[a-c: ]{0,3}(\n|\r|\r\n|)", 0..12),
            cuts in proptest::collection::vec(0usize..200, 0..6),
        ) {
            let stream = lines.concat().into_bytes();
            let (whole, _) = decode(&[&stream], 1000);
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks: Vec<_> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(&decode(&chunks, 1000).0, &whole);
            every_split(&stream, &whole);
        }

        #[test]
        fn what_is_encoded_is_decoded(data in "[a-z\n]{1,40}") {
            let mut out = Vec::new();
            encode(data.as_bytes(), &mut out);
            let (frames, _) = decode(&[&out], 1000);
            prop_assert_eq!(frames.len(), 1);
            prop_assert_eq!(&frames[0].1, data.as_bytes());
        }
    }
}
