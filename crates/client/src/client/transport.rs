//! One request and its answer, and when to send it again.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::Once;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER,
};
use reqwest::{Method, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Client, Content};
use crate::error::{Error, Problem, Result};

const CALL_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TRIES: u32 = 4;
/// The longest that a call waits because the server said so before it gives the refusal to its caller.
const PATIENCE: Duration = Duration::from_secs(5);

/// A request, ready to be sent any number of times.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    method: Method,
    path: String,
    body: Option<Bytes>,
    content: Option<Content>,
    key: Option<String>,
    headers: Vec<(&'static str, Cow<'static, str>)>,
    timeout: Option<Duration>,
}

/// What came back, with a status of success.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Ask {
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        let timeout = Some(CALL_TIMEOUT);
        Self { method, path: path.into(), body: None, content: None, key: None, headers: Vec::new(), timeout }
    }

    pub(crate) fn json(mut self, body: &impl Serialize) -> Result<Self> {
        let text = serde_json::to_vec(body)
            .map_err(|why| Error::Protocol(format!("the request is no JSON: {why}")))?;
        self.body = Some(text.into());
        Ok(self)
    }

    /// Bytes as they are, instead of JSON.
    pub(crate) fn content(mut self, content: Content) -> Self {
        self.content = Some(content);
        self
    }

    pub(crate) fn key(mut self, key: String) -> Self {
        self.key = Some(key);
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// What comes back is not looked at, or only its id: the server may leave the rest out.
    pub(crate) fn minimal(self) -> Self {
        self.header("prefer", "return=minimal")
    }

    /// None: as long as it takes.
    pub(crate) fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// Whether sending it twice does the same as sending it once.
    fn is_repeatable(&self) -> bool {
        self.key.is_some() || matches!(self.method, Method::GET | Method::DELETE)
    }
}

impl Client {
    /// Sends it, and again a few times while that may help and does no harm.
    pub(crate) async fn repeated(&self, ask: &Ask) -> Result<Answer> {
        let mut tries = 1;
        loop {
            let error = match self.once(ask).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let may = match &error {
                Error::Unreachable(_) => ask.is_repeatable(),
                Error::Refused(problem) => {
                    problem.status == 503 && problem.retry_after.is_none_or(|wait| wait <= PATIENCE)
                }
                Error::Protocol(_) => false,
            };
            if !may || tries == TRIES {
                return Err(error);
            }
            tokio::time::sleep(error.retry_after().unwrap_or_else(|| backoff(tries))).await;
            tries += 1;
        }
    }

    /// Sends it once and reads the whole answer.
    pub(crate) async fn once(&self, ask: &Ask) -> Result<Answer> {
        let response = self.begin(ask).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(|error| Error::unreachable(&error))?;
        Ok(Answer { status, headers, body })
    }

    /// Sends it once; the answer's body is still to be read. Statuses that are no success are errors.
    pub(crate) async fn begin(&self, ask: &Ask) -> Result<reqwest::Response> {
        let url = format!("{}{}", self.inner.base, ask.path);
        let mut request = self.inner.http.request(ask.method.clone(), &url);
        if let Some(key) = &self.inner.key {
            let mut value = HeaderValue::try_from(format!("Bearer {key}"))
                .map_err(|_| Error::Protocol("the key has letters that no key has".into()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        if let Some(key) = &ask.key {
            request = request.header("idempotency-key", key);
        }
        for (name, value) in &ask.headers {
            request = request.header(*name, &**value);
        }
        if let Some(timeout) = ask.timeout {
            request = request.timeout(timeout);
        }
        if let Some(body) = &ask.body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.clone());
        }
        if let Some(content) = &ask.content {
            if let Some(length) = content.length().await {
                request = request.header(CONTENT_LENGTH, length);
            }
            request = request.header(CONTENT_TYPE, "application/octet-stream").body(content.body().await?);
        }
        let response = request.send().await.map_err(|error| {
            if error.is_builder() {
                Error::Protocol(format!("{url}: {error}"))
            } else {
                Error::unreachable(&error)
            }
        })?;
        if response.status().is_success() { Ok(response) } else { Err(refused(response).await) }
    }
}

/// A pool of connections to this server.
pub(crate) fn connections(url: &Url) -> Result<reqwest::Client> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error means that the program has installed one already, and that one is used.
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
        // Without TLS no certificates are looked for, which a small container may not have.
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
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.and_then(|text| text.parse().ok()).map(Duration::from_secs);
    let body = match response.bytes().await {
        Ok(body) => body,
        Err(error) => return Error::unreachable(&error),
    };
    match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => Error::Refused(Problem { retry_after, ..problem }),
        // A proxy that speaks for a server that is away.
        Err(_) if status.is_server_error() => Error::Unreachable(format!("HTTP {status}")),
        Err(_) => Error::Protocol(format!("HTTP {status}, and what came with it is no problem")),
    }
}

/// An answer's body as what it should be; no body is null.
pub(crate) fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    let body = if body.is_empty() { b"null" } else { body };
    serde_json::from_slice(body).map_err(|why| Error::Protocol(format!("the answer is not as told: {why}")))
}

/// How long to wait after this many failed tries: doubling from 100 ms up to 5 s, half of it by chance.
pub(crate) fn backoff(tries: u32) -> Duration {
    let whole_ms = 100_u64.saturating_mul(1 << tries.saturating_sub(1).min(10)).min(5000);
    // Each new state of the standard hasher is seeded by chance.
    let chance = std::hash::RandomState::new().hash_one(tries);
    Duration::from_millis(whole_ms / 2 + chance % (whole_ms / 2 + 1))
}

/// For streams: what is asked for.
pub(crate) fn event_stream(path: impl Into<String>) -> Ask {
    Ask::new(Method::GET, path).timeout(None).header(ACCEPT.as_str(), "text/event-stream")
}
