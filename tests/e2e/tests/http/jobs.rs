//! The calls on jobs.

mod actions;
mod batch;
mod create;
mod query;
mod read;

use serde_json::Value;

/// Every field of a job.
pub(crate) const JOB: &str = "id lifecycle lifecycle_version type queue user_id state phase outcome seq attempt \
     retry_count max_attempts priority progress progress_message payload result error checkpoint worker lease \
     cancel_requested correlation_id trace_id idempotency_key retry_of run_at created_at updated_at claimed_at \
     started_at completed_at entered duration_ms run_ms flow";

/// Every field of an event.
pub(crate) const EVENT: &str =
    "id job_id seq type trigger from to attempt ts actor cause correlation_id trace_id payload version";

/// A lifecycle with a manual review.
pub(crate) const REVIEW: &str = include_str!("fixtures/review.toml");

/// The files of a server with that lifecycle.
pub(crate) const REVIEW_FILES: &[(&str, &str)] =
    &[("tenure.toml", include_str!("fixtures/with_review.toml")), ("review.toml", REVIEW)];

const UNKNOWN_ID: &str = "01990c3a-7d2e-7000-8000-000000000000";

/// Whether this is an RFC 3339 time in UTC with milliseconds.
fn is_time(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() == 24 && text.ends_with('Z') && text.as_bytes()[19] == b'.')
}
