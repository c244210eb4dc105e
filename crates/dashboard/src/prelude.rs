//! What most pages use.

pub(crate) use maud::{Markup, html};
pub(crate) use tenure_service::Service;
pub(crate) use tenure_service::caller::{Caller, Right};
pub(crate) use tenure_service::extract::Reply;
pub(crate) use tenure_service::problem::Problem;
pub(crate) use tenure_service::query::QueryParams;
pub(crate) use tenure_store::Store as _;

pub(crate) use crate::layout::Tab;
pub(crate) use crate::session::Visitor;
pub(crate) use crate::{Dashboard, Page, Parts, show};
