//! Checks of text fields in bodies and forms.

use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use serde::de::value::Error;

use crate::problem::Problem;
use crate::query::is_name;

/// A name of 1 to 255 bytes.
pub fn name<T: From<String>>(pointer: &str, text: Option<String>) -> Result<Option<T>, Problem> {
    match text {
        Some(text) if is_name(&text) => Ok(Some(text.into())),
        Some(_) => Err(Problem::malformed(pointer, "must have 1 to 255 bytes and no control characters")),
        None => Ok(None),
    }
}

/// A reason or message of bounded length.
pub fn message(pointer: &str, text: Option<String>) -> Result<Option<String>, Problem> {
    let limit = tenure_core::limits::MESSAGE_BYTES_MAX;
    if text.as_ref().is_some_and(|text| text.len() > limit) {
        return Err(Problem::malformed(pointer, format!("is longer than {limit} bytes")));
    }
    Ok(text)
}

/// A value with its own syntax: a time, a duration, a word of the protocol.
pub fn parsed<T: for<'de> Deserialize<'de>>(
    pointer: &str,
    text: Option<String>,
) -> Result<Option<T>, Problem> {
    let one = |text: String| {
        T::deserialize(text.into_deserializer())
            .map_err(|error: Error| Problem::malformed(pointer, error.to_string()))
    };
    text.map(one).transpose()
}
