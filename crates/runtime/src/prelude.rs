//! What most modules of the runtime use.

pub(crate) use tenure_core::command::{
    Claim, ClaimFilter, Command, CommandEnvelope, Create, CreationKey, IdempotencyKey, When,
};
pub(crate) use tenure_core::command_origin::CommandOrigin;
pub(crate) use tenure_core::decide::{CommandOutput, CommandResult};
pub(crate) use tenure_core::event::Event;
pub(crate) use tenure_core::id::{Actor, JobId, LifecycleName, Name, Position, QueueName, TypeName, UserId};
pub(crate) use tenure_core::job::{LifecycleRef, Links};
pub(crate) use tenure_core::job_type::Catalog;
pub(crate) use tenure_core::lifecycle::{Lifecycle, Phase};
pub(crate) use tenure_core::limits;
pub(crate) use tenure_core::refusal::{Pointed, Refusal};
pub(crate) use tenure_core::time::{Millis, Now, Timestamp};
pub(crate) use tenure_core::working_set::WorkingSet;
pub(crate) use tenure_store::{AwaitedJobs, DueJobs, ReadyJobs, Store, StoreError};
