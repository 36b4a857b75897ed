//! What the gateway keeps between requests.
//!
//! One trait, [`Store`], and one implementation, [`SqlStore`]: the same SQL text on an SQLite file, on
//! SQLite in memory for tests and, with the feature `postgres`, on a PostgreSQL that several gateways
//! share. Today it keeps the replies of the Responses API; [`continuation`] joins a chain of them and a
//! new request's items into one list.
//!
//! It reads no clock: each method takes `now_ms`, milliseconds since 1970-01-01 UTC. It does not know
//! what an item means and changes no byte of one. A database that is down, locked or full is
//! [`Error::Unavailable`], within [`Limits::wait`]; there is no retry and nothing is kept in memory
//! for later, so that traffic without state goes on and a stateful answer is never a guess.
//!
//! # Table layout
//!
//! Texts are `TEXT`, numbers `BIGINT`, times milliseconds, JSON is text: what both databases and
//! sqlx's `Any` driver have. A table is added by a file in `migrations` and a line in
//! `src/sql/migration.rs`; a file that was published is never edited.
//!
//! `response`, primary key (`owner`, `id`), index on `expires_at`:
//!
//! | column | what |
//! |---|---|
//! | `owner` | SHA-256 or the like of the client's key, in hex: [`Owner`] |
//! | `id` | the reply's id |
//! | `previous_response_id` | the reply that it continues, or NULL |
//! | `created_at`, `expires_at` | ms; the row is gone for readers when `now >= expires_at` |
//! | `model` | what the client asked for |
//! | `status` | [`Status::name`] |
//! | `input_items` | array of the request's own items, as sent |
//! | `output_items` | array of the reply's items, as sent |
//! | `body` | the Response object |
//! | `input_bytes`, `output_bytes` | lengths of the two arrays, so that a chain is measured before it is read |
//!
//! ```
//! use callgate_store::{DEFAULT_TTL_MS, Limits, Location, Owner, SqlStore, Status, Store, StoredResponse};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
//! # runtime.block_on(async {
//! let store = SqlStore::new(Location::Memory, Limits::default());
//! let (owner, now) = (Owner::from_hash([7; 32]), 1_800_000_000_000);
//! store.put_response(StoredResponse {
//!     owner: owner.clone(),
//!     id: "resp_1".to_owned(),
//!     previous_response_id: None,
//!     created_at_ms: now,
//!     expires_at_ms: now + DEFAULT_TTL_MS,
//!     model: "gpt".to_owned(),
//!     status: Status::Completed,
//!     input_items: r#"[{"role":"user","content":"Hi"}]"#.to_owned(),
//!     output_items: r#"[{"type":"message","role":"assistant","content":[]}]"#.to_owned(),
//!     body: r#"{"id":"resp_1"}"#.to_owned(),
//! }, now).await.unwrap();
//! let chain = store.chain(&owner, "resp_1", now).await.unwrap();
//! let input = callgate_store::continuation(&chain, r#"[{"role":"user","content":"And?"}]"#).unwrap();
//! assert!(input.starts_with(r#"[{"role":"user","content":"Hi"},{"type":"message""#));
//! assert!(store.response(&Owner::ANONYMOUS, "resp_1", now).await.is_err());
//! # });
//! ```

mod continuation;
mod error;
mod limits;
mod location;
mod page;
mod response;
mod sql;
mod store;

pub use continuation::{continuation, items};
pub use error::{Bound, Error, Outage};
pub use limits::{DEFAULT_TTL_MS, Limits};
pub use location::{Location, LocationError};
pub use page::{Item, ItemPage, Order, Page};
pub use response::{Link, Owner, Status, StoredResponse, Update};
pub use sql::SqlStore;
pub use store::{Answer, Store};
