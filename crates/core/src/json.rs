//! JSON texts that are stored and returned unchanged: numbers are never parsed and reformatted, so no digits are lost.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::limits;

/// A valid JSON text. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Arc<str>);

/// Why a text is not a [`Json`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFlaw {
    /// Not JSON at all.
    #[error("not JSON: {0}")]
    Malformed(String),
    /// Nested too deep.
    #[error("nested deeper than {} levels", limits::JSON_DEPTH_MAX)]
    TooDeep,
    /// PostgreSQL cannot store U+0000, and both stores behave alike.
    #[error("contains the character U+0000")]
    Nul,
    /// A repeated key is ambiguous.
    #[error("key `{0}` occurs twice in one object")]
    DuplicateKey(String),
}

impl Json {
    /// Checks a text: valid JSON, not too deep, no U+0000, no repeated key.
    pub fn parse(text: &str) -> Result<Self, JsonFlaw> {
        Self::check(text).map(|text| Self(text.into()))
    }

    /// The same without copying: the JSON without surrounding white space.
    pub fn check(text: &str) -> Result<&str, JsonFlaw> {
        if depth(text) > limits::JSON_DEPTH_MAX {
            return Err(JsonFlaw::TooDeep);
        }
        let raw: &RawValue =
            serde_json::from_str(text).map_err(|error| JsonFlaw::Malformed(error.to_string()))?;
        if !is_plainly_fine(raw.get()) {
            walk(raw, &mut |_| ())?;
        }
        Ok(raw.get())
    }

    pub fn of(value: &impl Serialize) -> Self {
        Self(serde_json::to_string(value).expect("our values have string keys and finite numbers").into())
    }

    /// A text from a store: it was checked when it was written.
    pub fn stored(text: &str) -> Self {
        Self(text.into())
    }

    pub fn null() -> Self {
        Self("null".into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parsed value, for schemas, guards and derived keys.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).expect("a Json is valid JSON")
    }

    /// A hash that does not depend on key order and white space.
    pub fn digest(&self) -> [u8; 32] {
        Self::digest_of(&self.0, None)
    }

    /// The digest of a checked text. If it is an object, the member `without` is left out.
    pub fn digest_of(text: &str, without: Option<&str>) -> [u8; 32] {
        let mut hash = Sha256::new();
        let mut visit = |part: &[u8]| {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        };
        let raw: &RawValue = serde_json::from_str(text).expect("a checked text is valid JSON");
        let walked = match raw.get().as_bytes()[0] {
            b'{' => walk_object(raw, without, &mut visit),
            _ => walk(raw, &mut visit),
        };
        walked.expect("a checked text can be walked");
        hash.finalize().into()
    }
}

/// Visits the parts of a value in canonical order: keys sorted, numbers as written.
fn walk(raw: &RawValue, visit: &mut impl FnMut(&[u8])) -> Result<(), JsonFlaw> {
    let text = raw.get();
    match text.as_bytes()[0] {
        b'{' => walk_object(raw, None, visit)?,
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| flaw_of(&error))?;
            visit(b"[");
            for item in items {
                walk(item, visit)?;
            }
            visit(b"]");
        }
        b'"' => {
            let string: std::borrow::Cow<'_, str> =
                serde_json::from_str(text).map_err(|error| flaw_of(&error))?;
            no_nul(&string)?;
            visit(b"\"");
            visit(string.as_bytes());
        }
        _ => visit(text.as_bytes()),
    }
    Ok(())
}

/// The same for an object; the member `without` is left out.
fn walk_object(raw: &RawValue, without: Option<&str>, visit: &mut impl FnMut(&[u8])) -> Result<(), JsonFlaw> {
    let members: Members<'_> = serde_json::from_str(raw.get()).map_err(|error| flaw_of(&error))?;
    visit(b"{");
    for (key, value) in members.0 {
        if without == Some(key.as_str()) {
            continue;
        }
        no_nul(&key)?;
        visit(key.as_bytes());
        walk(value, visit)?;
    }
    visit(b"}");
    Ok(())
}

fn no_nul(text: &str) -> Result<(), JsonFlaw> {
    if text.contains('\0') { Err(JsonFlaw::Nul) } else { Ok(()) }
}

fn flaw_of(error: &serde_json::Error) -> JsonFlaw {
    let text = error.to_string();
    match text.strip_prefix("duplicate key ").and_then(|rest| rest.split('\u{1}').next()) {
        Some(key) => JsonFlaw::DuplicateKey(key.to_owned()),
        None => JsonFlaw::Malformed(text),
    }
}

/// The members of an object, sorted; refuses a repeated key.
struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = BTreeMap<String, &'de RawValue>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if members.contains_key(&key) {
                        return Err(serde::de::Error::custom(format!("duplicate key {key}\u{1}")));
                    }
                    members.insert(key, value);
                }
                Ok(members)
            }
        }
        from.deserialize_map(Visitor).map(Members)
    }
}

/// Whether one scan of a valid text shows that [`walk`] would accept it: no escapes, so no U+0000 and no surrogates, and
/// no repeated key in any object. Most texts pass; the others are walked.
fn is_plainly_fine(text: &str) -> bool {
    /// With more keys than this in the open objects, the text is walked.
    const KEYS_MAX: usize = 24;
    let is_mark = |byte: u8| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']' | b',');
    if text.contains('\\') {
        return false;
    }
    let (mut keys, mut open) = ([""; KEYS_MAX], Vec::with_capacity(8));
    let (mut count, mut rest, mut is_key) = (0, text, false);
    while let Some(at) = rest.bytes().position(is_mark) {
        let mark = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match mark {
            b'{' => open.push((true, count)),
            b'[' => open.push((false, count)),
            b'}' | b']' => count = open.pop().map_or(0, |(_, before)| before),
            b'"' => {
                let Some(end) = rest.find('"') else { return false };
                let string = &rest[..end];
                rest = &rest[end + 1..];
                if is_key {
                    let first = open.last().map_or(0, |(_, first)| *first);
                    if count == KEYS_MAX || keys[first..count].contains(&string) {
                        return false;
                    }
                    keys[count] = string;
                    count += 1;
                }
            }
            _ => {}
        }
        is_key = matches!(mark, b'{' | b',') && open.last().is_some_and(|(is_object, _)| *is_object);
    }
    true
}

/// The nesting depth of a text. Counts without recursion, so that a malicious text cannot exhaust the stack.
fn depth(text: &str) -> usize {
    // Few brackets cannot nest deep; this settles most texts.
    let brackets = text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
    if brackets <= limits::JSON_DEPTH_MAX {
        return brackets;
    }
    let (mut now, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                now += 1;
                deepest = deepest.max(now);
            }
            b'}' | b']' if !in_string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self(Box::<RawValue>::deserialize(from)?.get().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_order_and_white_space_do_not_change_the_digest_and_anything_else_does() {
        let digest = |text: &str| Json::parse(text).unwrap().digest();
        assert_eq!(digest(r#"{"a":1,"b":[true,"x"]}"#), digest(r#" { "b" : [ true, "\u0078" ], "a" : 1 } "#));
        for other in
            [r#"{"a":1.0,"b":[true,"x"]}"#, r#"{"a":1,"b":["x",true]}"#, r#"{"a":1}"#, r#"["a",1]"#, "null"]
        {
            assert_ne!(digest(r#"{"a":1,"b":[true,"x"]}"#), digest(other), "{other}");
        }
    }

    #[test]
    fn a_member_that_is_left_out_does_not_change_the_digest() {
        let with = r#"{"key":"k","a":{"key":1}}"#;
        let without = Json::parse(r#"{"a":{"key":1}}"#).unwrap().digest();
        assert_eq!(Json::digest_of(with, Some("key")), without);
        assert_ne!(Json::digest_of(with, None), without);
        assert_eq!(Json::digest_of("[1]", Some("key")), Json::parse("[1]").unwrap().digest());
    }

    #[test]
    fn numbers_are_kept_as_they_were_written() {
        let text = r#"{"big":18446744073709551616,"exact":0.1000}"#;
        assert_eq!(Json::parse(text).unwrap().as_str(), text);
    }

    #[test]
    fn a_look_and_a_walk_agree() {
        let walks = |text: &str| walk(serde_json::from_str(text).unwrap(), &mut |_| ()).is_ok();
        for text in [
            "1",
            "[]",
            r#"{"a":1,"b":{"a":[{"a":"a"},{"a":2}]},"c":"a"}"#,
            r#"{"a":["x","x"],"x":{"x":{"x":1}}}"#,
            r#"{"a":{"b":1},"b":{"a":1}}"#,
        ] {
            assert!(is_plainly_fine(text) && walks(text), "{text}");
        }
        for text in
            [r#"{"a":1,"a":1}"#, r#"[1,{"b":{"c":1,"d":[],"c":0}}]"#, r#"{"a":{"b":1},"x":"y","a":1}"#]
        {
            assert!(!is_plainly_fine(text) && !walks(text), "{text}");
        }
        let many = format!("{{{}}}", (0..40).map(|n| format!("\"k{n}\":{n}")).collect::<Vec<_>>().join(","));
        for text in [r#"{"\u0061":1}"#, r#"{"a":"\n"}"#, &many] {
            assert!(!is_plainly_fine(text) && walks(text), "left to the walk: {text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "{", "NaN", "{} {}", "\u{feff}{}", r#"{"a":1e400x}"#, r#""\ud800""#] {
            assert!(matches!(Json::parse(text), Err(JsonFlaw::Malformed(_))), "{text}");
        }
        assert_eq!(Json::parse(r#"{"a":"\u0000"}"#), Err(JsonFlaw::Nul));
        assert_eq!(Json::parse(r#"[{"a":1,"a":2}]"#), Err(JsonFlaw::DuplicateKey("a".to_owned())));
        assert_eq!(Json::parse(&"[".repeat(200_000)), Err(JsonFlaw::TooDeep));
        assert!(Json::parse(&format!("{}{}", "[".repeat(64), "]".repeat(64))).is_ok());
    }
}
