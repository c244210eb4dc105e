//! Calls of operators: dead letters, queues, definitions, credits, events, statistics, the audit log, keys.

use super::shared::{CURSOR, EXAMPLE_ID, JSON, LIMIT, REPLAYED, ROW_CURSOR, answer};
use super::{Access, Body, Call, Parameter, Tag};
use crate::problem::ProblemCode::{NotFound, ValidationFailed};
use crate::request::{DeadLetterFilter, Dismissal, EventFilter, Grant, NewKey, Redrive};
use crate::right::Right::{ManageJobs, ManageKeys, Operate, ReadJobs, ReadSystem};
use crate::schema::Schema::{Json, Page, Ref, Text};
use crate::schema::{Described as _, NextCursor, of};
use crate::values::ANY_UUID;
use crate::{
    Account, ApiKey, AuditLine, DeadLetter, Event, JobType, Lifecycle, LifecycleSummary, PausedQueue, Queue,
    Stats,
};

pub(super) const LIST_DEAD_LETTERS: Call = Call::get("/api/dead-letters", Tag::DeadLetters, ReadSystem)
    .access(Access::Either(ManageJobs, ReadSystem))
    .says("List dead letters, newest job first", "")
    .filtered(&DeadLetterFilter::OBJECT)
    .takes(&[
        Parameter::query(
            "dismissed",
            "Dismissed dead letters instead of open ones.",
            Json(r#"{"type":"boolean","default":false}"#),
        ),
        LIMIT,
        CURSOR,
    ])
    .answers(&[answer(
        200,
        "A page of dead letters.",
        &[(JSON, Page("dead_letters", &of::<DeadLetter>(), NextCursor::Nullable))],
    )]);

pub(super) const REDRIVE_DEAD_LETTERS: Call =
    Call::post("/api/dead-letters/redrive", Tag::DeadLetters, Operate)
        .says("Create new jobs like dead ones", "")
        .reads(Body::Json(
            of::<Redrive>(),
            r#"{"filter":{"type":"index","reason_code":"dependency_unavailable"},"max_per_second":10}"#,
        ))
        .answers(&[answer(
            200,
            "One result for each; `retry_of` of each new job is the dead one.",
            &[(JSON, Ref("RedriveResults"))],
        )]);

pub(super) const DISMISS_DEAD_LETTER: Call =
    Call::post("/api/dead-letters/{job}/dismiss", Tag::DeadLetters, Operate)
        .says(
            "Dismiss a dead letter",
            "It stays readable, with the actor and the reason. A second dismissal changes nothing.",
        )
        .takes(&[Parameter::path("job", "The dead job's id.", ANY_UUID, EXAMPLE_ID)])
        .reads(Body::Json(of::<Dismissal>(), r#"{"reason":"fixed by hand"}"#))
        .answers(&[answer(200, "The dead letter.", &[(JSON, of::<DeadLetter>())])])
        .refuses(&[NotFound]);

const QUEUE: Parameter = Parameter::path("name", "The queue.", Ref("Name"), r#""default""#);

pub(super) const LIST_QUEUES: Call = Call::get("/api/queues", Tag::Queues, ReadSystem)
    .says("List queues", "")
    .answers(&[answer(200, "All queues.", &[(JSON, Page("queues", &of::<Queue>(), NextCursor::Null))])]);

pub(super) const PAUSE_QUEUE: Call = Call::post("/api/queues/{name}/pause", Tag::Queues, Operate)
    .says("Pause a queue", "None of its jobs is claimed until it is resumed. Running jobs continue.")
    .takes(&[QUEUE])
    .answers(&[answer(200, "The queue.", &[(JSON, of::<PausedQueue>())])]);

pub(super) const RESUME_QUEUE: Call = Call::post("/api/queues/{name}/resume", Tag::Queues, Operate)
    .says("Resume a queue", "Its jobs can be claimed again.")
    .takes(&[QUEUE])
    .answers(&[answer(200, "The queue.", &[(JSON, of::<PausedQueue>())])]);

const LIFECYCLE: Parameter = Parameter::path(
    "name",
    "The lifecycle.",
    Json(r#"{"type":"string","maxLength":255,"pattern":"^[a-z][a-z0-9_-]*$"}"#),
    r#""distributed""#,
);

pub(super) const LIST_LIFECYCLES: Call =
    Call::get("/api/lifecycles", Tag::Catalog, ReadJobs).says("List lifecycles", "").answers(&[answer(
        200,
        "The newest version of each.",
        &[(JSON, Page("lifecycles", &of::<LifecycleSummary>(), NextCursor::Null))],
    )]);

pub(super) const GET_LIFECYCLE: Call = Call::get("/api/lifecycles/{name}", Tag::Catalog, ReadJobs)
    .says("Get a lifecycle", "")
    .takes(&[LIFECYCLE])
    .answers(&[answer(
        200,
        "Its newest version, with everything that is derived from it.",
        &[(JSON, of::<Lifecycle>())],
    )])
    .refuses(&[NotFound]);

pub(super) const GET_LIFECYCLE_DIAGRAM: Call =
    Call::get("/api/lifecycles/{name}/diagram.svg", Tag::Catalog, ReadJobs)
        .says("Get a lifecycle's diagram", "")
        .takes(&[LIFECYCLE])
        .answers(&[answer(200, "The diagram.", &[("image/svg+xml", Text)])])
        .refuses(&[NotFound]);

pub(super) const LIST_TYPES: Call = Call::get("/api/types", Tag::Catalog, ReadJobs)
    .says("List types", "")
    .answers(&[answer(200, "All types.", &[(JSON, Page("types", &of::<JobType>(), NextCursor::Null))])]);

const USER: Parameter = Parameter::path("user", "The user.", Ref("Name"), r#""u1""#);

pub(super) const GET_CREDITS: Call = Call::get("/api/accounts/{user}/credits", Tag::Accounts, ReadSystem)
    .access(Access::Either(ManageJobs, ReadSystem))
    .says("Get a user's credits and ledger", "A producer reads only its user's account.")
    .takes(&[USER, LIMIT, ROW_CURSOR])
    .answers(&[answer(200, "The account.", &[(JSON, of::<Account>())])]);

pub(super) const GRANT_CREDITS: Call = Call::post("/api/accounts/{user}/credits", Tag::Accounts, Operate)
    .says("Grant credits to a user", "")
    .takes(&[USER])
    .reads(Body::Json(of::<Grant>(), r#"{"grant":100,"reason":"welcome"}"#))
    .answers(&[answer(200, "The account after the grant.", &[(JSON, of::<Account>())])])
    .refuses(&[ValidationFailed]);

pub(super) const LIST_EVENTS: Call = Call::get("/api/events", Tag::Events, ReadJobs)
    .says(
        "Read or follow all events in commit order",
        "No event is missed and the order never changes, on every node.",
    )
    .takes(&[
        Parameter::query(
            "after",
            "Only events after this cursor; default: from the first; `latest`: from now on.",
            Ref("EventCursor"),
        ),
        LIMIT,
        Parameter::header(
            "Last-Event-ID",
            "With `Accept: text/event-stream`: continue after this event. Browsers send it when they reconnect.",
            Text,
        ),
    ])
    .filtered(&EventFilter::OBJECT)
    .answers(&[answer(
        200,
        "A page of events, or, with `Accept: text/event-stream`, a live stream: `data` is the event, `id` the cursor after it.",
        &[
            (JSON, Page("events", &of::<Event>(), NextCursor::Always)),
            (
                "text/event-stream",
                Json(
                    r##"{"type":"object","description":"One event of the stream.","required":["event","id","data"],"properties":{"event":{"type":"string"},"id":{"$ref":"#/components/schemas/EventCursor"},"data":{"type":"string","contentMediaType":"application/json"}}}"##,
                ),
            ),
        ],
    )]);

pub(super) const GET_STATS: Call = Call::get("/api/stats", Tag::Operations, ReadSystem)
    .says("Get counts, rates and percentiles", "")
    .answers(&[answer(
        200,
        "Per lifecycle, state and type, of all nodes together.",
        &[(JSON, of::<Stats>())],
    )]);

pub(super) const LIST_AUDIT: Call = Call::get("/api/audit", Tag::Operations, ReadSystem)
    .says("List the audit log, oldest first", "")
    .takes(&[LIMIT, ROW_CURSOR])
    .answers(&[answer(
        200,
        "A page of lines.",
        &[(JSON, Page("audit", &of::<AuditLine>(), NextCursor::Nullable))],
    )]);

pub(super) const LIST_KEYS: Call =
    Call::get("/api/keys", Tag::Keys, ManageKeys).says("List keys", "").answers(&[answer(
        200,
        "All keys, including revoked ones, without their secrets.",
        &[(JSON, Page("keys", &of::<ApiKey>(), NextCursor::Null))],
    )]);

pub(super) const CREATE_KEY: Call = Call::post("/api/keys", Tag::Keys, ManageKeys)
    .says(
        "Create a key",
        "On an open server the first key must be an admin's; from its commit on the server requires credentials.",
    )
    .reads(Body::Json(of::<NewKey>(), r#"{"role":"producer","user_id":"u1"}"#))
    .answers(&[
        answer(
            200,
            "The key that was created with the same `Idempotency-Key` before, without its secret.",
            &[(JSON, of::<ApiKey>())],
        )
        .with(&[REPLAYED]),
        answer(201, "The key, with its secret, which is not shown again.", &[(JSON, Ref("IssuedKey"))]),
    ])
    .refuses(&[ValidationFailed]);

pub(super) const REVOKE_KEY: Call = Call::delete("/api/keys/{id}", Tag::Keys, ManageKeys)
    .says("Revoke a key", "")
    .takes(&[Parameter::path("id", "The key's id.", Ref("Name"), r#""k7f3q9x2m4ab""#)])
    .answers(&[answer(200, "The revoked key. A second call changes nothing.", &[(JSON, of::<ApiKey>())])])
    .refuses(&[NotFound]);
