//! The description of the API, a page that shows it, and the pages of the problem codes.

use tenure_service::problem::page as problem_page;

use crate::http::prelude::*;

pub(crate) async fn openapi(State(app): State<App>) -> Response {
    text("application/json", app.lifecycle_apis.get().description())
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

/// The page of a problem code: Markdown, or HTML for a browser.
pub(crate) async fn problem(headers: HeaderMap, Segments(segments): Segments) -> Reply {
    let code = ProblemCode::ALL.iter().copied().find(|code| code.code() == segments[0]);
    let code = code.ok_or_else(|| Problem::not_found("problem", segments[0].escape_debug()))?;
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    if !accept.contains("text/html") {
        return Ok(text("text/markdown; charset=utf-8", problem_page(code)));
    }
    let escaped = problem_page(code).replace('&', "&amp;").replace('<', "&lt;");
    let style = "<link rel=\"icon\" href=\"/ui/icon.svg\"><link rel=\"stylesheet\" href=\"/docs/docs.css\">";
    let title = code.title();
    let head =
        format!("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>{style}");
    Ok(text(
        "text/html; charset=utf-8",
        format!("{head}<main><pre class=\"problem\">{escaped}</pre></main></html>"),
    ))
}
