//! The Rust SDK of Tenure: a client with a method for each call of the HTTP API, and the worker.
//!
//! A worker, whole:
//!
//! ```no_run
//! use tenure_client::{Client, Fail, Job, Worker};
//!
//! #[derive(serde::Deserialize)]
//! struct Prompt { prompt: String }
//!
//! async fn render(job: Job<Prompt>) -> Result<serde_json::Value, Fail> {
//!     job.progress(10, "sampling");
//!     if job.payload.prompt.is_empty() {
//!         return Err(Fail::permanent("EMPTY_PROMPT", "there is nothing to paint"));
//!     }
//!     Ok(serde_json::json!({ "letters": job.payload.prompt.len() }))
//! }
//!
//! #[tokio::main]
//! async fn main() -> tenure_client::Result<()> {
//!     Worker::new(Client::from_env()?).on("image", render).slots(8).run().await
//! }
//! ```
//!
//! Creating a job and following it to its end:
//!
//! ```no_run
//! use tenure_client::{Client, Follow, NewJob};
//!
//! # async fn example() -> tenure_client::Result<()> {
//! let client = Client::from_env()?;
//! let new = NewJob::new("image", &serde_json::json!({ "prompt": "a lake" }))?.key("order-42");
//! let job = client.create(new).await?.job;
//! let mut following = client.follow(&job.id);
//! while let Some(seen) = following.next().await {
//!     match seen? {
//!         Follow::Log(line) => println!("{}", line.text),
//!         Follow::Status { state, output, .. } => println!("{state}: {output}"),
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A handler may run more than once for a job, never under two live leases at once. [`Job::id`], [`Job::attempt`] and
//! [`Job::fence`] are there to make its effects safe.

/// Setters of a builder: each sets one field and returns the builder.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($value:ident: $type:ty) => $($field:ident).+ = $set:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(mut self, $value: $type) -> Self {
            self.$($field).+ = $set;
            self
        }
    )*};
}

mod client;
mod error;
mod follow;
mod request;
#[cfg(feature = "testing")]
pub mod testing;
mod worker;

pub use client::{
    Client, Content, Created, DEFAULT_URL, Download, Enqueued, FoundJob, Listing, OpenFile, Reported,
    key_from_env, read_key,
};
pub use error::{Error, Problem, Result};
pub use follow::{AuditLines, Events, Follow, Following};
pub use request::{
    Action, Amendment, Claim, DeadLetterFilter, EventFilter, Holder, JobFilter, NewAsset, NewJob, NewKey,
    NewKeyScopes, NewLine, NewSchedule, NewWebhook, NewWebhookFilter, Page, Redrive, Report, StatsFilter,
    Verb,
};
pub use reqwest::Method;
pub use tenure_api::call::escape;
pub use tenure_api::{
    Account, ActionResults, ApiKey, Asset, Attention, AuditLine, Call, CallId, CancelMode, CancelRequest,
    ClaimedJobs, Clock, DeadLetter, Event, Explanation, FailureStats, FinalStatus, Health, HeartbeatAnswer,
    HeldJob, HistoriesCheck, HistoryCheck, ItemResult, ItemResults, JobBrief, JobCount, JobError, JobRecord,
    JobRequest, JobType, KeyScopes, Lease, LedgerLine, Lifecycle, LifecycleState, LifecycleSummary,
    LifecycleTransition, LiveJobsCheck, LiveStateCheck, LogCount, LogLine, LongestLife, LongestLives,
    Minutes, NamedResult, NextTransition, Node, ObstacleExample, PausedQueue, Percentiles, Queue, Readiness,
    RedriveResults, ReplayObstacle, Schedule, ScheduledJob, StateStats, Stats, StatsHistory, StatsPeriod,
    StatsStep, StreamToken, TransitionStats, TypeStats, WaitingFor, Webhook, WebhookFilter, WhatIf,
    WorkerStatus,
};
pub use worker::{Fail, Job, Stage, Stop, Worker};
