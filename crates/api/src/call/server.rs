//! Calls about the server itself. They need no credentials.

use super::shared::{JSON, answer};
use super::{Access, Call, Method, Parameter, Tag};
use crate::problem::ProblemCode::{Internal, NotFound, Overloaded, StoreUnavailable};
use crate::schema::Schema::{Json, Ref, Text};
use crate::schema::of;
use crate::{Health, Readiness};

const fn public(path: &'static str) -> Call {
    Call::new(Method::Get, path, Tag::Service, Access::Public)
}

pub(super) const GET_HEALTH: Call = public("/healthz")
    .says("Check that the process runs", "")
    .answers(&[answer(200, "It runs.", &[(JSON, of::<Health>())])]);

pub(super) const GET_READINESS: Call = public("/readyz")
    .says("Check that the store answers", "")
    .answers(&[answer(200, "It answers.", &[(JSON, of::<Readiness>())])])
    .refuses(&[Internal, Overloaded, StoreUnavailable]);

pub(super) const GET_METRICS: Call = public("/metrics")
    .says("Get metrics for Prometheus", "")
    .answers(&[answer(
        200,
        "Every counter, from zero.",
        &[("text/plain", Text), ("application/openmetrics-text", Text)],
    )])
    .refuses(&[Internal, Overloaded, StoreUnavailable]);

pub(super) const GET_OPENAPI: Call = public("/openapi.json")
    .says("Get this description", "")
    .answers(&[answer(200, "OpenAPI 3.1.", &[(JSON, Json(r#"{"type":"object"}"#))])]);

pub(super) const GET_DOCS: Call = public("/docs").says("Show this description", "").answers(&[answer(
    200,
    "A page that shows it.",
    &[("text/html", Text)],
)]);

pub(super) const GET_PROBLEM: Call = public("/problems/{code}")
    .says("Read about a problem code", "")
    .takes(&[Parameter::path("code", "The code.", Ref("ProblemCode"), r#""lease_conflict""#)])
    .answers(&[answer(
        200,
        "What happened, what to do, and whether a retry helps.",
        &[("text/markdown", Text), ("text/html", Text)],
    )])
    .refuses(&[NotFound]);
