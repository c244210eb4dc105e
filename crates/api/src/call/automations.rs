//! Calls about schedules and webhooks.

use super::shared::{JSON, LOCATION, REPLAYED, answer};
use super::{Answer, Body, Call, Parameter, Tag};
use crate::problem::ProblemCode::{NotFound, ValidationFailed};
use crate::request::{NewSchedule, NewWebhook};
use crate::right::Right::{Operate, ReadSystem};
use crate::schema::Schema::{Page, Ref};
use crate::schema::{NextCursor, of};
use crate::{Schedule, Webhook};

const SCHEDULE_ID: Parameter = Parameter::path("id", "The schedule's id.", Ref("Name"), r#""nightly""#);
const SCHEDULE: &[Answer] = &[answer(200, "The schedule.", &[(JSON, of::<Schedule>())])];

pub(super) const LIST_SCHEDULES: Call = Call::get("/api/schedules", Tag::Schedules, ReadSystem)
    .says("List schedules", "By id, each with its description in words and its next five times.")
    .answers(&[answer(
        200,
        "All schedules.",
        &[(JSON, Page("schedules", &of::<Schedule>(), NextCursor::Null))],
    )]);

pub(super) const CREATE_SCHEDULE: Call = Call::post("/api/schedules", Tag::Schedules, Operate)
    .says(
        "Create a schedule",
        "At each of its times one node creates one job, in one commit with the schedule's next time. The actor of the job's first event is `schedule:<id>`, its correlation id `<id>@<time>`. The same id with the same body again changes nothing.",
    )
    .reads(Body::Json(
        of::<NewSchedule>(),
        r#"{"id":"nightly","cron":"30 2 * * *","timezone":"Europe/Berlin","job":{"type":"index","payload":{"all":true}}}"#,
    ))
    .answers(&[
        answer(200, "The schedule existed, with the same body.", &[(JSON, of::<Schedule>())]).with(&[REPLAYED]),
        answer(201, "The schedule.", &[(JSON, of::<Schedule>())]).with(&[LOCATION]),
    ])
    .refuses(&[ValidationFailed]);

pub(super) const GET_SCHEDULE: Call = Call::get("/api/schedules/{id}", Tag::Schedules, ReadSystem)
    .says("Get a schedule", "")
    .takes(&[SCHEDULE_ID])
    .answers(SCHEDULE)
    .refuses(&[NotFound]);

pub(super) const DELETE_SCHEDULE: Call = Call::delete("/api/schedules/{id}", Tag::Schedules, Operate)
    .says("Delete a schedule", "Its jobs remain.")
    .takes(&[SCHEDULE_ID])
    .answers(&[answer(200, "The deleted schedule.", &[(JSON, of::<Schedule>())])])
    .refuses(&[NotFound]);

pub(super) const PAUSE_SCHEDULE: Call = Call::post("/api/schedules/{id}/pause", Tag::Schedules, Operate)
    .says("Pause a schedule", "It does not fire until it is resumed.")
    .takes(&[SCHEDULE_ID])
    .answers(SCHEDULE)
    .refuses(&[NotFound, ValidationFailed]);

pub(super) const RESUME_SCHEDULE: Call = Call::post("/api/schedules/{id}/resume", Tag::Schedules, Operate)
    .says(
        "Resume a schedule",
        "It continues with its next time from now on; times during the pause are skipped.",
    )
    .takes(&[SCHEDULE_ID])
    .answers(SCHEDULE)
    .refuses(&[NotFound, ValidationFailed]);

const WEBHOOK_ID: Parameter = Parameter::path("id", "The webhook's id.", Ref("Name"), r#""billing""#);
const WEBHOOK: &[Answer] = &[answer(200, "The webhook.", &[(JSON, of::<Webhook>())])];

pub(super) const LIST_WEBHOOKS: Call =
    Call::get("/api/webhooks", Tag::Webhooks, ReadSystem).says("List webhooks", "By id.").answers(&[answer(
        200,
        "All webhooks, without their secrets.",
        &[(JSON, Page("webhooks", &of::<Webhook>(), NextCursor::Null))],
    )]);

pub(super) const CREATE_WEBHOOK: Call = Call::post("/api/webhooks", Tag::Webhooks, Operate)
    .says(
        "Create a webhook",
        "Events from now on are sent to its URL in journal order, each at least once, signed according to Standard Webhooks. The same id with the same body again changes nothing.",
    )
    .reads(Body::Json(
        of::<NewWebhook>(),
        r#"{"id":"billing","url":"https://billing.example/hooks","filter":{"event":"job_succeeded"}}"#,
    ))
    .answers(&[
        answer(
            200,
            "The webhook existed, with the same body. Its secret is not shown again.",
            &[(JSON, of::<Webhook>())],
        )
        .with(&[REPLAYED]),
        answer(201, "The webhook, with its secret, which is not shown again.", &[(JSON, Ref("IssuedWebhook"))])
            .with(&[LOCATION]),
    ])
    .refuses(&[ValidationFailed]);

pub(super) const GET_WEBHOOK: Call = Call::get("/api/webhooks/{id}", Tag::Webhooks, ReadSystem)
    .says("Get a webhook", "")
    .takes(&[WEBHOOK_ID])
    .answers(WEBHOOK)
    .refuses(&[NotFound]);

pub(super) const DELETE_WEBHOOK: Call = Call::delete("/api/webhooks/{id}", Tag::Webhooks, Operate)
    .says("Delete a webhook", "Nothing more is sent.")
    .takes(&[WEBHOOK_ID])
    .answers(&[answer(200, "The deleted webhook.", &[(JSON, of::<Webhook>())])])
    .refuses(&[NotFound]);

pub(super) const ENABLE_WEBHOOK: Call = Call::post("/api/webhooks/{id}/enable", Tag::Webhooks, Operate)
    .says("Enable a webhook", "A disabled webhook continues with the first event that was not delivered.")
    .takes(&[WEBHOOK_ID])
    .answers(WEBHOOK)
    .refuses(&[NotFound, ValidationFailed]);
