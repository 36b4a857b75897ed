//! The store on a database: one SQL text for SQLite and PostgreSQL.
//!
//! A call is one statement, which each database runs whole or not at all; so there is no transaction to
//! leave open and none that has to be raised from reading to writing.

mod connect;
mod migration;
mod response;

use std::{fmt, future::Future, sync::Arc};

use sqlx::AnyPool;
use tokio::{sync::OnceCell, time};

use crate::{
    Answer, Error, ItemPage, Limits, Link, Location, Outage, Owner, Page, Store, StoredResponse,
    Update, page,
};

/// A store on a database. Clones share its connections.
#[derive(Clone)]
pub struct SqlStore {
    shared: Arc<Shared>,
}

struct Shared {
    location: Location,
    limits: Limits,
    /// Empty until the database could be reached and has its tables.
    pools: OnceCell<Pools>,
}

/// SQLite has one writer at a time. A pool of one makes writers of this process queue in order, instead
/// of polling the file's lock; readers go beside it.
pub(crate) struct Pools {
    pub(crate) read: AnyPool,
    pub(crate) write: AnyPool,
}

impl fmt::Debug for SqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStore").field("location", &self.shared.location).finish_non_exhaustive()
    }
}

impl SqlStore {
    /// A store that connects and makes its tables when it is first asked for something, and tries
    /// again at every call until it succeeds: a gateway starts without its database.
    ///
    /// Calls need a tokio runtime with time, and for PostgreSQL with I/O.
    #[must_use]
    pub fn new(location: Location, limits: Limits) -> Self {
        Self { shared: Arc::new(Shared { location, limits, pools: OnceCell::new() }) }
    }

    /// Connects and makes the tables now, for whoever wants to know at once.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub async fn ready(&self) -> Result<(), Error> {
        self.within(async { self.pools().await.map(|_| ()) }).await
    }

    /// Ends all connections; calls fail from then on. An SQLite file is left without its side files.
    pub async fn close(&self) {
        if let Some(pools) = self.shared.pools.get() {
            pools.read.close().await;
            pools.write.close().await;
        }
    }

    async fn pools(&self) -> Result<&Pools, Error> {
        let Shared { location, limits, pools } = &*self.shared;
        pools.get_or_try_init(|| connect::open(location, limits)).await
    }

    /// Runs a call for no longer than the limit.
    async fn within<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let wait = self.shared.limits.wait;
        time::timeout(wait, call).await.unwrap_or_else(|_| {
            Err(Error::Unavailable {
                outage: Outage::Timeout,
                place: self.shared.location.to_string(),
                detail: format!("It was given {} ms.", wait.as_millis()),
            })
        })
    }

    fn unavailable(&self, error: &sqlx::Error) -> Error {
        connect::unavailable(&self.shared.location, error)
    }
}

impl Store for SqlStore {
    fn put_response(&self, response: StoredResponse, now_ms: i64) -> Answer<'_, ()> {
        Box::pin(async move {
            response::check(&response, &self.shared.limits)?;
            self.within(async {
                let id = response.id.clone();
                let kept = response::put(&self.pools().await?.write, response, now_ms)
                    .await
                    .map_err(|error| self.unavailable(&error))?;
                if kept { Ok(()) } else { Err(Error::Exists { id }) }
            })
            .await
        })
    }

    fn update_response<'a>(
        &'a self,
        owner: &'a Owner,
        id: &'a str,
        update: Update,
        now_ms: i64,
    ) -> Answer<'a, ()> {
        Box::pin(async move {
            let limit = self.shared.limits.response_bytes;
            response::check_update(&update, limit)?;
            response::findable(id)?;
            self.within(async {
                let pools = self.pools().await?;
                let key = response::Key { owner, id, now_ms };
                response::update(pools, key, update, limit, |error| self.unavailable(error)).await
            })
            .await
        })
    }

    fn response<'a>(
        &'a self,
        owner: &'a Owner,
        id: &'a str,
        now_ms: i64,
    ) -> Answer<'a, StoredResponse> {
        Box::pin(async move {
            response::findable(id)?;
            self.within(async {
                let row = response::row(&self.pools().await?.read, owner, id)
                    .await
                    .map_err(|error| self.unavailable(&error))?;
                let row = response::live(row, id, now_ms)?;
                response::read(&row, owner, id)
            })
            .await
        })
    }

    fn delete_response<'a>(&'a self, owner: &'a Owner, id: &'a str, now_ms: i64) -> Answer<'a, ()> {
        Box::pin(async move {
            response::findable(id)?;
            self.within(async {
                let row = response::delete(&self.pools().await?.write, owner, id)
                    .await
                    .map_err(|error| self.unavailable(&error))?;
                response::live(row, id, now_ms).map(|_| ())
            })
            .await
        })
    }

    fn chain<'a>(&'a self, owner: &'a Owner, id: &'a str, now_ms: i64) -> Answer<'a, Vec<Link>> {
        Box::pin(async move {
            response::findable(id)?;
            self.within(async {
                let limits = &self.shared.limits;
                let rows = response::chain_rows(&self.pools().await?.read, owner, id, limits)
                    .await
                    .map_err(|error| self.unavailable(&error))?;
                response::chain(&rows, limits, now_ms)
            })
            .await
        })
    }

    fn input_items<'a>(
        &'a self,
        owner: &'a Owner,
        id: &'a str,
        page: &'a Page,
        now_ms: i64,
    ) -> Answer<'a, ItemPage> {
        Box::pin(async move {
            response::findable(id)?;
            self.within(async {
                let row = response::input_row(&self.pools().await?.read, owner, id)
                    .await
                    .map_err(|error| self.unavailable(&error))?;
                let row = response::live(row, id, now_ms)?;
                page::page(id, &response::text(&row, "input_items", id)?, page)
            })
            .await
        })
    }

    fn expire(&self, now_ms: i64) -> Answer<'_, u64> {
        Box::pin(async move {
            let mut gone = 0;
            // In batches, each with the limit's time for itself: writers get their turn in between.
            loop {
                let batch = self
                    .within(async {
                        response::expire(&self.pools().await?.write, now_ms)
                            .await
                            .map_err(|error| self.unavailable(&error))
                    })
                    .await?;
                gone += batch;
                if batch < response::EXPIRE_BATCH.unsigned_abs() {
                    return Ok(gone);
                }
            }
        })
    }
}
