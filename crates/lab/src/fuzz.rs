//! Fuzz targets: what is read, from which inputs, and what must hold of it.
//!
//! A target is a plain function with its seeds and its dictionary. One driver runs them all on stable;
//! the coverage-guided fuzzer in `/fuzz` calls the same functions. What must hold stands in
//! [`crate::law`].

mod dialect;
mod driver;
mod mutate;
mod pipeline;
mod seed;
mod sse;
mod wire;

use std::{fmt, path::Path, str::FromStr};

use callgate_dialect::Language;
use callgate_wire::Api;

pub use dialect::dialect;
pub use driver::{Failure, Stats, run};
pub use pipeline::pipeline;
pub use sse::sse;
pub use wire::wire;

use crate::{Broken, CorpusError, token};

/// Bytes in front of an input that choose how it is read. The first one says as what and stays as the
/// seed has it; the others are drawn for each input.
pub const HEADER: usize = 3;

/// What holds one input to the laws, or says which is broken.
pub type Check = fn(&[u8]) -> Result<(), Broken>;

/// What is fuzzed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The text of a model, in a language.
    Dialect(Language),
    /// The framing of streams.
    Sse,
    /// Requests, streams and whole replies of an API.
    Wire(Api),
    /// Whole turns of a client of an API.
    Pipeline(Api),
}

/// What the driver makes inputs from.
#[derive(Clone, Debug, Default)]
pub struct Material {
    /// Inputs that are worth changing.
    pub seeds: Vec<Vec<u8>>,
    /// Pieces that are likely to interact.
    pub dictionary: &'static [&'static str],
}

impl Target {
    /// All targets, in the order in which they are run.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = Language::ALL.map(Self::Dialect).to_vec();
        all.push(Self::Sse);
        all.extend(Api::ALL.map(Self::Wire));
        all.extend(Api::ALL.map(Self::Pipeline));
        all
    }

    /// The function.
    #[must_use]
    pub fn check(self) -> Check {
        match self {
            Self::Dialect(_) => dialect,
            Self::Sse => sse,
            Self::Wire(_) => wire,
            Self::Pipeline(_) => pipeline,
        }
    }

    /// The name of the function: the target of `/fuzz` that has this one's inputs.
    #[must_use]
    pub const fn function(self) -> &'static str {
        match self {
            Self::Dialect(_) => "dialect",
            Self::Sse => "sse",
            Self::Wire(_) => "wire",
            Self::Pipeline(_) => "pipeline",
        }
    }

    /// Seeds and dictionary. `corpus` is the folder of recorded streams.
    ///
    /// # Errors
    /// The first file that can't be used.
    pub fn material(self, corpus: &Path) -> Result<Material, CorpusError> {
        Ok(match self {
            Self::Dialect(language) => Material {
                seeds: dialect::seeds(corpus, language)?,
                dictionary: token::of(language),
            },
            Self::Sse => Material { seeds: sse::seeds(corpus)?, dictionary: token::SSE },
            Self::Wire(api) => {
                Material { seeds: wire::seeds(corpus, api)?, dictionary: token::of_api(api) }
            }
            Self::Pipeline(client) => Material {
                seeds: pipeline::seeds(corpus, client)?,
                dictionary: token::of_any_api(),
            },
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dialect(language) => write!(f, "{language}"),
            Self::Sse => f.write_str("sse"),
            Self::Wire(api) => write!(f, "wire-{api}"),
            Self::Pipeline(api) => write!(f, "pipeline-{api}"),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let all = Self::all();
        all.iter().find(|target| target.to_string() == name).copied().ok_or_else(|| {
            let names: Vec<_> = all.iter().map(Self::to_string).collect();
            format!("no fuzz target `{name}`; there are: {}", names.join(", "))
        })
    }
}
