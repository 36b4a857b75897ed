//! What a store does, naively, on a map.

use std::collections::BTreeMap;

use callgate_store::{Bound, Error, Limits, Link, Owner, StoredResponse, Update};

pub(crate) struct Model {
    pub(crate) limits: Limits,
    rows: BTreeMap<(Owner, String), StoredResponse>,
}

impl Model {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, rows: BTreeMap::new() }
    }

    pub(crate) fn put(&mut self, response: StoredResponse, now: i64) -> Result<(), Error> {
        if response.previous_response_id.as_ref() == Some(&response.id) {
            return Err(invalid("previous_response_id"));
        }
        self.fits(&response)?;
        let key = (response.owner.clone(), response.id.clone());
        if self.rows.get(&key).is_some_and(|row| row.expires_at_ms > now) {
            return Err(Error::Exists { id: response.id });
        }
        self.rows.insert(key, response);
        Ok(())
    }

    pub(crate) fn update(
        &mut self,
        owner: &Owner,
        id: &str,
        update: Update,
        now: i64,
    ) -> Result<(), Error> {
        let limit = self.limits.response_bytes;
        let bytes = update.output_items.len() + update.body.len();
        if bytes > limit {
            return Err(too_large(Bound::ResponseBytes, bytes, limit));
        }
        let mut row = self.get(owner, id, now)?;
        if row.status.is_final() {
            return Err(Error::Finished { id: row.id, status: row.status });
        }
        row.status = update.status;
        row.output_items = update.output_items;
        row.body = update.body;
        self.fits(&row)?;
        self.rows.insert((owner.clone(), id.to_owned()), row);
        Ok(())
    }

    pub(crate) fn get(&self, owner: &Owner, id: &str, now: i64) -> Result<StoredResponse, Error> {
        match self.rows.get(&(owner.clone(), id.to_owned())) {
            None => Err(Error::NotFound { id: id.to_owned() }),
            Some(row) if row.expires_at_ms <= now => Err(Error::Expired { id: id.to_owned() }),
            Some(row) => Ok(row.clone()),
        }
    }

    pub(crate) fn delete(&mut self, owner: &Owner, id: &str, now: i64) -> Result<(), Error> {
        let result = self.get(owner, id, now).map(|_| ());
        self.rows.remove(&(owner.clone(), id.to_owned()));
        result
    }

    pub(crate) fn chain(&self, owner: &Owner, id: &str, now: i64) -> Result<Vec<Link>, Error> {
        let mut links: Vec<Link> = Vec::new();
        let mut next = Some(id.to_owned());
        while let Some(id) = next {
            let limit = self.limits.chain_links;
            if links.len() == limit {
                return Err(too_large(Bound::ChainLinks, limit + 1, limit));
            }
            let row = self.get(owner, &id, now)?;
            if links.iter().any(|link| link.id == id) {
                return Err(Error::Corrupt { id, reason: "it continues itself.".to_owned() });
            }
            next = row.previous_response_id;
            let StoredResponse { id, status, input_items, output_items, .. } = row;
            links.push(Link { id, status, input_items, output_items });
        }
        links.reverse();
        let bytes = links.iter().map(|link| link.input_items.len() + link.output_items.len()).sum();
        if bytes > self.limits.chain_bytes {
            return Err(too_large(Bound::ChainBytes, bytes, self.limits.chain_bytes));
        }
        Ok(links)
    }

    pub(crate) fn expire(&mut self, now: i64) -> u64 {
        let before = self.rows.len();
        self.rows.retain(|_, row| row.expires_at_ms > now);
        (before - self.rows.len()) as u64
    }

    fn fits(&self, row: &StoredResponse) -> Result<(), Error> {
        let bytes = row.input_items.len() + row.output_items.len() + row.body.len();
        let limit = self.limits.response_bytes;
        if bytes > limit { Err(too_large(Bound::ResponseBytes, bytes, limit)) } else { Ok(()) }
    }
}

fn too_large(bound: Bound, actual: usize, limit: usize) -> Error {
    Error::TooLarge { bound, actual: actual as u64, limit: limit as u64 }
}

/// The model does not word what is wrong.
fn invalid(what: &'static str) -> Error {
    Error::Invalid { what, reason: String::new() }
}

/// A result without the words for what is wrong.
pub(crate) fn unworded<T>(result: Result<T, Error>) -> Result<T, Error> {
    result.map_err(|error| match error {
        Error::Invalid { what, .. } => invalid(what),
        error => error,
    })
}
