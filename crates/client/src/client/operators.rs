//! What operators do: dead letters, queues, accounts, keys, and what there is to see.

use reqwest::Method;
use serde_json::{Value, json};

use super::transport::Ask;
use super::{Client, escaped, with_query};
use crate::error::Result;
use crate::request::{Action, DeadLetterFilter, JobFilter, Page, Redrive, to_value};
use crate::wire::{Account, DeadLetter, Listing};

impl Client {
    /// Dead letters: those that wait for someone, or those that were dismissed.
    pub async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        dismissed: bool,
        page: &Page,
    ) -> Result<Listing<DeadLetter>> {
        let dismissed = if dismissed { json!({ "dismissed": true }) } else { Value::Null };
        let query = [to_value("the filter", filter)?, dismissed, to_value("the page", page)?];
        self.listing(&with_query("/api/dead-letters", &query), "dead_letters").await
    }

    /// Creates a new job for each of these dead letters, at most this many a second.
    pub async fn redrive(&self, which: &Redrive, max_per_second: Option<u32>) -> Result<Value> {
        let mut body = match which {
            Redrive::Ids(ids) => json!({ "ids": ids }),
            Redrive::Filter(filter) => json!({ "filter": filter }),
        };
        if let Some(count) = max_per_second {
            body["max_per_second"] = json!(count);
        }
        self.post_json("/api/dead-letters/redrive", &body).await
    }

    /// Puts a dead letter aside, and says why.
    pub async fn dismiss(&self, job: &str, reason: &str) -> Result<Value> {
        let path = format!("/api/dead-letters/{}/dismiss", escaped(job));
        self.post_json(&path, &json!({ "reason": reason })).await
    }

    /// Cancels or retries every job that matches.
    pub async fn act(&self, action: Action, filter: &JobFilter) -> Result<Value> {
        let body = match action {
            Action::Cancel(mode) => json!({ "action": "cancel", "filter": filter, "mode": mode }),
            Action::Retry => json!({ "action": "retry", "filter": filter }),
        };
        self.post_json("/api/jobs/actions", &body).await
    }

    /// The queues, with what waits in them.
    pub async fn queues(&self) -> Result<Listing<Value>> {
        self.listing("/api/queues", "queues").await
    }

    /// Stops claims from a queue.
    pub async fn pause_queue(&self, name: &str) -> Result<Value> {
        self.post_json(&format!("/api/queues/{}/pause", escaped(name)), &json!({})).await
    }

    /// Allows claims from a queue again.
    pub async fn resume_queue(&self, name: &str) -> Result<Value> {
        self.post_json(&format!("/api/queues/{}/resume", escaped(name)), &json!({})).await
    }

    /// The lifecycles in force.
    pub async fn lifecycles(&self) -> Result<Listing<Value>> {
        self.listing("/api/lifecycles", "lifecycles").await
    }

    /// One lifecycle.
    pub async fn lifecycle(&self, name: &str) -> Result<Value> {
        self.get_json(&format!("/api/lifecycles/{}", escaped(name))).await
    }

    /// A lifecycle as a drawing (SVG).
    pub async fn diagram(&self, lifecycle: &str) -> Result<String> {
        self.text(&format!("/api/lifecycles/{}/diagram.svg", escaped(lifecycle))).await
    }

    /// The types of jobs.
    pub async fn types(&self) -> Result<Listing<Value>> {
        self.listing("/api/types", "types").await
    }

    /// A user's account.
    pub async fn credits(&self, user: &str) -> Result<Account> {
        self.get_json(&format!("/api/accounts/{}/credits", escaped(user))).await
    }

    /// Grants a user credits.
    pub async fn grant(&self, user: &str, amount: u64, reason: &str) -> Result<Account> {
        let path = format!("/api/accounts/{}/credits", escaped(user));
        self.post_json(&path, &json!({ "grant": amount, "reason": reason })).await
    }

    /// The operators' trail.
    pub async fn audit(&self, page: &Page) -> Result<Listing<Value>> {
        self.listing(&with_query("/api/audit", &[to_value("the page", page)?]), "audit").await
    }

    /// Counts, rates and times, per lifecycle, state and type.
    pub async fn stats(&self) -> Result<Value> {
        self.get_json("/api/stats").await
    }

    /// The schedules, each with its next times and in words.
    pub async fn schedules(&self) -> Result<Listing<Value>> {
        self.listing("/api/schedules", "schedules").await
    }

    /// One schedule.
    pub async fn schedule(&self, id: &str) -> Result<Value> {
        self.get_json(&format!("/api/schedules/{}", escaped(id))).await
    }

    /// Creates a schedule: `{ id?, cron, timezone?, job: { type, … }, misfire?, overlap? }`.
    pub async fn create_schedule(&self, body: &Value) -> Result<Value> {
        self.post_json("/api/schedules", body).await
    }

    /// Lets a schedule make no more jobs until it is resumed.
    pub async fn pause_schedule(&self, id: &str) -> Result<Value> {
        self.post_json(&format!("/api/schedules/{}/pause", escaped(id)), &json!({})).await
    }

    /// Lets a schedule go on at its next time.
    pub async fn resume_schedule(&self, id: &str) -> Result<Value> {
        self.post_json(&format!("/api/schedules/{}/resume", escaped(id)), &json!({})).await
    }

    /// Forgets a schedule; its jobs stay.
    pub async fn delete_schedule(&self, id: &str) -> Result<()> {
        self.repeated(&Ask::new(Method::DELETE, format!("/api/schedules/{}", escaped(id)))).await.map(drop)
    }

    /// The webhooks, without their secrets.
    pub async fn webhooks(&self) -> Result<Listing<Value>> {
        self.listing("/api/webhooks", "webhooks").await
    }

    /// Creates a webhook: `{ id?, url, filter? }`. The answer has its secret, this once; a repeat could not tell it
    /// again, so it is not repeated by itself.
    pub async fn create_webhook(&self, body: &Value) -> Result<Value> {
        self.call(Method::POST, "/api/webhooks", Some(body)).await
    }

    /// Lets a webhook that was disabled send again, from where it stood.
    pub async fn enable_webhook(&self, id: &str) -> Result<Value> {
        self.post_json(&format!("/api/webhooks/{}/enable", escaped(id)), &json!({})).await
    }

    /// Forgets a webhook.
    pub async fn delete_webhook(&self, id: &str) -> Result<()> {
        self.repeated(&Ask::new(Method::DELETE, format!("/api/webhooks/{}", escaped(id)))).await.map(drop)
    }

    /// The keys, without what was printed once.
    pub async fn keys(&self) -> Result<Value> {
        self.get_json("/api/keys").await
    }

    /// Creates a key for a role; a producer's is for one user. The answer has the key, this once. It is not repeated
    /// by itself: a repeat could not tell the key again.
    pub async fn create_key(&self, role: &str, user: Option<&str>) -> Result<Value> {
        let mut body = json!({ "role": role });
        if let Some(user) = user {
            body["user_id"] = json!(user);
        }
        self.call(Method::POST, "/api/keys", Some(&body)).await
    }

    /// Makes a key worthless.
    pub async fn revoke_key(&self, id: &str) -> Result<()> {
        self.repeated(&Ask::new(Method::DELETE, format!("/api/keys/{}", escaped(id)))).await.map(drop)
    }

    /// Whether the process lives; an error says that it does not.
    pub async fn healthz(&self) -> Result<()> {
        self.text("/healthz").await.map(drop)
    }

    /// Whether the store answers.
    pub async fn readyz(&self) -> Result<()> {
        self.text("/readyz").await.map(drop)
    }

    /// The metrics, as Prometheus reads them.
    pub async fn metrics(&self) -> Result<String> {
        self.text("/metrics").await
    }
}
