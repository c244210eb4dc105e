//! What most tests of stores use.

pub(crate) use tenure_core::api_key::{NewKey, Role};
pub(crate) use tenure_core::asset::{AssetId, NewAsset};
pub(crate) use tenure_core::automation::{Automation, AutomationKind};
pub(crate) use tenure_core::command::{
    Amend, Cancel, Claim, ClaimFilter, Command, CommandEnvelope, Create, Hold, IdempotencyKey, Reader, Retry,
    Verb, When,
};
pub(crate) use tenure_core::dead_letter::ReasonCode;
pub(crate) use tenure_core::decide::{CommandOutput, CommandResult, decide_batch};
pub(crate) use tenure_core::flow::{Among, FlowKeys, OnConflict, Unique};
pub(crate) use tenure_core::id::{JobId, Name, Position};
pub(crate) use tenure_core::job::{CancelMode, Category, Class, Job, JobError, Links};
pub(crate) use tenure_core::job_type::{Catalog, JobType};
pub(crate) use tenure_core::json::Json;
pub(crate) use tenure_core::lifecycle::{Backoff, Jitter, Policy};
pub(crate) use tenure_core::limits;
pub(crate) use tenure_core::query::{DeadLetterFilter, JobFilter, Page};
pub(crate) use tenure_core::refusal::Refusal;
pub(crate) use tenure_core::schedule::ScheduleChange;
pub(crate) use tenure_core::time::{Millis, Timestamp};
pub(crate) use tenure_core::working_set::Reads;
pub(crate) use tenure_store::{
    AwaitedJobs, CompletedJob, Count, Gauges, LeasePages, MemoryStore, Scanned, Store, StoreError,
};
