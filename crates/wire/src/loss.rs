//! What a mapping could not carry: every member is mapped or listed here, never silently gone.

/// How much was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossKind {
    /// Carried, with less detail.
    Lossy,
    /// Not carried; the meaning of the turn is the same.
    Dropped,
    /// Not carried; the request asked for something that cannot be done.
    Unsupported,
}

/// One loss of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// How much.
    pub kind: LossKind,
    /// The member, as a path in the client's request.
    pub path: String,
    /// Why.
    pub reason: String,
}
