//! Bodies of requests. Values with a syntax (times, durations, ids, words) are texts here; the server checks them and names
//! the field in its answer.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::schema::Schema::{
    Any, Bool, Default as Or, Extra, Flatten, Json, ListUpTo, Maybe, Optional, Ref, Text,
};
use crate::schema::{Schema, of};
use crate::values::{ATTEMPTS, CancelMode, PERCENT, PRIORITY};
use crate::{integer, strict};

const NAME: Schema = Maybe(&Ref("Name"));
const TIME: Schema = Maybe(&Ref("TimestampGiven"));
const SPAN: Schema = Maybe(&Ref("Span"));
const MESSAGE: Schema = Maybe(&Ref("Message"));
const FENCE: Schema = Maybe(&Ref("Fence"));
const CURSOR: Schema = Maybe(&Ref("JobCursor"));
const NAMES: Schema =
    Json(r##"{"type":["array","null"],"items":{"$ref":"#/components/schemas/Name"},"maxItems":1000}"##);
const SCOPE_NAMES: Schema = Json(
    r##"{"type":["array","null"],"items":{"$ref":"#/components/schemas/Name"},"minItems":1,"maxItems":100}"##,
);
const FLOW_COUNT: Schema = Json(r#"{"type":"integer","minimum":1,"maximum":1000000000}"#);
const NEW_ID: Schema = Json(r#"{"type":["string","null"],"pattern":"^[A-Za-z0-9._\\-]{1,64}$"}"#);

requests! {
    /// A job to create.
    pub struct NewJob where r#"{"not":{"required":["run_at","delay"],"properties":{"run_at":{"type":"string"},"delay":{"type":"string"}}}}"# {
        job_type as "type": String = Ref("Name"),
        /// The input of the work: any JSON that the type's schema and guard accept. At most 1 MiB (or the type's limit),
        /// 64 levels deep, no U+0000, no duplicate keys. Default: `{}`.
        #[serde(default, deserialize_with = "present")]
        payload: Option<Box<RawValue>> = Optional(&Any),
        /// Only the catch-all type lets its caller choose; for others it must be the type's lifecycle.
        lifecycle: Option<String> = NAME,
        /// The owner. A producer creates only its user's jobs.
        user_id: Option<String> = NAME,
        /// Overrides the type's queue.
        queue: Option<String> = NAME,
        /// Overrides the type's priority. Higher is claimed first.
        #[serde(default, deserialize_with = "integer::option")]
        priority: Option<i64> = Maybe(&PRIORITY),
        /// The earliest time at which the job can be claimed. Excludes `delay`.
        run_at: Option<String> = TIME,
        /// How long the job cannot be claimed. Excludes `run_at`.
        delay: Option<String> = SPAN,
        /// Overrides the type's number.
        #[serde(default, deserialize_with = "integer::option")]
        max_attempts: Option<u64> = Maybe(&ATTEMPTS),
        /// Groups related jobs. Default: the job's own id.
        correlation_id: Option<String> = NAME,
        /// The key of this job; in `POST /api/jobs` it is the header `Idempotency-Key`. If a job was created with it
        /// before, the result is that job, with `replayed`.
        idempotency_key: Option<String> = Extra(&Maybe(&Json(r#"{"type":"string","minLength":1,"maxLength":255,"pattern":"^[!-~]([ -~]*[!-~])?$"}"#))),
    }

    /// Jobs to create.
    pub struct NewJobs {
        jobs: Vec<Box<RawValue>> = ListUpTo(10_000, &Ref("NewBatchJob")),
    }

    /// Which jobs. Every field that is set must match.
    pub struct JobFilter {
        /// In this state, by its name in the lifecycle.
        state: Option<String> = NAME,
        /// In this phase.
        phase: Option<String> = Maybe(&Ref("ListedPhase")),
        /// With this outcome.
        outcome: Option<String> = Maybe(&Ref("Outcome")),
        /// Of this lifecycle.
        lifecycle: Option<String> = NAME,
        /// Of this type.
        job_type as "type": Option<String> = NAME,
        /// In this queue.
        queue: Option<String> = NAME,
        /// Of this user.
        user_id: Option<String> = NAME,
        /// Held by this worker, now or last.
        worker: Option<String> = NAME,
        /// With this correlation id.
        correlation_id: Option<String> = NAME,
        /// Retries of this job.
        retry_of: Option<String> = Maybe(&Ref("JobId")),
        /// Created after this time.
        created_after: Option<String> = TIME,
        /// Created before this time.
        created_before: Option<String> = TIME,
    }

    /// Which events. Every field that is set must match.
    pub struct EventFilter {
        /// With this event name.
        event_type as "type": Option<String> = NAME,
        /// Of jobs of this lifecycle.
        lifecycle: Option<String> = NAME,
        /// Of this job.
        job_id: Option<String> = Maybe(&crate::values::ANY_UUID),
        /// With this correlation id.
        correlation_id: Option<String> = NAME,
        /// Of this user's jobs.
        user_id: Option<String> = NAME,
    }

    /// Which statistics over time: of all jobs, of a type, or of a queue. Without a time, those of the last hour.
    pub struct StatsFilter {
        /// Up to now. Not together with `from`.
        range: Option<String> = Maybe(&Json(r#"{"type":"string","enum":["1h","6h","24h","7d","30d","90d"]}"#)),
        /// From this time on, at most 90 days ago.
        from: Option<String> = TIME,
        /// Before this time, with `from`; without it, up to now.
        until: Option<String> = TIME,
        /// Of this type. `*` has the types that are not counted separately.
        job_type as "type": Option<String> = NAME,
        /// Of this queue. Not together with `type`.
        queue: Option<String> = NAME,
    }

    /// An action on every job that matches.
    pub struct JobAction where r#"{"not":{"required":["mode"],"properties":{"action":{"type":"string","enum":["retry","delete"]},"mode":{"type":"string"}}}}"# {
        /// `delete` deletes finished jobs, with everything that belongs to them.
        action: String = Json(r#"{"type":"string","enum":["cancel","retry","delete"]}"#),
        /// Which jobs. A filter without a value is refused unless `all` is true.
        filter: Map<String, Value> = of::<JobFilter>(),
        /// Allows a filter without a value, which every job matches. Default: false.
        #[serde(default)]
        all: bool = Optional(&Bool),
        /// Only count the jobs that match; nothing is changed, and there are no results. Default: false.
        #[serde(default)]
        dry_run: bool = Optional(&Bool),
        /// Only for `cancel`.
        mode: Option<CancelMode> = Or(r#""soft""#, &Ref("CancelMode")),
        /// The `next_cursor` of the previous call.
        cursor: Option<String> = CURSOR,
    }

    /// Why a user is erased.
    pub struct Erase {
        /// Recorded in the audit log.
        reason: String = Ref("Message"),
    }

    /// Another version of a lifecycle.
    pub struct TryLifecycle {
        /// The text of its file.
        source: String = Text,
        /// Replays jobs that finished in this time before now.
        since: Option<String> = Or(r#""1d""#, &Ref("Span")),
    }

    /// A cancel request.
    pub struct Cancel {
        mode: Option<CancelMode> = Or(r#""soft""#, &Ref("CancelMode")),
        reason: Option<String> = MESSAGE,
    }

    /// Why a job is given up.
    pub struct GiveUp {
        reason_code: String = Ref("ReasonCode"),
        detail: String = Ref("Message"),
    }

    /// New values of a job that no worker holds. At least one; the others stay.
    pub struct Amend where r#"{"minProperties":1}"# {
        /// Replaces the payload; checked like that of a new job.
        #[serde(default, deserialize_with = "present")]
        payload: Option<Box<RawValue>> = Optional(&Json(r#"{"not":{"type":"null"}}"#)),
        #[serde(default, deserialize_with = "integer::given")]
        priority: Option<i64> = Optional(&PRIORITY),
        /// The earliest time at which the job can be claimed; in a waiting state, the time at which it is due.
        #[serde(default, deserialize_with = "given")]
        run_at: Option<String> = Optional(&Ref("TimestampGiven")),
    }

    /// A signal.
    pub struct Signal {
        /// Data of the signal: any JSON, at most 1 MiB. It is stored in the event.
        payload: Option<Box<RawValue>> = Optional(&Any),
    }

    /// Limits of a resource that override those of the file. At least one.
    pub struct SetResourceLimits where r#"{"minProperties":1}"# {
        /// Units of live leases at once; null is no limit.
        #[serde(default, deserialize_with = "present")]
        running: Option<Box<RawValue>> = Maybe(&FLOW_COUNT),
        /// Tokens; null is no limit.
        #[serde(default, deserialize_with = "present")]
        rate: Option<Box<RawValue>> = Maybe(&of::<SetRate>()),
        /// Unfinished jobs; null is no limit.
        #[serde(default, deserialize_with = "present")]
        waiting: Option<Box<RawValue>> = Maybe(&FLOW_COUNT),
    }

    /// A token bucket.
    pub struct SetRate as "RateLimitGiven" {
        #[serde(deserialize_with = "integer::required")]
        count: u64 = FLOW_COUNT,
        per: String = Ref("Span"),
        /// Default: `count`.
        #[serde(default, deserialize_with = "integer::option")]
        burst: Option<u64> = Maybe(&FLOW_COUNT),
    }

    /// What to pause, and for how long.
    pub struct ResourcePause {
        /// The bucket of this key; default: all, future ones too.
        key: Option<String> = Maybe(&Ref("FlowKey")),
        /// Default: until it is resumed.
        span as "for": Option<String> = SPAN,
    }

    /// What to resume.
    pub struct ResourceResume {
        /// The bucket of this key; default: all.
        key: Option<String> = Maybe(&Ref("FlowKey")),
    }

    /// A pause of the bucket that a worker's job uses.
    pub struct ReportPause as "Pause" {
        resource: String = Ref("Name"),
        span as "for": String = Ref("Span"),
    }

    /// An empty object.
    pub struct Empty {}

    /// A request for work.
    pub struct Claim {
        worker: String = Ref("Name"),
        /// Only jobs of these types; default: any.
        types: Option<Vec<String>> = Optional(&NAMES),
        /// Only jobs from these queues; default: any.
        queues: Option<Vec<String>> = Optional(&NAMES),
        /// At most this many jobs.
        #[serde(default, deserialize_with = "integer::option")]
        max: Option<u64> = Or("1", &Json(r#"{"type":"integer","minimum":1,"maximum":1000}"#)),
        /// How long to wait for work, at most 5m; default: not at all.
        wait: Option<String> = SPAN,
        /// The same request of the same worker again returns the same jobs, as far as their leases are still live.
        request_id: Option<String> = NAME,
        /// Also start the jobs, if their lifecycle has a `start` transition. Default: `false`.
        #[serde(default)]
        start: bool = Optional(&Bool),
    }

    /// A report about a job that a worker holds. Which members it can have depends on its verb.
    pub struct Report {
        /// The holder of the lease.
        worker: Option<String> = Ref("Name"),
        /// The fence of the lease.
        #[serde(default, deserialize_with = "integer::option")]
        fence: Option<u64> = Ref("Fence"),
        job: Option<String> = Ref("JobId"),
        verb: Option<String> = Text,
        progress: Option<f64> = PERCENT,
        message: Option<String> = MESSAGE,
        /// The result of the work: any JSON, at most 1 MiB.
        result: Option<Box<RawValue>> = Optional(&Any),
        /// What went wrong. With a success: a flaw that did not stop the work.
        #[serde(default, deserialize_with = "strict::option")]
        error: Option<ErrorReport> = Maybe(&of::<ErrorReport>()),
        /// Replaces the backoff.
        retry_after: Option<String> = SPAN,
        reason: Option<String> = Ref("Message"),
        /// Where the next attempt can continue: any JSON, at most 1 MiB.
        checkpoint: Option<Box<RawValue>> = Optional(&Any),
        /// How long the job cannot be claimed again.
        delay: Option<String> = SPAN,
        /// No lease of the bucket that the job uses of this resource is granted for a time, for example because the service behind
        /// it asked to wait.
        #[serde(default, deserialize_with = "strict::option")]
        pause: Option<ReportPause> = Maybe(&of::<ReportPause>()),
    }

    /// Reports of one worker about many jobs.
    pub struct Reports as "ReportBatch" {
        worker: String = Ref("Name"),
        reports: Vec<Box<RawValue>> = ListUpTo(10_000, &Ref("Report")),
    }

    /// What went wrong, as a worker reports it.
    pub struct ErrorReport as "JobErrorGiven" {
        /// Short and stable: programs switch on it.
        code: Option<String> = Or(r#""FAILED""#, &Ref("Name")),
        message: Option<String> = Or(r#""""#, &Ref("Message")),
        category: Option<String> = Or(r#""engine""#, &Ref("Category")),
        class: Option<String> = Or(r#""transient""#, &Ref("Class")),
        stage: Option<String> = Maybe(&Ref("Stage")),
        /// The reason of the dead letter, if there will be one.
        reason_code: Option<String> = Maybe(&Ref("ReasonCode")),
        /// Further details: at most 1 MiB.
        details: Option<Box<RawValue>> = Optional(&Any),
        /// Accepted, because a job's error has it, and ignored: it is derived from `code` and `message`.
        text: Option<String> = Maybe(&Text),
    }

    /// Lines to append. A worker gives `worker` and `fence`; the job's owner, operators and admins need neither.
    pub struct NewLogLines where r#"{"not":{"anyOf":[{"required":["worker"],"properties":{"worker":{"type":"string"},"fence":{"type":"null"}}},{"required":["fence"],"properties":{"fence":{"type":"integer"},"worker":{"type":"null"}}}]}}"# {
        /// The holder of the lease.
        worker: Option<String> = NAME,
        #[serde(default, deserialize_with = "integer::option")]
        fence: Option<u64> = FENCE,
        #[serde(deserialize_with = "strict::list")]
        lines: Vec<NewLine> = ListUpTo(10_000, &of::<NewLine>()),
    }

    /// A line to append to a job's log.
    pub struct NewLine as "LogLineGiven" {
        stream: Option<String> = Or(r#""stdout""#, &Ref("Name")),
        level: Option<String> = Or(r#""info""#, &Ref("Name")),
        /// At most 64 KiB.
        text: String = Json(r#"{"type":"string","maxLength":65536}"#),
    }

    /// Which dead letters. Every field that is set must match, including the fields of the dead job.
    pub struct DeadLetterFilter {
        /// Dead letters of these jobs.
        #[serde(flatten)]
        jobs: JobFilter = Flatten(&JobFilter::OBJECT),
        /// With this reason, such as `exhausted_retries`.
        reason_code: Option<String> = Maybe(&Ref("ReasonCode")),
        /// Whose last error occurred at this stage.
        stage: Option<String> = Maybe(&Ref("Stage")),
    }

    /// Which dead letters to redrive: either `ids` or `filter`.
    pub struct Redrive where r#"{"not":{"anyOf":[{"required":["ids","filter"],"properties":{"ids":{"type":"array"},"filter":{"type":"object"}}},{"properties":{"ids":{"type":"null"},"filter":{"type":"null"}}}]}}"# {
        ids: Option<Vec<String>> = Optional(&Json(r##"{"type":["array","null"],"items":{"$ref":"#/components/schemas/JobId"},"maxItems":10000}"##)),
        filter: Option<Map<String, Value>> = Maybe(&of::<DeadLetterFilter>()),
        /// How many jobs may start each second: their `run_at` is spread accordingly.
        max_per_second: Option<f64> = Maybe(&Json(r#"{"type":"number","exclusiveMinimum":0,"maximum":100000}"#)),
        /// With `filter`: the `next_cursor` of the previous call.
        cursor: Option<String> = CURSOR,
    }

    /// Why a dead letter is dismissed.
    pub struct Dismissal {
        reason: String = Ref("Message"),
    }

    /// Credits to grant.
    pub struct Grant {
        /// All grants of a user together: at most 2^53.
        #[serde(deserialize_with = "integer::required")]
        grant: u64 = Json(r#"{"type":"integer","minimum":1,"maximum":9007199254740992}"#),
        reason: String = Ref("Message"),
    }

    /// A key to create. It has `role`, or `roles`.
    pub struct NewKey where r#"{"anyOf":[{"required":["role"]},{"required":["roles"]}],"not":{"required":["expires_at","ttl"],"properties":{"expires_at":{"type":"string"},"ttl":{"type":"string"}}}}"# {
        role: Option<String> = Optional(&Ref("Role")),
        /// Several roles: the key has the rights of each.
        roles: Option<Vec<String>> = Optional(&Json(r##"{"type":"array","items":{"$ref":"#/components/schemas/Role"},"minItems":1,"maxItems":5}"##)),
        /// A description, for people.
        name: Option<String> = NAME,
        /// Required for a producer: the user whose jobs it can access.
        #[serde(alias = "user")]
        user_id: Option<String> = NAME,
        /// From when on it is refused. Default: never.
        expires_at: Option<String> = TIME,
        /// How long it is valid, instead of `expires_at`.
        ttl: Option<String> = SPAN,
        /// What it is limited to, besides its roles. An admin's key has no scopes.
        #[serde(default, deserialize_with = "strict::object")]
        scopes: Option<NewKeyScopes> = Optional(&of::<NewKeyScopes>()),
    }

    /// What a key is limited to. A field that is not set does not limit.
    pub struct NewKeyScopes {
        /// Only jobs of these types: no others are created, claimed, reported, changed or seen.
        types: Option<Vec<String>> = SCOPE_NAMES,
        /// Only jobs of these queues.
        queues: Option<Vec<String>> = SCOPE_NAMES,
        /// Only jobs of this user. Not for workers.
        user_id: Option<String> = NAME,
        /// Only workers with such a name: `*` is any text.
        worker: Option<String> = NAME,
        /// Only new jobs with at least this priority.
        #[serde(default, deserialize_with = "integer::option")]
        priority_min: Option<i64> = Maybe(&PRIORITY),
        /// Only new jobs with at most this priority.
        #[serde(default, deserialize_with = "integer::option")]
        priority_max: Option<i64> = Maybe(&PRIORITY),
    }

    /// How a key gets a new secret.
    pub struct KeyRotation {
        /// How long earlier secrets stay valid. Default: `1h`. `0s`: they end now.
        overlap: Option<String> = SPAN,
    }

    /// A schedule to create, or its new values.
    pub struct NewSchedule {
        /// Default: a generated id.
        id: Option<String> = Optional(&NEW_ID),
        /// Five fields: minute, hour, day of month, month, day of week. An expression that never matches is refused.
        cron: String = Text,
        /// A zone of the IANA database, such as `Europe/Berlin`. Default: `UTC`.
        timezone: Option<String> = Maybe(&Text),
        /// The job to create each time: as in `POST /api/jobs`, without the fields that the schedule sets.
        #[serde(serialize_with = "Option::serialize", deserialize_with = "present")]
        job: Option<Box<RawValue>> = Ref("NewScheduledJob"),
        /// Default: `once`.
        misfire: Option<String> = Maybe(&Ref("Misfire")),
        /// Default: `allow`.
        overlap: Option<String> = Maybe(&Ref("Overlap")),
    }

    /// A webhook to create.
    pub struct NewWebhook {
        /// Default: a generated id.
        id: Option<String> = Optional(&NEW_ID),
        /// Where events are sent: `https://`, and to the public internet unless the operator allows more.
        url: String = Text,
        /// Which events. Default: all.
        #[serde(default, deserialize_with = "strict::option")]
        filter: Option<NewWebhookFilter> = Maybe(&of::<NewWebhookFilter>()),
    }

    /// Which events a webhook sends. A field that is not set matches any.
    pub struct NewWebhookFilter {
        /// Events of jobs of this type.
        job_type as "type": Option<String> = NAME,
        /// Events of jobs that follow this lifecycle.
        lifecycle: Option<String> = NAME,
        /// Events with this name, such as `job_succeeded`.
        event: Option<String> = NAME,
        /// Events of this user's jobs.
        user_id: Option<String> = NAME,
    }

    /// From where on a webhook sends events again: one of both.
    pub struct WebhookReplay {
        /// Events after this position of the journal, which is before the webhook's.
        #[serde(default, deserialize_with = "integer::option")]
        after: Option<u64> = Maybe(&Json(r#"{"type":"integer","minimum":0,"maximum":9007199254740992}"#)),
        /// Events from this long ago on.
        since: Option<String> = SPAN,
    }

    /// An asset whose content is elsewhere. A worker gives `worker` and `fence`; the job's owner, operators and admins need neither.
    pub struct NewAsset {
        asset_type: String = Ref("Name"),
        /// `http://` or `https://`. The server never fetches it.
        url: String = Json(r#"{"type":"string","maxLength":2048,"pattern":"^https?://[!-~]+$"}"#),
        storage_path: Option<String> = Maybe(&Json(r#"{"type":"string","maxLength":1024,"pattern":"^[ -~]*$"}"#)),
        #[serde(default, deserialize_with = "integer::option")]
        file_size: Option<u64> = Maybe(&Json(r#"{"type":"integer","minimum":0,"maximum":9007199254740992}"#)),
        worker: Option<String> = NAME,
        #[serde(default, deserialize_with = "integer::option")]
        fence: Option<u64> = FENCE,
    }
}

/// The members of [`NewJob`] that a schedule sets itself.
pub const SET_BY_SCHEDULE: &[&str] = &["run_at", "delay", "correlation_id"];

/// A text that may be absent and is not null.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    String::deserialize(from).map(Some)
}

/// Keeps an explicit `null` apart from a missing field.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(from).map(Some)
}
