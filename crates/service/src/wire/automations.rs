//! Schedules and webhooks.

use serde_json::json;
use tenure_api::{Schedule, ScheduledJob, Webhook, WebhookFilter};
use tenure_core::{schedule, webhook};

use super::{ToWire as _, text};

/// A schedule, without its description in words and its next times.
pub fn schedule(schedule: &schedule::Schedule) -> Schedule {
    let plan = &schedule.plan;
    convert!(schedule => Schedule { id, created_at, created_by, next_at, last_at, last_job, last_error;
        cron: plan.cron.clone(),
        timezone: plan.timezone.to_string(),
        job: plan.job.to_wire(),
        misfire: text(&plan.misfire),
        overlap: text(&plan.overlap),
        paused: schedule.next_at.is_none(),
        ..Schedule::default()
    })
}

/// A webhook, without its secret and its sender.
pub fn webhook(webhook: &webhook::Webhook) -> Webhook {
    convert!(webhook => Webhook {
        id, url, filter, created_at, created_by, disabled_at, last_status, last_error;
        position: webhook.position.0, failures: webhook.failures.into(), secret: None
    })
}

conversions! {
    schedule::Template as it => ScheduledJob { job_type, lifecycle, user_id, queue, priority, max_attempts;
        payload: json!(it.payload) }
    webhook::EventFilter as it => WebhookFilter { job_type, lifecycle, event, user_id }
}
