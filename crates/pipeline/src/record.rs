//! What a turn leaves behind: one record, whatever its end.

use callgate_dialect::{NoteKind, RepairKind};
use callgate_wire::{Code, Finish, Usage};

use crate::Problem;

/// A mend of a call's container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// By the dialect's parser.
    Container(RepairKind),
    /// A `functions.` prefix was taken off a declared name.
    NamePrefix,
}

impl Repair {
    /// Stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Container(kind) => kind.name(),
            Self::NamePrefix => "name_prefix",
        }
    }
}

/// What happened in a turn.
#[derive(Clone, Debug, Default)]
pub struct TurnRecord {
    /// Calls that went to the client.
    pub calls: usize,
    /// Mends, in order.
    pub repairs: Vec<Repair>,
    /// Notes, in order.
    pub notes: Vec<NoteKind>,
    /// Everything that was wrong, in order, whether or not the client was told.
    pub problems: Vec<Problem>,
    /// How the turn ended for the client, if it did not fail.
    pub finish: Option<Finish>,
    /// The code it failed with.
    pub failure: Option<Code>,
    /// Token counts, if the provider sent any.
    pub usage: Option<Usage>,
}
