//! Who looks: somebody who signed in with a key or a token, which his browser keeps in a cookie that no script can read.
//! There is no session besides: a key that is revoked is out at once, on every node.

use axum::extract::{FromRequestParts, State};
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use maud::html;
use tenure_core::time::Timestamp;
use tenure_service::caller::{Caller, Right};
use tenure_service::extract::{IsSecure, Peer, Reply};
use tenure_service::links::encode;
use tenure_service::problem::{Problem, ProblemCode};
use tenure_service::query::{QueryParams, decode};
use tenure_service::sse;

use crate::form::Form;
use crate::{Dashboard, layout};

/// The cookie with the key or token.
const KEY: &str = "tenure_key";
/// The cookie with what the last form came to, until the next page has said it.
const SAID: &str = "tenure_said";
/// How much of that a cookie carries.
const SAID_CHARS_MAX: usize = 500;
/// The cookie with `light` or `dark`, for those who do not want their system's choice.
const THEME: &str = "tenure_theme";
/// For how long a browser keeps the key: a working day.
const KEPT_SECONDS: u32 = 12 * 60 * 60;

/// Somebody at a page.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub(crate) caller: Caller,
    /// The page, as it was asked for.
    pub(crate) address: String,
    /// `light` or `dark`, if he chose.
    pub(crate) theme: Option<&'static str>,
    /// What his last form came to.
    pub(crate) said: Option<String>,
    /// Whether the page is asked for as a stream.
    pub(crate) is_listening: bool,
    /// When he came, by our clock: his own may be wrong.
    pub(crate) now: Timestamp,
}

impl FromRequestParts<Dashboard> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, dashboard: &Dashboard) -> Result<Self, Problem> {
        let keys = dashboard.keyring().current().await?;
        let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
        let given = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let kept = cookie(&parts.headers, KEY).map(|key| format!("Bearer {key}"));
        let caller = if keys.is_open() {
            Caller::open()
        } else {
            dashboard.keyring().identify(&keys, given.or(kept.as_deref()), peer).await?
        };
        Ok(Self {
            caller,
            address: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
            theme: theme(&parts.headers),
            said: cookie(&parts.headers, SAID)
                .and_then(|said| decode(said).ok())
                .filter(|said| !said.is_empty()),
            is_listening: sse::is_wanted(&parts.headers),
            now: dashboard.runtime().now(),
        })
    }
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split("; ")).filter_map(|pair| pair.split_once('='));
    pairs.find(|(params, _)| *params == name).map(|(_, value)| value)
}

pub(crate) fn theme(headers: &HeaderMap) -> Option<&'static str> {
    ["light", "dark"].into_iter().find(|theme| cookie(headers, THEME) == Some(theme))
}

/// Has the browser keep a cookie; with an empty value, forget it.
fn keep(response: &mut Response, name: &str, value: &str, (seconds, is_secure): (u32, bool)) {
    let seconds = if value.is_empty() { 0 } else { seconds };
    let secure = if is_secure { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/ui; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    response.headers_mut().extend(HeaderValue::try_from(text).ok().map(|value| (header::SET_COOKIE, value)));
}

/// Forgets what the last form came to, now that a page has said it.
pub(crate) fn having_said(mut response: Response, visitor: &Visitor) -> Response {
    if visitor.said.is_some() {
        keep(&mut response, SAID, "", (0, false));
    }
    response
}

/// After a form: back to a page of ours, which says what it came to.
pub(crate) fn back(to: &str, said: &str) -> Response {
    let mut response = Redirect::to(own(to)).into_response();
    let said: String = said.chars().take(SAID_CHARS_MAX).collect();
    keep(&mut response, SAID, &encode(&said), (60, false));
    response
}

/// An address of the dashboard; anything else is its first page.
fn own(address: &str) -> &str {
    let is_own = address == "/ui" || ["/ui/", "/ui?"].iter().any(|start| address.starts_with(start));
    if is_own && !address.contains(char::is_control) { address } else { "/ui" }
}

/// `/` and `/ui/` lead to the dashboard.
pub(crate) async fn lead_in() -> Redirect {
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
        return Ok(Redirect::to(own(&to)).into_response());
    }
    Ok(door(&headers, &to, None))
}

/// The page on which one signs in.
fn door(headers: &HeaderMap, to: &str, refused: Option<&Problem>) -> Response {
    let main = html! {
        form.sign-in method="post" action="/ui/sign-in" {
            @if let Some(problem) = refused { p.bad role="alert" { (problem.detail()) } }
            input type="hidden" name="to" value=(own(to));
            label for="key" { "Key, or token" }
            input #key type="password" name="key" autocomplete="current-password" required autofocus;
            button.main type="submit" { "Sign in" }
            p.hint { "An admin makes keys: " code { "tenure key create --role viewer" } }
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
    let fits = |key: &str| {
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte))
    };
    let identified = if fits(key.trim()) {
        let peer = peer.map(|peer| peer.0.0);
        dashboard.keyring().identify(&keys, Some(&format!("Bearer {}", key.trim())), peer).await
    } else {
        Err(Problem::new(ProblemCode::Unauthenticated, "this is neither a key nor a token"))
    };
    match identified {
        Ok(_) => {
            let mut response = Redirect::to(own(&to)).into_response();
            keep(&mut response, KEY, key.trim(), (KEPT_SECONDS, secure.is_some()));
            Ok(response)
        }
        Err(problem) => Ok(door(&headers, &to, Some(&problem))),
    }
}

pub(crate) async fn sign_out(form: Form) -> Reply {
    form.done()?;
    let mut response = Redirect::to("/ui/sign-in").into_response();
    keep(&mut response, KEY, "", (0, false));
    Ok(response)
}

pub(crate) async fn set_theme(mut form: Form) -> Reply {
    let (theme, to) = (form.take("theme").unwrap_or_default(), form.take("back").unwrap_or_default());
    form.done()?;
    let theme = ["light", "dark"].into_iter().find(|known| *known == theme).unwrap_or_default();
    let mut response = Redirect::to(own(&to)).into_response();
    keep(&mut response, THEME, theme, (365 * 24 * 60 * 60, false));
    Ok(response)
}

impl Visitor {
    /// Why he may not, in the words of a button that he cannot press.
    pub(crate) fn lacks(caller: &Caller, right: Right) -> Option<String> {
        caller.may(right).err().map(|problem| problem.detail().to_owned())
    }
}

/// Whether a request came from a page of ours. Browsers say with each form where it stood.
pub(crate) fn is_own_form(headers: &HeaderMap, uri: &http::Uri) -> Result<(), Problem> {
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    let came_from_us = site.is_none_or(|site| site == "same-origin") && headers.contains_key(header::ORIGIN);
    if came_from_us {
        tenure_service::extract::own_origin(headers, uri)
    } else {
        Err(Problem::new(ProblemCode::Forbidden, "a form is taken from the dashboard's own pages alone"))
    }
}
