//! The way to the server: connecting, asking, and what a refusal means for the exit code.

use std::hash::{BuildHasher as _, RandomState};

use anyhow::Result;
use serde_json::{Map, Value, json};
use tenure_client::{Client, Error, Method, Problem};

use crate::args;
use crate::output::{Exit, Trouble};

/// The server that the command line names.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// For calls that have a type, streams and the worker.
    pub(crate) client: Client,
}

impl Server {
    /// Nothing is sent yet.
    pub(crate) fn new(args: &args::Server) -> Result<Self> {
        let client = Client::new(&args.server).map_err(|error| {
            Trouble::new(Exit::Usage, error.to_string())
                .help("say --server http://HOST:PORT, or set TENURE_URL")
        })?;
        let key = args.key.as_ref().filter(|key| !key.is_empty());
        Ok(Self { client: key.map_or(client.clone(), |key| client.with_key(key)) })
    }

    /// A GET, as the API answers it.
    pub(crate) async fn get(&self, path: &str, query: &Query) -> Result<Value> {
        Ok(self.client.call(Method::GET, &query.after(path), None).await?)
    }

    /// A POST that changes something, under a key of its own, so that it can be repeated if its answer is lost.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        Ok(self.client.call_keyed(Method::POST, path, body, &fresh_key()).await?)
    }

    /// Up to `limit` rows of a list, over as many pages as it takes, as if it had been one page.
    pub(crate) async fn list(&self, path: &str, plural: &str, query: &Query, limit: usize) -> Result<Value> {
        const PAGE_ROWS_MAX: usize = 500;
        let (mut rows, mut query) = (Vec::new(), query.clone());
        loop {
            let missing = limit.saturating_sub(rows.len());
            query.set("limit", missing.clamp(1, PAGE_ROWS_MAX));
            let mut page = self.get(path, &query).await?;
            if let Some(Value::Array(more)) = page.get_mut(plural).map(Value::take) {
                rows.extend(more);
            }
            let next = page["next_cursor"].as_str().map(str::to_owned);
            match next {
                Some(next) if rows.len() < limit => query.set("cursor", next),
                next => return Ok(json!({ plural: rows, "next_cursor": next })),
            }
        }
    }
}

/// A value as a query says it.
pub(crate) struct Said(String);

impl<T: std::fmt::Display> From<T> for Said {
    fn from(value: T) -> Self {
        Self(value.to_string())
    }
}

/// What stands after the question mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Says it, or says it anew.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<Said>) {
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value.into().0));
    }

    /// Says it if there is something to say.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: Option<impl Into<Said>>) -> Self {
        if let Some(value) = value {
            self.set(name, value);
        }
        self
    }

    /// What is said under this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
    }

    /// The same as an object, for filters in bodies.
    pub(crate) fn object(&self) -> Value {
        self.0.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect::<Map<_, _>>().into()
    }

    fn after(&self, path: &str) -> String {
        if self.0.is_empty() {
            return path.to_owned();
        }
        let pairs: Vec<String> =
            self.0.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect();
        format!("{path}?{}", pairs.join("&"))
    }
}

/// A path below a job.
pub(crate) fn job_path(job: &str, rest: &str) -> String {
    format!("/api/jobs/{}{rest}", escaped(job))
}

/// A text as one segment of a path, or as one value of a query.
pub(crate) fn escaped(text: &str) -> String {
    let one = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(one).collect()
}

/// A name that no other request has: each state of the standard hasher is seeded by chance.
pub(crate) fn fresh_key() -> String {
    let (left, right) = (RandomState::new().hash_one(0), RandomState::new().hash_one(1));
    format!("cli-{}-{left:016x}{right:016x}", std::process::id())
}

/// What an error means: the exit code, one sentence, and help where there is something to do.
pub(crate) fn trouble(error: &anyhow::Error) -> Trouble {
    if let Some(trouble) = error.downcast_ref::<Trouble>() {
        return trouble.clone();
    }
    match error.downcast_ref::<Error>() {
        Some(error @ Error::Unreachable(_)) => Trouble::new(Exit::Unreachable, error.to_string())
            .help("start one with `tenure serve`, or name another with --server or TENURE_URL"),
        Some(Error::Refused(problem)) => refused(problem),
        Some(Error::Protocol(_)) | None => Trouble::new(Exit::Failed, format!("{error:#}")),
    }
}

fn refused(problem: &Problem) -> Trouble {
    let exit = match (problem.status, problem.code()) {
        (401 | 403 | 421, _) => Exit::NotAllowed,
        (404, _) => Exit::NotFound,
        (402 | 409 | 429, _) | (_, "idempotency_mismatch") => Exit::Refused,
        (400 | 413 | 415 | 422, _) => Exit::Flawed,
        (503, _) => Exit::Unreachable,
        _ => Exit::Failed,
    };
    let mut sentence = problem.to_string();
    for flaw in problem.extra.get("errors").and_then(Value::as_array).into_iter().flatten() {
        let (at, what) = (flaw["pointer"].as_str(), flaw["detail"].as_str());
        let (at, what) = (at.unwrap_or_default(), what.unwrap_or_default());
        // The one flaw is often the whole detail already.
        if !sentence.contains(what) || !sentence.contains(at) {
            sentence = format!("{sentence}\n  {at}: {what}");
        }
    }
    let trouble = Trouble::new(exit, sentence);
    match problem.code() {
        "unauthenticated" => trouble.help("give a key with --key or TENURE_KEY"),
        "invalid_transition" => {
            let allowed = problem.extra.get("allowed").and_then(Value::as_array);
            let allowed: Vec<_> = allowed.into_iter().flatten().filter_map(Value::as_str).collect();
            if allowed.is_empty() {
                trouble
            } else {
                trouble.help(format!("possible now: {}", allowed.join(", ")))
            }
        }
        "unknown_type" => trouble.help("`tenure config` shows the types that are declared"),
        "insufficient_credits" => {
            trouble.help("grant some with `tenure account grant USER CREDITS --reason TEXT`")
        }
        _ => trouble,
    }
}
