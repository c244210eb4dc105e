//! What most modules of the service use.

pub(crate) use std::sync::Arc;

pub(crate) use tenure_core::api_key::Role;
pub(crate) use tenure_core::command::{Command, CommandEnvelope, IdempotencyKey, Retry, When};
pub(crate) use tenure_core::decide::CommandResult;
pub(crate) use tenure_core::id::{JobId, LifecycleName, Name, StateName, UserId, WorkerId};
pub(crate) use tenure_core::job::{Job, LeaseOwner};
pub(crate) use tenure_core::query::{DeadLetterFilter, JobFilter, Page};
pub(crate) use tenure_core::time::{Millis, Timestamp};
pub(crate) use tenure_runtime::Failure;
pub(crate) use tenure_store::LeasePages;

pub(crate) use crate::caller::{Caller, Right};
pub(crate) use crate::problem::{Problem, ProblemCode, Result};
pub(crate) use crate::service::Service;
