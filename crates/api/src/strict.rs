//! Strict reading of nested objects, and which fields of a request are sent.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Accepts a JSON object and nothing else: a derived `Deserialize` also accepts an array for a struct.
#[derive(Debug)]
pub struct ObjectOnly<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ObjectOnly<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = T;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members))
            }
        }
        from.deserialize_map(Members(PhantomData)).map(Self)
    }
}

/// For a field that may hold an object.
pub(crate) fn option<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let object = Option::<ObjectOnly<T>>::deserialize(from)?;
    Ok(object.map(|ObjectOnly(value)| value))
}

/// For a field that may be absent, but not null.
pub(crate) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let ObjectOnly(value) = ObjectOnly::<T>::deserialize(from)?;
    Ok(Some(value))
}

/// For a field that holds a list of objects.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    let objects = Vec::<ObjectOnly<T>>::deserialize(from)?;
    Ok(objects.into_iter().map(|ObjectOnly(value)| value).collect())
}

/// A field of a request, which is not sent if it is absent.
pub(crate) trait MaybeAbsent {
    fn is_absent(&self) -> bool {
        false
    }
}

impl<T> MaybeAbsent for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl MaybeAbsent for bool {
    /// Flags of requests are optional and false if they are absent.
    fn is_absent(&self) -> bool {
        !self
    }
}

impl<T> MaybeAbsent for Vec<T> {}
impl MaybeAbsent for String {}
impl MaybeAbsent for u64 {}
impl MaybeAbsent for Map<String, Value> {}
impl MaybeAbsent for Box<RawValue> {}
