//! Calls about the server itself. They need no credentials.

use super::shared::*;
use crate::problem::ProblemCode::{Internal, NotFound, Overloaded, StoreUnavailable};
use crate::schema::Schema::{Json, Ref, Text};
use crate::schema::of;
use crate::{Health, Readiness};

calls! { Service:
    Get "/healthz" GetHealth Public "Check that the process runs" {
        answers: &[ok("It runs.", of::<Health>())],
    }
    Get "/readyz" GetReadiness Public "Check that the store answers" {
        answers: &[ok("It answers.", of::<Readiness>())], problems: &[Internal, Overloaded, StoreUnavailable],
    }
    Get "/metrics" GetMetrics Public "Get metrics for Prometheus" {
        answers: &[answer(200, "The metrics, in Prometheus text format 0.0.4, or in OpenMetrics 1.0 if `Accept` prefers it.").content(&[("text/plain", Text), ("application/openmetrics-text", Text)])],
        problems: &[Internal, Overloaded, StoreUnavailable],
    }
    Get "/openapi.json" GetOpenapi Public "Get this description" {
        answers: &[ok("OpenAPI 3.1.", Json(r#"{"type":"object"}"#))],
    }
    Get "/docs" GetDocs Public "Show this description" {
        answers: &[answer(200, "A page that shows it.").content(&[("text/html", Text)])],
    }
    Get "/problems/{code}" GetProblem Public "Read about a problem code" {
        parameters: &[path("code", "The code.", Ref("ProblemCode"), r#""lease_conflict""#)],
        answers: &[answer(200, "What happened, what to do, and whether a retry helps.").content(&[("text/markdown", Text), ("text/html", Text)])],
        problems: &[NotFound],
    }
}
