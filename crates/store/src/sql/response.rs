//! The rows of `response`.

use std::collections::HashSet;

use serde_json::value::RawValue;
use sqlx::{AnyPool, Row, any::AnyRow};

use super::Pools;
use crate::{
    Bound, Error, Limits, Link, Owner, Status, StoredResponse, Update, limits::MAX_ID_BYTES,
};

/// How many rows one statement removes.
pub(crate) const EXPIRE_BATCH: i64 = 500;

const PUT: &str = "\
INSERT INTO response (owner, id, previous_response_id, created_at, expires_at, model, status, \
  input_items, output_items, body, input_bytes, output_bytes) \
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
ON CONFLICT (owner, id) DO UPDATE SET \
  previous_response_id = excluded.previous_response_id, created_at = excluded.created_at, \
  expires_at = excluded.expires_at, model = excluded.model, status = excluded.status, \
  input_items = excluded.input_items, output_items = excluded.output_items, \
  body = excluded.body, input_bytes = excluded.input_bytes, output_bytes = excluded.output_bytes \
WHERE response.expires_at <= $13";

const UPDATE: &str = "\
UPDATE response SET status = $4, output_items = $5, body = $6, output_bytes = $7 \
WHERE owner = $1 AND id = $2 AND expires_at > $3 AND status IN ('queued', 'in_progress') \
  AND input_bytes + $8 <= $9";

const HEAD: &str =
    "SELECT expires_at, status, input_bytes FROM response WHERE owner = $1 AND id = $2";

const ROW: &str = "\
SELECT previous_response_id, created_at, expires_at, model, status, input_items, output_items, body \
FROM response WHERE owner = $1 AND id = $2";

const INPUT: &str = "SELECT expires_at, input_items FROM response WHERE owner = $1 AND id = $2";

const DELETE: &str = "DELETE FROM response WHERE owner = $1 AND id = $2 RETURNING expires_at";

// The depth bounds the walk, cycles included. Items are read only if all of them together are within
// the limit, which the lengths tell beforehand.
const CHAIN: &str = "\
WITH RECURSIVE link (id, depth) AS ( \
  SELECT CAST($2 AS TEXT), CAST(0 AS BIGINT) \
  UNION ALL \
  SELECT r.previous_response_id, link.depth + 1 \
  FROM link JOIN response AS r ON r.owner = $1 AND r.id = link.id \
  WHERE r.previous_response_id IS NOT NULL AND link.depth < $3 \
), total (bytes) AS ( \
  SELECT SUM(r.input_bytes + r.output_bytes) \
  FROM link JOIN response AS r ON r.owner = $1 AND r.id = link.id \
) \
SELECT link.id AS id, r.expires_at AS expires_at, r.status AS status, \
  r.input_bytes + r.output_bytes AS bytes, \
  CASE WHEN total.bytes <= $4 THEN r.input_items END AS input_items, \
  CASE WHEN total.bytes <= $4 THEN r.output_items END AS output_items \
FROM link CROSS JOIN total LEFT JOIN response AS r ON r.owner = $1 AND r.id = link.id \
ORDER BY link.depth";

const EXPIRE: &str = "\
DELETE FROM response WHERE (owner, id) IN \
  (SELECT owner, id FROM response WHERE expires_at <= $1 LIMIT $2)";

/// What a look-up goes by.
#[derive(Clone, Copy)]
pub(crate) struct Key<'a> {
    pub(crate) owner: &'a Owner,
    pub(crate) id: &'a str,
    pub(crate) now_ms: i64,
}

/// Whether an id can be one. NUL cannot stand in a text of PostgreSQL.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= MAX_ID_BYTES && !id.contains('\0')
}

/// Turns away an id that nothing can have.
pub(crate) fn findable(id: &str) -> Result<(), Error> {
    if is_id(id) {
        return Ok(());
    }
    Err(Error::NotFound { id: id.chars().filter(|c| *c != '\0').take(64).collect() })
}

/// Whether a reply can be kept.
pub(crate) fn check(response: &StoredResponse, limits: &Limits) -> Result<(), Error> {
    let previous = response.previous_response_id.as_deref();
    for (what, id) in [("id", Some(response.id.as_str())), ("previous_response_id", previous)] {
        if id.is_some_and(|id| !is_id(id)) {
            let reason = format!("must have 1 to {MAX_ID_BYTES} bytes and no NUL");
            return Err(Error::Invalid { what, reason });
        }
    }
    if previous == Some(response.id.as_str()) {
        let reason = "must not be the response itself".to_owned();
        return Err(Error::Invalid { what: "previous_response_id", reason });
    }
    if response.model.len() > 1024 || response.model.contains('\0') {
        let reason = "must have at most 1024 bytes and no NUL".to_owned();
        return Err(Error::Invalid { what: "model", reason });
    }
    let StoredResponse { input_items, output_items, body, .. } = response;
    fits(input_items.len() + output_items.len() + body.len(), limits.response_bytes)?;
    json("input_items", input_items, b'[')?;
    json("output_items", output_items, b'[')?;
    json("body", body, b'{')
}

/// Whether a change can be kept, as far as it can be told without the row.
pub(crate) fn check_update(update: &Update, limit: usize) -> Result<(), Error> {
    fits(update.output_items.len() + update.body.len(), limit)?;
    json("output_items", &update.output_items, b'[')?;
    json("body", &update.body, b'{')
}

fn fits(bytes: usize, limit: usize) -> Result<(), Error> {
    if bytes <= limit { Ok(()) } else { Err(too_large(Bound::ResponseBytes, bytes, limit)) }
}

fn too_large(bound: Bound, actual: usize, limit: usize) -> Error {
    Error::TooLarge { bound, actual: actual as u64, limit: limit as u64 }
}

fn json(what: &'static str, text: &str, opening: u8) -> Result<(), Error> {
    let kind = if opening == b'[' { "array" } else { "object" };
    let reason = match serde_json::from_str::<&RawValue>(text) {
        Ok(value) if value.get().as_bytes().first() == Some(&opening) => return Ok(()),
        Ok(_) => format!("must be a JSON {kind}"),
        Err(error) => format!("must be a JSON {kind}: {error}"),
    };
    Err(Error::Invalid { what, reason })
}

/// A length as a column's. Limits keep it far from the end of the range.
fn column(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Keeps a reply; false if a live one has its id.
pub(crate) async fn put(
    pool: &AnyPool,
    response: StoredResponse,
    now_ms: i64,
) -> Result<bool, sqlx::Error> {
    let (input_bytes, output_bytes) = (response.input_items.len(), response.output_items.len());
    let done = sqlx::query(PUT)
        .bind(response.owner.hex())
        .bind(response.id)
        .bind(response.previous_response_id)
        .bind(response.created_at_ms)
        .bind(response.expires_at_ms)
        .bind(response.model)
        .bind(response.status.name())
        .bind(response.input_items)
        .bind(response.output_items)
        .bind(response.body)
        .bind(column(input_bytes))
        .bind(column(output_bytes))
        .bind(now_ms)
        .execute(pool)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Moves a reply on. Why it could not be is asked afterwards: it changes nothing any more.
pub(crate) async fn update(
    pools: &Pools,
    key: Key<'_>,
    update: Update,
    limit: usize,
    unavailable: impl Fn(&sqlx::Error) -> Error,
) -> Result<(), Error> {
    let Key { owner, id, now_ms } = key;
    let bytes = update.output_items.len() + update.body.len();
    let done = sqlx::query(UPDATE)
        .bind(owner.hex())
        .bind(id)
        .bind(now_ms)
        .bind(update.status.name())
        .bind(update.output_items.as_str())
        .bind(update.body.as_str())
        .bind(column(update.output_items.len()))
        .bind(column(bytes))
        .bind(column(limit))
        .execute(&pools.write)
        .await
        .map_err(|error| unavailable(&error))?;
    if done.rows_affected() > 0 {
        return Ok(());
    }
    let head = sqlx::query(HEAD)
        .bind(owner.hex())
        .bind(id)
        .fetch_optional(&pools.write)
        .await
        .map_err(|error| unavailable(&error))?;
    let head = live(head, id, now_ms)?;
    let status = status(&head, id)?;
    if status.is_final() {
        return Err(Error::Finished { id: id.to_owned(), status });
    }
    let input = usize::try_from(number(&head, "input_bytes", id)?).unwrap_or(usize::MAX);
    Err(too_large(Bound::ResponseBytes, bytes.saturating_add(input), limit))
}

/// The row of a reply.
pub(crate) async fn row(
    pool: &AnyPool,
    owner: &Owner,
    id: &str,
) -> Result<Option<AnyRow>, sqlx::Error> {
    sqlx::query(ROW).bind(owner.hex()).bind(id).fetch_optional(pool).await
}

/// The part of a reply's row that a page of its input needs.
pub(crate) async fn input_row(
    pool: &AnyPool,
    owner: &Owner,
    id: &str,
) -> Result<Option<AnyRow>, sqlx::Error> {
    sqlx::query(INPUT).bind(owner.hex()).bind(id).fetch_optional(pool).await
}

/// Removes a reply, expired or not; the row's `expires_at`.
pub(crate) async fn delete(
    pool: &AnyPool,
    owner: &Owner,
    id: &str,
) -> Result<Option<AnyRow>, sqlx::Error> {
    // All rows, so that the statement has run to its end.
    let rows = sqlx::query(DELETE).bind(owner.hex()).bind(id).fetch_all(pool).await?;
    Ok(rows.into_iter().next())
}

/// Removes some of the expired replies; how many.
pub(crate) async fn expire(pool: &AnyPool, now_ms: i64) -> Result<u64, sqlx::Error> {
    let done = sqlx::query(EXPIRE).bind(now_ms).bind(EXPIRE_BATCH).execute(pool).await?;
    Ok(done.rows_affected())
}

/// The rows of a chain, newest first, up to one more than may be.
pub(crate) async fn chain_rows(
    pool: &AnyPool,
    owner: &Owner,
    id: &str,
    limits: &Limits,
) -> Result<Vec<AnyRow>, sqlx::Error> {
    sqlx::query(CHAIN)
        .bind(owner.hex())
        .bind(id)
        .bind(column(limits.chain_links))
        .bind(column(limits.chain_bytes))
        .fetch_all(pool)
        .await
}

/// The links of a chain's rows, oldest first, if none is missing.
pub(crate) fn chain(rows: &[AnyRow], limits: &Limits, now_ms: i64) -> Result<Vec<Link>, Error> {
    let mut seen = HashSet::new();
    let mut bytes = 0_usize;
    for (at, row) in rows.iter().enumerate() {
        if at >= limits.chain_links {
            return Err(too_large(Bound::ChainLinks, at + 1, limits.chain_links));
        }
        let id = text(row, "id", "")?;
        let Some(expires_at) = get::<Option<i64>>(row, "expires_at", &id)? else {
            return Err(Error::NotFound { id });
        };
        if expires_at <= now_ms {
            return Err(Error::Expired { id });
        }
        bytes =
            bytes.saturating_add(usize::try_from(number(row, "bytes", &id)?).unwrap_or(usize::MAX));
        if !seen.insert(id.clone()) {
            return Err(Error::Corrupt { id, reason: "it continues itself.".to_owned() });
        }
    }
    if bytes > limits.chain_bytes {
        return Err(too_large(Bound::ChainBytes, bytes, limits.chain_bytes));
    }
    let link = |row: &AnyRow| {
        let id = text(row, "id", "")?;
        Ok(Link {
            status: status(row, &id)?,
            input_items: text(row, "input_items", &id)?,
            output_items: text(row, "output_items", &id)?,
            id,
        })
    };
    rows.iter().rev().map(link).collect()
}

/// A row that is there and has not expired.
pub(crate) fn live(row: Option<AnyRow>, id: &str, now_ms: i64) -> Result<AnyRow, Error> {
    let Some(row) = row else {
        return Err(Error::NotFound { id: id.to_owned() });
    };
    if number(&row, "expires_at", id)? <= now_ms {
        return Err(Error::Expired { id: id.to_owned() });
    }
    Ok(row)
}

/// A reply from its row.
pub(crate) fn read(row: &AnyRow, owner: &Owner, id: &str) -> Result<StoredResponse, Error> {
    Ok(StoredResponse {
        owner: owner.clone(),
        id: id.to_owned(),
        previous_response_id: get(row, "previous_response_id", id)?,
        created_at_ms: number(row, "created_at", id)?,
        expires_at_ms: number(row, "expires_at", id)?,
        model: text(row, "model", id)?,
        status: status(row, id)?,
        input_items: text(row, "input_items", id)?,
        output_items: text(row, "output_items", id)?,
        body: text(row, "body", id)?,
    })
}

/// A column's text.
pub(crate) fn text(row: &AnyRow, name: &'static str, id: &str) -> Result<String, Error> {
    get(row, name, id)
}

fn number(row: &AnyRow, name: &'static str, id: &str) -> Result<i64, Error> {
    get(row, name, id)
}

fn status(row: &AnyRow, id: &str) -> Result<Status, Error> {
    let name = text(row, "status", id)?;
    Status::from_name(&name).ok_or_else(|| Error::Corrupt {
        id: id.to_owned(),
        reason: format!("it has the unknown status `{name}`."),
    })
}

fn get<'r, T>(row: &'r AnyRow, name: &'static str, id: &str) -> Result<T, Error>
where
    T: sqlx::Decode<'r, sqlx::Any> + sqlx::Type<sqlx::Any>,
{
    row.try_get(name)
        .map_err(|error| Error::Corrupt { id: id.to_owned(), reason: format!("{error}.") })
}
