//! The names of the kinds of attention, taken from serde's derivation, so that a new kind cannot be left out of a list.

use serde::de::value::Error;
use serde::de::{Deserialize as _, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

use super::AttentionKind;

/// Notes the names of an enum's variants, and deserializes nothing.
struct VariantNames<'n>(&'n mut &'static [&'static str]);

impl<'de> Deserializer<'de> for VariantNames<'_> {
    type Error = Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = variants;
        Err(Error::custom("there is no value"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("not an enum"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl AttentionKind {
    /// The names of all kinds in the API, in the order of the enum.
    pub fn names() -> &'static [&'static str] {
        let mut names: &'static [&'static str] = &[];
        // Always an error, which has no meaning here.
        let _ = Self::deserialize(VariantNames(&mut names));
        names
    }

    pub fn name(self) -> &'static str {
        Self::names()[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_the_name_of_the_api() {
        assert_eq!(AttentionKind::NoWorker.name(), "nobody_waits");
        for name in AttentionKind::names() {
            let kind: AttentionKind = serde_json::from_value((*name).into()).unwrap();
            assert_eq!(kind.name(), *name);
        }
    }
}
