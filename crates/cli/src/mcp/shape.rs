//! How an object of the API becomes a part of an answer: what jobs, callers and workers wrote is moved under `untrusted`,
//! fields without a value are omitted, and long values are cut. JSON stays as the server sent it, so that no digit of a large
//! number is lost.

use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tenure_core::text::escaped_json;

/// The fields of an object.
pub(super) type Fields = BTreeMap<String, Box<RawValue>>;

/// Names and values of an object, as they are shown.
type Members<'a> = Vec<(&'a str, String)>;

/// Which fields of an object an answer has.
pub(super) struct Shape {
    /// Fields that the server itself determines.
    pub(super) trusted: &'static [&'static str],
    pub(super) untrusted: Untrusted,
}

/// Which other fields an answer has, under `untrusted`.
pub(super) enum Untrusted {
    All,
    These(&'static [&'static str]),
    /// All others are trusted, too.
    Nothing,
}

/// For objects without text of jobs.
pub(super) const EVERYTHING: Shape = Shape { trusted: &[], untrusted: Untrusted::Nothing };

/// The least length to which a value is cut.
const CUT_BYTES_MIN: usize = 8;
/// About the size of `{"cut":"","bytes":0}`: a value that is hardly longer than its beginning stays whole.
const CUT_BYTES_ADDED: usize = 32;

impl Shape {
    /// The object's JSON, with values cut until it has at most `bytes_max` bytes.
    pub(super) fn rendered(&self, fields: &Fields, bytes_max: usize) -> String {
        let (trusted, untrusted) = self.divided(fields);
        let mut value_bytes_max = bytes_max;
        loop {
            let json = object(&trusted, &untrusted, value_bytes_max);
            if json.len() <= bytes_max || value_bytes_max <= CUT_BYTES_MIN {
                return json;
            }
            value_bytes_max /= 2;
        }
    }

    /// The values that an answer has, readable and divided by their origin.
    fn divided<'a>(&self, fields: &'a Fields) -> (Members<'a>, Members<'a>) {
        let is_trusted =
            |name: &str| matches!(self.untrusted, Untrusted::Nothing) || self.trusted.contains(&name);
        let is_shown = |name: &str| match self.untrusted {
            Untrusted::All | Untrusted::Nothing => true,
            Untrusted::These(names) => is_trusted(name) || names.contains(&name),
        };
        let is_empty = |json: &str| matches!(json, "null" | "{}" | "[]");
        let shown = fields.iter().filter(|(name, raw)| is_shown(name) && !is_empty(raw.get()));
        shown.map(|(name, raw)| (name.as_str(), visible(raw.get()))).partition(|(name, _)| is_trusted(name))
    }
}

/// A value as JSON text.
pub(super) fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).expect("a JSON value can be written")
}

fn object(trusted: &[(&str, String)], untrusted: &[(&str, String)], value_bytes_max: usize) -> String {
    let members = |fields: &[(&str, String)]| {
        let member =
            |(name, json): &(&str, String)| format!("{}:{}", json!(name), cut(json, value_bytes_max));
        fields.iter().map(member).collect::<Vec<_>>()
    };
    let mut all = members(trusted);
    if !untrusted.is_empty() {
        all.push(format!("\"untrusted\":{{{}}}", members(untrusted).join(",")));
    }
    format!("{{{}}}", all.join(","))
}

/// JSON of more bytes is replaced by its beginning and its size.
fn cut(json: &str, bytes_max: usize) -> String {
    if json.len() <= bytes_max + CUT_BYTES_ADDED {
        return json.to_owned();
    }
    let end = json.floor_char_boundary(bytes_max);
    json!({ "cut": &json[..end], "bytes": json.len() }).to_string()
}

/// JSON without characters that are invisible, change the direction of text or control a terminal: they are escaped.
pub(super) fn visible(json: &str) -> String {
    let json = escaped_json(json);
    if !json.contains(is_tag) {
        return json.into_owned();
    }
    let mut to = String::with_capacity(json.len() + 64);
    for character in json.chars() {
        if is_tag(character) {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units);
            to.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            to.push(character);
        }
    }
    to
}

/// Invisible characters outside the basic plane: tags, and variation selectors, which can carry hidden text.
fn is_tag(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape { trusted: &["id", "state"], untrusted: Untrusted::All };

    fn rendered(json: &str, bytes_max: usize) -> String {
        SHAPE.rendered(&serde_json::from_str(json).unwrap(), bytes_max)
    }

    #[test]
    fn text_of_jobs_is_marked_and_fields_without_a_value_are_omitted() {
        let json = r#"{"id":"1","state":"queued","payload":{"n":12345678901234567890123.10},"error":null,"flow":{}}"#;
        let expected =
            r#"{"id":"1","state":"queued","untrusted":{"payload":{"n":12345678901234567890123.10}}}"#;
        assert_eq!(rendered(json, 1000), expected);
    }

    #[test]
    fn an_object_has_at_most_the_allowed_size() {
        for bytes_max in [300, 1000, 5000] {
            let (long, short) = ("\\\"é".repeat(5000), "x".repeat(100));
            let json = format!(r#"{{"id":"1","payload":"{long}","result":"{short}"}}"#);
            let json = rendered(&json, bytes_max);
            assert!(json.len() <= bytes_max, "{} of {bytes_max}: {json}", json.len());
            let value: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(value["id"], "1");
            assert_eq!(value["untrusted"]["payload"]["bytes"], 20002);
        }
    }

    #[test]
    fn invisible_characters_are_shown() {
        let json = rendered("{\"payload\":\"a\u{200b}b\u{e0041}c\u{e0101}\u{9b}\"}", 1000);
        assert_eq!(json, r#"{"untrusted":{"payload":"a\u200bb\udb40\udc41c\udb40\udd01\u009b"}}"#);
    }
}
