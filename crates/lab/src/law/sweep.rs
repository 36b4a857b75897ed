//! The laws of open prefixes, on a stream that is read byte by byte.
//!
//! Where to stop is the caller's choice: tests stop at samples of a long stream, the prefix sweep of
//! the lab at every byte.

use callgate_dialect::{End, Parser, Recorded};

use super::{
    Broken, ENDS, Law, Setup, begins, bounded, broken, first_difference, lossless, well_formed,
};
use crate::cut;

/// A stream on its way through a parser, one byte at a time.
#[derive(Clone, Debug)]
pub struct Sweep<'s> {
    setup: &'s Setup,
    stream: &'s [u8],
    whole: Recorded,
    parser: Parser,
    said: Recorded,
    fed: usize,
}

impl<'s> Sweep<'s> {
    /// At the beginning of a stream.
    #[must_use]
    pub fn new(setup: &'s Setup, stream: &'s [u8]) -> Self {
        let (whole, _) = setup.record(stream, &[], None);
        Self { setup, stream, whole, parser: setup.parser(), said: Recorded::default(), fed: 0 }
    }

    /// Reads up to `at`, and checks S1, S2, S3, S5 and the well-formedness on this prefix, left
    /// open. Then it is finished in every way, to see that nothing is lost or started.
    ///
    /// `at` counts from the beginning of the stream and never goes back.
    ///
    /// # Errors
    /// The law that this prefix breaks.
    pub fn to(&mut self, at: usize) -> Result<(), Broken> {
        for byte in &self.stream[self.fed..at] {
            self.parser.push(std::slice::from_ref(byte), &mut self.said);
        }
        self.fed = at;
        self.check().map_err(|broken| broken.after(at))
    }

    /// What the parser has said so far.
    #[must_use]
    pub fn said(&self) -> &Recorded {
        &self.said
    }

    /// The parser as it stands.
    #[must_use]
    pub fn parser(&self) -> &Parser {
        &self.parser
    }

    fn check(&self) -> Result<(), Broken> {
        let prefix = &self.stream[..self.fed];
        begins(&self.said.events, &self.whole.events)?;
        let (at_once, at_once_parser) = self.setup.record(prefix, &[], None);
        if at_once != self.said {
            let difference = first_difference(&self.said.events, &at_once.events);
            return broken(Law::Chunking, format!("open prefix at once: {difference}"));
        }
        if at_once_parser.pending() != self.parser.pending() {
            return broken(Law::Chunking, "open prefix at once: pending differs");
        }
        well_formed(&self.said, false)?;
        bounded(self.setup, &self.said, &self.parser, prefix)?;
        self.check_finished(prefix)
    }

    fn check_finished(&self, prefix: &[u8]) -> Result<(), Broken> {
        for end in ENDS {
            let mut finished = self.said.clone();
            let mut parser = self.parser.clone();
            parser.finish(end, &mut finished);
            if parser.pending() != 0 {
                let left = parser.pending();
                return broken(
                    Law::Lossless,
                    format!("{left} bytes pending after finish({end:?})"),
                );
            }
            lossless(&finished, prefix)?;
            well_formed(&finished, true)?;
            if end != End::Stop && finished.calls().count() != self.said.calls().count() {
                return broken(Law::Complete, format!("finish({end:?}) made a call ready"));
            }
        }
        Ok(())
    }
}

/// The laws of open prefixes: of every length, or of sampled lengths of a long stream.
///
/// # Errors
/// The first prefix that breaks a law.
pub fn prefixes(setup: &Setup, stream: &[u8], seed: u64) -> Result<(), Broken> {
    let mut sweep = Sweep::new(setup, stream);
    cut::offsets(stream, seed).into_iter().try_for_each(|at| sweep.to(at))
}
