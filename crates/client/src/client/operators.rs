//! Calls of operators: dead letters, queues, definitions, credits, schedules, webhooks, keys, statistics.

use serde_json::{Value, json};
use tenure_api::request::{
    self, Dismissal, Erase, Grant, JobAction, KeyRotation, NewKey, NewSchedule, NewWebhook, ResourcePause,
    ResourceResume, SetResourceLimits, TryLifecycle, WebhookReplay,
};
use tenure_api::{
    Account, ActionResults, ApiKey, AuditLine, CallId, DeadLetter, ErasureProgress, JobRecord, JobType,
    Lifecycle, LifecycleSummary, PausedQueue, Queue, RedriveResults, Resource, Schedule, SequenceStatus,
    Stats, Webhook, WhatIf,
};

use super::transport::Request;
use super::{Client, Listing};
use crate::error::Result;
use crate::request::{Action, DeadLetterFilter, JobFilter, Page, Redrive, StatsFilter, to_object, to_value};

impl Client {
    calls! {
        /// The queues and the number of their jobs.
        list_all queues() -> Listing<Queue> = ListQueues;
        /// Stops claims from a queue.
        act_on pause_queue(name) -> PausedQueue = PauseQueue;
        /// Allows claims from a queue again.
        act_on resume_queue(name) -> PausedQueue = ResumeQueue;
        /// One resource of flow control, with its busiest buckets.
        read resource(name) -> Resource = GetResource;
        /// Returns to the limits of the configuration.
        delete reset_resource(name) -> () = ResetResource;
        /// The lifecycles, each in its newest version.
        list_all lifecycles() -> Listing<LifecycleSummary> = ListLifecycles;
        /// One lifecycle.
        read lifecycle(name) -> Lifecycle = GetLifecycle;
        /// The types of jobs.
        list_all types() -> Listing<JobType> = ListTypes;
        /// A user's account.
        read credits(user) -> Account = GetCredits;
        /// Counts, rates and times, per lifecycle, state and type.
        read stats() -> Stats = GetStats;
        /// The schedules, each with its next times and its description in words.
        list_all schedules() -> Listing<Schedule> = ListSchedules;
        /// One schedule.
        read schedule(id) -> Schedule = GetSchedule;
        /// Stops a schedule until it is resumed.
        act_on pause_schedule(id) -> Schedule = PauseSchedule;
        /// Continues a schedule with its next time.
        act_on resume_schedule(id) -> Schedule = ResumeSchedule;
        /// Creates the job of a schedule now; its times stay.
        act_on run_schedule(id) -> JobRecord = RunSchedule;
        /// Deletes a schedule; its jobs remain.
        delete delete_schedule(id) -> () = DeleteSchedule;
        /// The webhooks, without their secrets.
        list_all webhooks() -> Listing<Webhook> = ListWebhooks;
        /// One webhook, without its secret.
        read webhook(id) -> Webhook = GetWebhook;
        /// Enables a disabled webhook; it continues with the first event that was not delivered.
        act_on enable_webhook(id) -> Webhook = EnableWebhook;
        /// Stops the deliveries of a webhook until it is enabled.
        act_on disable_webhook(id) -> Webhook = DisableWebhook;
        /// Deletes a webhook.
        delete delete_webhook(id) -> () = DeleteWebhook;
        /// The keys, without their secrets.
        list_all keys() -> Listing<ApiKey> = ListKeys;
        /// Revokes a key.
        delete revoke_key(id) -> () = RevokeKey;
    }

    /// The same with statistics over time in `history`.
    pub async fn stats_over_time(&self, filter: &StatsFilter) -> Result<Stats> {
        let filter = to_value("the filter", filter)?;
        self.json(Request::to(CallId::GetStats, &[]).query(&[filter])).await
    }

    /// Which live jobs could follow another version of a lifecycle, and how those that finished in the last `since` (such as `1d`,
    /// which is the default) would have ended under it. Changes nothing.
    pub async fn what_if(&self, lifecycle: &str, source: &str, since: Option<&str>) -> Result<WhatIf> {
        let body = TryLifecycle { source: source.into(), since: since.map(str::to_owned) };
        self.change(CallId::TryLifecycle, &[lifecycle], &body).await
    }

    /// The declared resources of flow control.
    pub async fn resources(&self, page: &Page) -> Result<Listing<Resource>> {
        self.listing(CallId::ListResources, &[], &[to_value("the page", page)?]).await
    }

    /// Overrides the limits of a resource; those that are not given are as in the configuration.
    pub async fn set_resource(&self, name: &str, limits: &SetResourceLimits) -> Result<Resource> {
        self.change(CallId::SetResource, &[name], limits).await
    }

    /// Grants no leases that use a resource, or one of its buckets.
    pub async fn pause_resource(&self, name: &str, pause: &ResourcePause) -> Result<Resource> {
        self.change(CallId::PauseResource, &[name], pause).await
    }

    /// Ends the pauses of a resource, or of one of its buckets.
    pub async fn resume_resource(&self, name: &str, key: Option<String>) -> Result<Resource> {
        self.change(CallId::ResumeResource, &[name], &ResourceResume { key }).await
    }

    /// Sequences with unfinished jobs, or only halted ones.
    pub async fn sequences(&self, halted: bool, page: &Page) -> Result<Listing<SequenceStatus>> {
        let halted = if halted { json!({ "halted": true }) } else { Value::Null };
        self.listing(CallId::ListSequences, &[], &[halted, to_value("the page", page)?]).await
    }

    /// Resumes a halted sequence with its next job.
    pub async fn resume_sequence(&self, job_type: &str, key: &str) -> Result<SequenceStatus> {
        self.change(CallId::ResumeSequence, &[job_type, key], &json!({})).await
    }

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

    /// Creates a new job for each of these dead letters, at most this many a second. One call redrives about 10,000 that
    /// match a filter: while the answer has a `next_cursor`, [`Client::redrive_after`] continues.
    pub async fn redrive(&self, which: &Redrive, max_per_second: Option<u32>) -> Result<RedriveResults> {
        self.change(CallId::RedriveDeadLetters, &[], &redrive_body(which, max_per_second)?).await
    }

    /// Continues a redrive by filter after the `next_cursor` of its last answer. The rate is that of one call: wait until the
    /// jobs of the last one have started.
    pub async fn redrive_after(
        &self,
        which: &Redrive,
        max_per_second: Option<u32>,
        cursor: &str,
    ) -> Result<RedriveResults> {
        let body =
            request::Redrive { cursor: Some(cursor.to_owned()), ..redrive_body(which, max_per_second)? };
        self.change(CallId::RedriveDeadLetters, &[], &body).await
    }

    /// Dismisses a dead letter, with a reason.
    pub async fn dismiss(&self, job: &str, reason: &str) -> Result<DeadLetter> {
        self.change(CallId::DismissDeadLetter, &[job], &Dismissal { reason: reason.into() }).await
    }

    /// Cancels, retries or deletes every job that matches, at most 10,000 in a call. The server refuses a filter without a
    /// value: see [`Client::act_on_all`].
    pub async fn act(&self, action: Action, filter: &JobFilter) -> Result<ActionResults> {
        self.change(CallId::ActOnJobs, &[], &job_action(action, filter)?).await
    }

    /// Cancels, retries or deletes every job, at most 10,000 in a call.
    pub async fn act_on_all(&self, action: Action) -> Result<ActionResults> {
        let body = JobAction { all: true, ..job_action(action, &JobFilter::default())? };
        self.change(CallId::ActOnJobs, &[], &body).await
    }

    /// How many jobs [`Client::act`] would act on. Changes nothing.
    pub async fn count_matching(&self, action: Action, filter: &JobFilter) -> Result<ActionResults> {
        let body = JobAction { all: true, dry_run: true, ..job_action(action, filter)? };
        self.change(CallId::ActOnJobs, &[], &body).await
    }

    /// Erases a user: deletes the finished jobs now, the others when they are finished, and then the name in the ledger.
    pub async fn erase_user(&self, user: &str, reason: &str) -> Result<ErasureProgress> {
        self.change(CallId::EraseUser, &[user], &Erase { reason: reason.into() }).await
    }

    /// A lifecycle as a drawing (SVG).
    pub async fn diagram(&self, lifecycle: &str) -> Result<String> {
        self.text(&CallId::GetLifecycleDiagram.call().path_of(&[lifecycle])).await
    }

    /// Grants a user credits.
    pub async fn grant(&self, user: &str, amount: u64, reason: &str) -> Result<Account> {
        self.change(CallId::GrantCredits, &[user], &Grant { grant: amount, reason: reason.into() }).await
    }

    /// The audit log.
    pub async fn audit(&self, page: &Page) -> Result<Listing<AuditLine>> {
        self.listing(CallId::ListAudit, &[], &[to_value("the page", page)?]).await
    }

    /// Creates a schedule.
    pub async fn create_schedule(&self, schedule: &NewSchedule) -> Result<Schedule> {
        self.change(CallId::CreateSchedule, &[], schedule).await
    }

    /// Replaces the times, the job and the policies of a schedule.
    pub async fn replace_schedule(&self, id: &str, schedule: &NewSchedule) -> Result<Schedule> {
        self.change(CallId::ReplaceSchedule, &[id], schedule).await
    }

    /// Sends the events of a webhook again that came after a position or a time.
    pub async fn replay_webhook(&self, id: &str, replay: &WebhookReplay) -> Result<Webhook> {
        self.change(CallId::ReplayWebhook, &[id], replay).await
    }

    /// Creates a webhook. Only this answer has its secret, so the call is not retried: a repeat would not have it.
    pub async fn create_webhook(&self, webhook: &NewWebhook) -> Result<Webhook> {
        self.json(Request::to(CallId::CreateWebhook, &[]).json(webhook)?).await
    }

    /// Creates a key for a role; a producer's is for one user. Only this answer has the key, so the call is not retried:
    /// a repeat would not have it.
    pub async fn create_key(&self, role: &str, user: Option<&str>) -> Result<ApiKey> {
        let body = NewKey { role: Some(role.into()), user_id: user.map(str::to_owned), ..NewKey::default() };
        self.create_key_with(&body).await
    }

    /// Creates a key with several roles, a name, an expiry or scopes. Not retried, like [`Client::create_key`].
    pub async fn create_key_with(&self, key: &NewKey) -> Result<ApiKey> {
        self.json(Request::to(CallId::CreateKey, &[]).json(key)?).await
    }

    /// Gives a key a new secret; earlier ones stay valid for the overlap, such as `1h`, which is the default. Not retried,
    /// like [`Client::create_key`].
    pub async fn rotate_key(&self, id: &str, overlap: Option<&str>) -> Result<ApiKey> {
        let body = KeyRotation { overlap: overlap.map(str::to_owned) };
        self.json(Request::to(CallId::RotateKey, &[id]).json(&body)?).await
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

fn redrive_body(which: &Redrive, max_per_second: Option<u32>) -> Result<request::Redrive> {
    let mut body = request::Redrive { max_per_second: max_per_second.map(f64::from), ..Default::default() };
    match which {
        Redrive::Ids(ids) => body.ids = Some(ids.clone()),
        Redrive::Filter(filter) => body.filter = Some(to_object("the filter", filter)?),
    }
    Ok(body)
}

fn job_action(action: Action, filter: &JobFilter) -> Result<JobAction> {
    let (action, mode) = match action {
        Action::Cancel(mode) => ("cancel", Some(mode)),
        Action::Retry => ("retry", None),
        Action::Delete => ("delete", None),
    };
    let filter = to_object("the filter", filter)?;
    Ok(JobAction { action: action.into(), filter, all: false, dry_run: false, mode, cursor: None })
}
