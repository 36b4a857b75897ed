//! What can go wrong, and a database's own errors in these terms.

use std::fmt;

use crate::Status;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Never kept, deleted, removed after it expired, or another owner's.
    #[error("There is no stored response `{id}`.")]
    NotFound {
        /// The reply's id, shortened if it could not be one.
        id: String,
    },
    /// Kept once, but its time is over.
    #[error("The stored response `{id}` has expired.")]
    Expired {
        /// The reply's id.
        id: String,
    },
    /// The id is taken.
    #[error("A response `{id}` is stored already.")]
    Exists {
        /// The reply's id.
        id: String,
    },
    /// The reply has ended and changes no more.
    #[error("The response `{id}` has ended: it is {}.", status.name())]
    Finished {
        /// The reply's id.
        id: String,
        /// How it ended.
        status: Status,
    },
    /// Over a limit of [`Limits`](crate::Limits).
    #[error("{bound}: {actual}, the limit is {limit}.")]
    TooLarge {
        /// Which.
        bound: Bound,
        /// What it would have been; for a chain's length, what is known to be there.
        actual: u64,
        /// What may be.
        limit: u64,
    },
    /// The caller's values cannot be kept or looked for.
    #[error("`{what}` {reason}")]
    Invalid {
        /// The value.
        what: &'static str,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// A row that this crate cannot have written.
    #[error("The stored response `{id}` is damaged: {reason}")]
    Corrupt {
        /// The reply's id.
        id: String,
        /// What is wrong.
        reason: String,
    },
    /// The database cannot serve now. Requests without state are not concerned.
    #[error("The store {place} is not available: {outage}. {detail}")]
    Unavailable {
        /// What kind of trouble.
        outage: Outage,
        /// The database, without its password.
        place: String,
        /// The database's own words.
        detail: String,
    },
}

/// A limit that a value may be over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// [`Limits::response_bytes`](crate::Limits::response_bytes).
    ResponseBytes,
    /// [`Limits::chain_links`](crate::Limits::chain_links).
    ChainLinks,
    /// [`Limits::chain_bytes`](crate::Limits::chain_bytes).
    ChainBytes,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ResponseBytes => "Bytes of a stored response",
            Self::ChainLinks => "Responses in a conversation",
            Self::ChainBytes => "Bytes of a conversation's items",
        })
    }
}

/// Why a database cannot serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outage {
    /// Somebody else writes, for longer than the store waits.
    Locked,
    /// It may be read, not written.
    ReadOnly,
    /// Disk or quota is full.
    Full,
    /// The file or its folder cannot be opened or made.
    CannotOpen,
    /// The file is no database, or damaged.
    Damaged,
    /// Its tables are those of another version of this program.
    Version,
    /// No connection, or it broke.
    Connection,
    /// No answer within [`Limits::wait`](crate::Limits::wait).
    Timeout,
    /// Something else; the database's words say what.
    Other,
}

impl fmt::Display for Outage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Locked => "it is locked by another process",
            Self::ReadOnly => "it is read-only",
            Self::Full => "its disk is full",
            Self::CannotOpen => "it cannot be opened",
            Self::Damaged => "it is not a database or is damaged",
            Self::Version => "its tables belong to another version of this program",
            Self::Connection => "there is no connection",
            Self::Timeout => "it did not answer in time",
            Self::Other => "the database refused",
        })
    }
}

impl Outage {
    /// Reads a driver's error.
    pub(crate) fn of(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => {
                error.code().map_or(Self::Other, |code| Self::of_code(&code))
            }
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::PoolClosed => Self::Connection,
            sqlx::Error::PoolTimedOut => Self::Timeout,
            _ => Self::Other,
        }
    }

    /// By code: five characters are an SQLSTATE, else it is an SQLite result code in decimal, whose low
    /// byte is the primary code (<https://sqlite.org/rescode.html>).
    fn of_code(code: &str) -> Self {
        if code.len() == 5 {
            return match code {
                "25006" => Self::ReadOnly,
                "40001" | "40P01" | "55P03" => Self::Locked,
                "57014" => Self::Timeout,
                _ => match &code[..2] {
                    "08" | "57" | "28" | "3D" => Self::Connection,
                    "53" => Self::Full,
                    "XX" => Self::Damaged,
                    _ => Self::Other,
                },
            };
        }
        match code.parse::<u32>().map(|code| code & 0xff) {
            Ok(5 | 6) => Self::Locked,
            Ok(8) => Self::ReadOnly,
            Ok(10) => Self::Connection,
            Ok(11 | 26) => Self::Damaged,
            Ok(13) => Self::Full,
            Ok(14) => Self::CannotOpen,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_both_databases_are_told_apart() {
        for (code, outage) in [
            ("5", Outage::Locked),
            ("517", Outage::Locked),
            ("8", Outage::ReadOnly),
            ("1032", Outage::ReadOnly),
            ("11", Outage::Damaged),
            ("26", Outage::Damaged),
            ("13", Outage::Full),
            ("14", Outage::CannotOpen),
            ("8714", Outage::Connection),
            ("1", Outage::Other),
            ("25006", Outage::ReadOnly),
            ("53100", Outage::Full),
            ("57P03", Outage::Connection),
            ("40001", Outage::Locked),
            ("42601", Outage::Other),
            ("", Outage::Other),
        ] {
            assert_eq!(Outage::of_code(code), outage, "{code}");
        }
    }
}
