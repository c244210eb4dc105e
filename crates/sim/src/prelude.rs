//! What most modules of the simulator use.

pub(crate) use tenure_core::command::{
    Claim, ClaimFilter, Command, CommandEnvelope, Hold, Holder, Report, Retry, Verb,
};
pub(crate) use tenure_core::credit::{Account, LedgerLine, Movement};
pub(crate) use tenure_core::dead_letter::{DeadLetter, ReasonCode};
pub(crate) use tenure_core::decide::CommandOutput;
pub(crate) use tenure_core::event::Event;
pub(crate) use tenure_core::id::{Actor, Fence, JobId, Name, Position, StateName, UserId, WorkerId};
pub(crate) use tenure_core::job::{CancelMode, Category, Class, Job, JobError, LeaseEnd, Spec};
pub(crate) use tenure_core::json::Json;
pub(crate) use tenure_core::lifecycle::{Jitter, Phase, Policy, Rule, Trigger};
pub(crate) use tenure_core::query::{DeadLetterFilter, Page};
pub(crate) use tenure_core::refusal::Refusal;
pub(crate) use tenure_core::time::{Millis, Now, Timestamp};
pub(crate) use tenure_core::working_set::{Reads, WorkingSet};
pub(crate) use tenure_runtime::{Failure, NewJob};
pub(crate) use tenure_store::{JournalEntry, MemoryStore, Store, StoreError};
