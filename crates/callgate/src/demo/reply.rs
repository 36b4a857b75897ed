//! A reply as the sum of what was heard.

use super::ask::Heard;

/// A call as it arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) index: u64,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// All of one reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    pub(super) finish: Option<String>,
    /// The code of the error, if one came.
    pub(super) error: Option<String>,
    pub(super) broken: bool,
}

impl Reply {
    pub(super) fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::Text(text) => self.text.push_str(&text),
            Heard::Reasoning(_) => {}
            Heard::Call { index, name } => {
                self.calls.push(Call { index, name, arguments: String::new() });
            }
            Heard::Arguments { index, text } => {
                if let Some(call) = self.calls.iter_mut().rfind(|call| call.index == index) {
                    call.arguments.push_str(&text);
                }
            }
            Heard::Finish(reason) => self.finish = Some(reason),
            Heard::Error { code, .. } => self.error = Some(code),
            Heard::Broken => self.broken = true,
        }
    }
}
