//! How an attempt ends without a result. A handler returns it as a value; the lifecycle determines the transition.

use std::fmt::Display;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::text::{self, MESSAGE_BYTES_MAX, NAME_BYTES_MAX};
use crate::error::with_causes;
use crate::request::{Report, Verb};
use tenure_api::span;

/// Why a handler returns no result.
#[derive(Clone, Debug, PartialEq)]
pub struct Fail {
    verb: Verb,
    /// The error, for verbs that have one.
    error: Map<String, Value>,
    /// The other fields of the report.
    body: Map<String, Value>,
}

/// The part of the work in which an error occurred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Fetching inputs.
    Fetch,
    /// Parsing the payload.
    Input,
    /// Executing.
    Exec,
    /// Creating or storing the result.
    Output,
    /// Committing the result.
    Commit,
}

impl Fail {
    /// Another attempt may succeed. The code is short and stable; the message is free text.
    pub fn transient(code: impl Into<String>, message: impl Display) -> Self {
        Self::failing("transient", code, &message)
    }

    /// No attempt will succeed.
    pub fn permanent(code: impl Into<String>, message: impl Display) -> Self {
        Self::failing("permanent", code, &message)
    }

    /// The job should not be executed at all.
    pub fn reject(reason: impl Display) -> Self {
        let reason = text::truncate(&reason.to_string(), MESSAGE_BYTES_MAX);
        Self::of(Verb::Reject).with("reason", reason)
    }

    /// A part succeeded: add it with [`Fail::result`].
    pub fn partial(code: impl Into<String>, message: impl Display) -> Self {
        Self { verb: Verb::Partial, ..Self::failing("transient", code, &message) }
    }

    /// Releases the job; does not count as a failure.
    pub fn release() -> Self {
        Self::of(Verb::Release)
    }

    /// Confirms a soft cancel.
    pub fn cancelled() -> Self {
        Self::of(Verb::CancelConfirm)
    }

    /// Sets the part of the work in which the error occurred.
    #[must_use]
    pub fn stage(self, stage: Stage) -> Self {
        self.with_error("stage", stage)
    }

    /// Sets the reason for a dead letter, such as `policy_violation`.
    #[must_use]
    pub fn reason_code(self, reason: impl Into<String>) -> Self {
        self.with_error("reason_code", reason.into())
    }

    /// Adds details to the error; values that are not serializable are dropped.
    #[must_use]
    pub fn details(self, details: impl Serialize) -> Self {
        self.with_error("details", details)
    }

    /// Sets the delay before the next attempt, instead of the type's backoff.
    #[must_use]
    pub fn retry_after(self, delay: Duration) -> Self {
        self.with("retry_after", span::text(delay))
    }

    /// Sets the delay before a released job may be claimed again.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        self.with("delay", span::text(delay))
    }

    /// Keeps all jobs that use the same bucket of a resource waiting for this time, for example because the service behind it asked to:
    /// with failures and `release`.
    #[must_use]
    pub fn pause(self, resource: impl Into<String>, span: Duration) -> Self {
        self.with("pause", json!({ "resource": resource.into(), "for": span::text(span) }))
    }

    /// Sets the checkpoint for the next attempt: with `release` and `cancelled`.
    #[must_use]
    pub fn checkpoint(self, checkpoint: impl Serialize) -> Self {
        self.with("checkpoint", checkpoint)
    }

    /// Sets the partial result: with `partial` and `cancelled`.
    #[must_use]
    pub fn result(self, result: impl Serialize) -> Self {
        self.with("result", result)
    }

    pub(super) fn into_report(self, job: &str, fence: u64) -> Report {
        let mut report = Report { job: job.to_owned(), fence, verb: self.verb, body: self.body };
        if !self.error.is_empty() && matches!(self.verb, Verb::Fail | Verb::Partial) {
            report.body.insert("error".into(), Value::Object(self.error));
        }
        report
    }

    fn failing(class: &str, code: impl Into<String>, message: &dyn Display) -> Self {
        let code = text::truncate(&code.into(), NAME_BYTES_MAX);
        let code = if code.is_empty() { "ERROR".to_owned() } else { code };
        let message = text::truncate(&message.to_string(), MESSAGE_BYTES_MAX);
        Self::of(Verb::Fail)
            .with_error("code", code)
            .with_error("message", message)
            .with_error("class", class)
    }

    fn of(verb: Verb) -> Self {
        Self { verb, error: Map::new(), body: Map::new() }
    }

    fn with(mut self, field: &str, value: impl Serialize) -> Self {
        self.body.insert(field.into(), serde_json::to_value(value).unwrap_or_default());
        self
    }

    fn with_error(mut self, field: &str, value: impl Serialize) -> Self {
        self.error.insert(field.into(), serde_json::to_value(value).unwrap_or_default());
        self
    }
}

/// Any error is a transient failure of the stage `exec` with the code `ERROR`, so that `?` works in a handler. `Fail` is not an error itself,
/// because that would conflict with this implementation.
impl<E: std::error::Error> From<E> for Fail {
    fn from(error: E) -> Self {
        Self::transient("ERROR", with_causes(&error)).stage(Stage::Exec)
    }
}
