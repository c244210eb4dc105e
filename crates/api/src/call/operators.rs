//! Calls of operators: dead letters, queues, definitions, credits, events, statistics, the audit log, keys.

use super::shared::*;
use super::{Body, Parameter};
use crate::problem::ProblemCode::{InvalidTransition, NotFound, ValidationFailed};
use crate::request::{
    DeadLetterFilter, Dismissal, Erase, EventFilter, Grant, KeyRotation, NewKey, Redrive, ResourcePause,
    ResourceResume, SetResourceLimits, StatsFilter, TryLifecycle,
};
use crate::schema::Schema::{Json, Page, Ref, Text};
use crate::schema::{Described as _, NextCursor, Schema, of};
use crate::values::ANY_UUID;
use crate::{
    Account, ApiKey, AuditLine, DeadLetter, ErasureProgress, Event, JobType, Lifecycle, LifecycleSummary,
    PausedQueue, Queue, Resource, SequenceStatus, Stats, WhatIf,
};

const QUEUE: Parameter = path("name", "The queue.", Ref("Name"), r#""default""#);
const RESOURCE: Parameter = path("name", "The resource.", Ref("Name"), r#""openai""#);
const NAME_CURSOR: Parameter = query("cursor", "The `next_cursor` of the previous page.", Text);
const LIFECYCLE: Parameter = path(
    "name",
    "The lifecycle.",
    Json(r#"{"type":"string","maxLength":255,"pattern":"^[a-z][a-z0-9_-]*$"}"#),
    r#""distributed""#,
);
const EVENT_STREAM: Schema = Json(
    r##"{"type":"string","description":"Server-sent events; each has the members of `x-event`.","x-event":{"type":"object","required":["event","id","data"],"properties":{"event":{"type":"string"},"id":{"$ref":"#/components/schemas/EventCursor"},"data":{"type":"string","contentMediaType":"application/json"}}}}"##,
);
const KEY: Parameter = path("id", "The key's id.", Ref("Name"), r#""k7f3q9x2m4ab""#);
const USER: Parameter = path("user", "The user.", Ref("Name"), r#""u1""#);

calls! { DeadLetters:
    Get "/api/dead-letters" ListDeadLetters ReadDeadLetters "List dead letters, newest job first" {
        parameters: &[
            query("dismissed", "Dismissed dead letters instead of open ones.", Json(r#"{"type":"boolean","default":false}"#)),
            LIMIT,
            CURSOR,
        ],
        filter: Some(&DeadLetterFilter::OBJECT),
        answers: &[ok("A page of dead letters.", Page("dead_letters", &of::<DeadLetter>(), NextCursor::Nullable))],
    }
    Post "/api/dead-letters/redrive" RedriveDeadLetters Operate "Create new jobs like dead ones" {
        body: Body::Json(of::<Redrive>(), r#"{"filter":{"type":"index","reason_code":"dependency_unavailable"},"max_per_second":10}"#),
        answers: &[ok("One result for each; `retry_of` of each new job is the dead one.", Ref("RedriveResults"))],
    }
    Post "/api/dead-letters/{job}/dismiss" DismissDeadLetter Operate "Dismiss a dead letter" {
        about: "It stays readable, with the actor and the reason. A second dismissal changes nothing.",
        parameters: &[path("job", "The dead job's id.", ANY_UUID, EXAMPLE_ID)],
        body: Body::Json(of::<Dismissal>(), r#"{"reason":"fixed by hand"}"#),
        answers: &[ok("The dead letter.", of::<DeadLetter>())],
        problems: &[NotFound],
    }
}

calls! { Queues:
    Get "/api/queues" ListQueues ReadSystem "List queues" {
        answers: &[ok("All queues.", Page("queues", &of::<Queue>(), NextCursor::Null))],
    }
    Post "/api/queues/{name}/pause" PauseQueue ManageSystem "Pause a queue" {
        about: "None of its jobs is claimed until it is resumed. Running jobs continue.",
        parameters: &[QUEUE], answers: &[ok("The queue.", of::<PausedQueue>())],
    }
    Post "/api/queues/{name}/resume" ResumeQueue ManageSystem "Resume a queue" {
        about: "Its jobs can be claimed again.",
        parameters: &[QUEUE], answers: &[ok("The queue.", of::<PausedQueue>())],
    }
}

calls! { Resources:
    Get "/api/resources" ListResources ReadSystem "List resources and their use" {
        parameters: &[LIMIT, NAME_CURSOR],
        answers: &[ok("The declared resources.", Page("resources", &of::<Resource>(), NextCursor::Nullable))],
    }
    Get "/api/resources/{name}" GetResource ReadSystem "Get a resource and its use" {
        parameters: &[RESOURCE, query("key", "Only the bucket of this key.", Ref("FlowKey"))],
        answers: &[ok("The resource.", of::<Resource>())],
        problems: &[NotFound],
    }
    Put "/api/resources/{name}" SetResource ManageSystem "Override the limits of a resource" {
        about: "A member that is absent is as in the file; null is no limit. In force from this commit on, on every node. A lower limit ends nothing that runs.",
        parameters: &[RESOURCE],
        body: Body::Json(of::<SetResourceLimits>(), r#"{"running":5}"#),
        answers: &[ok("The resource.", of::<Resource>())],
        problems: &[NotFound, ValidationFailed],
    }
    Delete "/api/resources/{name}" ResetResource ManageSystem "Remove the override of a resource" {
        about: "The limits of the file are in force again.",
        parameters: &[RESOURCE], answers: &[ok("The resource.", of::<Resource>())],
        problems: &[NotFound],
    }
    Post "/api/resources/{name}/pause" PauseResource ManageSystem "Pause a resource" {
        about: "No lease that uses it is granted: of one bucket, or of all, future ones too. Running jobs continue. The longest pause counts.",
        parameters: &[RESOURCE],
        body: Body::Json(of::<ResourcePause>(), r#"{"key":"acme","for":"30s"}"#),
        answers: &[ok("The resource.", of::<Resource>())],
        problems: &[NotFound, ValidationFailed],
    }
    Post "/api/resources/{name}/resume" ResumeResource ManageSystem "Resume a resource" {
        about: "Ends every pause of one bucket, or of all, those by workers included.",
        parameters: &[RESOURCE],
        body: Body::Json(of::<ResourceResume>(), "{}"),
        answers: &[ok("The resource.", of::<Resource>())],
        problems: &[NotFound, ValidationFailed],
    }
    Get "/api/sequences" ListSequences ReadSystem "List sequences" {
        parameters: &[
            query("halted", "Only halted ones.", Json(r#"{"type":"boolean","default":false}"#)),
            LIMIT,
            NAME_CURSOR,
        ],
        answers: &[ok("Sequences with unfinished jobs, and halted ones.", Page("sequences", &of::<SequenceStatus>(), NextCursor::Nullable))],
    }
    Post "/api/sequences/{type}/{key}/resume" ResumeSequence ManageSystem "Resume a halted sequence" {
        about: "It continues with its next job.",
        parameters: &[
            path("type", "The type.", Ref("Name"), r#""apply_change""#),
            path("key", "The key.", Ref("FlowKey"), r#""account-7""#),
        ],
        answers: &[ok("The sequence.", of::<SequenceStatus>())],
        problems: &[InvalidTransition],
    }
}

calls! { Catalog:
    Get "/api/lifecycles" ListLifecycles ReadJobs "List lifecycles" {
        answers: &[ok("The newest version of each.", Page("lifecycles", &of::<LifecycleSummary>(), NextCursor::Null))],
    }
    Get "/api/lifecycles/{name}" GetLifecycle ReadJobs "Get a lifecycle" {
        parameters: &[LIFECYCLE],
        answers: &[ok("Its newest version, with everything that is derived from it.", of::<Lifecycle>())],
        problems: &[NotFound],
    }
    Get "/api/lifecycles/{name}/diagram.svg" GetLifecycleDiagram ReadJobs "Get a lifecycle's diagram" {
        parameters: &[LIFECYCLE],
        answers: &[answer(200, "The diagram.").content(&[("image/svg+xml", Text)])],
        problems: &[NotFound],
    }
    Post "/api/lifecycles/{name}/what-if" TryLifecycle ReadSystem "Judge jobs under another version of a lifecycle" {
        about: "Changes nothing. Says which live jobs could follow the version, and replays the recorded triggers of jobs that finished in the period through its rules. Timeouts and due times fire by these rules; what workers would have done otherwise is not known.",
        parameters: &[LIFECYCLE],
        body: Body::Json(of::<TryLifecycle>(), r#"{"source":"name = \"distributed\"\nversion = 2\n","since":"1d"}"#),
        answers: &[ok("What would have changed.", of::<WhatIf>())],
        problems: &[NotFound, ValidationFailed],
    }
    Get "/api/types" ListTypes ReadJobs "List types" {
        answers: &[ok("All types.", Page("types", &of::<JobType>(), NextCursor::Null))],
    }
}

calls! { Accounts:
    Get "/api/accounts/{user}/credits" GetCredits ManageJobs | ReadSystem "Get a user's credits and ledger" {
        about: "A producer reads only its user's account.",
        parameters: &[USER, LIMIT, ROW_CURSOR], answers: &[ok("The account.", of::<Account>())],
    }
    Post "/api/accounts/{user}/credits" GrantCredits ManageSystem "Grant credits to a user" {
        parameters: &[USER],
        body: Body::Json(of::<Grant>(), r#"{"grant":100,"reason":"welcome"}"#),
        answers: &[ok("The account after the grant.", of::<Account>())],
        problems: &[ValidationFailed],
    }
}

calls! { Users:
    Post "/api/users/{user}/erase" EraseUser ManageSystem "Erase a user" {
        about: "Deletes every finished job of the user with its events, logs, assets and dead letter, at most 10,000 in a call; the server deletes the rest. Jobs that are unfinished are deleted within a minute of their end. Then the user's account and ledger lines get a random name, and keep their amounts. The audit log records the request, its reason and its end. Later jobs of the user stay, and so do the user's keys and schedules. A repeated call continues the same erasure.",
        parameters: &[USER],
        body: Body::Json(of::<Erase>(), r#"{"reason":"request of the user, case 4711"}"#),
        answers: &[ok("What this call did.", of::<ErasureProgress>())],
    }
}

calls! { Events:
    Get "/api/events" ListEvents ReadJobs "Read or follow all events in commit order" {
        about: "No event is missed and the order never changes, on every node.",
        parameters: &[
            query("after", "Only events after this cursor; default: from the first; `latest`: from now on.", Ref("EventCursor")),
            LIMIT,
            header("Last-Event-ID", "With `Accept: text/event-stream`: continue after this event. Browsers send it when they reconnect.", Text),
        ],
        filter: Some(&EventFilter::OBJECT),
        answers: &[ok("A page of events, or, with `Accept: text/event-stream`, a live stream: `data` is the event, `id` the cursor after it.", Page("events", &of::<Event>(), NextCursor::Always)).content(&[("text/event-stream", EVENT_STREAM)])],
    }
}

calls! { Operations:
    Get "/api/stats" GetStats ReadSystem "Get counts, rates and percentiles" {
        about: "With any parameter, `history` has statistics over time.",
        filter: Some(&StatsFilter::OBJECT),
        answers: &[ok("Per lifecycle, state and type, of all nodes together.", of::<Stats>())],
    }
    Get "/api/audit" ListAudit ReadSystem "Read or follow the audit log, oldest first" {
        about: "No line is missed, on every node. A live stream sends new lines within about a second.",
        parameters: &[
            LIMIT,
            ROW_CURSOR,
            header("Last-Event-ID", "With `Accept: text/event-stream`: continue after this line. Browsers send it when they reconnect.", Json(r#"{"type":"string","pattern":"^([0-9]{1,18})?$"}"#)),
        ],
        answers: &[ok("A page of lines, or, with `Accept: text/event-stream`, a live stream: `event` is `audit`, `data` the line, `id` the cursor after it.", Page("audit", &of::<AuditLine>(), NextCursor::Nullable)).content(&[("text/event-stream", EVENT_STREAM)])],
    }
}

calls! { Keys:
    Get "/api/keys" ListKeys ManageKeys "List keys" {
        answers: &[ok("All keys, including revoked ones, without their secrets.", Page("keys", &of::<ApiKey>(), NextCursor::Null))],
    }
    Post "/api/keys" CreateKey ManageKeys "Create a key" {
        about: "On an open server the first key must be an admin's; from its commit on the server requires credentials.",
        body: Body::Json(of::<NewKey>(), r#"{"roles":["producer","worker"],"user_id":"u1","name":"build farm","ttl":"30d","scopes":{"types":["build"],"worker":"ci-*"}}"#),
        answers: &[
            ok("The key that was created with the same `Idempotency-Key` before, without its secret.", of::<ApiKey>()).with(&[REPLAYED]),
            json(201, "The key, with its secret, which is not shown again.", Ref("IssuedKey")),
        ],
        problems: &[ValidationFailed],
    }
    Post "/api/keys/{id}/rotate" RotateKey ManageKeys "Give a key a new secret" {
        about: "The id stays the same. Earlier secrets stay valid for the overlap.",
        parameters: &[KEY],
        body: Body::OptionalJson(of::<KeyRotation>(), r#"{"overlap":"1h"}"#),
        answers: &[
            ok("The key that was rotated with the same `Idempotency-Key` before, without its secret.", of::<ApiKey>()).with(&[REPLAYED]),
            json(201, "The key, with its new secret, which is not shown again.", Ref("IssuedKey")),
        ],
        problems: &[NotFound, ValidationFailed],
    }
    Delete "/api/keys/{id}" RevokeKey ManageKeys "Revoke a key" {
        parameters: &[KEY],
        answers: &[ok("The revoked key. A second call changes nothing.", of::<ApiKey>())],
        problems: &[NotFound],
    }
}
