//! What OpenAI's two APIs have in common: the parameters that both read and write.

pub(crate) mod media;
mod read;
mod write;

pub(crate) use crate::{object::Object, reader::Reader};
pub(crate) use write::{choice, effort, marks, schema};
