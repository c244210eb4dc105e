//! What most tests of the runtime use.

pub(crate) use tenure_core::command::{Claim, ClaimFilter, Command, Verb};
pub(crate) use tenure_core::decide::{CommandOutput, CommandResult};
pub(crate) use tenure_core::job::{Class, Job};
pub(crate) use tenure_core::json::Json;
pub(crate) use tenure_core::lifecycle::Lifecycle;
pub(crate) use tenure_core::refusal::Refusal;
pub(crate) use tenure_core::time::{Millis, Timestamp};
pub(crate) use tenure_runtime::{Definitions, NewJob, Options, Runtime, StartError, TypeDefinition};
pub(crate) use tenure_store::{MemoryStore, Store};
