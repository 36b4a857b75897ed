//! The section on C3.

use super::block::{Block, Fact, count};
use crate::experiment::c3::Clients;

/// The one line on top.
pub(super) fn fact(clients: &Clients) -> Fact {
    let checked = clients.rows.iter().map(|row| row.prefixes).sum();
    let broken = clients.violations().count() as u64;
    Fact::new(
        count(checked),
        format!(
            "prefixes of providers' bodies, for clients of three APIs; {} bodies broke a law",
            count(broken)
        ),
    )
}

pub(super) fn blocks(clients: &Clients) -> Vec<Block> {
    let head = ["client", "provider", "bodies", "in a dialect", "bytes", "prefixes", "broken laws"];
    let rows = clients.rows.iter().map(|row| {
        let figures =
            [row.bodies, row.dialects, row.bytes, row.prefixes, row.violations.len() as u64];
        [row.client.clone(), row.provider.clone()].into_iter().chain(figures.map(count)).collect()
    });
    let mut blocks = vec![
        Block::heading("C3: does any prefix give a client too much?"),
        Block::text(
            "**Asked:** if a provider's connection breaks at this byte, what has a client got? The \
             whole pipeline stands between them: another API, a dialect, checks, ids.",
        ),
        Block::text(
            "**Measured on:** bodies that a real server sent, in three APIs (`corpus/replies`, \
             `corpus/recorded`), for a client of each API that wants a stream and one that wants a \
             whole reply, with calls released at the end of the turn and each at its own.",
        ),
        Block::list([
            "what has gone out is the beginning of what the whole body says;",
            "a body that breaks is an error, unless nothing of it was missing; with calls that were \
             released one by one, it ends with those;",
            "no call goes out before an error, and none without its last byte;",
            "a reply has exactly one end; with calls it is `tool_calls`;",
            "a stream and a whole reply say the same, however the body is cut.",
        ]),
        Block::table("Bodies of each provider, for clients of each API.", &head, rows.collect()),
    ];
    let violations: Vec<&str> = clients.violations().collect();
    if !violations.is_empty() {
        blocks.push(Block::text("**Broken laws**, the first of each body:"));
        blocks.push(Block::list(
            violations.iter().take(20).map(|text| format!("`{}`", text.replace('`', "'"))),
        ));
    }
    blocks
}
