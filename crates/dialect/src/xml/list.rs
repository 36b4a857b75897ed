//! The arguments object of a call, in the making. It knows values as JSON text only.

use std::collections::BTreeMap;

use crate::value;

/// The arguments of one call, in the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
    list: Vec<Argument>,
    by_key: BTreeMap<String, usize>,
}

#[derive(Clone, Debug)]
struct Argument {
    key: String,
    /// As the only value of its name.
    value: String,
    /// The same as one of several, if that differs.
    item: Option<String>,
    /// The others of its name, each typed as an item of the list.
    more: Vec<String>,
}

impl Arguments {
    /// Adds a value: as the only one of its name, and as one of several if that differs.
    pub(super) fn add(&mut self, key: &str, value: String, item: Option<String>) {
        if let Some(&index) = self.by_key.get(key) {
            self.list[index].more.push(item.unwrap_or(value));
            return;
        }
        self.by_key.insert(key.to_owned(), self.list.len());
        self.list.push(Argument { key: key.to_owned(), value, item, more: Vec::new() });
    }

    /// The arguments object.
    pub(super) fn to_json(&self) -> String {
        let size = |argument: &Argument| argument.key.len() + argument.value.len() + 8;
        let mut json = String::with_capacity(self.list.iter().map(size).sum::<usize>() + 2);
        json.push('{');
        for (index, argument) in self.list.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(&value::string(&argument.key));
            json.push(':');
            if argument.more.is_empty() {
                json.push_str(&argument.value);
            } else {
                json.push('[');
                json.push_str(argument.item.as_ref().unwrap_or(&argument.value));
                for item in &argument.more {
                    json.push(',');
                    json.push_str(item);
                }
                json.push(']');
            }
        }
        json.push('}');
        json
    }
}
