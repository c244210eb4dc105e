//! Checks of text fields in bodies and forms.

use tenure_core::id::Name;

use crate::problem::Problem;
use crate::query::is_name;

/// A name in a body.
pub fn name(pointer: &str, text: Option<String>) -> Result<Option<Name>, Problem> {
    match text {
        Some(text) if is_name(&text) => Ok(Some(text.into())),
        Some(_) => Err(Problem::malformed(pointer, "must have 1 to 255 bytes and no control characters")),
        None => Ok(None),
    }
}

/// A text for people: bounded, and without U+0000.
pub fn message(pointer: &str, text: Option<String>) -> Result<Option<String>, Problem> {
    let limit = tenure_core::limits::MESSAGE_BYTES_MAX;
    if text.as_ref().is_some_and(|text| text.len() > limit) {
        return Err(Problem::malformed(pointer, format!("is longer than {limit} bytes")));
    }
    Ok(text)
}
