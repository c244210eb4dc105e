//! JSON texts that are stored and returned unchanged: numbers are never parsed and reformatted, so no digits are lost.

mod check;
mod digest;
mod numbers;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::limits;
pub use numbers::quote_unreadable_numbers;

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
    /// Readers represent numbers as `f64`, in which it would be infinite.
    #[error("contains a number that is too large to be read: {0}")]
    NumberTooLarge(String),
}

impl Json {
    /// Checks a text: valid JSON, not too deep, no U+0000, no repeated key, no number that readers cannot represent.
    pub fn parse(text: &str) -> Result<Self, JsonFlaw> {
        Self::check(text).map(|text| Self(text.into()))
    }

    /// The same without copying: the JSON without surrounding white space. Reads each byte once.
    pub fn check(text: &str) -> Result<&str, JsonFlaw> {
        check::check(text)?;
        Ok(text.trim_matches([' ', '\t', '\n', '\r']))
    }

    pub fn of(value: &impl Serialize) -> Self {
        Self(serde_json::to_string(value).expect("our values have string keys and finite numbers").into())
    }

    /// A text from a store: it was checked when it was written. Earlier versions accepted numbers of any size.
    pub fn stored(text: &str) -> Self {
        Self(text.into())
    }

    pub fn null() -> Self {
        Self("null".into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parsed value, for schemas, guards and derived keys. Fails for a stored text with a number that is too large.
    pub fn to_value(&self) -> Result<serde_json::Value, JsonFlaw> {
        serde_json::from_str(&self.0).map_err(|error| check::flaw_of(&error))
    }

    /// A hash that does not depend on key order and white space.
    pub fn digest(&self) -> [u8; 32] {
        Self::digest_of(&self.0, None)
    }

    /// The digest of a checked text. If it is an object, the member `without` is left out.
    pub fn digest_of(text: &str, without: Option<&str>) -> [u8; 32] {
        digest::digest(text, without)
    }
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
    fn nonsense_is_refused() {
        for text in ["", "{", "NaN", "{} {}", "\u{feff}{}", r#"{"a":1e40x}"#, r#""\ud800""#] {
            assert!(matches!(Json::parse(text), Err(JsonFlaw::Malformed(_))), "{text}");
        }
        assert_eq!(Json::parse(r#"{"a":"\u0000"}"#), Err(JsonFlaw::Nul));
        assert_eq!(Json::parse(r#"[{"a":1,"a":2}]"#), Err(JsonFlaw::DuplicateKey("a".to_owned())));
        assert_eq!(Json::parse(&"[".repeat(200_000)), Err(JsonFlaw::TooDeep));
        assert!(Json::parse(&format!("{}{}", "[".repeat(64), "]".repeat(64))).is_ok());
    }

    #[test]
    fn a_number_that_readers_cannot_represent_is_refused() {
        let digits = "9".repeat(400);
        for number in ["1e400", "-1e400", "1E+309", "123456789e301", &digits] {
            for text in [number.to_owned(), format!("[0,{number}]"), format!(r#"{{"a":{{"b":{number}}}}}"#)] {
                assert!(matches!(Json::parse(&text), Err(JsonFlaw::NumberTooLarge(_))), "{text}");
                assert!(Json::stored(&text).to_value().is_err(), "{text}");
                Json::stored(&text).digest();
            }
        }
        for number in ["1e308", "-1.7976931348623157e308", "1e-400", "18446744073709551616", "\"1e400\""] {
            assert!(Json::parse(number).is_ok_and(|json| json.to_value().is_ok()), "{number}");
        }
    }
}
