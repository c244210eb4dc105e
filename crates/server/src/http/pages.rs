//! What a person reads in a browser: the description of this interface, and what to do about a problem.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, header};

use crate::app::App;
use crate::http::{Reply, Segments};
use crate::problem::{KINDS, Problem};

/// The description of the interface; that of the doors is made of it.
pub(crate) const OPENAPI: &str = include_str!("../openapi.json");

fn text(kind: &'static str, body: impl Into<String>) -> Response {
    let mut response = body.into().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(crate) async fn openapi(State(app): State<App>) -> Response {
    text("application/json", app.doors().description())
}

pub(crate) async fn docs() -> Response {
    text("text/html; charset=utf-8", include_str!("../docs/index.html"))
}

pub(crate) async fn docs_script() -> Response {
    text("text/javascript; charset=utf-8", include_str!("../docs/docs.js"))
}

pub(crate) async fn docs_style() -> Response {
    text("text/css; charset=utf-8", include_str!("../docs/docs.css"))
}

/// The page of a problem, as it is written; a browser gets it as a page.
pub(crate) async fn problem(headers: HeaderMap, Segments(segments): Segments) -> Reply {
    let kind = KINDS.iter().find(|kind| kind.code == segments[0]);
    let kind = kind.ok_or_else(|| Problem::not_found("problem", segments[0].escape_debug()))?;
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if !accept.contains("text/html") {
        return Ok(text("text/markdown; charset=utf-8", kind.page));
    }
    let escaped = kind.page.replace('&', "&amp;").replace('<', "&lt;");
    let style = "<link rel=\"icon\" href=\"/ui/icon.svg\"><link rel=\"stylesheet\" href=\"/docs/docs.css\">";
    let head = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{}</title>{style}",
        kind.title()
    );
    Ok(text(
        "text/html; charset=utf-8",
        format!("{head}<main><pre class=\"problem\">{escaped}</pre></main></html>"),
    ))
}
