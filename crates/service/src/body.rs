//! Reads a request's body within its size limit.

use bytes::Bytes;
use http::{HeaderMap, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::json;

use crate::prelude::*;

pub async fn read(body: axum::body::Body, headers: &HeaderMap, limit: usize) -> Result<Bytes> {
    let too_large = || {
        Problem::new(ProblemCode::TooLarge, format!("the body is larger than {limit} bytes"))
            .with("limit", json!(limit))
    };
    if declared_length(headers).is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(Problem::malformed("#", format!("the body ended early: {error}"))),
    }
}

/// The `Content-Length`, if it is given.
pub fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
