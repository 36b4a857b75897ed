//! A page of a request's items, as `GET /responses/{id}/input_items` lists them.
//!
//! Clients walk by the id of the last item they got, but most items come without one, and nothing
//! keeps two from having the same. Here every item has an id of its own, the same at every call.

use std::{borrow::Cow, collections::HashSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Error;

/// Which items to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// How many at most, from 1 to 100.
    pub limit: usize,
    /// From which end.
    pub order: Order,
    /// The id of the item behind which the page begins.
    pub after: Option<String>,
}

impl Default for Page {
    /// The API's: the newest 20.
    fn default() -> Self {
        Self { limit: 20, order: Order::Descending, after: None }
    }
}

/// From which end a list is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As sent: `asc`.
    Ascending,
    /// The last one first: `desc`.
    Descending,
}

/// One item of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The item's own id, or one made from the reply's id and the item's place where it has none or
    /// shares it with an item before it. Whoever shows `json` must show this id in it.
    pub id: String,
    /// The item as sent.
    pub json: String,
}

/// One page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemPage {
    /// The items in the order asked for.
    pub items: Vec<Item>,
    /// Whether more follow behind the last one.
    pub has_more: bool,
}

/// The page of `array`, the items of the request that led to the reply `response_id`.
pub(crate) fn page(response_id: &str, array: &str, page: &Page) -> Result<ItemPage, Error> {
    if !(1..=100).contains(&page.limit) {
        let reason = format!("must be from 1 to 100, but it is {}", page.limit);
        return Err(Error::Invalid { what: "limit", reason });
    }
    let items: Vec<&RawValue> = serde_json::from_str(array).map_err(|error| Error::Corrupt {
        id: response_id.to_owned(),
        reason: format!("its input items are no JSON array: {error}"),
    })?;
    let ids = ids(response_id, &items);
    let count = items.len();
    let place = |i: usize| match page.order {
        Order::Ascending => i,
        Order::Descending => count - 1 - i,
    };
    let start = match &page.after {
        None => 0,
        Some(after) => match ids.iter().position(|id| id == after) {
            Some(at) => place(at) + 1,
            None => {
                let reason = "names no input item of this response".to_owned();
                return Err(Error::Invalid { what: "after", reason });
            }
        },
    };
    let end = count.min(start + page.limit);
    let items = (start..end)
        .map(place)
        .map(|at| Item { id: ids[at].as_ref().to_owned(), json: items[at].get().to_owned() })
        .collect();
    Ok(ItemPage { items, has_more: end < count })
}

/// An id for each item, no two the same.
fn ids<'a>(response_id: &str, items: &[&'a RawValue]) -> Vec<Cow<'a, str>> {
    let mut taken = HashSet::new();
    let own: Vec<Option<Cow<'a, str>>> = items
        .iter()
        .map(|item| own_id(item).filter(|id| !id.is_empty() && taken.insert(id.clone())))
        .collect();
    own.into_iter()
        .enumerate()
        .map(|(at, id)| {
            id.unwrap_or_else(|| {
                let mut made = format!("item_{response_id}_{at}");
                while !taken.insert(Cow::Owned(made.clone())) {
                    made.push('_');
                }
                Cow::Owned(made)
            })
        })
        .collect()
}

fn own_id(item: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        id: Option<Cow<'a, str>>,
    }
    serde_json::from_str::<Head<'_>>(item.get()).ok()?.id
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn walk(array: &str, order: Order, limit: usize) -> Vec<Item> {
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let next = page("r", array, &Page { limit, order, after }).unwrap();
            assert!(next.items.len() <= limit);
            all.extend(next.items);
            if !next.has_more {
                return all;
            }
            assert!(all.len() <= 1000, "the walk does not end");
            after = all.last().map(|item| item.id.clone());
        }
    }

    proptest! {
        #[test]
        fn every_walk_sees_every_item_once_in_order(
            items in prop::collection::vec(
                prop::sample::select(vec![
                    r#"{"id":"a"}"#, r#"{"id":"b","x": 1.0}"#, "{}", r#"{"id":null}"#, r#"{"id":7}"#,
                    r#"{"id":""}"#, "3", r#"{"id":"item_r_0"}"#, r#"{"id":"item_r_2"}"#,
                    r#"{"id":"item_r_2_"}"#, r#"{"id":"\u0061"}"#,
                ]),
                0..25,
            ),
            limit in 1..8_usize,
        ) {
            let array = format!("[ {} ]", items.join(" ,\n"));
            let up = walk(&array, Order::Ascending, limit);
            let texts: Vec<_> = up.iter().map(|item| item.json.as_str()).collect();
            prop_assert_eq!(&texts, &items);
            let distinct: HashSet<_> = up.iter().map(|item| &item.id).collect();
            prop_assert_eq!(distinct.len(), items.len());
            let mut down = walk(&array, Order::Descending, limit);
            down.reverse();
            prop_assert_eq!(down, up);
        }
    }

    #[test]
    fn an_own_id_stays_and_a_bad_page_is_refused() {
        let array = r#"[{"id":"msg_1"},{"role":"user"}]"#;
        let all = page("resp_9", array, &Page::default()).unwrap();
        let ids: Vec<_> = all.items.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids, ["item_resp_9_1", "msg_1"]);
        assert!(!all.has_more);
        for (bad, what) in [
            (Page { limit: 0, ..Page::default() }, "limit"),
            (Page { limit: 101, ..Page::default() }, "limit"),
            (Page { after: Some("no".to_owned()), ..Page::default() }, "after"),
        ] {
            let error = page("resp_9", array, &bad).unwrap_err();
            assert!(matches!(&error, Error::Invalid { what: w, .. } if *w == what), "{error}");
        }
    }
}
