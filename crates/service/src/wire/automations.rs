//! Schedules and webhooks.

use serde_json::json;
use tenure_api::{Schedule, ScheduledJob, Webhook, WebhookFilter};
use tenure_core::schedule::{self, Plan, Template};
use tenure_core::webhook;

use super::text;

/// A schedule, without its description in words and its next times.
pub fn schedule(schedule: &schedule::Schedule) -> Schedule {
    let Plan { cron, timezone, job, misfire, overlap } = &schedule.plan;
    Schedule {
        id: schedule.id.to_string(),
        cron: cron.clone(),
        timezone: timezone.to_string(),
        job: scheduled_job(job),
        misfire: text(misfire),
        overlap: text(overlap),
        paused: schedule.next_at.is_none(),
        created_at: schedule.created_at.to_string(),
        created_by: schedule.created_by.0.to_string(),
        next_at: schedule.next_at.map(|at| at.to_string()),
        last_at: schedule.last_at.map(|at| at.to_string()),
        last_job: schedule.last_job.map(|id| id.to_string()),
        last_error: schedule.last_error.clone(),
        ..Schedule::default()
    }
}

fn scheduled_job(job: &Template) -> ScheduledJob {
    ScheduledJob {
        job_type: job.job_type.to_string(),
        payload: json!(job.payload),
        lifecycle: job.lifecycle.as_ref().map(ToString::to_string),
        user_id: job.user_id.as_ref().map(ToString::to_string),
        queue: job.queue.as_ref().map(ToString::to_string),
        priority: job.priority,
        max_attempts: job.max_attempts,
    }
}

/// A webhook, without its secret and its sender.
pub fn webhook(webhook: &webhook::Webhook) -> Webhook {
    let webhook::EventFilter { job_type, lifecycle, event, user_id } = &webhook.filter;
    Webhook {
        id: webhook.id.to_string(),
        url: webhook.url.clone(),
        filter: WebhookFilter {
            job_type: job_type.as_ref().map(ToString::to_string),
            lifecycle: lifecycle.as_ref().map(ToString::to_string),
            event: event.as_ref().map(ToString::to_string),
            user_id: user_id.as_ref().map(ToString::to_string),
        },
        created_at: webhook.created_at.to_string(),
        created_by: webhook.created_by.0.to_string(),
        position: webhook.position.0,
        failures: webhook.failures.into(),
        disabled_at: webhook.disabled_at.map(|at| at.to_string()),
        last_status: webhook.last_status,
        last_error: webhook.last_error.clone(),
        secret: None,
    }
}
