//! The contract between the gateway and whatever keeps its state.

use std::pin::Pin;

use crate::{Error, ItemPage, Link, Owner, Page, StoredResponse, Update};

/// What a call comes to, once it is awaited. Dropping it may leave a write done or not done, never half.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// State that outlives a request. Shared as `Arc<dyn Store>`.
///
/// A write that came back `Ok` survives the process. Each call may fail with [`Error::Unavailable`]; one
/// that writes may then have taken effect. Times are milliseconds since 1970.
pub trait Store: Send + Sync {
    /// Keeps a reply. One of the same owner and id that has expired is replaced.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::TooLarge`], [`Error::Invalid`].
    fn put_response(&self, response: StoredResponse, now_ms: i64) -> Answer<'_, ()>;

    /// Moves a reply on that is not final yet. Of several that end one reply, the first wins.
    ///
    /// # Errors
    /// [`Error::Finished`], [`Error::NotFound`], [`Error::Expired`], [`Error::TooLarge`], [`Error::Invalid`].
    fn update_response<'a>(
        &'a self,
        owner: &'a Owner,
        id: &'a str,
        update: Update,
        now_ms: i64,
    ) -> Answer<'a, ()>;

    /// A reply.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Expired`], [`Error::Corrupt`].
    fn response<'a>(
        &'a self,
        owner: &'a Owner,
        id: &'a str,
        now_ms: i64,
    ) -> Answer<'a, StoredResponse>;

    /// Forgets a reply. A chain that leads through it is broken from then on.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Expired`].
    fn delete_response<'a>(&'a self, owner: &'a Owner, id: &'a str, now_ms: i64) -> Answer<'a, ()>;

    /// The conversation that ends with the reply `id`, oldest first.
    ///
    /// All of it or an error: a conversation with a hole means something else.
    ///
    /// # Errors
    /// [`Error::NotFound`] and [`Error::Expired`] name the link that is gone; [`Error::TooLarge`];
    /// [`Error::Corrupt`] for a reply that continues itself.
    fn chain<'a>(&'a self, owner: &'a Owner, id: &'a str, now_ms: i64) -> Answer<'a, Vec<Link>>;

    /// A page of the items of the request that led to the reply `id`.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Expired`]; [`Error::Invalid`] for a page that cannot be.
    fn input_items<'a>(
        &'a self,
        owner: &'a Owner,
        id: &'a str,
        page: &'a Page,
        now_ms: i64,
    ) -> Answer<'a, ItemPage>;

    /// Removes every reply that has expired, and says how many went.
    ///
    /// # Errors
    /// [`Error::Unavailable`]; what went until then stays gone.
    fn expire(&self, now_ms: i64) -> Answer<'_, u64>;
}
