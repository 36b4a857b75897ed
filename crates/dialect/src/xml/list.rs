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
    /// As one of several: each typed as an item of the list.
    items: Vec<String>,
}

impl Arguments {
    pub(super) fn add(&mut self, key: &str, value: String, item: String) {
        if let Some(&index) = self.by_key.get(key) {
            self.list[index].items.push(item);
            return;
        }
        self.by_key.insert(key.to_owned(), self.list.len());
        self.list.push(Argument { key: key.to_owned(), value, items: vec![item] });
    }

    /// The arguments object.
    pub(super) fn to_json(&self) -> String {
        let mut json = String::from("{");
        for (index, argument) in self.list.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(&value::string(&argument.key));
            json.push(':');
            if argument.items.len() == 1 {
                json.push_str(&argument.value);
            } else {
                json.push('[');
                json.push_str(&argument.items.join(","));
                json.push(']');
            }
        }
        json.push('}');
        json
    }
}
