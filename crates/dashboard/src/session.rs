//! The visitor of a page: signed in with a key or token. The browser keeps the id of a session in an HTTP-only cookie, never
//! the key or token itself. A session ends with its key, on every node.

use axum::extract::{FromRequestParts, State};
use axum::response::{Html, Redirect, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tenure_service::extract::{Authenticated, IsSecure, OnConnection, Peer};
use tenure_service::query::decode;
use tenure_service::{sessions, sse};

use crate::layout;
use crate::prelude::*;

/// The cookie with the id of the session.
const SESSION: &str = "tenure_session";
/// The cookie of earlier versions, which contained the key. It is removed.
const FORMER: &str = "tenure_key";
/// The cookie with the result of the last form, until a page has shown it.
const FLASH: &str = "tenure_said";
const FLASH_CHARS_MAX: usize = 500;
/// The cookie with `light` or `dark`, if the visitor chose one.
const THEME: &str = "tenure_theme";

/// A request for a page.
#[derive(Clone)]
pub(crate) struct Visitor {
    pub(crate) dashboard: Dashboard,
    pub(crate) caller: Caller,
    /// Path and query of the page.
    pub(crate) address: String,
    /// `light` or `dark`, if chosen.
    pub(crate) theme: Option<&'static str>,
    /// Result of the last form.
    pub(crate) flash: Option<String>,
    /// Whether the stream of the page is requested.
    pub(crate) wants_stream: bool,
    /// Server time of the request, since the clock of the browser may be wrong.
    pub(crate) now: Timestamp,
}

impl FromRequestParts<Dashboard> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, dashboard: &Dashboard) -> Result<Self> {
        let caller = identify(dashboard, parts).await?;
        OnConnection::authenticated(&parts.extensions);
        parts.extensions.insert(Authenticated(Ok(caller.clone())));
        let flash = cookie(&parts.headers, FLASH).and_then(|flash| decode(flash).ok());
        Ok(Self {
            dashboard: dashboard.clone(),
            caller,
            address: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
            theme: theme(&parts.headers),
            flash: flash.filter(|flash| !flash.is_empty()),
            wants_stream: sse::is_wanted(&parts.headers),
            now: dashboard.runtime().now(),
        })
    }
}

/// The caller of an `Authorization` header, or else of a session.
async fn identify(dashboard: &Dashboard, parts: &Parts) -> Result<Caller> {
    let keys = dashboard.keyring().current().await?;
    if keys.is_open() {
        return Ok(Caller::open());
    }
    let given = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let (None, Some(id)) = (given, cookie(&parts.headers, SESSION)) {
        return sessions::caller(dashboard, id).await;
    }
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
    dashboard.keyring().identify(&keys, given, peer, dashboard.runtime().now()).await
}

pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split("; ")).filter_map(|pair| pair.split_once('='));
    pairs.find(|(params, _)| *params == name).map(|(_, value)| value)
}

pub(crate) fn theme(headers: &HeaderMap) -> Option<&'static str> {
    ["light", "dark"].into_iter().find(|theme| cookie(headers, THEME) == Some(theme))
}

/// Sets a cookie; an empty value removes it.
pub(crate) fn set_cookie(response: &mut Response, name: &str, value: &str, seconds: u32, is_secure: bool) {
    let seconds = if value.is_empty() { 0 } else { seconds };
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/ui; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    response.headers_mut().extend(HeaderValue::try_from(text).ok().map(|value| (header::SET_COOKIE, value)));
}

/// A redirect that sets a cookie.
fn redirect(to: &str, name: &str, value: &str, seconds: u32, is_secure: bool) -> Response {
    let mut response = Redirect::to(to).into_response();
    set_cookie(&mut response, name, value, seconds, is_secure);
    response
}

/// Removes the flash message that a page has shown.
pub(crate) fn without_flash(mut response: Response, visitor: &Visitor) -> Response {
    if visitor.flash.is_some() {
        set_cookie(&mut response, FLASH, "", 0, false);
    }
    response
}

/// Redirects to a page after a form, with a message for that page to show.
pub(crate) fn back(to: &str, message: &str) -> Response {
    let message: String = message.chars().take(FLASH_CHARS_MAX).collect();
    redirect(local(to), FLASH, &encode(&message), 60, false)
}

/// An address of the dashboard; anything else becomes the overview.
pub(crate) fn local(address: &str) -> &str {
    let is_local = address == "/ui" || ["/ui/", "/ui?"].iter().any(|start| address.starts_with(start));
    if is_local && !address.contains(char::is_control) { address } else { "/ui" }
}

/// `/` and `/ui/`.
pub(crate) async fn redirect_to_overview() -> Redirect {
    Redirect::to("/ui")
}

pub(crate) async fn sign_in_page(
    State(dashboard): State<Dashboard>,
    headers: HeaderMap,
    mut params: QueryParams,
) -> Reply {
    let to = params.text("to").unwrap_or_default();
    params.done()?;
    if dashboard.keyring().current().await?.is_open() {
        return Ok(Redirect::to(local(&to)).into_response());
    }
    Ok(sign_in_form(&headers, &to, None))
}

fn sign_in_form(headers: &HeaderMap, to: &str, refused: Option<&Problem>) -> Response {
    let main = html! {
        form.sign-in method="post" action="/ui/sign-in" {
            @if let Some(problem) = refused { p.bad role="alert" { (problem.detail()) } }
            input type="hidden" name="to" value=(local(to));
            label for="key" { "API key or token" }
            input #key type="password" name="key" autocomplete="current-password" required autofocus;
            button.main type="submit" { "Sign in" }
            p.hint { "An admin creates keys with " code { "tenure key create --role viewer" } }
        }
    };
    let status = if refused.is_some() { StatusCode::UNAUTHORIZED } else { StatusCode::OK };
    (status, Html(layout::bare(theme(headers), "Sign in", &main).into_string())).into_response()
}

pub(crate) async fn sign_in(
    State(dashboard): State<Dashboard>,
    peer: Option<axum::Extension<Peer>>,
    secure: Option<axum::Extension<IsSecure>>,
    headers: HeaderMap,
    mut form: Form,
) -> Reply {
    let (key, to) = (form.take("key").unwrap_or_default(), form.take("to").unwrap_or_default());
    form.done()?;
    let keys = dashboard.keyring().current().await?;
    let identified = if key.trim().bytes().all(|byte| byte.is_ascii_graphic()) && !key.trim().is_empty() {
        let peer = peer.map(|peer| peer.0.0);
        dashboard
            .keyring()
            .identify(&keys, Some(&format!("Bearer {}", key.trim())), peer, dashboard.runtime().now())
            .await
    } else {
        Err(Problem::new(ProblemCode::Unauthenticated, "this is not a valid key or token"))
    };
    let caller = match identified {
        Ok(caller) => caller,
        Err(problem) => return Ok(sign_in_form(&headers, &to, Some(&problem))),
    };
    let session = sessions::begin(&dashboard, &caller).await?;
    let seconds = u32::try_from(session.lasts.0 / 1000).unwrap_or(u32::MAX).max(1);
    let is_secure = secure.is_some() || is_https(&headers);
    let mut response = redirect(local(&to), SESSION, &session.id, seconds, is_secure);
    if cookie(&headers, FORMER).is_some() {
        set_cookie(&mut response, FORMER, "", 0, false);
    }
    Ok(response)
}

/// Whether the browser has the page by TLS, which a proxy may terminate. The origin of a form is that of its page.
fn is_https(headers: &HeaderMap) -> bool {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    origin.is_some_and(|origin| origin.starts_with("https://"))
}

/// Ends the session, on every node. Works without a valid one, too.
pub(crate) async fn sign_out(State(dashboard): State<Dashboard>, headers: HeaderMap, form: Form) -> Reply {
    form.done()?;
    if let Some(id) = cookie(&headers, SESSION)
        && let Ok(caller) = sessions::caller(&dashboard, id).await
    {
        sessions::end(&dashboard, &caller, id).await?;
    }
    let mut response = redirect("/ui/sign-in", SESSION, "", 0, false);
    if cookie(&headers, FORMER).is_some() {
        set_cookie(&mut response, FORMER, "", 0, false);
    }
    Ok(response)
}

pub(crate) async fn set_theme(mut form: Form) -> Reply {
    let (theme, to) = (form.take("theme").unwrap_or_default(), form.take("back").unwrap_or_default());
    form.done()?;
    let theme = ["light", "dark"].into_iter().find(|known| *known == theme).unwrap_or_default();
    Ok(redirect(local(&to), THEME, theme, 365 * 24 * 60 * 60, false))
}

impl Visitor {
    /// Why the caller lacks a right, as the tooltip of a disabled button.
    pub(crate) fn lacks(caller: &Caller, right: Right) -> Option<String> {
        caller.may(right).err().map(|problem| problem.detail().to_owned())
    }
}

/// Refuses a form that was not sent from a page of this server.
pub(crate) fn check_origin(headers: &HeaderMap, uri: &http::Uri) -> Result<()> {
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    let is_local = site.is_none_or(|site| site == "same-origin") && headers.contains_key(header::ORIGIN);
    if is_local {
        tenure_service::extract::own_origin(headers, uri)
    } else {
        Err(Problem::new(ProblemCode::Forbidden, "forms are accepted from pages of the dashboard only"))
    }
}
