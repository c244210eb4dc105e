//! Server-sent events: a body that is written as things happen. Data is always one line of JSON, so nothing that a job
//! says can forge a field.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use http::{HeaderMap, HeaderValue, header};
use serde::Serialize;

use crate::problem::Problem;

/// A sign of life, for proxies that close what is silent.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// One event as it is written.
pub fn event(kind: &str, id: &str, data: &impl Serialize) -> String {
    let data = serde_json::to_string(data).expect("our values have string keys and finite numbers");
    format!("event: {kind}\nid: {id}\ndata: {data}\n\n")
}

/// A comment: nothing happened, and we are here.
pub fn comment() -> String {
    ": still here\n\n".to_owned()
}

/// A body out of a state that gives the next piece of text, until it gives none.
pub fn stream<S, F>(state: S, next: impl Fn(S) -> F + Send + 'static) -> Response
where
    S: Send + 'static,
    F: Future<Output = Option<(String, S)>> + Send + 'static,
{
    respond(unfold(state, move |state| {
        let piece = next(state);
        async move {
            piece.await.map(|(text, state)| (Ok::<_, std::convert::Infallible>(Bytes::from(text)), state))
        }
    }))
}

fn respond(pieces: impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static) -> Response {
    let mut response = Body::from_stream(pieces).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Whether the caller asks for events rather than a page.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    accept
        .split(',')
        .any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == "text/event-stream"))
}

/// Where a reconnecting client stopped.
pub fn last_id(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(id) = headers.get("last-event-id") else { return Ok(None) };
    let id = id.to_str().map_err(|_| Problem::malformed("#", "Last-Event-ID is not the id of an event"))?;
    Ok(Some(id).filter(|id| !id.is_empty()))
}
