//! The gate: every request passes here. It finds out who calls, turns problems into answers that name the request, and
//! puts the headers on that every answer has.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Uri, header};
use tracing::{Instrument as _, Span};

use crate::app::App;
use crate::caller::Caller;
use crate::headers;
use crate::problem::{INTERNAL, METHOD_NOT_ALLOWED, MISDIRECTED, NOT_FOUND, Problem};
use crate::telemetry;
use crate::ui;

/// The address that a request came from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Marks a request that came by TLS.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IsSecure;

/// Who calls, where that was found out before.
#[derive(Clone, Debug)]
pub(crate) struct Known(pub(crate) Result<Caller, Problem>);

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    /// Who calls must be known; whatever takes a caller is refused to those who are not.
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        if let Some(Known(known)) = parts.extensions.remove() {
            return known;
        }
        let keys = app.keyring().current().await?;
        if keys.is_open() {
            return Ok(Self::open());
        }
        let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
        let token = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        app.keyring().identify(&keys, token, peer).await
    }
}

/// An open server answers only to loopback names, so that no page in a browser can reach it under a name of its own.
fn own_host(headers: &HeaderMap, uri: &Uri) -> Result<(), Problem> {
    let host = host_of(headers, uri).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    if ["localhost", "127.0.0.1", "[::1]"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Ok(());
    }
    Err(Problem::new(&MISDIRECTED, "a server without keys answers to localhost, 127.0.0.1 and [::1] alone"))
}

/// The name under which a request asks for us.
pub(crate) fn host_of<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    uri.authority().map(http::uri::Authority::as_str).or_else(|| headers.get(header::HOST)?.to_str().ok())
}

/// Whether a request comes from a page of this server, if it comes from one at all.
pub(crate) fn own_origin(headers: &HeaderMap, uri: &Uri) -> Result<(), Problem> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let own = host_of(headers, uri).unwrap_or_default();
    let is_own =
        |origin: &str| ["http://", "https://"].iter().any(|scheme| origin.strip_prefix(scheme) == Some(own));
    if origin.to_str().is_ok_and(is_own) {
        Ok(())
    } else {
        Err(Problem::forbidden("a page of another origin may not call"))
    }
}

/// An open server takes no request that a page of another host could have sent through somebody's browser.
fn own(app: &App, request: &Request) -> Result<(), Problem> {
    if !app.keyring().is_open() {
        return Ok(());
    }
    own_host(request.headers(), request.uri())?;
    own_origin(request.headers(), request.uri())
}

/// Around everything: a span for the request, and the last word on the answer.
pub(crate) async fn pass(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let method = request.method().clone();
    // A person reads a problem as a page.
    let seen = is_of_dashboard(&path).then(|| (request.headers().clone(), request.uri().to_string()));
    // A span costs more than many a request; it is made where somebody follows it.
    let span =
        if telemetry::is_traced() { tracing::info_span!("request", %method, path) } else { Span::none() };
    if let Some(context) = headers::trace(request.headers()) {
        telemetry::set_parent(&span, &context.to_string());
    }
    let mut response = match own(&app, &request) {
        Ok(()) => {
            let answered = AssertUnwindSafe(next.run(request).instrument(span.clone())).catch_unwind().await;
            answered.unwrap_or_else(|_| panicked())
        }
        Err(problem) => problem.into_response(),
    };
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        tracing::debug!(parent: &span, code = problem.code(), "refused");
        let kept = [header::ALLOW, header::CONTENT_RANGE];
        let kept = kept.map(|name| (response.headers_mut().remove(&name), name));
        let page = seen.and_then(|(headers, address)| ui::problem(&problem, &headers, &address));
        response = page.unwrap_or_else(|| problem.render(&path));
        for (value, name) in kept {
            response.headers_mut().extend(value.map(|value| (name, value)));
        }
    }
    dress(response.headers_mut(), &path);
    response
}

fn is_of_dashboard(path: &str) -> bool {
    path == "/ui" || path.starts_with("/ui/")
}

fn dress(headers: &mut HeaderMap, path: &str) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Without a referrer a browser does not say where a form stood, and forms of the dashboard must say so.
    let referrer = if is_of_dashboard(path) { "same-origin" } else { "no-referrer" };
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static(referrer));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if !path.starts_with("/api") {
        let policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(policy));
    }
}

/// A path that leads nowhere.
pub(crate) async fn no_route(uri: Uri) -> Problem {
    Problem::new(&NOT_FOUND, format!("there is nothing at {}", uri.path()))
}

/// A verb that the path does not have; the router adds `Allow`.
pub(crate) async fn no_method(method: Method, uri: Uri) -> Problem {
    Problem::new(&METHOD_NOT_ALLOWED, format!("{} does not take {method}", uri.path()))
}

/// A handler that panicked: a defect of ours, and an answer like any other.
fn panicked() -> Response {
    tracing::error!("a handler panicked");
    Problem::new(&INTERNAL, "a defect in Tenure; its operator finds more in the log").into_response()
}
