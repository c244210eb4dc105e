//! Calls about schedules and webhooks.

use super::shared::*;
use super::{Answer, Body, Parameter};
use crate::problem::ProblemCode::{
    Duplicate, GuardRejected, InsufficientCredits, NotFound, UnknownType, ValidationFailed,
};
use crate::request::{NewSchedule, NewWebhook, WebhookReplay};
use crate::schema::Schema::{Page, Ref};
use crate::schema::{NextCursor, of};
use crate::{Schedule, Webhook};

const SCHEDULE_ID: Parameter = path("id", "The schedule's id.", Ref("Name"), r#""nightly""#);
const SCHEDULE: &[Answer] = &[ok("The schedule.", of::<Schedule>())];
const WEBHOOK_ID: Parameter = path("id", "The webhook's id.", Ref("Name"), r#""billing""#);
const WEBHOOK: &[Answer] = &[ok("The webhook.", of::<Webhook>())];

calls! { Schedules:
    Get "/api/schedules" ListSchedules ReadSystem "List schedules" {
        about: "By id, each with its description in words and its next five times.",
        answers: &[ok("All schedules.", Page("schedules", &of::<Schedule>(), NextCursor::Null))],
    }
    Post "/api/schedules" CreateSchedule ManageSystem "Create a schedule" {
        about: "At each of its times one node creates one job, in one commit with the schedule's next time. The actor of the job's first event is `schedule:<id>`, its correlation id `<id>@<time>`. The same id with the same body again changes nothing.",
        body: Body::Json(of::<NewSchedule>(), r#"{"id":"nightly","cron":"30 2 * * *","timezone":"Europe/Berlin","job":{"type":"index","payload":{"all":true}}}"#),
        answers: &[
            ok("The schedule existed, with the same body.", of::<Schedule>()).with(&[REPLAYED]),
            json(201, "The schedule.", of::<Schedule>()).with(&[LOCATION]),
        ],
        problems: &[ValidationFailed],
    }
    Get "/api/schedules/{id}" GetSchedule ReadSystem "Get a schedule" {
        parameters: &[SCHEDULE_ID], answers: SCHEDULE, problems: &[NotFound],
    }
    Put "/api/schedules/{id}" ReplaceSchedule ManageSystem "Replace a schedule" {
        about: "The times, the job and the policies become those of the body; what is absent gets its default. A paused schedule stays paused. Earlier jobs remain.",
        parameters: &[SCHEDULE_ID],
        body: Body::Json(of::<NewSchedule>(), r#"{"cron":"0 4 * * *","timezone":"Europe/Berlin","job":{"type":"index"}}"#),
        answers: SCHEDULE, problems: &[NotFound, UnknownType, ValidationFailed],
    }
    Delete "/api/schedules/{id}" DeleteSchedule ManageSystem "Delete a schedule" {
        about: "Its jobs remain.",
        parameters: &[SCHEDULE_ID],
        answers: &[ok("The deleted schedule.", of::<Schedule>())],
        problems: &[NotFound],
    }
    Post "/api/schedules/{id}/pause" PauseSchedule ManageSystem "Pause a schedule" {
        about: "It does not fire until it is resumed.",
        parameters: &[SCHEDULE_ID], answers: SCHEDULE, problems: &[NotFound, ValidationFailed],
    }
    Post "/api/schedules/{id}/resume" ResumeSchedule ManageSystem "Resume a schedule" {
        about: "It continues with its next time from now on; times during the pause are skipped.",
        parameters: &[SCHEDULE_ID], answers: SCHEDULE, problems: &[NotFound, ValidationFailed],
    }
    Post "/api/schedules/{id}/run" RunSchedule ManageSystem "Create the job of a schedule now" {
        about: "Its times stay, and so does a pause. With the overlap policy `skip`, it is refused while the last job is unfinished. The actor of the job's first event is the caller.",
        parameters: &[SCHEDULE_ID, PREFER],
        answers: CREATED,
        problems: &[NotFound, InsufficientCredits, Duplicate, UnknownType, ValidationFailed, GuardRejected],
    }
}

calls! { Webhooks:
    Get "/api/webhooks" ListWebhooks ReadSystem "List webhooks" {
        about: "By id.",
        answers: &[ok("All webhooks, without their secrets.", Page("webhooks", &of::<Webhook>(), NextCursor::Null))],
    }
    Post "/api/webhooks" CreateWebhook ManageSystem "Create a webhook" {
        about: "Events from now on are sent to its URL in journal order, each at least once, signed according to Standard Webhooks. The same id with the same body again changes nothing.",
        body: Body::Json(of::<NewWebhook>(), r#"{"id":"billing","url":"https://billing.example/hooks","filter":{"event":"job_succeeded"}}"#),
        answers: &[
            ok("The webhook existed, with the same body. Its secret is not shown again.", of::<Webhook>()).with(&[REPLAYED]),
            json(201, "The webhook, with its secret, which is not shown again.", Ref("IssuedWebhook")).with(&[LOCATION]),
        ],
        problems: &[ValidationFailed],
    }
    Get "/api/webhooks/{id}" GetWebhook ReadSystem "Get a webhook" {
        parameters: &[WEBHOOK_ID], answers: WEBHOOK, problems: &[NotFound],
    }
    Delete "/api/webhooks/{id}" DeleteWebhook ManageSystem "Delete a webhook" {
        about: "Nothing more is sent.",
        parameters: &[WEBHOOK_ID],
        answers: &[ok("The deleted webhook.", of::<Webhook>())],
        problems: &[NotFound],
    }
    Post "/api/webhooks/{id}/enable" EnableWebhook ManageSystem "Enable a webhook" {
        about: "A disabled webhook continues with the first event that was not delivered.",
        parameters: &[WEBHOOK_ID], answers: WEBHOOK, problems: &[NotFound, ValidationFailed],
    }
    Post "/api/webhooks/{id}/disable" DisableWebhook ManageSystem "Disable a webhook" {
        about: "Nothing is sent until it is enabled. Within a second, one more delivery may arrive; it is repeated then.",
        parameters: &[WEBHOOK_ID], answers: WEBHOOK, problems: &[NotFound, ValidationFailed],
    }
    Post "/api/webhooks/{id}/replay" ReplayWebhook ManageSystem "Send events of a webhook again" {
        about: "Sets the position back, so that every matching event after it is sent again, in order. Receivers know the events by their `webhook-id`. Events of jobs that were deleted are not sent.",
        parameters: &[WEBHOOK_ID],
        body: Body::Json(of::<WebhookReplay>(), r#"{"since":"1h"}"#),
        answers: WEBHOOK, problems: &[NotFound, ValidationFailed],
    }
}
