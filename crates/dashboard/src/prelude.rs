//! What most pages use.

pub(crate) use std::sync::Arc;

pub(crate) use axum::response::IntoResponse as _;
pub(crate) use maud::{Markup, html};
pub(crate) use tenure_core::api_key::Role;
pub(crate) use tenure_core::dead_letter::DeadLetter;
pub(crate) use tenure_core::event::Event;
pub(crate) use tenure_core::id::JobId;
pub(crate) use tenure_core::job::Job;
pub(crate) use tenure_core::lifecycle::{Lifecycle, Phase};
pub(crate) use tenure_core::query::{JobFilter, Page as Rows};
pub(crate) use tenure_core::statistics::{PeriodCounts, Series};
pub(crate) use tenure_core::time::{Millis, Timestamp};
pub(crate) use tenure_service::Service;
pub(crate) use tenure_service::caller::{Caller, Right};
pub(crate) use tenure_service::extract::Reply;
pub(crate) use tenure_service::links::encode;
pub(crate) use tenure_service::problem::{Problem, ProblemCode};
pub(crate) use tenure_service::query::{QueryParams, job_id};
pub(crate) use tenure_stats::History;

/// Fails with a problem.
pub(crate) type Result<T, E = Problem> = std::result::Result<T, E>;

pub(crate) use crate::form::{Form, Question};
pub(crate) use crate::format::*;
pub(crate) use crate::layout::Tab;
pub(crate) use crate::pretty::cut;
pub(crate) use crate::session::{Visitor, back};
pub(crate) use crate::{Dashboard, Page, Parts, StaticPage, show};
