//! What most modules of the statistics use.

pub(crate) use tenure_core::automation::Automation;
pub(crate) use tenure_core::id::{JobId, LifecycleName, Name, QueueName, StateName, TypeName};
pub(crate) use tenure_core::job_type::{CATCH_ALL, Catalog};
pub(crate) use tenure_core::lifecycle::{Phase, Trigger};
pub(crate) use tenure_core::time::{Millis, Timestamp};
pub(crate) use tenure_runtime::Runtime;
pub(crate) use tenure_store::{Count, OldestReady, StoreError};
