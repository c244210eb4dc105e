//! Calls about jobs. A lifecycle API has those below `/api/jobs` under its own path.

use super::shared::{
    CHANGED, CREATED, CURSOR, JOB_ID, JSON, LIMIT, LOCATION, PREFER, PREFERENCE_APPLIED, REPLAYED,
    TRACEPARENT, answer,
};
use super::{Access, Body, Call, Header, Parameter, Tag};
use crate::problem::ProblemCode::{
    GuardRejected, InsufficientCredits, InvalidTransition, LeaseConflict, NotFound, RangeNotSatisfiable,
    UnknownType, ValidationFailed,
};
use crate::request::{Cancel, GiveUp, JobAction, JobFilter, NewAsset, NewJob, NewJobs, NewLogLines, Signal};
use crate::right::Right::{ManageJobs, Operate, ReadJobs, Work};
use crate::schema::NextCursor;
use crate::schema::Schema::{AnyOf, Json, Page, Ref, Text};
use crate::schema::{Described as _, of};
use crate::values::ANY_UUID;
use crate::{Asset, Explanation, LogCount, LogLine};

const BINARY: crate::schema::Schema = Json(r#"{"type":"string","format":"binary"}"#);
const CONTENT: &str = "application/octet-stream";

pub(super) const CREATE_JOB: Call = Call::post("/api/jobs", Tag::Jobs, ManageJobs)
    .says(
        "Create a job",
        "Checks in this order: the type exists, its schema, its guard, the idempotency key, limits, credits. The first failed check decides. The answer is sent after the job is durable.",
    )
    .takes(&[TRACEPARENT, PREFER])
    .reads(Body::Json(of::<NewJob>(), r#"{"type":"index","payload":{"url":"https://example.com/"},"priority":5}"#))
    .answers(CREATED)
    .refuses(&[InsufficientCredits, UnknownType, ValidationFailed, GuardRejected]);

pub(super) const LIST_JOBS: Call = Call::get("/api/jobs", Tag::Jobs, ReadJobs)
    .says("List jobs, newest first", "")
    .filtered(&JobFilter::OBJECT)
    .takes(&[LIMIT, CURSOR])
    .answers(&[answer(200, "A page of jobs.", &[(JSON, Page("jobs", &Ref("Job"), NextCursor::Nullable))])]);

pub(super) const CREATE_JOBS: Call = Call::post("/api/jobs/batch", Tag::Jobs, ManageJobs)
    .says("Create up to 10,000 jobs", "")
    .takes(&[TRACEPARENT, PREFER])
    .reads(Body::Json(
        of::<NewJobs>(),
        r#"{"jobs":[{"type":"index","payload":{"n":1}},{"type":"index","payload":{"n":2}}]}"#,
    ))
    .answers(&[answer(
        200,
        "One result for each job, in order. A refused item does not affect the others.",
        &[(JSON, Ref("JobResults"))],
    )
    .with(&[PREFERENCE_APPLIED])]);

pub(super) const ACT_ON_JOBS: Call = Call::post("/api/jobs/actions", Tag::Jobs, Operate)
    .says("Cancel or retry every job that matches", "")
    .reads(Body::Json(of::<JobAction>(), r#"{"action":"cancel","filter":{"type":"index","phase":"ready"}}"#))
    .answers(&[answer(
        200,
        "One result for each job that matched, at most 10,000 in a call.",
        &[(JSON, Ref("ActionResults"))],
    )]);

pub(super) const GET_JOB: Call = Call::get("/api/jobs/{id}", Tag::Jobs, ReadJobs)
    .says("Get a job", "")
    .takes(&[JOB_ID])
    .answers(&[answer(200, "The job.", &[(JSON, Ref("Job"))])])
    .refuses(&[NotFound]);

pub(super) const LIST_JOB_EVENTS: Call = Call::get("/api/jobs/{id}/events", Tag::Jobs, ReadJobs)
    .says("List a job's events in order", "")
    .takes(&[
        JOB_ID,
        Parameter::query(
            "telemetry",
            "Includes heartbeats, renewals and progress.",
            Json(r#"{"type":"boolean","default":false}"#),
        ),
    ])
    .answers(&[answer(
        200,
        "All events; notes after the numbered ones.",
        &[(JSON, Page("events", &AnyOf(&[Ref("Event"), Ref("Telemetry")]), NextCursor::Null))],
    )])
    .refuses(&[NotFound]);

pub(super) const REPLAY_JOB: Call = Call::get("/api/jobs/{id}/replay", Tag::Jobs, ReadJobs)
    .says("Get a job as it was after its N-th transition", "")
    .takes(&[
        JOB_ID,
        Parameter::query(
            "seq",
            "The number of the transition; default: the last. A number that the job has not reached is 400.",
            Json(r#"{"type":"integer","minimum":1}"#),
        )
        .example("1"),
    ])
    .answers(&[answer(200, "The job, computed from its events.", &[(JSON, Ref("Job"))])])
    .refuses(&[NotFound]);

pub(super) const EXPLAIN_JOB: Call = Call::get("/api/jobs/{id}/explain", Tag::Jobs, ReadJobs)
    .says("Explain why a job is in its state", "")
    .takes(&[JOB_ID])
    .answers(&[answer(
        200,
        "What the job waits for, which timers run, and what can happen next.",
        &[(JSON, of::<Explanation>())],
    )])
    .refuses(&[NotFound]);

pub(super) const STREAM_JOB: Call = Call::get("/api/jobs/{id}/stream", Tag::Jobs, ReadJobs)
    .says("Follow a job's log to its end", "")
    .takes(&[
        JOB_ID,
        Parameter::header(
            "Last-Event-ID",
            "Continue after this event. Browsers send it when they reconnect.",
            Json(r#"{"type":"string","pattern":"^([0-9]{1,18}|final)?$"}"#),
        ),
        Parameter::query(
            "after",
            "The same for clients that cannot set the header: the id of the last event received.",
            Ref("StreamCursor"),
        ),
    ])
    .answers(&[
        answer(
            200,
            "Server-sent events: `log` (data: a log line) from the start or after `Last-Event-ID`, and one `status` at the end (data: `{ job_id, state, outcome, output, error }`). Then the stream closes.",
            &[(
                "text/event-stream",
                Json(
                    r##"{"type":"object","description":"One event of the stream.","required":["event","id","data"],"properties":{"event":{"enum":["log","status"]},"id":{"$ref":"#/components/schemas/StreamCursor"},"data":{"type":"string","contentMediaType":"application/json"}}}"##,
                ),
            )],
        ),
        answer(204, "The client has received the final status: stop reconnecting.", &[]),
    ])
    .refuses(&[NotFound]);

pub(super) const LIST_JOB_LOGS: Call = Call::get("/api/jobs/{id}/logs", Tag::Jobs, ReadJobs)
    .says("List a job's log lines", "")
    .takes(&[
        JOB_ID,
        Parameter::query(
            "after",
            "Only lines after this number.",
            Json(r#"{"type":"integer","minimum":0,"default":0}"#),
        ),
        Parameter::query(
            "limit",
            "At most this many.",
            Json(r#"{"type":"integer","minimum":1,"maximum":500,"default":500}"#),
        ),
    ])
    .answers(&[answer(
        200,
        "Lines in order.",
        &[(JSON, Page("lines", &of::<LogLine>(), NextCursor::Nullable))],
    )])
    .refuses(&[NotFound]);

pub(super) const APPEND_JOB_LOGS: Call = Call::post("/api/jobs/{id}/logs", Tag::Jobs, Work)
    .access(Access::Either(Work, ManageJobs))
    .says("Append lines to a job's log", "")
    .takes(&[JOB_ID])
    .reads(Body::Json(
        of::<NewLogLines>(),
        r#"{"worker":"w1","fence":1,"lines":[{"stream":"stdout","level":"info","text":"half way"}]}"#,
    ))
    .answers(&[answer(200, "How many lines the job has now.", &[(JSON, of::<LogCount>())])])
    .refuses(&[NotFound, LeaseConflict]);

const ASSET_EXAMPLE: &str = r#"{"id":"019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00","job_id":"019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00","user_id":"ann","asset_type":"picture","url":"/api/jobs/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00/assets/019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00/content","storage_path":"ann/019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00/019a8b7f-1d00-7a31-8c5b-2f6e7d8c9b00/image.png","file_size":48213,"created_at":"2025-11-16T07:00:00.000Z","discarded_at":null}"#;

const ASSET_ID: Parameter = Parameter::path("asset", "The asset's id.", ANY_UUID, "");

pub(super) const LIST_JOB_ASSETS: Call = Call::get("/api/jobs/{id}/assets", Tag::Jobs, ReadJobs)
    .says("List a job's assets", "")
    .takes(&[JOB_ID, LIMIT, CURSOR])
    .answers(&[answer(
        200,
        "Assets, newest first.",
        &[(JSON, Page("assets", &of::<Asset>(), NextCursor::NullableId))],
    )])
    .refuses(&[NotFound]);

pub(super) const ADD_JOB_ASSET: Call = Call::post("/api/jobs/{id}/assets", Tag::Jobs, Work)
    .access(Access::Either(Work, ManageJobs))
    .says(
        "Upload or register an asset of a job",
        "With `asset_type` in the query, the body is the content, of any type. It is streamed to the location that `assets.store` names, and the answer is sent when it is durable. Without `asset_type`, the body is JSON and gives the URL of the content.\n\nDuring a lease its holder adds assets with `worker` and `fence` (in the query of an upload, in the body of a registration). The job's owner, operators and admins need neither and can add assets at any time. An upload counts as a heartbeat every 10 s.",
    )
    .takes(&[
        JOB_ID,
        Parameter::query("asset_type", "The kind of asset; makes the request an upload.", Ref("Name")),
        Parameter::query(
            "name",
            "The file name: no path, no control characters.",
            Json(r#"{"type":"string","minLength":1,"maxLength":240,"default":"content"}"#),
        ),
        Parameter::query("worker", "The holder of the lease.", Ref("Name")),
        Parameter::query("fence", "The fence of the lease.", Ref("Fence")),
    ])
    .reads(Body::JsonOrContent(
        of::<NewAsset>(),
        r#"{"asset_type":"video","url":"https://cdn.example.org/v.mp4","file_size":9000000000}"#,
    ))
    .answers(&[
        answer(200, "The asset that was added with this key before.", &[(JSON, of::<Asset>())])
            .with(&[REPLAYED, LOCATION])
            .example(ASSET_EXAMPLE),
        answer(201, "The asset.", &[(JSON, of::<Asset>())]).with(&[LOCATION]).example(ASSET_EXAMPLE),
    ])
    .refuses(&[NotFound, LeaseConflict, ValidationFailed]);

pub(super) const GET_JOB_ASSET: Call = Call::get("/api/jobs/{id}/assets/{asset}", Tag::Jobs, ReadJobs)
    .says("Get an asset", "")
    .takes(&[JOB_ID, ASSET_ID])
    .answers(&[answer(200, "The asset.", &[(JSON, of::<Asset>())]).example(ASSET_EXAMPLE)])
    .refuses(&[NotFound]);

pub(super) const GET_JOB_ASSET_CONTENT: Call =
    Call::get("/api/jobs/{id}/assets/{asset}/content", Tag::Jobs, ReadJobs)
        .says(
            "Download an asset",
            "Always sent as `application/octet-stream` and as an attachment, so that a browser does not render it. Discarded assets, and assets registered by URL, have no content here.",
        )
        .takes(&[
            JOB_ID,
            ASSET_ID,
            Parameter::header(
                "Range",
                "One range: `bytes=0-99`, `bytes=100-`, `bytes=-100`. Anything else is ignored.",
                Text,
            ),
            Parameter::header("If-Range", "The `ETag` for which the range applies; otherwise all is sent.", Text),
            Parameter::header("If-None-Match", "The `ETag` of a known version.", Text),
        ])
        .answers(&[
            answer(200, "The content.", &[(CONTENT, BINARY)]),
            answer(206, "The requested range.", &[(CONTENT, BINARY)]).with(&[Header {
                name: "Content-Range",
                about: "`bytes 0-99/1234`.",
                required: false,
                schema: Text,
            }]),
            answer(304, "The caller has this version.", &[]),
        ])
        .refuses(&[NotFound, RangeNotSatisfiable]);

pub(super) const CANCEL_JOB: Call = Call::post("/api/jobs/{id}/cancel", Tag::Jobs, ManageJobs)
    .says(
        "Cancel a job",
        "A ready or waiting job is cancelled at once. For a held or active job, soft asks the worker to stop and becomes hard after the type's `cancel_grace`; hard revokes the lease now.",
    )
    .takes(&[JOB_ID, PREFER])
    .reads(Body::OptionalJson(of::<Cancel>(), r#"{"mode":"soft","reason":"not needed any more"}"#))
    .answers(CHANGED)
    .refuses(&[NotFound, InvalidTransition]);

pub(super) const RETRY_JOB: Call = Call::post("/api/jobs/{id}/retry", Tag::Jobs, ManageJobs)
    .says("Create a new job like this finished one", "Its `retry_of` is this job.")
    .takes(&[JOB_ID, PREFER])
    .answers(CREATED)
    .refuses(&[NotFound, InsufficientCredits, InvalidTransition, UnknownType]);

pub(super) const DEAD_LETTER_JOB: Call = Call::post("/api/jobs/{id}/dead-letter", Tag::Jobs, Operate)
    .says("Give a job up", "")
    .takes(&[JOB_ID, PREFER])
    .reads(Body::Json(of::<GiveUp>(), r#"{"reason_code":"policy_violation","detail":"asked by legal"}"#))
    .answers(CHANGED)
    .refuses(&[NotFound, InvalidTransition]);

pub(super) const SIGNAL_JOB: Call = Call::post("/api/jobs/{id}/signals/{name}", Tag::Jobs, ManageJobs)
    .says("Send a signal that the lifecycle declares", "")
    .takes(&[
        JOB_ID,
        Parameter::path("name", "The signal, without `signal:`.", Ref("Name"), r#""approve""#),
        PREFER,
    ])
    .reads(Body::OptionalJson(of::<Signal>(), r#"{"payload":{"by":"ann"}}"#))
    .answers(CHANGED)
    .refuses(&[NotFound, InvalidTransition]);
