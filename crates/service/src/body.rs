//! Reads a request's body within its size limit.

use std::time::Duration;

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

/// How much of a body is read after its request was refused, and for how long.
const DISCARDED_BYTES_MAX: u64 = 1 << 20;
const DISCARD_TIME_MAX: Duration = Duration::from_secs(5);

/// Reads the rest of a refused request and drops it, so that its caller can use the connection again. False if the body is
/// too large for that or takes too long: then the connection must be closed after the answer.
pub async fn discard(mut body: axum::body::Body, headers: &HeaderMap) -> bool {
    if declared_length(headers).is_some_and(|length| length > DISCARDED_BYTES_MAX) {
        return false;
    }
    let drop_frames = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            if bytes > DISCARDED_BYTES_MAX {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(DISCARD_TIME_MAX, drop_frames).await.unwrap_or(false)
}

/// The `Content-Length`, if it is given.
pub fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
