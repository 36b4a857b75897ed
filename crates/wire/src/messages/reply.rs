//! A provider's whole reply as the events that a stream of it would give.
//!
//! It has no reading of its own: the stream's decoder takes each block as one that begins and ends
//! at once.

use super::stream::Decoder;
use crate::TurnEvent;

/// Decodes a whole reply's JSON; the last event is `Done` or `Fault`.
pub fn decode(json: &[u8], out: &mut Vec<TurnEvent>) {
    Decoder::new().whole(json, out);
}
