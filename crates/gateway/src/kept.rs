//! Replies of the Responses API that are kept, so that a request can continue one.
//!
//! A continued conversation is joined before the request is admitted: behind this file a request that
//! continues a kept reply is one that sends everything. A store that is down fails what needs it, and
//! nothing else: a reply that could not be kept goes to its client all the same, and is logged.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use callgate_store::{
    self as store, DEFAULT_TTL_MS, Limits, Location, LocationError, Order, Owner, Page, SqlStore,
    Status, Store, StoredResponse,
};
use callgate_wire::{Code, Fault, raw};
use serde_json::Value;

/// How often expired replies are removed.
const SWEEP: Duration = Duration::from_secs(3600);

/// Whose replies they are: the gateway has no access keys yet.
const OWNER: Owner = Owner::ANONYMOUS;

/// The kept replies, if any are.
#[derive(Clone, Default)]
pub(crate) struct Kept(Option<Arc<dyn Store>>);

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Kept" } else { "Kept(nothing)" })
    }
}

/// A request with what is kept for it.
#[derive(Default)]
pub(crate) struct Joined {
    /// The body, with the whole conversation in it.
    pub(crate) body: Bytes,
    /// The kept reply that it continues, which is no longer in the body.
    pub(crate) continues: Option<String>,
    /// What is to be kept of it; nothing if it says so.
    pub(crate) keeping: Option<Keeping>,
}

impl From<Bytes> for Joined {
    fn from(body: Bytes) -> Self {
        Self { body, ..Self::default() }
    }
}

/// What is kept of a request until its reply is there.
#[derive(Clone)]
pub(crate) struct Keeping {
    store: Arc<dyn Store>,
    previous_response_id: Option<String>,
    model: String,
    input_items: String,
}

impl Kept {
    /// Replies are kept at `location`; without one none are. Nothing is opened yet.
    pub(crate) fn new(location: Option<&str>) -> Result<Self, LocationError> {
        let location: Option<Location> = location.map(str::parse).transpose()?;
        Ok(Self(location.map(|location| {
            Arc::new(SqlStore::new(location, Limits::default())) as Arc<dyn Store>
        })))
    }

    /// Removes expired replies from time to time, for as long as it is polled.
    pub(crate) async fn sweep(&self) {
        let Some(store) = &self.0 else { return std::future::pending().await };
        loop {
            if let Err(error) = store.expire(now_ms()).await {
                tracing::warn!(%error, "expired replies stay for now");
            }
            tokio::time::sleep(SWEEP).await;
        }
    }

    /// A request's body with the conversation that it continues in front of its input, and what is
    /// to be kept of it. An id that is not kept here stays: it may be the provider's.
    pub(crate) async fn joined(&self, body: Bytes) -> Result<Joined, Fault> {
        let Some(store) = &self.0 else { return Ok(body.into()) };
        // What cannot be read is refused with its reason where requests are read.
        let Ok(text) = std::str::from_utf8(&body) else { return Ok(body.into()) };
        let Ok(object) = raw::Object::parse(text) else { return Ok(body.into()) };
        let string = |name| -> Option<String> { serde_json::from_str(object.get(name)?).ok() };
        let input = object.get("input").filter(|input| *input != "null").unwrap_or("[]");
        let Ok(input_items) = store::items(input) else { return Ok(body.into()) };
        let previous_response_id = string("previous_response_id");
        let keeping = (object.get("store") != Some("false")).then(|| Keeping {
            store: Arc::clone(store),
            previous_response_id: previous_response_id.clone(),
            model: string("model").unwrap_or_default(),
            input_items: input_items.clone(),
        });
        let Some(id) = previous_response_id else {
            return Ok(Joined { body, continues: None, keeping });
        };
        let chain = match store.chain(&OWNER, &id, now_ms()).await {
            Ok(chain) => chain,
            Err(store::Error::NotFound { .. }) => {
                return Ok(Joined { body, continues: None, keeping });
            }
            Err(error) => return Err(fault(&error).param("previous_response_id")),
        };
        let input = store::continuation(&chain, &input_items)
            .map_err(|error| fault(&error).param("previous_response_id"))?;
        let edits = [
            raw::Edit::Set { name: "input", json: &input },
            raw::Edit::Remove { name: "previous_response_id" },
        ];
        let joined = raw::edit(text, &edits).map_err(|error| {
            Fault::new(Code::RequestInvalid, format!("The body cannot be read as JSON: {error}."))
        })?;
        Ok(Joined { body: Bytes::from(joined), continues: Some(id), keeping })
    }

    /// A kept reply's JSON.
    pub(crate) async fn response(&self, id: &str) -> Result<String, Fault> {
        let reply = self.store(id)?.response(&OWNER, id, now_ms()).await;
        reply.map(|reply| reply.body).map_err(|error| fault(&error))
    }

    /// Forgets a reply.
    pub(crate) async fn delete(&self, id: &str) -> Result<(), Fault> {
        self.store(id)?.delete_response(&OWNER, id, now_ms()).await.map_err(|error| fault(&error))
    }

    /// A page of the items that led to a reply, as the API lists them. `query` is the URL's.
    pub(crate) async fn input_items(&self, id: &str, query: &str) -> Result<Value, Fault> {
        let page = page(query)?;
        let listed = self.store(id)?.input_items(&OWNER, id, &page, now_ms()).await;
        let listed = listed.map_err(|error| fault(&error))?;
        let data: Vec<Value> = listed
            .items
            .iter()
            .map(|item| {
                let mut value: Value = serde_json::from_str(&item.json).unwrap_or_default();
                if let Some(object) = value.as_object_mut() {
                    object.insert("id".to_owned(), Value::from(item.id.as_str()));
                }
                value
            })
            .collect();
        let id_of = |item: Option<&store::Item>| item.map(|item| item.id.clone());
        Ok(serde_json::json!({
            "object": "list", "data": data, "has_more": listed.has_more,
            "first_id": id_of(listed.items.first()), "last_id": id_of(listed.items.last()),
        }))
    }

    fn store(&self, id: &str) -> Result<&Arc<dyn Store>, Fault> {
        self.0.as_ref().ok_or_else(|| {
            let message = format!(
                "no reply `{id}` is kept: this gateway keeps none; set `store` in its \
                 configuration, or send the whole conversation in `input`"
            );
            Fault::new(Code::NotFound, message)
        })
    }
}

impl Keeping {
    /// Keeps the reply whose final event stands in these bytes of a stream, if it does.
    pub(crate) async fn see(&self, bytes: &[u8]) {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let is_last = |data: &&str| {
            data.starts_with(r#"{"type":"response.completed","#)
                || data.starts_with(r#"{"type":"response.incomplete","#)
        };
        let last = text.lines().filter_map(|line| line.strip_prefix("data: ")).find(is_last);
        let response =
            last.and_then(|last| raw::Object::parse(last).ok()?.get("response").map(str::to_owned));
        if let Some(response) = response {
            self.keep(&response).await;
        }
    }

    /// Keeps a reply.
    pub(crate) async fn keep(&self, response: &str) {
        let Ok(object) = raw::Object::parse(response) else { return };
        let string = |name| -> Option<String> { serde_json::from_str(object.get(name)?).ok() };
        let status = string("status").and_then(|status| Status::from_name(&status));
        let (Some(id), Some(status)) = (string("id"), status) else { return };
        let now = now_ms();
        let kept = StoredResponse {
            owner: OWNER,
            id,
            previous_response_id: self.previous_response_id.clone(),
            created_at_ms: now,
            expires_at_ms: now.saturating_add(DEFAULT_TTL_MS),
            model: self.model.clone(),
            status,
            input_items: self.input_items.clone(),
            output_items: object.get("output").unwrap_or("[]").to_owned(),
            body: response.to_owned(),
        };
        let id = kept.id.clone();
        if let Err(error) = self.store.put_response(kept, now).await {
            tracing::warn!(%error, id, "a reply could not be kept");
        }
    }
}

fn page(query: &str) -> Result<Page, Fault> {
    let mut page = Page::default();
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let invalid = |what: &str| {
            Fault::new(Code::RequestInvalid, format!("`{name}` {what}, but it is `{value}`"))
                .param(name)
        };
        match name {
            "limit" => page.limit = value.parse().map_err(|_| invalid("must be a number"))?,
            "order" => {
                page.order = match value {
                    "asc" => Order::Ascending,
                    "desc" => Order::Descending,
                    _ => return Err(invalid("must be asc or desc")),
                };
            }
            "after" => page.after = Some(value.to_owned()),
            _ => {}
        }
    }
    Ok(page)
}

fn fault(error: &store::Error) -> Fault {
    use store::Error;
    let code = match error {
        Error::NotFound { .. } | Error::Expired { .. } => Code::NotFound,
        Error::Unavailable { .. } | Error::Corrupt { .. } => Code::StoreUnavailable,
        _ => Code::RequestInvalid,
    };
    Fault::new(code, error.to_string())
}

fn now_ms() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}
