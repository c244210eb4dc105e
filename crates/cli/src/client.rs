//! Calls to the server, their answers, and the exit code of each error.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Deref;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tenure_api::{CallId, Problem};
use tenure_client::{Client, Error};
use tenure_core::json::quote_unreadable_numbers;

use crate::args::ServerArgs;
use crate::output::{CliError, Exit};

/// The most rows that the server returns at a time.
pub(crate) const PAGE_ROWS_MAX: usize = 500;

/// The server that the command line names.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) client: Client,
}

/// An answer of the server: its JSON as it was sent, and what this program reads of it.
pub(crate) struct Answer<T> {
    pub(crate) raw: Box<RawValue>,
    value: T,
}

impl<T: DeserializeOwned> Answer<T> {
    /// Reads JSON. Stores of earlier versions contain numbers that are too large to be read: they are read as text.
    pub(crate) fn new(raw: Box<RawValue>) -> Result<Self> {
        let value = serde_json::from_str(raw.get())
            .or_else(|_| serde_json::from_str(&quote_unreadable_numbers(raw.get())))
            .context("the server sent an unexpected answer")?;
        Ok(Self { raw, value })
    }
}

impl<T> Answer<T> {
    pub(crate) fn into_inner(self) -> T {
        self.value
    }

    pub(crate) fn map<U>(self, map: impl FnOnce(T) -> U) -> Answer<U> {
        Answer { raw: self.raw, value: map(self.value) }
    }
}

impl<T> Deref for Answer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// Rows of a list, and the cursor at which it continues.
pub(crate) struct Page<T> {
    pub(crate) raw: Box<RawValue>,
    pub(crate) rows: Vec<Answer<T>>,
    pub(crate) next_cursor: Option<String>,
}

impl<T: DeserializeOwned> Page<T> {
    pub(crate) fn new(call: CallId, raw: Box<RawValue>) -> Result<Self> {
        let fields: Answer<BTreeMap<String, Box<RawValue>>> = Answer::new(raw)?;
        let text = |name: &str| fields.get(name).map_or("null", |raw| raw.get());
        let rows: Option<Vec<Box<RawValue>>> = serde_json::from_str(text(rows_field(call)))?;
        let rows = rows.into_iter().flatten().map(Answer::new).collect::<Result<_>>()?;
        Ok(Self { rows, next_cursor: serde_json::from_str(text("next_cursor"))?, raw: fields.raw })
    }

    /// Joins rows of several pages into one.
    pub(crate) fn join(call: CallId, rows: Vec<Answer<T>>, next_cursor: Option<String>) -> Result<Self> {
        let raw_rows: Vec<&RawValue> = rows.iter().map(|row| &*row.raw).collect();
        let fields =
            [(rows_field(call), to_raw_value(&raw_rows)?), ("next_cursor", to_raw_value(&next_cursor)?)];
        Ok(Self { raw: to_raw_value(&BTreeMap::from(fields))?, rows, next_cursor })
    }

    pub(crate) fn map<U>(self, map: impl Fn(T) -> U) -> Page<U> {
        let rows = self.rows.into_iter().map(|row| row.map(&map)).collect();
        Page { raw: self.raw, rows, next_cursor: self.next_cursor }
    }

    pub(crate) fn into_rows(self) -> impl Iterator<Item = T> {
        self.rows.into_iter().map(Answer::into_inner)
    }
}

/// The field of a list that has its rows.
fn rows_field(call: CallId) -> &'static str {
    call.call().rows().expect("the call returns a list")
}

impl ServerArgs {
    /// The key: of the flags, or else of the environment.
    pub(crate) fn key(&self) -> Result<Option<String>> {
        if let Some(key) = &self.key {
            return Ok(Some(key.clone()).filter(|key| !key.is_empty()));
        }
        let unreadable = |error: Error| {
            CliError::new(Exit::Usage, error.to_string()).help("write the key, and nothing else, to the file")
        };
        let key = match &self.key_file {
            Some(file) => tenure_client::read_key(file).map(Some),
            None => tenure_client::key_from_env(),
        };
        Ok(key.map_err(unreadable)?)
    }
}

impl Server {
    pub(crate) fn new(args: &ServerArgs) -> Result<Self> {
        let key = args.key()?;
        let client = connect(&args.server, key.as_deref()).map_err(|error| {
            CliError::new(Exit::Usage, error.to_string())
                .help("set the address with --server http://HOST:PORT or TENURE_URL")
        })?;
        Ok(Self { client })
    }

    /// A call without a body.
    pub(crate) async fn get<T: DeserializeOwned>(&self, call: CallId, path: &[&str]) -> Result<Answer<T>> {
        self.get_with(call, path, &Value::Null).await
    }

    /// A call without a body. Fields of the query that are null are omitted.
    pub(crate) async fn get_with<T: DeserializeOwned>(
        &self,
        call: CallId,
        path: &[&str],
        query: &Value,
    ) -> Result<Answer<T>> {
        Answer::new(self.client.call_raw(call, path, query, None, None).await?)
    }

    /// A call with a new idempotency key, so that it can be repeated if its answer is lost.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        call: CallId,
        path: &[&str],
        body: &Value,
    ) -> Result<Answer<T>> {
        let key = Some(fresh_key());
        Answer::new(self.client.call_raw(call, path, &Value::Null, Some(body), key).await?)
    }

    /// A call that is never repeated, because a second answer would lack the secret.
    pub(crate) async fn create_secret<T>(
        &self,
        call: CallId,
        path: &[&str],
        body: &Value,
    ) -> Result<Answer<T>>
    where
        T: DeserializeOwned,
    {
        Answer::new(self.client.call_raw(call, path, &Value::Null, Some(body), None).await?)
    }

    /// One page of a list. Fields of the query that are null are omitted.
    pub(crate) async fn page<T: DeserializeOwned>(
        &self,
        call: CallId,
        path: &[&str],
        query: &Value,
    ) -> Result<Page<T>> {
        Page::new(call, self.client.call_raw(call, path, query, None, None).await?)
    }

    /// All pages of a list whose pages end early if they have many bytes.
    pub(crate) async fn pages<T: DeserializeOwned>(
        &self,
        call: CallId,
        path: &[&str],
        mut query: Value,
    ) -> Result<Page<T>> {
        let mut list = self.page(call, path, &query).await?;
        while let Some(cursor) = list.next_cursor.take() {
            query["cursor"] = json!(cursor);
            let next: Page<T> = self.page(call, path, &query).await?;
            list.rows.extend(next.rows);
            list = Page::join(call, list.rows, next.next_cursor)?;
        }
        Ok(list)
    }

    /// Up to `limit` rows of a list, as one page.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        call: CallId,
        path: &[&str],
        mut query: Value,
        limit: usize,
    ) -> Result<Page<T>> {
        query["limit"] = json!(limit.clamp(1, PAGE_ROWS_MAX));
        let mut list = self.page(call, path, &query).await?;
        while let Some(cursor) = list.next_cursor.take_if(|_| list.rows.len() < limit) {
            query["limit"] = json!((limit - list.rows.len()).clamp(1, PAGE_ROWS_MAX));
            query["cursor"] = json!(cursor);
            let next: Page<T> = self.page(call, path, &query).await?;
            list.rows.extend(next.rows);
            list = Page::join(call, list.rows, next.next_cursor)?;
        }
        Ok(list)
    }
}

/// A client with its own connection pool.
pub(crate) fn connect(url: &str, key: Option<&str>) -> tenure_client::Result<Client> {
    let client = Client::new(url)?;
    Ok(match key {
        Some(key) => client.with_key(key),
        None => client,
    })
}

/// A unique idempotency key: each state of the standard hasher has a random seed.
pub(crate) fn fresh_key() -> String {
    let (left, right) = (RandomState::new().hash_one(0), RandomState::new().hash_one(1));
    format!("cli-{}-{left:016x}{right:016x}", std::process::id())
}

/// The exit code, message and help for an error.
pub(crate) fn cli_error(error: &anyhow::Error) -> CliError {
    if let Some(error) = error.downcast_ref::<CliError>() {
        return error.clone();
    }
    match error.downcast_ref::<Error>() {
        Some(error @ Error::Unreachable(_)) => CliError::new(Exit::Unreachable, error.to_string())
            .help("start a server with `tenure serve`, or set another address with --server or TENURE_URL"),
        Some(Error::Refused(problem)) => refusal(problem),
        Some(Error::Protocol(_) | Error::TimedOut(_)) | None => {
            CliError::new(Exit::Failed, format!("{error:#}"))
        }
    }
}

/// Fields that only some problems have.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ProblemFields {
    errors: Vec<PayloadFlaw>,
    allowed: Vec<String>,
}

/// One place in a payload that does not match its schema.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PayloadFlaw {
    pointer: String,
    detail: String,
}

/// The error for a problem.
pub(crate) fn refusal(problem: &Problem) -> CliError {
    let exit = match (problem.status, problem.code()) {
        (401 | 403 | 421, _) => Exit::NotAllowed,
        (404, _) => Exit::NotFound,
        (402 | 409 | 412 | 429, _) | (_, "idempotency_mismatch") => Exit::Refused,
        (400 | 413 | 415 | 422, _) => Exit::Invalid,
        (503, _) => Exit::Unreachable,
        _ => Exit::Failed,
    };
    let more: ProblemFields =
        serde_json::from_value(Value::Object(problem.extra.clone())).unwrap_or_default();
    let mut message = problem.to_string();
    for flaw in &more.errors {
        // A single flaw is often the whole detail already.
        if !message.contains(&flaw.detail) || !message.contains(&flaw.pointer) {
            message = format!("{message}\n  {}: {}", flaw.pointer, flaw.detail);
        }
    }
    let error = CliError::new(exit, message);
    match problem.code() {
        "unauthenticated" => error.help("pass a key with --key-file, --key or TENURE_KEY"),
        "invalid_transition" if !more.allowed.is_empty() => {
            error.help(format!("possible now: {}", more.allowed.join(", ")))
        }
        "unknown_type" => error.help("list the declared types with `tenure config`"),
        "insufficient_credits" => {
            error.help("grant credits with `tenure account grant USER CREDITS --reason TEXT`")
        }
        _ => error,
    }
}
