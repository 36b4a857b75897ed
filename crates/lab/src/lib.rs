//! What the parsers are held to, and what protocols are measured by: the corpus, the ways to cut a
//! stream, the laws, the fuzzer, and the experiments with their report.
//!
//! Tests, fuzz targets and experiments call the same functions, so a law is written once. Nothing
//! here parses a dialect; an independent reading of one belongs to the tests that compare it.

pub mod bench;
pub mod client;
pub mod corpus;
pub mod cut;
pub mod experiment;
pub mod fuzz;
pub mod grammar;
pub mod law;
pub mod outcome;
pub mod plot;
pub mod random;
pub mod recording;
pub mod reply;
pub mod report;
pub mod stats;
pub mod token;

pub use corpus::{Case, CorpusError};
pub use law::{Broken, Law, Setup};
pub use outcome::{Outcome, OutcomeCall, OutcomeRepair, OutcomeViolation};
pub use recording::{Provenance, Recording};
pub use reply::Reply;
