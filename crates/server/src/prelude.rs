//! What most modules of the server use.

pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use serde_json::value::RawValue;
pub(crate) use tenure_core::command::{Command, CommandEnvelope, IdempotencyKey};
pub(crate) use tenure_core::command_origin::CommandOrigin;
pub(crate) use tenure_core::decide::{CommandOutput, CommandResult};
pub(crate) use tenure_core::id::{Actor, Fence, JobId, Name, Position, WorkerId};
pub(crate) use tenure_core::job::Job;
pub(crate) use tenure_core::json::Json;
pub(crate) use tenure_core::time::{Millis, Timestamp};
pub(crate) use tenure_runtime::Failure;
pub(crate) use tenure_service::caller::{Caller, Right};
pub(crate) use tenure_service::problem::{Problem, ProblemCode, Result};
pub(crate) use tenure_service::query::job_id;
pub(crate) use tenure_service::wire::{self, Borrowed};
pub(crate) use tenure_store::JournalEntry;

pub(crate) use crate::app::{App, CallContext};
