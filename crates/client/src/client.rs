//! The client: a method for each call of the API, and two raw ones. Clones are cheap and share their connections. A call
//! that is safe to repeat is retried a few times while the server is unreachable or overloaded. Concurrent creations of
//! single jobs are coalesced.

/// Calls that need only the values of their path: each row becomes a method.
macro_rules! calls {
    ($($(#[$doc:meta])* $send:ident $name:ident($($value:ident),*) -> $answer:ty = $call:ident;)*) => {$(
        $(#[$doc])*
        pub async fn $name(&self, $($value: &str),*) -> Result<$answer> {
            self.$send(CallId::$call, &[$($value),*]).await
        }
    )*};
}

mod assets;
mod coalesce;
mod found_job;
mod jobs;
mod operators;
pub(crate) mod transport;
mod workers;

use std::path::Path;
use std::sync::Arc;

use reqwest::{Method, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tenure_api::call::escape;
use tenure_api::request::Empty;
use tenure_api::{CallId, ItemResults};

use crate::error::{Error, Problem, Result};

pub use assets::{Content, Download, OpenFile};
use coalesce::Coalescer;
pub use found_job::FoundJob;
pub use jobs::{Created, Enqueued};
use transport::{Request, decode};
pub use workers::Reported;
pub(crate) use workers::UnreadableJob;

/// The address of a server with default settings.
pub const DEFAULT_URL: &str = "http://127.0.0.1:7117";

/// A client of a Tenure server.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    base: String,
    key: Option<String>,
    http: reqwest::Client,
    /// `None`: each job is created by a separate request.
    coalescers: Option<Coalescers>,
}

/// The creations that wait, by the kind of answer that their request asks for.
#[derive(Clone, Debug, Default)]
struct Coalescers {
    whole: Coalescer<Created>,
    minimal: Coalescer<Enqueued>,
}

impl std::fmt::Debug for Inner {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Inner {
    /// Other credentials or connections than those of the client that this is a copy of: nothing is sent together.
    fn separate_coalescers(&mut self) {
        self.coalescers = self.coalescers.is_some().then(Coalescers::default);
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listing<T> {
    pub rows: Vec<T>,
    /// Where the next page begins; `None` at the end.
    pub next_cursor: Option<String>,
}

impl Client {
    /// A client of the server at this address, such as `http://127.0.0.1:7117`. Nothing is sent yet.
    pub fn new(url: &str) -> Result<Self> {
        let parsed =
            Url::parse(url).map_err(|why| Error::Protocol(format!("{url:?} is not an address: {why}")))?;
        if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
            return Err(Error::Protocol(format!("{url:?} is not an address: write http://host:port")));
        }
        let http = transport::connections(&parsed)?;
        let base = parsed.as_str().trim_end_matches('/').to_owned();
        let coalescers = Some(Coalescers::default());
        Ok(Self { inner: Arc::new(Inner { base, key: None, http, coalescers }) })
    }

    /// A client configured by the environment: `TENURE_URL`, else [`DEFAULT_URL`], and `TENURE_KEY`, or the file that
    /// `TENURE_KEY_FILE` names.
    pub fn from_env() -> Result<Self> {
        let client = Self::new(variable("TENURE_URL").as_deref().unwrap_or(DEFAULT_URL))?;
        Ok(match key_from_env()? {
            Some(key) => client.with_key(key),
            None => client,
        })
    }

    /// The same client with this key (or JWT).
    #[must_use]
    pub fn with_key(self, key: impl Into<String>) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        inner.key = Some(key.into());
        inner.separate_coalescers();
        Self { inner: Arc::new(inner) }
    }

    /// The same client with coalescing on or off; it is on by default. [`Client::create`] and [`Client::enqueue`] leave at
    /// once if no other creation of this client is in flight; those that come meanwhile leave together, with the next
    /// request. Each caller gets its own answer or its own problem. Clones of a client are coalesced with it.
    #[must_use]
    pub fn coalesce(self, is_on: bool) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        inner.coalescers = is_on.then(Coalescers::default);
        Self { inner: Arc::new(inner) }
    }

    /// The server's address, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.inner.base
    }

    /// The same client with separate connections, for another runtime.
    pub(crate) fn with_own_connections(&self) -> Result<Self> {
        let parsed = Url::parse(&self.inner.base).expect("the address was read when the client was made");
        let mut inner = Inner { http: transport::connections(&parsed)?, ..Inner::clone(&self.inner) };
        inner.separate_coalescers();
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Any call: the answer's JSON, null if it has no body. A GET is retried while the server cannot be reached;
    /// anything else only when the server answered that it did not accept the call (503).
    pub async fn call(&self, method: Method, path_and_query: &str, body: Option<&Value>) -> Result<Value> {
        self.json(Request::new(method, path_and_query).maybe_json(body)?).await
    }

    /// Like [`Client::call`], with an `Idempotency-Key`: the call takes effect once, so it is retried like a GET.
    pub async fn call_keyed(&self, method: Method, path: &str, body: &Value, key: &str) -> Result<Value> {
        self.json(Request::new(method, path).json(body)?.key(key.to_owned())).await
    }

    /// A call of the API whose answer is not parsed: no digit of a large number and no unknown field is lost. `path` has
    /// the values for the names in the call's path. With an idempotency key it is retried like a GET.
    pub async fn call_raw(
        &self,
        call: CallId,
        path: &[&str],
        query: &Value,
        body: Option<&Value>,
        key: Option<String>,
    ) -> Result<Box<RawValue>> {
        let request = Request::to(call, path).query(std::slice::from_ref(query)).maybe_json(body)?;
        self.json(request.key(key)).await
    }

    /// Like [`Client::call`], but the body of the answer is not read, and the server need not send it.
    pub async fn send(&self, method: Method, path: &str, body: &impl Serialize) -> Result<()> {
        self.repeated(&Request::new(method, path).json(body)?.minimal()).await.map(drop)
    }

    /// A GET whose answer is text: `/metrics`, a diagram.
    pub async fn text(&self, path_and_query: &str) -> Result<String> {
        let answer = self.repeated(&Request::new(Method::GET, path_and_query)).await?;
        String::from_utf8(answer.body.into()).map_err(|_| Error::Protocol("the answer is not text".into()))
    }

    /// A call without a body.
    async fn read<T: DeserializeOwned>(&self, call: CallId, path: &[&str]) -> Result<T> {
        self.json(Request::to(call, path)).await
    }

    /// A call that answers with the whole list.
    async fn list_all<T: DeserializeOwned>(&self, call: CallId, path: &[&str]) -> Result<Listing<T>> {
        self.listing(call, path, &[]).await
    }

    /// A change without a body.
    async fn act_on<T: DeserializeOwned>(&self, call: CallId, path: &[&str]) -> Result<T> {
        self.change(call, path, &Empty {}).await
    }

    async fn delete(&self, call: CallId, path: &[&str]) -> Result<()> {
        self.repeated(&Request::to(call, path)).await.map(drop)
    }

    /// A call that changes something, with a fresh key, so that it can be retried.
    async fn change<T: DeserializeOwned>(
        &self,
        call: CallId,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<T> {
        self.json(Request::to(call, path).json(body)?.key(fresh_id())).await
    }

    async fn json<T: DeserializeOwned>(&self, request: Request) -> Result<T> {
        decode(&self.repeated(&request).await?.body)
    }

    /// A call that answers with a page of a list.
    async fn listing<T: DeserializeOwned>(
        &self,
        call: CallId,
        path: &[&str],
        query: &[Value],
    ) -> Result<Listing<T>> {
        let rows_name = call.call().rows().expect("the table describes the call as a list");
        let mut answer: Value = self.json(Request::to(call, path).query(query)).await?;
        let rows = answer.get_mut(rows_name).map(Value::take);
        let rows = rows.ok_or_else(|| Error::Protocol(format!("the answer has no {rows_name:?}")))?;
        let next_cursor = answer.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
        let rows = Vec::deserialize(rows)
            .map_err(|why| Error::Protocol(format!("{rows_name:?} of the answer cannot be read: {why}")))?;
        Ok(Listing { rows, next_cursor })
    }
}

/// The value of a variable that is set and not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The key in `TENURE_KEY`, or else in the file that `TENURE_KEY_FILE` names.
pub fn key_from_env() -> Result<Option<String>> {
    match (variable("TENURE_KEY"), variable("TENURE_KEY_FILE")) {
        (Some(key), _) => Ok(Some(key)),
        (None, Some(file)) => read_key(file.as_ref()).map(Some),
        (None, None) => Ok(None),
    }
}

/// The key in a file: its text without the space around it.
pub fn read_key(file: &Path) -> Result<String> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::Protocol(format!("cannot read the key file {shown}: {error}")))?;
    let key = text.trim();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(Error::Protocol(format!("the key file {shown} does not contain one key")));
    }
    Ok(key.to_owned())
}

/// A new id for one request.
pub(crate) fn fresh_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The results of a batch, one for each row, in order.
fn batch<T>(answer: ItemResults<T>, count: usize) -> Result<Vec<Result<T, Problem>>> {
    if answer.results.len() != count {
        return Err(Error::Protocol(format!("{} answers to a batch of {count}", answer.results.len())));
    }
    Ok(answer.results.into_iter().map(tenure_api::ItemResult::into_result).collect())
}

/// A path with the fields of these values as its query.
pub(crate) fn with_query(path: &str, parts: &[Value]) -> String {
    let fields = parts.iter().filter_map(Value::as_object).flatten();
    let pairs: Vec<String> = fields
        .filter_map(|(name, value)| match value {
            Value::Null => None,
            Value::String(text) => Some(format!("{name}={}", escape(text))),
            other => Some(format!("{name}={}", escape(&other.to_string()))),
        })
        .collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}
