//! Calls of operators: dead letters, queues, definitions, credits, schedules, webhooks, keys, statistics.

use serde_json::{Value, json};
use tenure_api::request::{self, Dismissal, Empty, Grant, JobAction, NewKey, NewSchedule, NewWebhook};
use tenure_api::{
    Account, ActionResults, ApiKey, AuditLine, CallId, DeadLetter, JobType, Lifecycle, LifecycleSummary,
    PausedQueue, Queue, RedriveResults, Schedule, Stats, Webhook,
};

use super::transport::Request;
use super::{Client, Listing};
use crate::error::Result;
use crate::request::{Action, DeadLetterFilter, JobFilter, Page, Redrive, to_object, to_value};

impl Client {
    /// Dead letters: open ones, or those that were dismissed.
    pub async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        dismissed: bool,
        page: &Page,
    ) -> Result<Listing<DeadLetter>> {
        let dismissed = if dismissed { json!({ "dismissed": true }) } else { Value::Null };
        let query = [to_value("the filter", filter)?, dismissed, to_value("the page", page)?];
        self.listing(CallId::ListDeadLetters, &[], &query).await
    }

    /// Creates a new job for each of these dead letters, at most this many a second.
    pub async fn redrive(&self, which: &Redrive, max_per_second: Option<u32>) -> Result<RedriveResults> {
        let mut body =
            request::Redrive { max_per_second: max_per_second.map(f64::from), ..Default::default() };
        match which {
            Redrive::Ids(ids) => body.ids = Some(ids.clone()),
            Redrive::Filter(filter) => body.filter = Some(to_object("the filter", filter)?),
        }
        self.change(CallId::RedriveDeadLetters, &[], &body).await
    }

    /// Dismisses a dead letter, with a reason.
    pub async fn dismiss(&self, job: &str, reason: &str) -> Result<DeadLetter> {
        self.change(CallId::DismissDeadLetter, &[job], &Dismissal { reason: reason.into() }).await
    }

    /// Cancels or retries every job that matches.
    pub async fn act(&self, action: Action, filter: &JobFilter) -> Result<ActionResults> {
        let (action, mode) = match action {
            Action::Cancel(mode) => ("cancel", Some(mode)),
            Action::Retry => ("retry", None),
        };
        let filter = to_object("the filter", filter)?;
        let body = JobAction { action: action.into(), filter, mode, cursor: None };
        self.change(CallId::ActOnJobs, &[], &body).await
    }

    /// The queues and the number of their jobs.
    pub async fn queues(&self) -> Result<Listing<Queue>> {
        self.listing(CallId::ListQueues, &[], &[]).await
    }

    /// Stops claims from a queue.
    pub async fn pause_queue(&self, name: &str) -> Result<PausedQueue> {
        self.change(CallId::PauseQueue, &[name], &Empty {}).await
    }

    /// Allows claims from a queue again.
    pub async fn resume_queue(&self, name: &str) -> Result<PausedQueue> {
        self.change(CallId::ResumeQueue, &[name], &Empty {}).await
    }

    /// The lifecycles, each in its newest version.
    pub async fn lifecycles(&self) -> Result<Listing<LifecycleSummary>> {
        self.listing(CallId::ListLifecycles, &[], &[]).await
    }

    /// One lifecycle.
    pub async fn lifecycle(&self, name: &str) -> Result<Lifecycle> {
        self.read(CallId::GetLifecycle, &[name]).await
    }

    /// A lifecycle as a drawing (SVG).
    pub async fn diagram(&self, lifecycle: &str) -> Result<String> {
        self.text(&CallId::GetLifecycleDiagram.call().path_of(&[lifecycle])).await
    }

    /// The types of jobs.
    pub async fn types(&self) -> Result<Listing<JobType>> {
        self.listing(CallId::ListTypes, &[], &[]).await
    }

    /// A user's account.
    pub async fn credits(&self, user: &str) -> Result<Account> {
        self.read(CallId::GetCredits, &[user]).await
    }

    /// Grants a user credits.
    pub async fn grant(&self, user: &str, amount: u64, reason: &str) -> Result<Account> {
        self.change(CallId::GrantCredits, &[user], &Grant { grant: amount, reason: reason.into() }).await
    }

    /// The audit log.
    pub async fn audit(&self, page: &Page) -> Result<Listing<AuditLine>> {
        self.listing(CallId::ListAudit, &[], &[to_value("the page", page)?]).await
    }

    /// Counts, rates and times, per lifecycle, state and type.
    pub async fn stats(&self) -> Result<Stats> {
        self.read(CallId::GetStats, &[]).await
    }

    /// The schedules, each with its next times and its description in words.
    pub async fn schedules(&self) -> Result<Listing<Schedule>> {
        self.listing(CallId::ListSchedules, &[], &[]).await
    }

    /// One schedule.
    pub async fn schedule(&self, id: &str) -> Result<Schedule> {
        self.read(CallId::GetSchedule, &[id]).await
    }

    /// Creates a schedule.
    pub async fn create_schedule(&self, schedule: &NewSchedule) -> Result<Schedule> {
        self.change(CallId::CreateSchedule, &[], schedule).await
    }

    /// Stops a schedule until it is resumed.
    pub async fn pause_schedule(&self, id: &str) -> Result<Schedule> {
        self.change(CallId::PauseSchedule, &[id], &Empty {}).await
    }

    /// Continues a schedule with its next time.
    pub async fn resume_schedule(&self, id: &str) -> Result<Schedule> {
        self.change(CallId::ResumeSchedule, &[id], &Empty {}).await
    }

    /// Deletes a schedule; its jobs remain.
    pub async fn delete_schedule(&self, id: &str) -> Result<()> {
        self.repeated(&Request::to(CallId::DeleteSchedule, &[id])).await.map(drop)
    }

    /// The webhooks, without their secrets.
    pub async fn webhooks(&self) -> Result<Listing<Webhook>> {
        self.listing(CallId::ListWebhooks, &[], &[]).await
    }

    /// Creates a webhook. Only this answer has its secret, so the call is not retried: a repeat would not have it.
    pub async fn create_webhook(&self, webhook: &NewWebhook) -> Result<Webhook> {
        self.json(Request::to(CallId::CreateWebhook, &[]).json(webhook)?).await
    }

    /// Enables a disabled webhook; it continues with the first event that was not delivered.
    pub async fn enable_webhook(&self, id: &str) -> Result<Webhook> {
        self.change(CallId::EnableWebhook, &[id], &Empty {}).await
    }

    /// Deletes a webhook.
    pub async fn delete_webhook(&self, id: &str) -> Result<()> {
        self.repeated(&Request::to(CallId::DeleteWebhook, &[id])).await.map(drop)
    }

    /// The keys, without their secrets.
    pub async fn keys(&self) -> Result<Listing<ApiKey>> {
        self.listing(CallId::ListKeys, &[], &[]).await
    }

    /// Creates a key for a role; a producer's is for one user. Only this answer has the key, so the call is not retried:
    /// a repeat would not have it.
    pub async fn create_key(&self, role: &str, user: Option<&str>) -> Result<ApiKey> {
        let body = NewKey { role: role.into(), user_id: user.map(str::to_owned) };
        self.json(Request::to(CallId::CreateKey, &[]).json(&body)?).await
    }

    /// Revokes a key.
    pub async fn revoke_key(&self, id: &str) -> Result<()> {
        self.repeated(&Request::to(CallId::RevokeKey, &[id])).await.map(drop)
    }

    /// Checks that the process runs.
    pub async fn healthz(&self) -> Result<()> {
        self.text(CallId::GetHealth.call().path).await.map(drop)
    }

    /// Checks that the store answers.
    pub async fn readyz(&self) -> Result<()> {
        self.text(CallId::GetReadiness.call().path).await.map(drop)
    }

    /// The metrics, in the format of Prometheus.
    pub async fn metrics(&self) -> Result<String> {
        self.text(CallId::GetMetrics.call().path).await
    }
}
