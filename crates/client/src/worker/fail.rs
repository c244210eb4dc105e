//! How an attempt ends other than well. Which end it is is a value that the handler returns; what the lifecycle makes
//! of it is not the handler's business.

use std::fmt::Display;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::text::{self, MESSAGE_BYTES_MAX, NAME_BYTES_MAX};
use crate::request::{Report, Verb};
use crate::wire::span;

/// Why a handler has no result.
#[derive(Clone, Debug, PartialEq)]
pub struct Fail {
    verb: Verb,
    /// Code, message and the rest of the error, where the verb has one.
    error: Map<String, Value>,
    /// What else goes with the verb.
    body: Map<String, Value>,
}

/// Where in the work an error arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Getting what the work needs from elsewhere.
    Fetch,
    /// Understanding the payload.
    Input,
    /// The work itself.
    Exec,
    /// Making or storing the result.
    Output,
    /// Making the result count.
    Commit,
}

impl Fail {
    /// Another attempt may help. The code is short and stable, the message is for people.
    pub fn transient(code: impl Into<String>, message: impl Display) -> Self {
        Self::failing("transient", code, &message)
    }

    /// No attempt will help.
    pub fn permanent(code: impl Into<String>, message: impl Display) -> Self {
        Self::failing("permanent", code, &message)
    }

    /// The job should not be done at all.
    pub fn reject(reason: impl Display) -> Self {
        let reason = text::cut(&reason.to_string(), MESSAGE_BYTES_MAX);
        Self::of(Verb::Reject).with("reason", json!(reason))
    }

    /// A part of it worked: give it with [`Fail::result`].
    pub fn partial(code: impl Into<String>, message: impl Display) -> Self {
        Self { verb: Verb::Partial, ..Self::failing("transient", code, &message) }
    }

    /// Gives the job back; this counts as no failure.
    pub fn release() -> Self {
        Self::of(Verb::Release)
    }

    /// Confirms a soft cancel.
    pub fn cancelled() -> Self {
        Self::of(Verb::CancelConfirm)
    }

    /// Where in the work it went wrong.
    #[must_use]
    pub fn stage(self, stage: Stage) -> Self {
        self.with_error("stage", json!(stage))
    }

    /// The reason of the dead letter, if there will be one, such as `policy_violation`.
    #[must_use]
    pub fn reason_code(self, reason: impl Into<String>) -> Self {
        self.with_error("reason_code", json!(reason.into()))
    }

    /// Anything else about the error. What cannot be written as JSON is left out.
    #[must_use]
    pub fn details(self, details: impl Serialize) -> Self {
        let details = serde_json::to_value(details).unwrap_or_default();
        self.with_error("details", details)
    }

    /// When the next attempt may begin, instead of the type's backoff.
    #[must_use]
    pub fn retry_after(self, delay: Duration) -> Self {
        self.with("retry_after", json!(span::text(delay)))
    }

    /// When a released job may be claimed again.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        self.with("delay", json!(span::text(delay)))
    }

    /// Where the next attempt may go on: with `release` and `cancelled`.
    #[must_use]
    pub fn checkpoint(self, checkpoint: impl Serialize) -> Self {
        let checkpoint = serde_json::to_value(checkpoint).unwrap_or_default();
        self.with("checkpoint", checkpoint)
    }

    /// What there is of a result: with `partial` and `cancelled`.
    #[must_use]
    pub fn result(self, result: impl Serialize) -> Self {
        let result = serde_json::to_value(result).unwrap_or_default();
        self.with("result", result)
    }

    /// As it is told to the server.
    pub(super) fn into_report(self, job: &str, fence: u64) -> Report {
        let mut report = Report { job: job.to_owned(), fence, verb: self.verb, body: self.body };
        if !self.error.is_empty() && matches!(self.verb, Verb::Fail | Verb::Partial) {
            report.body.insert("error".into(), Value::Object(self.error));
        }
        report
    }

    fn failing(class: &str, code: impl Into<String>, message: &dyn Display) -> Self {
        let code = text::cut(&code.into(), NAME_BYTES_MAX);
        let code = if code.is_empty() { "ERROR".to_owned() } else { code };
        let message = text::cut(&message.to_string(), MESSAGE_BYTES_MAX);
        Self::of(Verb::Fail)
            .with_error("code", json!(code))
            .with_error("message", json!(message))
            .with_error("class", json!(class))
    }

    fn of(verb: Verb) -> Self {
        Self { verb, error: Map::new(), body: Map::new() }
    }

    fn with(mut self, field: &str, value: Value) -> Self {
        self.body.insert(field.into(), value);
        self
    }

    fn with_error(mut self, field: &str, value: Value) -> Self {
        self.error.insert(field.into(), value);
        self
    }
}

/// Any error is a transient failure with the code `ERROR`, so that `?` works in a handler. To be an error itself would
/// forbid that.
impl<E: std::error::Error> From<E> for Fail {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        Self::transient("ERROR", message)
    }
}
