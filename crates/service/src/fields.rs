//! Checks of text fields in bodies and forms.

use std::fmt::Display;

use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error;
use tenure_core::time::Millis;

use crate::problem::{Problem, Result};
use crate::query::is_name;

/// A name of 1 to 255 bytes.
pub fn name<T: From<String>>(pointer: &str, text: Option<String>) -> Result<Option<T>> {
    match text {
        Some(text) if is_name(&text) => Ok(Some(text.into())),
        Some(_) => Err(Problem::malformed(pointer, "must have 1 to 255 bytes and no control characters")),
        None => Ok(None),
    }
}

/// Refuses a field that does not meet a condition.
pub fn require(is_met: bool, pointer: &str, detail: impl Display) -> Result<()> {
    if is_met { Ok(()) } else { Err(Problem::malformed(pointer, detail.to_string())) }
}

/// A number from 1 on.
pub fn up_to(max: u64, pointer: &str, value: u64) -> Result<u64> {
    require((1..=max).contains(&value), pointer, format_args!("must be from 1 to {max}"))?;
    Ok(value)
}

/// A reason or message of bounded length.
pub fn message(pointer: &str, text: Option<String>) -> Result<Option<String>> {
    let (bytes, limit) = (text.as_ref().map_or(0, String::len), tenure_core::limits::MESSAGE_BYTES_MAX);
    require(bytes <= limit, pointer, format_args!("is longer than {limit} bytes"))?;
    Ok(text)
}

/// A value with its own syntax: a time, a word of the protocol.
pub fn parsed<T: for<'de> Deserialize<'de>>(pointer: &str, text: Option<String>) -> Result<Option<T>> {
    let one = |text: String| {
        T::deserialize(text.into_deserializer())
            .map_err(|error: Error| Problem::malformed(pointer, error.to_string()))
    };
    text.map(one).transpose()
}

/// A duration.
pub fn span(pointer: &str, text: Option<String>) -> Result<Option<Millis>> {
    let one = |text: String| match tenure_api::span::parse(&text) {
        Some(span) => Ok(Millis(span.as_millis() as u64)),
        None => Err(Problem::malformed(pointer, format!("`{text}` is not a duration such as \"30s\""))),
    };
    text.map(one).transpose()
}
