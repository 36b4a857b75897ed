//! Elements inside a value, built while the value is read; only where the schema wants them.

use crate::value::Element;

use super::tag::is_blank;

/// The elements of one value.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    root: Node,
    open: Vec<Node>,
    is_broken: bool,
}

#[derive(Clone, Debug, Default)]
struct Node {
    element: Element,
    /// Where the first section begins and the last one ends in the text: blanks outside are trimmed.
    first_section: Option<usize>,
    last_section: usize,
}

impl Tree {
    fn top(&mut self) -> &mut Node {
        self.open.last_mut().unwrap_or(&mut self.root)
    }

    pub(super) fn plain(&mut self, bytes: &[u8]) {
        self.top().element.text.extend_from_slice(bytes);
    }

    /// A section begins here.
    pub(super) fn section(&mut self) {
        let node = self.top();
        node.element.quoted = true;
        let at = node.element.text.len();
        node.first_section.get_or_insert(at);
        node.last_section = at;
    }

    pub(super) fn quoted(&mut self, bytes: &[u8]) {
        let node = self.top();
        node.element.text.extend_from_slice(bytes);
        node.last_section = node.element.text.len();
    }

    pub(super) fn open(&mut self, name: &[u8]) {
        match String::from_utf8(name.to_vec()) {
            Ok(name) => self
                .open
                .push(Node { element: Element { name, ..Element::default() }, ..Node::default() }),
            Err(_) => self.is_broken = true,
        }
    }

    /// Closes the nearest open element of this name, and all above it.
    pub(super) fn close(&mut self, name: &[u8]) {
        while let Some(node) = self.open.pop() {
            let is_last = node.element.name.as_bytes().eq_ignore_ascii_case(name);
            let element = node.trimmed();
            self.top().element.children.push(element);
            if is_last {
                break;
            }
        }
    }

    /// The elements, if the value consists of nothing else.
    pub(super) fn elements(&self) -> Option<&[Element]> {
        let root = &self.root.element;
        let only = !self.is_broken
            && self.open.is_empty()
            && !root.quoted
            && root.text.iter().all(|byte| is_blank(*byte));
        (only && !root.children.is_empty()).then_some(&root.children[..])
    }
}

impl Node {
    fn trimmed(mut self) -> Element {
        let text = &self.element.text;
        let (first, last) = match self.first_section {
            Some(first) => (first, self.last_section),
            None => (text.len(), 0),
        };
        let start = text[..first].iter().position(|b| !is_blank(*b)).unwrap_or(first);
        let end = text[last..].iter().rposition(|b| !is_blank(*b)).map_or(last, |at| last + at + 1);
        self.element.text = text[start..end.max(start)].to_vec();
        self.element
    }
}
