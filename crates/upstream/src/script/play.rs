//! A performance in real time: the one place where a script waits.

use std::{fmt, future};

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};

use super::act::{Act, Performance};
use crate::timeout::deadline;

/// The script breaks the connection here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection was closed before the body was complete")
    }
}

impl std::error::Error for Cut {}

/// A performance with a clock. Nothing runs while nobody asks.
#[derive(Debug)]
pub(crate) struct Play {
    performance: Performance,
    next: Option<Act>,
    /// The end of the wait that is under way, kept over cancelled calls.
    until: Option<Instant>,
    broken: bool,
}

impl Play {
    pub(crate) fn new(performance: Performance) -> Self {
        Self { performance, next: None, until: None, broken: false }
    }

    fn peek(&mut self) -> &mut Act {
        self.next.get_or_insert_with(|| self.performance.next())
    }

    /// Waits until the head of the reply is due.
    pub(crate) async fn ready(&mut self) {
        loop {
            match *self.peek() {
                Act::Wait(wait) => {
                    sleep_until(*self.until.get_or_insert_with(|| deadline(wait))).await;
                    self.until = None;
                    self.next = None;
                }
                Act::Hang => future::pending().await,
                Act::Write(_) | Act::Cut | Act::End => return,
            }
        }
    }

    /// The next bytes, `None` at the end. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Cut>> {
        loop {
            if self.broken {
                return None;
            }
            self.ready().await;
            match self.peek() {
                Act::Write(bytes) => {
                    let bytes = std::mem::take(bytes);
                    self.next = None;
                    if !bytes.is_empty() {
                        return Some(Ok(bytes));
                    }
                }
                Act::Cut => {
                    self.broken = true;
                    return Some(Err(Cut));
                }
                Act::End | Act::Wait(_) | Act::Hang => return None,
            }
        }
    }

    /// Whether the body is complete.
    pub(crate) fn is_over(&mut self) -> bool {
        self.broken || *self.peek() == Act::End
    }
}
