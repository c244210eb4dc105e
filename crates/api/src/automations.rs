//! Automations: schedules and webhooks.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::Schema::{Any, AnyInteger, Bool, Extra, Integer, Json, Nullable, Ref, Text};
use crate::schema::{Schema, of};
use crate::values::{MAYBE_TEXT, MAYBE_TIME};

answers! {
    /// A schedule.
    pub struct Schedule {
        id: String = Text,
        cron: String = Text,
        timezone: String = Text,
        job: ScheduledJob = of::<ScheduledJob>(),
        misfire: String = Ref("Misfire"),
        overlap: String = Ref("Overlap"),
        paused: bool = Bool,
        created_at: String = Ref("Timestamp"),
        created_by: String = Text,
        /// When it fires next; null while it is paused.
        next_at: Option<String> = MAYBE_TIME,
        /// The scheduled time for which it fired last.
        last_at: Option<String> = MAYBE_TIME,
        /// The last job that it created.
        last_job: Option<String> = Nullable(&Ref("JobId")),
        /// Why it created no job the last time.
        last_error: Option<String> = MAYBE_TEXT,
        /// The expression in words.
        describe: Option<String> = MAYBE_TEXT,
        /// The next times at which it fires.
        next_times: Vec<String> = Schema::ListUpTo(5, &Ref("Timestamp")),
    }

    /// The job that a schedule creates.
    pub struct ScheduledJob {
        job_type as "type": String = Ref("Name"),
        payload: Value = Any,
        lifecycle: Option<String> = MAYBE_TEXT,
        user_id: Option<String> = MAYBE_TEXT,
        queue: Option<String> = MAYBE_TEXT,
        priority: Option<i32> = Nullable(&AnyInteger),
        max_attempts: Option<u32> = Nullable(&AnyInteger),
    }

    /// A webhook, without its secret.
    pub struct Webhook {
        id: String = Text,
        url: String = Text,
        filter: WebhookFilter = of::<WebhookFilter>(),
        created_at: String = Ref("Timestamp"),
        created_by: String = Text,
        /// Everything up to this position of the journal was sent or did not match.
        position: u64 = AnyInteger,
        /// Failed deliveries of the next event.
        failures: u64 = Integer(0),
        /// When deliveries stopped.
        disabled_at: Option<String> = MAYBE_TIME,
        /// The status of the last response.
        last_status: Option<u16> = Nullable(&AnyInteger),
        /// Why the last delivery failed.
        last_error: Option<String> = MAYBE_TEXT,
        /// The secret that signs deliveries. It is shown only once, when the webhook is created.
        #[serde(skip_serializing_if = "Option::is_none")]
        secret: Option<String> = Extra(&Json(r#"{"type":"string","pattern":"^whsec_"}"#)),
    }

    /// Which events a webhook sends. What is null matches any.
    pub struct WebhookFilter {
        /// Events of jobs of this type.
        job_type as "type": Option<String> = MAYBE_TEXT,
        /// Events of jobs that follow this lifecycle.
        lifecycle: Option<String> = MAYBE_TEXT,
        /// Events with this name, such as `job_succeeded`.
        event: Option<String> = MAYBE_TEXT,
        /// Events of this user's jobs.
        user_id: Option<String> = MAYBE_TEXT,
    }
}
