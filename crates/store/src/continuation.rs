//! The whole input of a request that continues stored replies.
//!
//! It joins texts; no item is parsed into anything or written anew, so that number text, key order,
//! unknown members and signatures reach the provider as they were.

use serde_json::value::RawValue;

use crate::{Error, Link};

/// The items of a `previous_response_id` chain and a new request's own ones: one JSON array.
///
/// `chain` is oldest first, as [`Store::chain`](crate::Store::chain) gives it: of each link the input, then the
/// output. `input` is the new request's items as [`items`] gives them.
///
/// # Errors
/// [`Error::Corrupt`] names the link whose items are no array; [`Error::Invalid`] for `input`.
pub fn continuation(chain: &[Link], input: &str) -> Result<String, Error> {
    let size = chain.iter().map(|link| link.input_items.len() + link.output_items.len() + 2);
    let mut joined = String::with_capacity(size.sum::<usize>() + input.len() + 2);
    joined.push('[');
    for link in chain {
        for (what, array) in [("input", &link.input_items), ("output", &link.output_items)] {
            append(&mut joined, array).map_err(|error| Error::Corrupt {
                id: link.id.clone(),
                reason: format!("its {what} items are no JSON array: {error}"),
            })?;
        }
    }
    append(&mut joined, input).map_err(|error| Error::Invalid {
        what: "input",
        reason: format!("must be a JSON array: {error}"),
    })?;
    joined.push(']');
    Ok(joined)
}

/// A request's `input` as an array: a string is one message of the user, an array stays as it is.
///
/// # Errors
/// [`Error::Invalid`] for anything else.
pub fn items(input: &str) -> Result<String, Error> {
    let invalid = |reason| Error::Invalid { what: "input", reason };
    let value: &RawValue =
        serde_json::from_str(input).map_err(|error| invalid(format!("is not JSON: {error}")))?;
    match value.get().as_bytes().first() {
        Some(b'[') => Ok(value.get().to_owned()),
        Some(b'"') => {
            Ok(format!(r#"[{{"type":"message","role":"user","content":{}}}]"#, value.get()))
        }
        _ => Err(invalid("must be a string or an array of items".to_owned())),
    }
}

/// Adds an array's items behind those that are there.
fn append(joined: &mut String, array: &str) -> Result<(), serde_json::Error> {
    let items: Vec<&RawValue> = serde_json::from_str(array)?;
    for item in items {
        if joined.len() > 1 {
            joined.push(',');
        }
        joined.push_str(item.get());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Status;

    fn link(input: &str, output: &str) -> Link {
        Link {
            id: "resp_1".to_owned(),
            status: Status::Completed,
            input_items: input.to_owned(),
            output_items: output.to_owned(),
        }
    }

    /// Items whose bytes a writer of JSON would change.
    const DELICATE: [&str; 8] = [
        r#"{"b":1,"a":1.0e+02}"#,
        r#"{"arguments":"{\"a\":\u0031, }","id":"\ud83d\ude00"}"#,
        "{ \"x\" :\t[ ] ,\r\n\"x\": -0 }",
        r#"{"signature":"a\/b==","n":123456789012345678901234567890.10}"#,
        r#"{"text":"],[\"\\"}"#,
        "{\"text\":\"\u{2028}\u{7f}é𝄞\"}",
        "null",
        "\"],\"",
    ];

    fn array() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(prop::sample::select(DELICATE.as_slice()), 0..5)
    }

    proptest! {
        #[test]
        fn every_item_stays_byte_for_byte_and_in_order(
            arrays in prop::collection::vec((array(), array()), 0..5),
            new in array(),
            gap in prop::sample::select(vec!["", " ", "\n\t"]),
        ) {
            let text = |items: &[&str]| format!("{gap}[{gap}{}{gap}]{gap}", items.join(&format!("{gap},{gap}")));
            let chain: Vec<_> = arrays.iter().map(|(i, o)| link(&text(i), &text(o))).collect();
            let joined = continuation(&chain, &text(&new)).unwrap();
            let mut all: Vec<&str> = arrays.iter().flat_map(|(i, o)| i.iter().chain(o)).copied().collect();
            all.extend(&new);
            prop_assert_eq!(joined, format!("[{}]", all.join(",")));
        }
    }

    #[test]
    fn every_cut_of_an_array_is_refused() {
        let array = format!("[{}]", DELICATE.join(","));
        for end in (0..array.len()).filter(|end| array.is_char_boundary(*end)) {
            let cut = &array[..end];
            assert!(matches!(continuation(&[], cut), Err(Error::Invalid { .. })), "{cut}");
            let error = continuation(&[link("[]", cut)], "[]").unwrap_err();
            assert!(error.to_string().contains("output items"), "{error}");
        }
    }

    #[test]
    fn a_string_is_one_message_and_keeps_its_escapes() {
        let text = r#" "a\u0062\/" "#;
        assert_eq!(
            items(text).unwrap(),
            r#"[{"type":"message","role":"user","content":"a\u0062\/"}]"#
        );
        assert_eq!(items("[ {}]").unwrap(), "[ {}]");
        for bad in ["", "{}", "7", "null", "[", "\"a"] {
            assert!(matches!(items(bad), Err(Error::Invalid { what: "input", .. })), "{bad}");
        }
    }
}
