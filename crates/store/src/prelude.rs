//! What most modules of the store use.

pub(crate) use tenure_core::api_key::ApiKey;
pub(crate) use tenure_core::asset::{Asset, AssetId};
pub(crate) use tenure_core::automation::{Automation, AutomationId, AutomationKind};
pub(crate) use tenure_core::command::{ClaimFilter, KeyId};
pub(crate) use tenure_core::credit::{Account, LedgerLine, Movement};
pub(crate) use tenure_core::dead_letter::DeadLetter;
pub(crate) use tenure_core::event::{AuditLine, Event, LogLine, Telemetry};
pub(crate) use tenure_core::fold::Record;
pub(crate) use tenure_core::id::{
    Fence, JobId, LifecycleName, Name, Position, QueueName, StateName, TypeName, UserId, WorkerId,
};
pub(crate) use tenure_core::intake::{IntakeRecord, PendingRequest};
pub(crate) use tenure_core::job::{Job, LifecycleRef, Links, Spec, Stage};
pub(crate) use tenure_core::lifecycle::{Outcome, Phase};
pub(crate) use tenure_core::limits;
pub(crate) use tenure_core::node::NodeRecord;
pub(crate) use tenure_core::query::{DeadLetterFilter, JobFilter, Page};
pub(crate) use tenure_core::session::Session;
pub(crate) use tenure_core::statistics::{PeriodCounts, PeriodId, Resolution, Series};
pub(crate) use tenure_core::time::{Deadline, Millis, Now, Timestamp};
pub(crate) use tenure_core::worker::WorkerRecord;
pub(crate) use tenure_core::working_set::{Changes, KeyRecord, Reads, WorkingSet};
