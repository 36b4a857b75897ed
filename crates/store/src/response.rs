//! A stored reply, who owns it and how it ended.

use std::fmt;

/// Whose rows these are: the hash of a client's key. The key itself is never seen here.
///
/// It is a part of every look-up, so that what is another owner's does not exist.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner([u8; 32]);

impl Owner {
    /// Everybody, on a gateway without keys.
    pub const ANONYMOUS: Self = Self([0; 32]);

    /// From a 256-bit hash of the key.
    #[must_use]
    pub const fn from_hash(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// As it stands in the database: 64 lower-case hex digits.
    #[must_use]
    pub fn hex(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble & 15)]);
        self.0.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
    }
}

impl fmt::Debug for Owner {
    // Enough to tell owners apart in a log, too little to look one up.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}

/// Where a reply stands: the Responses API's `status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Accepted, not begun.
    Queued,
    /// Being made.
    InProgress,
    /// Whole.
    Completed,
    /// Cut by a limit or a filter.
    Incomplete,
    /// Ended in an error.
    Failed,
    /// Ended by the client.
    Cancelled,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::InProgress,
        Self::Completed,
        Self::Incomplete,
        Self::Failed,
        Self::Cancelled,
    ];

    /// As the API spells it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// From the API's spelling.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether nothing more comes.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::InProgress)
    }
}

/// One reply with the request that led to it. JSON is kept byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResponse {
    /// Whose it is.
    pub owner: Owner,
    /// Its id, at most 256 bytes.
    pub id: String,
    /// The reply that it continues.
    pub previous_response_id: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// From when on it is gone, in milliseconds since 1970.
    pub expires_at_ms: i64,
    /// The model as the client named it.
    pub model: String,
    /// Where it stands.
    pub status: Status,
    /// The request's own items, without those it continues: a JSON array.
    pub input_items: String,
    /// The reply's items: a JSON array.
    pub output_items: String,
    /// The Response object as the client got it, `instructions` included: a JSON object.
    pub body: String,
}

/// What changes when a reply that was queued or in progress goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Where it stands now.
    pub status: Status,
    /// All its items so far: a JSON array.
    pub output_items: String,
    /// The Response object: a JSON object.
    pub body: String,
}

/// One reply of a chain: what the model saw and said.
///
/// `instructions` are not here: the API does not carry them over to a reply that continues another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The reply's id.
    pub id: String,
    /// Where it stands. One that is not final has not said everything.
    pub status: Status,
    /// The request's own items: a JSON array.
    pub input_items: String,
    /// The reply's items: a JSON array.
    pub output_items: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_found_by_their_names() {
        for status in Status::ALL {
            assert_eq!(Status::from_name(status.name()), Some(status));
        }
        assert_eq!(Status::from_name("done"), None);
    }

    #[test]
    fn an_owner_is_hex_in_the_database_and_short_in_a_log() {
        let mut hash = [0xab; 32];
        hash[31] = 0x0f;
        let owner = Owner::from_hash(hash);
        assert_eq!(owner.hex(), format!("{}0f", "ab".repeat(31)));
        assert_eq!(format!("{owner:?}"), "Owner(abab…)");
    }
}
