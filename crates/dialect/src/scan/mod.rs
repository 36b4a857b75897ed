//! The byte loops that several dialects share. None of them knows a dialect.

pub(crate) mod code;
pub(crate) mod fence;
pub(crate) mod json;
pub(crate) mod utf8;
pub(crate) mod window;
