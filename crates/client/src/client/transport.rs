//! Requests, their answers, and retries.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::Once;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure_api::CallId;

use super::{Client, Content, with_query};
use crate::error::{Error, Problem, Result};

pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TRIES: u32 = 4;
/// A longer `Retry-After` is not waited for; the caller gets the refusal.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request, ready to be sent any number of times.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: Method,
    path: String,
    body: Option<Bytes>,
    content: Option<Content>,
    key: Option<String>,
    headers: Vec<(&'static str, Cow<'static, str>)>,
    timeout: Option<Duration>,
    /// Each part of the body has its own idempotency key.
    is_keyed_inside: bool,
}

/// An answer with a status of success.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Request {
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        let timeout = Some(CALL_TIMEOUT);
        Self {
            method,
            path: path.into(),
            body: None,
            content: None,
            key: None,
            headers: Vec::new(),
            timeout,
            is_keyed_inside: false,
        }
    }

    /// A call of the table; the values stand for the names in its path.
    pub(crate) fn to(call: CallId, path: &[&str]) -> Self {
        let call = call.call();
        let method = match call.method {
            tenure_api::Method::Get => Method::GET,
            tenure_api::Method::Post => Method::POST,
            tenure_api::Method::Put => Method::PUT,
            tenure_api::Method::Patch => Method::PATCH,
            tenure_api::Method::Delete => Method::DELETE,
        };
        Self::new(method, call.path_of(path))
    }

    /// Adds the fields of these values as the query.
    pub(crate) fn query(self, parts: &[Value]) -> Self {
        Self { path: with_query(&self.path, parts), ..self }
    }

    pub(crate) fn json(self, body: &impl Serialize) -> Result<Self> {
        Ok(self.text(to_bytes(body)?))
    }

    /// A body that is JSON already.
    pub(crate) fn text(self, body: Bytes) -> Self {
        Self { body: Some(body), ..self }
    }

    /// Whether each part of the body has its own idempotency key, so that the request may be repeated.
    pub(crate) fn keyed_inside(self, is_keyed_inside: bool) -> Self {
        Self { is_keyed_inside, ..self }
    }

    pub(crate) fn maybe_json(self, body: Option<&Value>) -> Result<Self> {
        match body {
            Some(body) => self.json(body),
            None => Ok(self),
        }
    }

    /// Sends these bytes instead of JSON.
    pub(crate) fn content(self, content: Content) -> Self {
        Self { content: Some(content), ..self }
    }

    pub(crate) fn key(self, key: impl Into<Option<String>>) -> Self {
        Self { key: key.into(), ..self }
    }

    pub(crate) fn header(mut self, name: &'static str, value: Option<impl Into<Cow<'static, str>>>) -> Self {
        self.headers.extend(value.map(|value| (name, value.into())));
        self
    }

    /// The body of the answer is not needed, or only its id: the server may omit the rest.
    pub(crate) fn minimal(self) -> Self {
        self.header("prefer", Some("return=minimal"))
    }

    /// `None`: no timeout.
    pub(crate) fn timeout(self, timeout: Option<Duration>) -> Self {
        Self { timeout, ..self }
    }

    /// Whether sending it twice does the same as sending it once.
    fn is_repeatable(&self) -> bool {
        self.key.is_some() || self.is_keyed_inside || matches!(self.method, Method::GET | Method::DELETE)
    }
}

impl Client {
    /// Sends the request, and retries a few times where that may help and is safe.
    pub(crate) async fn repeated(&self, request: &Request) -> Result<Answer> {
        let mut tries = 1;
        loop {
            let answer = self.once(request).await;
            let Err(error) = answer else { return answer };
            let Some(pause) = retry_pause(&error, request.is_repeatable(), tries) else { return Err(error) };
            tokio::time::sleep(pause).await;
            tries += 1;
        }
    }

    /// Sends the request once and reads the whole answer.
    pub(crate) async fn once(&self, request: &Request) -> Result<Answer> {
        let response = self.begin(request).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(|error| Error::unreachable(&error))?;
        Ok(Answer { status, headers, body })
    }

    /// Sends the request once, without reading the answer's body. A status that is not a success is an error.
    pub(crate) async fn begin(&self, request: &Request) -> Result<reqwest::Response> {
        let url = format!("{}{}", self.inner.base, request.path);
        let mut sending = self.inner.http.request(request.method.clone(), &url);
        if let Some(key) = &self.inner.key {
            let mut value = HeaderValue::try_from(format!("Bearer {key}"))
                .map_err(|_| Error::Protocol("the key has characters that no key has".into()))?;
            value.set_sensitive(true);
            // Replaces the user and password of the URL, which would be a second `Authorization`.
            sending = sending.headers(HeaderMap::from_iter([(header::AUTHORIZATION, value)]));
        }
        if let Some(key) = &request.key {
            sending = sending.header("idempotency-key", key);
        }
        for (name, value) in &request.headers {
            sending = sending.header(*name, &**value);
        }
        if let Some(timeout) = request.timeout {
            sending = sending.timeout(timeout);
        }
        if let Some(body) = &request.body {
            sending = sending.header(header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        if let Some(content) = &request.content {
            if let Some(length) = content.length().await {
                sending = sending.header(header::CONTENT_LENGTH, length);
            }
            let body = content.body().await?;
            sending = sending.header(header::CONTENT_TYPE, "application/octet-stream").body(body);
        }
        let response = sending.send().await.map_err(|error| {
            let wrong = error.is_builder().then(|| Error::Protocol(format!("{url}: {error}")));
            wrong.unwrap_or_else(|| Error::unreachable(&error))
        })?;
        if response.status().is_success() { Ok(response) } else { Err(refused(response).await) }
    }
}

/// A pool of connections to this server.
/// How long to wait before the next try; `None` if another try is not safe or does not help, or after the last one.
pub(crate) fn retry_pause(error: &Error, is_repeatable: bool, tries: u32) -> Option<Duration> {
    let may = match error {
        Error::Unreachable(_) => is_repeatable,
        Error::Refused(problem) => {
            problem.status == 503 && problem.retry_after.is_none_or(|wait| wait <= PATIENCE)
        }
        Error::Protocol(_) | Error::TimedOut(_) => false,
    };
    (may && tries < TRIES).then(|| error.retry_after().unwrap_or_else(|| backoff(tries)))
}

/// A body as JSON.
pub(crate) fn to_bytes(body: &impl Serialize) -> Result<Bytes> {
    let text = serde_json::to_vec(body);
    let text =
        text.map_err(|why| Error::Protocol(format!("the request cannot be written as JSON: {why}")))?;
    Ok(text.into())
}

pub(crate) fn connections(url: &Url) -> Result<reqwest::Client> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error means that the program has installed a provider; it is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_mins(1))
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("tenure-client/", env!("CARGO_PKG_VERSION")));
    if url.scheme() == "http" {
        // Without TLS no certificates are needed; a small container may have none.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| Error::unreachable(&error))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

async fn refused(response: reqwest::Response) -> Error {
    let status = response.status();
    let retry_after = response.headers().get(header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let body = match response.bytes().await {
        Ok(body) => body,
        Err(error) => return Error::unreachable(&error),
    };
    match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => {
            Error::Refused(Problem { retry_after: retry_after.or(problem.retry_after), ..problem })
        }
        // A proxy reports that the server is down.
        Err(_) if status.is_server_error() => Error::Unreachable(format!("HTTP {status}")),
        Err(_) => Error::Protocol(format!("HTTP {status} without a problem document")),
    }
}

/// Reads an answer's body; no body is null.
pub(crate) fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    let body = if body.is_empty() { b"null" } else { body };
    serde_json::from_slice(body).map_err(|why| Error::Protocol(format!("the answer cannot be read: {why}")))
}

/// The wait after this many failed tries: doubling from 100 ms up to 5 s, half of it random.
pub(crate) fn backoff(tries: u32) -> Duration {
    let whole_ms = 100_u64.saturating_mul(1 << tries.saturating_sub(1).min(10)).min(5000);
    // Each new state of the standard hasher has a random seed.
    let random = std::hash::RandomState::new().hash_one(tries);
    Duration::from_millis(whole_ms / 2 + random % (whole_ms / 2 + 1))
}

/// A request for a stream of events.
pub(crate) fn event_stream(path: impl Into<String>) -> Request {
    Request::new(Method::GET, path).timeout(None).header(header::ACCEPT.as_str(), Some("text/event-stream"))
}
