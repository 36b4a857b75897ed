//! A provider's whole reply as the events that a stream of it would give.
//!
//! It has no reading of its own: the stream's decoder takes the reply as its terminal event.

use super::stream::Decoder;
use crate::{TurnEvent, tool_map::ToolMap};

/// Decodes a whole reply's JSON; the last event is `Done` or `Fault`. `tools` gives the flat names of
/// the tools that were declared.
pub fn decode(json: &[u8], tools: ToolMap, out: &mut Vec<TurnEvent>) {
    Decoder::new(tools).whole(json, out);
}
