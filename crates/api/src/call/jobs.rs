//! Calls about jobs. A lifecycle API has those below `/api/jobs` under its own path.

use super::shared::*;
use super::{Body, Header, Parameter};
use crate::problem::ProblemCode::{
    Duplicate, GuardRejected, InsufficientCredits, InvalidTransition, LeaseConflict, NotFound,
    PreconditionFailed, QueueFull, RangeNotSatisfiable, UnknownType, ValidationFailed,
};
use crate::request::{
    Amend, Cancel, GiveUp, JobAction, JobFilter, NewAsset, NewJob, NewJobs, NewLogLines, Signal,
};
use crate::schema::Schema::{AnyOf, Json, Page, Ref, Text};
use crate::schema::{Described as _, NextCursor, Schema, of};
use crate::values::ANY_UUID;
use crate::{Asset, Explanation, LogCount, LogLine, StreamToken};

const BINARY: Schema = Json(r#"{"type":"string","format":"binary"}"#);
const CONTENT: &str = "application/octet-stream";
const LOG_STREAM: Schema = Json(
    r##"{"type":"string","description":"Server-sent events; each has the members of `x-event`.","x-event":{"type":"object","required":["event","id","data"],"properties":{"event":{"type":"string","enum":["log","status"]},"id":{"$ref":"#/components/schemas/StreamCursor"},"data":{"type":"string","contentMediaType":"application/json"}}}}"##,
);
const CONTENT_RANGE: Header =
    Header { name: "Content-Range", about: "`bytes 0-99/1234`.", required: false, schema: Text };
const EXAMINED_JOBS: Header = Header {
    name: "Tenure-Examined-Jobs",
    about: "How many jobs were examined, if the query looks into jobs.",
    required: false,
    schema: Json(r#"{"type":"integer","minimum":0}"#),
};
const ASSET_EXAMPLE: &str = r#"{"id":"019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00","job_id":"019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00","user_id":"ann","asset_type":"picture","url":"/api/jobs/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00/assets/019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00/content","storage_path":"ann/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00/019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00/image.png","file_size":48213,"created_at":"2025-11-16T07:00:00.000Z","discarded_at":null}"#;
const ASSET_ID: Parameter = path("asset", "The asset's id.", ANY_UUID, "");

calls! { Jobs:
    Post "/api/jobs" CreateJob ManageJobs "Create a job" {
        about: "Checks in this order: the type exists, its schema, its guard, its keys, the idempotency key, the unique key, limits, credits. The first failed check decides. The answer is sent after the job is durable.",
        parameters: &[TRACEPARENT, PREFER],
        body: Body::Json(of::<NewJob>(), r#"{"type":"index","payload":{"url":"https://example.com/"},"priority":5}"#),
        answers: CREATED,
        problems: &[InsufficientCredits, Duplicate, UnknownType, ValidationFailed, GuardRejected, QueueFull],
    }
    Get "/api/jobs" ListJobs ReadJobs "List jobs, newest first" {
        about: "With `q`, jobs must match the query too: terms `key:value` with alternatives separated by commas, as in `type:image error:TIMEOUT user:ada payload.order:42 state:failed,dead since:2h`. Keys: `state` (a state, outcome or phase), `type`, `queue`, `user`, `worker`, `lifecycle`, `outcome`, `phase`, `error` (a code), `correlation`, `retry_of`, `since`, `until` (a duration or a time), and `payload.NAME`. A query or filter that no index serves examines at most 10,000 jobs per page: the header says how many, and `next_cursor` continues, also after a page without jobs. With `phase=refused`: requests in SQL that were refused, newest first, filtered by type, queue, `user_id` and `correlation_id`.",
        parameters: &[LIMIT, CURSOR, query("q", "A query.", Json(r#"{"type":"string","maxLength":1000}"#)).example(r#""state:failed,dead since:2h""#)],
        filter: Some(&JobFilter::OBJECT),
        answers: &[ok("A page of jobs.", Page("jobs", &AnyOf(&[Ref("Job"), Ref("JobRequest")]), NextCursor::Nullable)).with(&[EXAMINED_JOBS])],
    }
    Post "/api/jobs/batch" CreateJobs ManageJobs "Create up to 10,000 jobs" {
        about: "Each job is created or refused independently, and may have its own `idempotency_key`: it then behaves as if it were sent alone with that key. The header `Idempotency-Key` is for the request as a whole: the same key with another body is refused with 422 `idempotency_mismatch`, and jobs without their own key are created once for that key.",
        parameters: &[TRACEPARENT, PREFER],
        body: Body::Json(of::<NewJobs>(), r#"{"jobs":[{"type":"index","payload":{"n":1},"idempotency_key":"page-1"},{"type":"index","payload":{"n":2}}]}"#),
        answers: &[ok("One result for each job, in order. A refused item does not affect the others.", Ref("JobResults")).with(&[PREFERENCE_APPLIED])],
    }
    Post "/api/jobs/actions" ActOnJobs Operate "Cancel, retry or delete every job that matches" {
        about: "A filter without a value matches every job and is refused unless `all` is true. With `dry_run` nothing is changed: `matched` is the number of jobs of this call. `delete` refuses unfinished jobs.",
        body: Body::Json(of::<JobAction>(), r#"{"action":"cancel","filter":{"type":"index","phase":"ready"}}"#),
        answers: &[ok("One result for each job that matched, at most 10,000 in a call.", Ref("ActionResults"))],
    }
    Get "/api/jobs/{id}" GetJob ReadJobs "Get a job" {
        about: "A job that was requested in SQL is shown from the commit on: until a node has taken it in, and if it was refused or answered with another job, it has no state.",
        parameters: &[JOB_ID],
        answers: &[ok("The job, or its request.", AnyOf(&[Ref("Job"), Ref("JobRequest")]))],
        problems: &[NotFound],
    }
    Patch "/api/jobs/{id}" AmendJob ManageJobs "Change the payload, priority or time of a job" {
        about: "For jobs in ready and waiting states. The type's schema, guard, size limits and keys are checked as for a new job. The state stays, and the history gets one event, `job_amended`; unchanged values make no event. With `If-Match`, a job whose `seq` is another is not changed.",
        parameters: &[JOB_ID, header("If-Match", "The `seq` that the job must have.", Json(r#"{"type":"string","pattern":"^(\"[0-9]{1,9}\"|[0-9]{1,9})$"}"#)), PREFER],
        body: Body::Json(of::<Amend>(), r#"{"priority":7}"#),
        answers: CHANGED,
        problems: &[NotFound, InvalidTransition, PreconditionFailed, UnknownType, ValidationFailed, GuardRejected],
    }
    Delete "/api/jobs/{id}" DeleteJob Operate "Delete a finished job" {
        about: "The job is deleted with its events, logs, assets and dead letter. An audit line and the ledger lines stay. An unfinished job is refused: cancel it first.",
        parameters: &[JOB_ID], answers: &[ok("The job as it was.", Ref("Job"))], problems: &[NotFound, InvalidTransition],
    }
    Get "/api/jobs/{id}/events" ListJobEvents ReadJobs "List a job's events in order" {
        parameters: &[
            JOB_ID,
            query("telemetry", "Includes heartbeats, renewals and progress.", Json(r#"{"type":"boolean","default":false}"#)),
            query("cursor", "The `next_cursor` of the previous page.", Ref("HistoryCursor")),
        ],
        answers: &[ok("All events; notes after the numbered ones. If they have more than 8 MiB, a page of them.", Page("events", &AnyOf(&[Ref("Event"), Ref("Telemetry")]), NextCursor::Nullable))],
        problems: &[NotFound],
    }
    Get "/api/jobs/{id}/replay" ReplayJob ReadJobs "Get a job as it was after its N-th transition" {
        parameters: &[
            JOB_ID,
            query("seq", "The number of the transition; default: the last. A number that the job has not reached is 400.", Json(r#"{"type":"integer","minimum":1}"#)).example("1"),
        ],
        answers: &[ok("The job, computed from its events.", Ref("Job"))],
        problems: &[NotFound],
    }
    Get "/api/jobs/{id}/explain" ExplainJob ReadJobs "Explain why a job is in its state" {
        parameters: &[JOB_ID],
        answers: &[ok("What the job waits for, which timers run, and what can happen next.", of::<Explanation>())],
        problems: &[NotFound],
    }
    Get "/api/jobs/{id}/stream" StreamJob ReadJobs "Follow a job's log to its end" {
        parameters: &[
            JOB_ID,
            header("Last-Event-ID", "Continue after this event. Browsers send it when they reconnect.", Json(r#"{"type":"string","pattern":"^([0-9]{1,18}|final)?$"}"#)),
            query("after", "The same for clients that cannot set the header: the id of the last event received.", Ref("StreamCursor")),
            query("token", "A token of `POST /api/jobs/{id}/stream-token`, instead of a credential in the header, which a browser's `EventSource` cannot send.", Json(r#"{"type":"string","maxLength":100}"#)),
        ],
        answers: &[
            answer(200, "Server-sent events: `log` (data: a log line) from the start or after `Last-Event-ID`, and one `status` at the end (data: `{ job_id, state, outcome, output, error }`). Then the stream closes.").content(&[("text/event-stream", LOG_STREAM)]),
            answer(204, "The client has received the final status: stop reconnecting."),
        ],
        problems: &[NotFound],
    }
    Post "/api/jobs/{id}/stream-token" CreateStreamToken ReadJobs "Create a token for a job's stream" {
        about: "For a browser: `new EventSource('/api/jobs/' + id + '/stream?token=' + token)`. The token opens the stream of this job and nothing else, for 5 minutes, and for reconnects as long as a stream is open and 5 minutes after, at most for 12 hours. It ends with the credential that asked for it. Each call, also a repeated one, gives another token.",
        parameters: &[JOB_ID],
        answers: &[json(201, "The token.", of::<StreamToken>())],
        problems: &[NotFound],
    }
    Get "/api/jobs/{id}/logs" ListJobLogs ReadJobs "List a job's log lines" {
        parameters: &[
            JOB_ID,
            query("after", "Only lines after this number.", Json(r#"{"type":"integer","minimum":0,"maximum":9223372036854775807,"default":0}"#)),
            query("limit", "At most this many.", Json(r#"{"type":"integer","minimum":1,"maximum":500,"default":500}"#)),
        ],
        answers: &[ok("Lines in order.", Page("lines", &of::<LogLine>(), NextCursor::Nullable))],
        problems: &[NotFound],
    }
    Post "/api/jobs/{id}/logs" AppendJobLogs Work | ManageJobs "Append lines to a job's log" {
        parameters: &[JOB_ID],
        body: Body::Json(of::<NewLogLines>(), r#"{"worker":"w1","fence":1,"lines":[{"stream":"stdout","level":"info","text":"half way"}]}"#),
        answers: &[ok("How many lines the job has now.", of::<LogCount>())],
        problems: &[NotFound, LeaseConflict],
    }
    Get "/api/jobs/{id}/assets" ListJobAssets ReadJobs "List a job's assets" {
        parameters: &[JOB_ID, LIMIT, CURSOR],
        answers: &[ok("Assets, newest first.", Page("assets", &of::<Asset>(), NextCursor::NullableId))],
        problems: &[NotFound],
    }
    Post "/api/jobs/{id}/assets" AddJobAsset Work | ManageJobs "Upload or register an asset of a job" {
        about: "With `asset_type` in the query, the body is the content, of any type. It is streamed to the location that `assets.store` names, and the answer is sent when it is durable. Without `asset_type`, the body is JSON and gives the URL of the content.\n\nDuring a lease its holder adds assets with `worker` and `fence` (in the query of an upload, in the body of a registration). The job's owner, operators and admins need neither and can add assets at any time. An upload counts as a heartbeat every 10 s.",
        parameters: &[
            JOB_ID,
            query("asset_type", "The kind of asset; makes the request an upload.", Ref("Name")),
            query("name", "The file name: no path, no control characters.", Json(r#"{"type":"string","minLength":1,"maxLength":240,"default":"content"}"#)),
            query("worker", "The holder of the lease.", Ref("Name")),
            query("fence", "The fence of the lease.", Ref("Fence")),
        ],
        body: Body::JsonOrContent(of::<NewAsset>(), r#"{"asset_type":"video","url":"https://cdn.example.org/v.mp4","file_size":9000000000}"#),
        answers: &[
            ok("The asset that was added with this key before.", of::<Asset>()).with(&[REPLAYED, LOCATION]).example(ASSET_EXAMPLE),
            json(201, "The asset.", of::<Asset>()).with(&[LOCATION]).example(ASSET_EXAMPLE),
        ],
        problems: &[NotFound, LeaseConflict, ValidationFailed],
    }
    Get "/api/jobs/{id}/assets/{asset}" GetJobAsset ReadJobs "Get an asset" {
        parameters: &[JOB_ID, ASSET_ID],
        answers: &[ok("The asset.", of::<Asset>()).example(ASSET_EXAMPLE)],
        problems: &[NotFound],
    }
    Get "/api/jobs/{id}/assets/{asset}/content" GetJobAssetContent ReadJobs "Download an asset" {
        about: "Always sent as `application/octet-stream` and as an attachment, so that a browser does not render it. Discarded assets, and assets registered by URL, have no content here.",
        parameters: &[
            JOB_ID,
            ASSET_ID,
            header("Range", "One range: `bytes=0-99`, `bytes=100-`, `bytes=-100`. Anything else is ignored.", Text),
            header("If-Range", "The `ETag` for which the range applies; otherwise all is sent.", Text),
            header("If-None-Match", "The `ETag` of a known version.", Text),
        ],
        answers: &[
            answer(200, "The content.").content(&[(CONTENT, BINARY)]),
            answer(206, "The requested range.").content(&[(CONTENT, BINARY)]).with(&[CONTENT_RANGE]),
            answer(304, "The caller has this version."),
        ],
        problems: &[NotFound, RangeNotSatisfiable],
    }
    Post "/api/jobs/{id}/cancel" CancelJob ManageJobs "Cancel a job" {
        about: "A ready or waiting job is cancelled at once. For a held or active job, soft asks the worker to stop and becomes hard after the type's `cancel_grace`; hard revokes the lease now.",
        parameters: &[JOB_ID, PREFER],
        body: Body::OptionalJson(of::<Cancel>(), r#"{"mode":"soft","reason":"not needed any more"}"#),
        answers: CHANGED,
        problems: &[NotFound, InvalidTransition],
    }
    Post "/api/jobs/{id}/retry" RetryJob ManageJobs "Create a new job like this finished one" {
        about: "Its `retry_of` is this job.",
        parameters: &[JOB_ID, PREFER],
        answers: CREATED,
        problems: &[NotFound, InsufficientCredits, InvalidTransition, UnknownType],
    }
    Post "/api/jobs/{id}/dead-letter" DeadLetterJob Operate "Give a job up" {
        parameters: &[JOB_ID, PREFER],
        body: Body::Json(of::<GiveUp>(), r#"{"reason_code":"policy_violation","detail":"asked by legal"}"#),
        answers: CHANGED,
        problems: &[NotFound, InvalidTransition],
    }
    Post "/api/jobs/{id}/signals/{name}" SignalJob ManageJobs "Send a signal that the lifecycle declares" {
        parameters: &[
            JOB_ID,
            path("name", "The signal, without `signal:`.", Ref("Name"), r#""approve""#),
            PREFER,
        ],
        body: Body::OptionalJson(of::<Signal>(), r#"{"payload":{"by":"ann"}}"#),
        answers: CHANGED,
        problems: &[NotFound, InvalidTransition],
    }
}
