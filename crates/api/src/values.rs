//! Values that many types share: schemas, and the words of the protocol.

use serde::{Deserialize, Serialize};

use crate::schema::Schema::{self, Json, Nullable, Ref, Text};

pub(crate) const MAYBE_TEXT: Schema = Nullable(&Text);
pub(crate) const MAYBE_TIME: Schema = Nullable(&Ref("Timestamp"));
/// A job's attempts.
pub(crate) const ATTEMPTS: Schema = Json(r#"{"type":"integer","minimum":1,"maximum":1000}"#);
/// A job's priority.
pub(crate) const PRIORITY: Schema = Json(r#"{"type":"integer","minimum":-1000000,"maximum":1000000}"#);
/// Progress in percent.
pub(crate) const PERCENT: Schema = Json(r#"{"type":"number","minimum":0,"maximum":100}"#);
/// Of a W3C trace context.
pub(crate) const TRACE_ID: Schema = Json(r#"{"type":"string","pattern":"^[0-9a-f]{32}$"}"#);
/// A W3C trace context.
pub(crate) const TRACEPARENT: Schema =
    Json(r#"{"type":"string","pattern":"^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"}"#);
/// A job's id as callers may write it.
pub(crate) const ANY_UUID: Schema = Json(
    r#"{"type":"string","format":"uuid","pattern":"^[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$"}"#,
);

words! {
    /// How a job is cancelled.
    pub enum CancelMode {
        /// The worker is asked to stop, may save a checkpoint, and confirms.
        Soft = "soft",
        /// The job is cancelled now and its lease revoked.
        Hard = "hard",
    }

    /// What a worker reports about a job that it holds.
    pub enum Verb {
        Start = "start",
        Heartbeat = "heartbeat",
        Progress = "progress",
        Succeed = "succeed",
        Partial = "partial",
        Fail = "fail",
        Reject = "reject",
        Release = "release",
        CancelConfirm = "cancel-confirm",
    }
}

#[allow(clippy::derivable_impls, reason = "the macro that declares it does not mark a default")]
impl Default for CancelMode {
    fn default() -> Self {
        Self::Soft
    }
}

/// A member of a report, and whether its verb requires it.
pub type Member = (&'static str, bool);

impl Verb {
    /// The members that a report with this verb can have, besides job, worker and fence.
    pub const fn members(self) -> &'static [Member] {
        match self {
            Self::Start | Self::Heartbeat => &[],
            Self::Progress => &[("progress", true), ("message", false)],
            Self::Succeed | Self::Partial => &[("result", false), ("error", false)],
            Self::Fail => &[("error", true), ("retry_after", false), ("pause", false)],
            Self::Reject => &[("reason", true)],
            Self::Release => &[("checkpoint", false), ("delay", false), ("pause", false)],
            Self::CancelConfirm => &[("checkpoint", false), ("result", false)],
        }
    }

    /// The verb with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|verb| verb.as_str() == name)
    }
}
