//! The client: a method for each call of the protocol, and two raw ones. It is cheap to clone; all clones share their
//! connections. What is safe to repeat is repeated for a moment when the server is away or overloaded.

mod assets;
mod jobs;
mod operators;
pub(crate) mod transport;
mod workers;

use std::sync::Arc;

use reqwest::{Method, Url};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Problem, Result};
use crate::wire::Listing;

pub use assets::{Content, Download};
pub(crate) use jobs::path as job_path;
pub use jobs::{Created, Enqueued};
use transport::{Ask, decode};
pub use workers::Reported;

/// Where a server listens if nothing else is said.
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
}

impl std::fmt::Debug for Inner {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("base", &self.base).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the server at this address, such as `http://127.0.0.1:7117`. Nothing is sent yet.
    pub fn new(url: &str) -> Result<Self> {
        let parsed =
            Url::parse(url).map_err(|why| Error::Protocol(format!("{url:?} is no address: {why}")))?;
        if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
            return Err(Error::Protocol(format!("{url:?} is no address: write http://host:port")));
        }
        let http = transport::connections(&parsed)?;
        let base = parsed.as_str().trim_end_matches('/').to_owned();
        Ok(Self { inner: Arc::new(Inner { base, key: None, http }) })
    }

    /// A client as the environment says: `TENURE_URL`, else [`DEFAULT_URL`], and `TENURE_KEY`.
    pub fn from_env() -> Result<Self> {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let client = Self::new(set("TENURE_URL").as_deref().unwrap_or(DEFAULT_URL))?;
        Ok(match set("TENURE_KEY") {
            Some(key) => client.with_key(key),
            None => client,
        })
    }

    /// The same client, calling with this key (or JWT).
    #[must_use]
    pub fn with_key(self, key: impl Into<String>) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        inner.key = Some(key.into());
        Self { inner: Arc::new(inner) }
    }

    /// The server's address, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.inner.base
    }

    /// The same client with connections of its own, for another runtime.
    pub(crate) fn apart(&self) -> Result<Self> {
        let parsed = Url::parse(&self.inner.base).expect("the address was read when the client was made");
        let inner = Inner { http: transport::connections(&parsed)?, ..Inner::clone(&self.inner) };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Any call: the answer's JSON, null if it has no body. A GET is repeated while the server cannot be reached;
    /// anything else only when the server said that it did not take it (503).
    pub async fn call(&self, method: Method, path_and_query: &str, body: Option<&Value>) -> Result<Value> {
        let mut ask = Ask::new(method, path_and_query);
        if let Some(body) = body {
            ask = ask.json(body)?;
        }
        self.json(ask).await
    }

    /// Like [`Client::call`], with an `Idempotency-Key`: the same key has one effect, so it is repeated like a GET.
    pub async fn call_keyed(&self, method: Method, path: &str, body: &Value, key: &str) -> Result<Value> {
        self.json(Ask::new(method, path).json(body)?.key(key.to_owned())).await
    }

    /// Like [`Client::call`], where only success matters: what the answer says is not read, and the server is told so.
    pub async fn send(&self, method: Method, path: &str, body: &impl Serialize) -> Result<()> {
        self.repeated(&Ask::new(method, path).json(body)?.minimal()).await.map(drop)
    }

    /// A GET whose answer is text: `/metrics`, a diagram.
    pub async fn text(&self, path_and_query: &str) -> Result<String> {
        let answer = self.repeated(&Ask::new(Method::GET, path_and_query)).await?;
        String::from_utf8(answer.body.into()).map_err(|_| Error::Protocol("the answer is no text".into()))
    }

    /// A GET.
    async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        self.json(Ask::new(Method::GET, path)).await
    }

    /// A POST that changes something, under a key of its own, so that it can be repeated.
    async fn post_json<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T> {
        self.json(Ask::new(Method::POST, path).json(body)?.key(fresh_id())).await
    }

    async fn json<T: DeserializeOwned>(&self, ask: Ask) -> Result<T> {
        decode(&self.repeated(&ask).await?.body)
    }

    /// A GET of a list, whose rows stand under a name of their own.
    async fn listing<T: DeserializeOwned>(&self, path: &str, plural: &str) -> Result<Listing<T>> {
        let mut answer: Value = self.get_json(path).await?;
        let rows = answer.get_mut(plural).map(Value::take);
        let rows = rows.ok_or_else(|| Error::Protocol(format!("the answer has no {plural:?}")))?;
        let next_cursor = answer.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
        let rows =
            Vec::deserialize(rows).map_err(|why| Error::Protocol(format!("{plural} not as told: {why}")))?;
        Ok(Listing { rows, next_cursor })
    }
}

/// A new name for one request.
pub(crate) fn fresh_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// The results of a batch, one for each row, in order.
fn batch<T: DeserializeOwned>(answer: Value, count: usize) -> Result<Vec<Result<T, Problem>>> {
    #[derive(Deserialize)]
    struct Results<T> {
        results: Vec<Row<T>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Row<T> {
        Ok(T),
        Error(Problem),
    }
    let Results { results } = Results::deserialize(answer)
        .map_err(|why| Error::Protocol(format!("the batch's answer is not as told: {why}")))?;
    if results.len() != count {
        return Err(Error::Protocol(format!("{} answers to a batch of {count}", results.len())));
    }
    let plain = |row| match row {
        Row::Ok(row) => Ok(row),
        Row::Error(problem) => Err(problem),
    };
    Ok(results.into_iter().map(plain).collect())
}

/// A path with the fields of these values as its query.
pub(crate) fn with_query(path: &str, parts: &[Value]) -> String {
    let fields = parts.iter().filter_map(Value::as_object).flatten();
    let pairs: Vec<String> = fields
        .filter_map(|(name, value)| match value {
            Value::Null => None,
            Value::String(text) => Some(format!("{name}={}", escaped(text))),
            other => Some(format!("{name}={}", escaped(&other.to_string()))),
        })
        .collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

/// A text as one segment of a path, or as one value of a query.
fn escaped(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::with_capacity(text.len()), |mut written, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            written.push(char::from(byte));
        } else {
            write!(written, "%{byte:02X}").expect("writing to a string does not fail");
        }
        written
    })
}
