//! Server-sent events. Data is always one line of JSON, so that text from a job cannot forge a field.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use http::{HeaderMap, header};
use serde::Serialize;

use crate::problem::{Problem, Result};

/// Interval of comments, for proxies that close idle connections.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub fn event(kind: &str, id: &str, data: &impl Serialize) -> String {
    let data = serde_json::to_string(data).expect("wire values have string keys and finite numbers");
    format!("event: {kind}\nid: {id}\ndata: {data}\n\n")
}

pub fn comment() -> String {
    ": still here\n\n".to_owned()
}

/// A stream made by `next`, which returns the next text and state until the stream ends.
pub fn stream<S, F>(state: S, next: impl Fn(S) -> F + Send + 'static) -> Response
where
    S: Send + 'static,
    F: Future<Output = Option<(String, S)>> + Send + 'static,
{
    let pieces = unfold(state, move |state| {
        let piece = next(state);
        async move { piece.await.map(|(text, state)| (Ok::<_, Infallible>(Bytes::from(text)), state)) }
    });
    let headers = [("content-type", "text/event-stream"), ("x-accel-buffering", "no")];
    (headers, Body::from_stream(pieces)).into_response()
}

/// Whether the caller asks for events rather than a page.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept
        .split(',')
        .any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/event-stream"))
}

/// The last event that a reconnecting client has received.
pub fn last_id(headers: &HeaderMap) -> Result<Option<&str>> {
    let Some(id) = headers.get("last-event-id") else { return Ok(None) };
    let id = id.to_str().map_err(|_| Problem::malformed("#", "Last-Event-ID is not the id of an event"))?;
    Ok(Some(id).filter(|id| !id.is_empty()))
}
