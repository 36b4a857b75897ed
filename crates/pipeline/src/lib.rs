//! One model turn: provider bytes in, client bytes out, as a pure state machine.
//!
//! ```text
//! client request → admit → provider request
//! provider bytes → decode → govern → orchestrate → finalize → remap → encode → client bytes
//! ```
//!
//! Each stage is one file and takes the type that only the stage before it makes. There is no
//! network, clock or file here. A [`Turn`] is `Clone`, so that a sweep can branch at every byte.
//!
//! | invariant | held by |
//! |---|---|
//! | text becomes a call in one place | `govern` |
//! | a call's verdict is made once | `govern`, [`Verdict`] |
//! | a call leaves only when it is complete and its verdict allows it | `orchestrate` |
//! | a fault never becomes a finish reason | [`Problem`] has no way to one |
//! | a reply has one id, creation time and model in all its frames | `remap` |
//! | one terminal event a reply | `encode` |

mod admit;
mod choice;
mod content;
mod decode;
mod encode;
mod finalize;
mod govern;
mod harvest;
mod history;
mod orchestrate;
mod pass;
mod policy;
mod record;
mod remap;
mod turn;
mod verdict;

pub use admit::{Admitted, ProviderRequest, Upstream};
pub use decode::{BodyEnd, MAX_REPLY_BYTES};
pub use policy::{OnInvalid, OnViolation, Policy, ReasoningCalls, Release, Validate};
pub use record::{Repair, TurnRecord};
pub use turn::{Reply, Turn};
pub use verdict::{Problem, Verdict};
