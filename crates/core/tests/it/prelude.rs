//! What most tests of core use.

pub(crate) use tenure_core::api_key::{ApiKey, KeyFlaw, NewKey, Role, RotateKey, Scopes};
pub(crate) use tenure_core::asset::{Asset, AssetId};
pub(crate) use tenure_core::automation::Automation;
pub(crate) use tenure_core::command::{
    Amend, AppendLog, Cancel, Claim, ClaimFilter, Command, CommandEnvelope, Create, CreationKey, Hold,
    Holder, IdempotencyKey, NewLogLine, Reader, Report, Retry, Verb, When,
};
pub(crate) use tenure_core::command_origin::CommandOrigin;
pub(crate) use tenure_core::dead_letter::ReasonCode;
pub(crate) use tenure_core::decide::{CommandOutput, CommandResult};
pub(crate) use tenure_core::event::Event;
pub(crate) use tenure_core::flow::{
    Among, BucketId, Candidate, Declarations, FlowKeys, FlowRecord, FlowRecordId, FlowState, FlowView,
    LimitOverride, Limits, OnConflict, OnFailure, PauseScope, Rate, Resource, ResourceDemand, ResourceUse,
    Sequence, SequenceId, TokenLevel, TypeFlow, Unique,
};
pub(crate) use tenure_core::id::{Actor, Fence, JobId, LifecycleName, Name, StateName, WorkerId};
pub(crate) use tenure_core::job::{CancelMode, Category, Class, Job, JobError, Stage};
pub(crate) use tenure_core::job_type::{Catalog, JobType};
pub(crate) use tenure_core::json::Json;
pub(crate) use tenure_core::lifecycle::{Jitter, Lifecycle, Phase, Trigger};
pub(crate) use tenure_core::refusal::Refusal;
pub(crate) use tenure_core::time::{Deadline, Millis, Timestamp};
pub(crate) use tenure_core::worker::WorkerRecord;
