//! The query language for jobs, which the API (`?q=`), the dashboard, the command line and `tenure top` share:
//! `type:image error:TIMEOUT user:ada payload.order:42 state:failed,dead since:2h`.
//!
//! A query has terms `key:value`, and every term must match. Commas separate alternatives, and quotes keep spaces, commas and
//! colons: `error:"no answer"`. The part that stores can filter by becomes a [`JobFilter`]; the rest is checked for each job.

use serde_json::Value;

use crate::id::JobId;
use crate::job::Job;
use crate::query::JobFilter;
use crate::time::{Millis, Timestamp};

/// Bytes of a query.
pub const QUERY_BYTES_MAX: usize = 1000;
/// Terms of a query, and alternatives of a term.
const TERMS_MAX: usize = 20;

/// Keys of the language, for messages and suggestions. `payload.NAME` is another.
pub const KEYS: [&str; 13] = [
    "state",
    "type",
    "queue",
    "user",
    "worker",
    "lifecycle",
    "outcome",
    "phase",
    "error",
    "correlation",
    "retry_of",
    "since",
    "until",
];

/// Other names of keys: the filters of the API, and the flags of the command line.
const ALIASES: [(&str, &str); 6] = [
    ("user_id", "user"),
    ("correlation_id", "correlation"),
    ("correlation-id", "correlation"),
    ("retry-of", "retry_of"),
    ("created_after", "since"),
    ("created_before", "until"),
];

/// A parsed query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobQuery {
    /// The part that stores can filter by.
    pub filter: JobFilter,
    rest: Vec<Term>,
}

/// A condition that is checked for each job.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    what: What,
    /// One of these.
    values: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// A state, an outcome or a phase.
    State,
    Outcome,
    Phase,
    Type,
    Queue,
    User,
    Worker,
    Lifecycle,
    Error,
    /// Members of objects, from the payload on.
    Payload(Vec<String>),
}

impl JobQuery {
    /// Parses a query; `now` is what durations are counted back from. The error says what is wrong and what is possible.
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, String> {
        if text.len() > QUERY_BYTES_MAX {
            return Err(format!("a query has at most {QUERY_BYTES_MAX} bytes"));
        }
        let mut query = Self::default();
        let mut seen: Vec<String> = Vec::new();
        for (key, values) in terms(text)? {
            if seen.contains(&key) {
                return Err(format!("`{key}` is given twice: separate alternatives by commas"));
            }
            query.add(&key, values, now)?;
            seen.push(key);
        }
        Ok(query)
    }

    fn add(&mut self, key: &str, mut values: Vec<String>, now: Timestamp) -> Result<(), String> {
        let lower = key.to_ascii_lowercase();
        let known =
            ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(lower.as_str(), |(_, known)| known);
        if let [only] = values.as_slice()
            && self.filter_by(known, key, only, now)?
        {
            return Ok(());
        }
        let what = match known {
            "correlation" | "retry_of" | "since" | "until" => return Err(format!("`{key}` has one value")),
            "state" => What::State,
            "outcome" => What::Outcome,
            "phase" => What::Phase,
            "type" => What::Type,
            "queue" => What::Queue,
            "user" => What::User,
            "worker" => What::Worker,
            "lifecycle" => What::Lifecycle,
            "error" => What::Error,
            _ => What::Payload(payload_path(key)?),
        };
        if what == What::Error {
            values = values.into_iter().map(|value| value.to_ascii_lowercase()).collect();
        }
        self.rest.push(Term { what, values });
        Ok(())
    }

    /// Sets the field of the filter that a key stands for; `false` if there is none.
    fn filter_by(&mut self, known: &str, key: &str, value: &str, now: Timestamp) -> Result<bool, String> {
        let filter = &mut self.filter;
        match known {
            "type" => filter.job_type = Some(value.into()),
            "queue" => filter.queue = Some(value.into()),
            "user" => filter.user_id = Some(value.into()),
            "worker" => filter.worker = Some(value.into()),
            "lifecycle" => filter.lifecycle = Some(value.into()),
            "correlation" => filter.correlation_id = Some(value.into()),
            "retry_of" => set(&mut filter.retry_of, job_id(value), key, "a job's id")?,
            "since" => set(&mut filter.created_after, time(value, now), key, TIME)?,
            "until" => set(&mut filter.created_before, time(value, now), key, TIME)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether a store finds exactly the matching jobs by the filter.
    pub fn is_exact(&self) -> bool {
        self.rest.is_empty()
    }

    /// The values of `state:`: states, outcomes or phases.
    pub fn states(&self) -> &[String] {
        let state = self.rest.iter().find(|term| term.what == What::State);
        state.map_or(&[], |state| &state.values)
    }

    /// Replaces values of `state:`, such as old names of states. `None` stays.
    pub fn rename_states(&mut self, rename: impl Fn(&str) -> Option<String>) {
        for value in
            self.rest.iter_mut().filter(|term| term.what == What::State).flat_map(|it| &mut it.values)
        {
            if let Some(name) = rename(value) {
                *value = name;
            }
        }
    }

    /// Only jobs that the filter admits, too.
    pub fn and(self, filter: JobFilter) -> Option<Self> {
        Some(Self { filter: self.filter.and(filter)?, rest: self.rest })
    }

    /// Whether a job that the filter admits matches the rest of the query.
    pub fn admits(&self, job: &Job) -> bool {
        self.rest.iter().all(|term| term.admits(job))
    }
}

const TIME: &str = "a duration (2h) or an RFC 3339 time";

fn set<T>(field: &mut Option<T>, value: Option<T>, key: &str, expected: &str) -> Result<(), String> {
    *field = Some(value.ok_or_else(|| format!("`{key}` must be {expected}"))?);
    Ok(())
}

fn job_id(text: &str) -> Option<JobId> {
    uuid::Uuid::try_parse(text).ok().filter(|_| text.len() == 36).map(JobId)
}

/// An RFC 3339 time, or a duration before `now`.
pub fn time(text: &str, now: Timestamp) -> Option<Timestamp> {
    let ago = |Millis(ms): Millis| Timestamp(now.0.saturating_sub_unsigned(ms).max(0));
    Timestamp::parse(text).or_else(|| Millis::parse(text).map(ago))
}

fn payload_path(key: &str) -> Result<Vec<String>, String> {
    let path = key.strip_prefix("payload.").filter(|path| path.split('.').all(|name| !name.is_empty()));
    let unknown = || format!("`{key}` is not a key of the query; use {} or payload.NAME", KEYS.join(", "));
    Ok(path.ok_or_else(unknown)?.split('.').map(str::to_owned).collect())
}

impl Term {
    fn admits(&self, job: &Job) -> bool {
        let has = |text: &str| self.values.iter().any(|value| value == text);
        let outcome = || job.phase.outcome().is_some_and(|outcome| has(outcome.as_str()));
        let spec = &job.spec;
        match &self.what {
            What::State => has(job.state.as_str()) || outcome() || has(job.phase.as_str()),
            What::Outcome => outcome(),
            What::Phase => has(job.phase.as_str()),
            What::Type => has(spec.job_type.as_str()),
            What::Queue => has(spec.queue.as_str()),
            What::User => spec.user_id.as_ref().is_some_and(|user| has(user.as_str())),
            What::Worker => job.worker().is_some_and(|worker| has(worker.as_str())),
            What::Lifecycle => has(spec.lifecycle.name.as_str()),
            What::Error => {
                let code = job.output.error.as_ref().map(|error| error.code.to_ascii_lowercase());
                code.is_some_and(|code| has(&code))
            }
            What::Payload(path) => self.matches_payload(job, path),
        }
    }

    fn matches_payload(&self, job: &Job, path: &[String]) -> bool {
        let Ok(payload) = job.payload().to_value() else { return false };
        let found = path.iter().try_fold(&payload, |value, name| match value {
            Value::Array(items) => items.get(name.parse::<usize>().ok()?),
            other => other.get(name),
        });
        let has = |text: &str| self.values.iter().any(|value| value == text);
        match found {
            Some(Value::String(text)) => has(text),
            Some(scalar @ (Value::Number(_) | Value::Bool(_) | Value::Null)) => has(&scalar.to_string()),
            Some(Value::Array(_) | Value::Object(_)) | None => false,
        }
    }
}

/// Splits a text into the terms of a query and plain words.
pub fn split_words(text: &str) -> (String, Vec<String>) {
    let (mut tokens, mut is_quoted) = (vec![String::new()], false);
    for character in text.chars() {
        is_quoted ^= character == '"';
        if character.is_whitespace() && !is_quoted {
            tokens.push(String::new());
        } else if let Some(token) = tokens.last_mut() {
            token.push(character);
        }
    }
    let (terms, words): (Vec<_>, Vec<_>) = tokens.into_iter().partition(|token| token.contains(':'));
    (terms.join(" "), words.into_iter().filter(|word| !word.is_empty()).collect())
}

impl From<JobFilter> for JobQuery {
    fn from(filter: JobFilter) -> Self {
        Self { filter, rest: Vec::new() }
    }
}

/// The keys and values of a text.
fn terms(text: &str) -> Result<Vec<(String, Vec<String>)>, String> {
    let mut terms = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == ':' || c.is_whitespace()).unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let Some(after) = after.strip_prefix(':').filter(|_| !key.is_empty()) else {
            return Err(format!("`{key}` has no value: write it like state:failed"));
        };
        let (values, after) = values(after)?;
        if values.is_empty() || values.len() > TERMS_MAX {
            return Err(format!("`{key}` must have 1 to {TERMS_MAX} values"));
        }
        terms.push((key.to_owned(), values));
        if terms.len() > TERMS_MAX {
            return Err(format!("a query has at most {TERMS_MAX} terms"));
        }
        rest = after.trim_start();
    }
    Ok(terms)
}

/// Values up to the next space, and the text after it.
fn values(text: &str) -> Result<(Vec<String>, &str), String> {
    let (mut values, mut rest) = (Vec::new(), text);
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = quoted.find('"').ok_or("a quotation mark has no end")?;
            values.push(quoted[..end].to_owned());
            rest = &quoted[end + 1..];
        } else {
            let end = rest.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(rest.len());
            values.extend(Some(rest[..end].to_owned()).filter(|value| !value.is_empty()));
            rest = &rest[end..];
        }
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None if rest.is_empty() || rest.starts_with(char::is_whitespace) => return Ok((values, rest)),
            None => return Err("a space or a comma is missing after a quotation mark".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
