//! Every bound of the parsers, in one place. Passing one is a violation of kind `limit`, never silent.

/// Upper bounds on what a model may write. All sizes are bytes of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A tool's name.
    pub name_bytes: usize,
    /// An argument's key, and the name of a nested element.
    pub key_bytes: usize,
    /// One argument's value.
    pub argument_bytes: usize,
    /// One call, and one whole block where a block is held until its closer.
    pub call_bytes: usize,
    /// Calls in one turn.
    pub calls: u32,
    /// Nesting inside one value.
    pub nesting: usize,
}

impl Limits {
    /// 128 B names, 256 B keys, 32 MiB an argument, 64 MiB a call, 128 calls, nesting 64.
    pub const DEFAULT: Self = Self {
        name_bytes: 128,
        key_bytes: 256,
        argument_bytes: 32 << 20,
        call_bytes: 64 << 20,
        calls: 128,
        nesting: 64,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
