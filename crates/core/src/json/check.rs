//! The check of a JSON text in one pass: the parser reads each byte once and builds nothing.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::JsonFlaw;
use crate::limits::JSON_DEPTH_MAX;

/// The keys of an object with more than this many are compared by their hashes.
const COMPARED_KEYS_MAX: usize = 16;

pub(super) fn check(text: &str) -> Result<(), JsonFlaw> {
    Checker::default().check(&mut serde_json::Deserializer::from_str(text))
}

/// Why a text could not be parsed.
pub(super) fn flaw_of(error: &serde_json::Error) -> JsonFlaw {
    let text = error.to_string();
    match text.strip_prefix("number out of range") {
        Some(place) => JsonFlaw::NumberTooLarge(place.trim_start().to_owned()),
        None => JsonFlaw::Malformed(text),
    }
}

#[derive(Default)]
struct Checker<'t> {
    depth: usize,
    /// The keys of the open objects with few keys.
    keys: Vec<Cow<'t, str>>,
    /// Why the parser was stopped.
    flaw: Option<JsonFlaw>,
    /// Keys and values that were visited.
    #[cfg(test)]
    visited: usize,
}

impl<'t> Checker<'t> {
    fn check<R: serde_json::de::Read<'t>>(
        &mut self,
        parser: &mut serde_json::Deserializer<R>,
    ) -> Result<(), JsonFlaw> {
        let checked = (&mut *self).deserialize(&mut *parser).and_then(|()| parser.end());
        checked.map_err(|error| self.flaw.take().unwrap_or_else(|| flaw_of(&error)))
    }

    fn stop<E: Error>(&mut self, flaw: JsonFlaw) -> E {
        self.flaw = Some(flaw);
        E::custom("stopped")
    }

    fn enter<E: Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.depth > JSON_DEPTH_MAX { Err(self.stop(JsonFlaw::TooDeep)) } else { Ok(()) }
    }

    fn visit_text<E: Error>(&mut self, text: &str) -> Result<(), E> {
        if text.contains('\0') { Err(self.stop(JsonFlaw::Nul)) } else { Ok(()) }
    }

    /// Adds a key of the object whose few keys begin at `first`; `many` has them if there are many.
    fn add_key<E: Error>(
        &mut self,
        key: Cow<'t, str>,
        first: usize,
        many: &mut HashSet<Cow<'t, str>>,
    ) -> Result<(), E> {
        self.visit_text(&key)?;
        #[cfg(test)]
        {
            self.visited += 1;
        }
        if self.keys.len() - first == COMPARED_KEYS_MAX {
            many.extend(self.keys.drain(first..));
        }
        if many.contains(&key) || self.keys[first..].contains(&key) {
            return Err(self.stop(JsonFlaw::DuplicateKey(key.into_owned())));
        }
        if many.is_empty() {
            self.keys.push(key);
        } else {
            many.insert(key);
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for &mut Checker<'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        #[cfg(test)]
        {
            self.visited += 1;
        }
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Checker<'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    /// The parser refuses a number that would be infinite.
    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.visit_text(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.enter()?;
        while items.next_element_seed(&mut *self)?.is_some() {}
        self.depth -= 1;
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.enter()?;
        let (first, mut many) = (self.keys.len(), HashSet::new());
        while let Some(key) = members.next_key_seed(Key)? {
            self.add_key(key, first, &mut many)?;
            members.next_value_seed(&mut *self)?;
        }
        self.keys.truncate(first);
        self.depth -= 1;
        Ok(())
    }
}

/// A key, borrowed from the text unless it has escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::*;

    /// Counts the bytes that the parser reads.
    struct CountingReader<'t> {
        text: &'t [u8],
        bytes: &'t mut usize,
    }

    impl Read for CountingReader<'_> {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let read = self.text.read(to)?;
            *self.bytes += read;
            Ok(read)
        }
    }

    /// Bytes that are read, and keys and values that are visited, to check a text.
    fn work(text: &str) -> (usize, usize) {
        let (mut bytes, mut checker) = (0, Checker::default());
        let reader = CountingReader { text: text.as_bytes(), bytes: &mut bytes };
        checker.check(&mut serde_json::Deserializer::from_reader(reader)).unwrap();
        (bytes, checker.visited)
    }

    #[test]
    fn each_byte_is_read_once_whatever_the_depth() {
        for depth in [1, 2, 30, 60] {
            for count in [1000, 2000, 4000] {
                let items = vec![r#"{"k":"\u00e9"}"#; count].join(",");
                let text = format!("{}{items}{}", "[".repeat(depth), "]".repeat(depth));
                assert_eq!(work(&text), (text.len(), depth + 3 * count), "depth {depth}, {count} items");
            }
        }
    }

    #[test]
    fn a_repeated_key_is_found_among_few_and_many_keys_at_any_depth() {
        for count in [1, 2, 15, 16, 17, 40, 1000] {
            let keys: Vec<String> = (0..count).map(|n| format!(r#""k{n}":{{"k0":[{{"k0":1}}]}}"#)).collect();
            let unique = format!("[{{{0}}},{{{0}}}]", keys.join(","));
            assert_eq!(check(&unique), Ok(()), "{count}");
            for repeated in [0, count / 2, count - 1] {
                for key in [format!("k{repeated}"), format!(r"\u006b{repeated}")] {
                    let text = format!(r#"{{"x":[{{{},"{key}":0}}]}}"#, keys.join(","));
                    let expected = Err(JsonFlaw::DuplicateKey(format!("k{repeated}")));
                    assert_eq!(check(&text), expected, "{count}");
                }
            }
        }
    }

    #[test]
    fn a_flaw_at_any_place_is_found() {
        for (part, expected) in [
            (r#""a\u0000""#, JsonFlaw::Nul),
            (r#"{"\u0000":1}"#, JsonFlaw::Nul),
            (&"[".repeat(63), JsonFlaw::TooDeep),
        ] {
            let text = format!(r#"[1,{{"a":{part}}}]"#);
            assert_eq!(check(&text), Err(expected), "{text}");
        }
        for text in [r#"{"a":1}}"#, r#"{"a":01}"#, r#"["\x"]"#, "[1,]", "nul", "\"\u{1}\"", "{1:2}"] {
            assert!(matches!(check(text), Err(JsonFlaw::Malformed(_))), "{text}");
        }
    }
}
