//! What most handlers use.

pub(super) use axum::extract::State;
pub(super) use axum::response::{IntoResponse as _, Response};
pub(super) use http::{HeaderMap, HeaderValue, StatusCode, header};
pub(super) use tenure_api::{CallId, request};
pub(super) use tenure_service::extract::{Id, Named, Reply, Segments};
pub(super) use tenure_service::fields::{message, name, parsed, require, span, up_to};
pub(super) use tenure_service::query::QueryParams;

pub(super) use crate::body::{BatchBody, Body, OptionalBody, check, parse};
pub(super) use crate::http::{
    OutputAnswer, answer, brief, changed, mark_replayed, minimal, next_cursor, ok, output_reply, page,
    set_location, text,
};
pub(super) use crate::prelude::*;

/// The body of a call without fields.
pub(super) type EmptyBody = OptionalBody<request::Empty>;
