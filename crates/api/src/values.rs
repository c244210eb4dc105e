//! Values that many types share: ids, names, times, cursors, and the words of the protocol.

use serde::{Deserialize, Serialize};

use crate::schema::Schema::{self, AnyOf, Json, OneOf, Ref};
use crate::schema::{Field, Object};

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
            Self::Fail => &[("error", true), ("retry_after", false)],
            Self::Reject => &[("reason", true)],
            Self::Release => &[("checkpoint", false), ("delay", false)],
            Self::CancelConfirm => &[("checkpoint", false), ("result", false)],
        }
    }

    /// The verb with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|verb| verb.as_str() == name)
    }
}

/// A named schema that is no struct.
#[derive(Clone, Copy, Debug)]
pub struct NamedSchema {
    /// Its name in `components`.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// The schema.
    pub schema: Schema,
}

const fn named(name: &'static str, about: &'static str, schema: Schema) -> NamedSchema {
    NamedSchema { name, about, schema }
}

/// Every named schema that is no struct.
pub const NAMED: &[NamedSchema] = &[
    named(
        "JobId",
        "A job's id: a version-7 UUID, so ids sort by creation.",
        Json(
            r#"{"type":"string","format":"uuid","pattern":"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$","examples":["019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00"]}"#,
        ),
    ),
    named(
        "Name",
        "1 to 255 bytes in UTF-8, without control characters.",
        Json(
            r#"{"type":"string","minLength":1,"maxLength":255,"pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]+$"}"#,
        ),
    ),
    named(
        "Message",
        "Text for people: at most 16 KiB in UTF-8.",
        Json(r#"{"type":"string","maxLength":16384}"#),
    ),
    named(
        "Timestamp",
        "RFC 3339 in UTC with milliseconds.",
        Json(
            r#"{"type":"string","format":"date-time","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$","examples":["2026-11-16T03:31:45.123Z"]}"#,
        ),
    ),
    named(
        "TimestampGiven",
        "RFC 3339 with `Z` or an offset, from 1970 on. Digits after the milliseconds are dropped; leap seconds are refused.",
        Json(
            r#"{"type":"string","format":"date-time","pattern":"^(19[789][0-9]|[2-9][0-9]{3})-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-5][0-9](\\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$","examples":["2026-11-16T03:31:45.123Z","2026-11-16T05:31:45+02:00"]}"#,
        ),
    ),
    named(
        "Span",
        "A duration: whole numbers, each with `ms`, `s`, `m`, `h` or `d`, added up. At most 100 years (36500d).",
        Json(
            r#"{"type":"string","pattern":"^\\s*([0-9]+\\s*(ms|s|m|h|d)\\s*)+$","examples":["500ms","2s","1h","1m 30s"]}"#,
        ),
    ),
    named(
        "SpanShown",
        "A duration in the largest units that express it exactly, separated by spaces.",
        Json(
            r#"{"type":"string","pattern":"^[0-9]+(ms|s|m|h|d)( [0-9]+(ms|s|m|h))*$","examples":["500ms","1m 30s","0s"]}"#,
        ),
    ),
    named(
        "Fence",
        "Distinguishes a lease from earlier leases of the same job. It only grows.",
        Json(r#"{"type":"integer","minimum":0,"maximum":18446744073709551615}"#),
    ),
    named(
        "Cursor",
        "Where a list continues. Pass it back unchanged; its format may change.",
        Json(r#"{"type":"string","minLength":1}"#),
    ),
    named(
        "JobCursor",
        "Where a list of jobs continues. Pass it back unchanged; its format may change.",
        ANY_UUID,
    ),
    named(
        "RowCursor",
        "Where a list continues. Pass it back unchanged; its format may change.",
        Json(r#"{"type":"string","pattern":"^[0-9]{1,18}$"}"#),
    ),
    named(
        "EventCursor",
        "A position in the journal; `latest` is its current end.",
        Json(r#"{"type":"string","pattern":"^([0-9]{1,18}|latest)$"}"#),
    ),
    named(
        "StreamCursor",
        "The id of an event of a job's stream.",
        Json(r#"{"type":"string","pattern":"^([0-9]{1,18}|final)$"}"#),
    ),
    named(
        "Phase",
        "What can happen in a state: its role, or `final`.",
        Json(r#"{"type":"string","enum":["ready","held","active","waiting","final"]}"#),
    ),
    named(
        "Outcome",
        "What a final state means.",
        Json(r#"{"type":"string","enum":["succeeded","partial","failed","cancelled","rejected","dead"]}"#),
    ),
    named(
        "Trigger",
        "What happened. `signal:…` is declared by the lifecycle.",
        Json(
            r#"{"type":"string","pattern":"^(create|claim|start|succeed|partial|fail|reject|release|cancel|dead_letter|timeout|lease_expired|due|disconnected|signal:[a-z][a-z0-9_]*)$","examples":["claim","signal:approve"]}"#,
        ),
    ),
    named(
        "Category",
        "Where in the system an error occurred.",
        Json(r#"{"type":"string","enum":["validation","queue","engine","system"]}"#),
    ),
    named(
        "Class",
        "Whether another attempt may help: only `transient` is retried.",
        Json(r#"{"type":"string","enum":["transient","permanent","validation","lease_conflict"]}"#),
    ),
    named(
        "Stage",
        "Where in the work an error occurred.",
        Json(r#"{"type":"string","enum":["fetch","input","exec","output","commit"]}"#),
    ),
    named(
        "ReasonCode",
        "Why a job is dead.",
        Json(
            r#"{"type":"string","enum":["parse_error","validation_failed","dependency_unavailable","timeout","exhausted_retries","policy_violation","infrastructure_failure","compensation_failed"]}"#,
        ),
    ),
    named(
        "CancelMode",
        "`soft`: the worker is asked to stop and has until the grace period ends. `hard`: now.",
        Json(r#"{"type":"string","enum":["soft","hard"]}"#),
    ),
    named(
        "Role",
        "What a key may do.",
        Json(r#"{"type":"string","enum":["producer","worker","operator","viewer","admin"]}"#),
    ),
    named(
        "Misfire",
        "What happens with times that passed while no node ran. `skip`: nothing. `once`: one job for all of them. `all`: one job for each, at most the last hundred.",
        Json(r#"{"type":"string","enum":["skip","once","all"]}"#),
    ),
    named(
        "Overlap",
        "What happens while the last job is unfinished. `allow`: another job is created. `skip`: none is.",
        Json(r#"{"type":"string","enum":["allow","skip"]}"#),
    ),
    named(
        "JobResult",
        "The result of one item: the job, or why it was refused.",
        OneOf(&[Schema::Object(&JOB_OK), Schema::Object(&ITEM_ERROR)]),
    ),
    named(
        "ReportResult",
        "The result of one report: the job (for a heartbeat, its lease), or why it was refused.",
        OneOf(&[Schema::Object(&REPORT_OK), Schema::Object(&ITEM_ERROR)]),
    ),
    named(
        "NamedJobResult",
        "The result for one job.",
        OneOf(&[Schema::Object(&NAMED_OK), Schema::Object(&NAMED_ERROR)]),
    ),
];

const fn field(name: &'static str, schema: Schema) -> Field {
    Field { name, about: "", schema }
}

/// An object without a name: it is written where it is used.
const fn inline(fields: &'static [Field]) -> Object {
    Object { name: "", about: "", fields, rules: "" }
}

const JOB_OK: Object = inline(&[field("ok", AnyOf(&[Ref("JobAnswer"), Ref("JobBrief")]))]);
const REPORT_OK: Object =
    inline(&[field("ok", AnyOf(&[Ref("JobAnswer"), Ref("JobBrief"), Ref("HeartbeatAnswer")]))]);
const ITEM_ERROR: Object = inline(&[field("error", Ref("Problem"))]);
const NAMED_OK: Object = inline(&[field("job_id", Ref("JobId")), field("ok", Ref("JobAnswer"))]);
const NAMED_ERROR: Object = inline(&[field("job_id", Ref("JobId")), field("error", Ref("Problem"))]);
