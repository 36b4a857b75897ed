//! Entities: in values that have them, and in every `name` attribute.

use super::tag::is_blank;

/// The longest entity, from `&` to `;`.
const ENTITY_MAX: usize = 11;

/// Reads one entity. The `&` has been read when it is made.
#[derive(Clone, Debug, Default)]
pub(super) struct Entity {
    read: [u8; ENTITY_MAX],
    len: usize,
}

impl Entity {
    /// The decoded character, `None` while more is needed, or `Err` if it is no entity at this byte
    /// (not consumed).
    pub(super) fn step(&mut self, byte: u8) -> Result<Option<char>, ()> {
        if byte == b';' {
            return decode_entity(&self.read[..self.len]).map(Some).ok_or(());
        }
        let fits = byte.is_ascii_alphanumeric() || byte == b'#' && self.len == 0;
        if !fits || self.len + 2 >= ENTITY_MAX {
            return Err(());
        }
        self.read[self.len] = byte;
        self.len += 1;
        Ok(None)
    }
}

/// The character that an entity's name, without `&` and `;`, stands for.
fn decode_entity(name: &[u8]) -> Option<char> {
    let number = |digits: &[u8], radix| {
        let fits = (1..=8).contains(&digits.len()) && digits.iter().all(u8::is_ascii_alphanumeric);
        let digits = std::str::from_utf8(digits).ok().filter(|_| fits)?;
        char::from_u32(u32::from_str_radix(digits, radix).ok()?)
    };
    match name {
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"amp" => Some('&'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        [b'#', b'x', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        _ => None,
    }
}

/// A `name` attribute's value with entities decoded once, trimmed.
pub(super) fn attribute_text(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'&', rest) {
        text.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let mut entity = Entity::default();
        let mut used = 1;
        let decoded = loop {
            match rest.get(used).map(|byte| entity.step(*byte)) {
                Some(Ok(None)) => used += 1,
                Some(Ok(Some(decoded))) => break Some(decoded),
                Some(Err(())) | None => break None,
            }
        };
        match decoded {
            Some(decoded) => {
                text.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[used + 1..];
            }
            None => {
                text.push(b'&');
                rest = &rest[1..];
            }
        }
    }
    text.extend_from_slice(rest);
    let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_blank(*byte)).map_or(start, |last| last + 1);
    text[start..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities() {
        let decode = |text: &str| String::from_utf8(attribute_text(text.as_bytes())).unwrap();
        assert_eq!(decode("&lt;&#65;&#x42;&amp;amp;"), "<AB&amp;");
        assert_eq!(decode(" &nbsp; & &#xD800; &; "), "&nbsp; & &#xD800; &;");
    }
}
