//! The middleware around every request: a span, metrics, the checks of an open server, problems as responses, security
//! headers.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::{HeaderMap, HeaderValue, Method, Uri, Version, header};
use tenure_service::extract::{IsSecure, host_of, own_origin};
use tenure_service::pages::{Pages, ProblemPage};
use tracing::Instrument as _;

use crate::listen::{HEADER_BYTES_MAX, HEADERS_MAX, headers_too_large};
use crate::metrics::RouteTemplate;
use crate::prelude::*;
use crate::{headers, telemetry};

/// Headers of a problem's first response that are kept when it is rendered.
const KEPT_HEADERS: [http::HeaderName; 2] = [header::ALLOW, header::CONTENT_RANGE];
/// Browsers use TLS for this host for a year.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

const SOCKET_ROUTE: &str = "/socket.io/";

pub(crate) async fn apply(
    State((app, problem_page)): State<(App, ProblemPage)>,
    request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let path = request.uri().path().to_owned();
    let (method, is_secure) = (request.method().clone(), request.extensions().get::<IsSecure>().is_some());
    // On a page, a problem is rendered as a page.
    let page_request = Pages::include(&path).then(|| (request.headers().clone(), request.uri().to_string()));
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map(MatchedPath::as_str).or(socket_route(&path));
    let span = telemetry::request_span(&method, route, &path, is_secure);
    if let Some(context) = headers::trace(request.headers()) {
        telemetry::set_parent(&span, &context.to_string());
    }
    let mut response = match check_headers(&request).and_then(|()| check_open_server(&app, &request)) {
        Ok(()) => {
            let handled = AssertUnwindSafe(next.run(request).instrument(span.clone())).catch_unwind().await;
            handled.unwrap_or_else(|_| panicked())
        }
        Err(problem) => problem.into_response(),
    };
    let template =
        response.extensions_mut().remove::<RouteTemplate>().map(|RouteTemplate(template)| template);
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        tracing::debug!(parent: &span, code = problem.code(), "request refused");
        let kept = KEPT_HEADERS.map(|name| (response.headers_mut().remove(&name), name));
        let page = page_request.and_then(|(headers, address)| problem_page(&problem, &headers, &address));
        response = page.unwrap_or_else(|| problem.render(&path));
        for (value, name) in kept {
            response.headers_mut().extend(value.map(|value| (name, value)));
        }
    }
    security_headers(response.headers_mut(), &path);
    if is_secure {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
    }
    if let Some(template) = &template {
        telemetry::set_route(&span, &method, template);
    }
    let route = template.as_deref().or(route);
    app.metrics.http.count(route, &method, response.status(), started.elapsed());
    telemetry::end_request(&span, response.status());
    response
}

/// The limits of HTTP/1 are those of the HTTP library; with HTTP/2 the same request is refused here. Two hosts are refused, because a proxy
/// could have checked the other one.
fn check_headers(request: &Request) -> Result<()> {
    if request.headers().get_all(header::HOST).iter().count() > 1 {
        return Err(Problem::malformed("#", "the request has more than one header `Host`"));
    }
    if request.version() < Version::HTTP_2 {
        return Ok(());
    }
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    let bytes = headers.sum::<usize>() + request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    if bytes > HEADER_BYTES_MAX as usize || request.headers().len() > HEADERS_MAX {
        return Err(headers_too_large());
    }
    Ok(())
}

/// The route of Socket.IO, which is not part of the router.
fn socket_route(path: &str) -> Option<&'static str> {
    path.starts_with(SOCKET_ROUTE).then_some(SOCKET_ROUTE)
}

/// A server without keys refuses every request that a page of another host could send through a browser.
fn check_open_server(app: &App, request: &Request) -> Result<()> {
    if !app.keyring().is_open() {
        return Ok(());
    }
    check_loopback_host(request.headers(), request.uri())?;
    own_origin(request.headers(), request.uri())
}

/// Only loopback names are accepted, so that a page cannot reach the server under a host name it controls.
fn check_loopback_host(headers: &HeaderMap, uri: &Uri) -> Result<()> {
    let host = host_of(headers, uri).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    if ["localhost", "127.0.0.1", "[::1]"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Ok(());
    }
    let detail = "a server without keys only accepts the hosts localhost, 127.0.0.1 and [::1]";
    Err(Problem::new(ProblemCode::Misdirected, detail))
}

fn security_headers(headers: &mut HeaderMap, path: &str) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The dashboard's forms are accepted by their origin, which browsers send only with a referrer.
    let referrer = if Pages::include(path) { "same-origin" } else { "no-referrer" };
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static(referrer));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if !path.starts_with("/api") {
        let policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'";
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(policy));
    }
}

pub(crate) async fn unknown_path(uri: Uri) -> Problem {
    Problem::new(ProblemCode::NotFound, format!("there is nothing at {}", uri.path()))
}

/// A method that the path does not support; the router adds `Allow`.
pub(crate) async fn unknown_method(method: Method, uri: Uri) -> Problem {
    Problem::new(ProblemCode::MethodNotAllowed, format!("{} does not support {method}", uri.path()))
}

fn panicked() -> Response {
    tracing::error!("request handler panicked");
    Problem::new(ProblemCode::Internal, "the server has a defect; details are in its log").into_response()
}
