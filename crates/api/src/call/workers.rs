//! Calls of workers: claims and reports.

use super::shared::*;
use super::{Body, Call, Method};
use crate::problem::ProblemCode::{self, InvalidTransition, LeaseConflict, NotFound, ValidationFailed};
use crate::request::{Claim, Reports};
use crate::schema::Schema::{Page, Ref, Text};
use crate::schema::{NextCursor, of};
use crate::{ClaimedJobs, HeartbeatAnswer, WorkerStatus};

/// The problems of reports with `pause`, whose resource the job may not use.
const PAUSING: &[ProblemCode] = &[NotFound, InvalidTransition, LeaseConflict, ValidationFailed];

/// What reports about one job have in common.
const REPORT: Call = Call {
    parameters: &[JOB_ID, PREFER],
    answers: CHANGED,
    problems: &[NotFound, InvalidTransition, LeaseConflict],
    ..Call::new(Method::Post)
};

const fn report(body: &'static str, example: &'static str) -> Body {
    Body::Json(Ref(body), example)
}

calls! { Workers:
    Post "/api/claims" ClaimJobs Work "Claim jobs" {
        about: "Higher `priority` first, then earlier `run_at`, then earlier creation. Waits up to `wait` for work.",
        parameters: &[header("Tenure-Worker", "What the worker says about itself, for `GET /api/workers`: how many jobs it runs at once, its host and its version. Other members are ignored.", Text).example(r#""slots=8; host=\"gpu-1\"; version=\"1.2.0\"""#)],
        body: Body::Json(of::<Claim>(), r#"{"worker":"w1","types":["index"],"max":10,"wait":"20s","start":true}"#),
        answers: &[ok("The jobs, each with its lease; none if no work arrived in time.", of::<ClaimedJobs>())],
    }
    Post "/api/jobs/{id}/start" StartJob Work "Start a claimed job" {
        body: report("StartBody", r#"{"worker":"w1","fence":1}"#), ..REPORT
    }
    Post "/api/jobs/{id}/heartbeat" HeartbeatJob Work "Keep a lease alive" {
        about: "Renews the lease when half of it or less remains. Every accepted report of the holder counts as a heartbeat.",
        parameters: &[JOB_ID],
        body: report("HeartbeatBody", r#"{"worker":"w1","fence":1}"#),
        answers: &[ok("The lease, and whether the worker must stop.", of::<HeartbeatAnswer>())],
        problems: &[NotFound, LeaseConflict],
    }
    Post "/api/jobs/{id}/progress" ReportProgress Work "Report progress" {
        about: "From the current or last holder. Outside an active state it is ignored, and the answer has `ignored`.",
        body: report("ProgressBody", r#"{"worker":"w1","fence":1,"progress":40,"message":"page 4 of 10"}"#),
        problems: &[NotFound, LeaseConflict], ..REPORT
    }
    Post "/api/jobs/{id}/succeed" SucceedJob Work "Report success" {
        body: report("SucceedBody", r#"{"worker":"w1","fence":1,"result":{"pages":10}}"#), ..REPORT
    }
    Post "/api/jobs/{id}/partial" PartialJob Work "Report a partial success" {
        body: report("PartialBody", r#"{"worker":"w1","fence":1,"result":{"pages":9}}"#), ..REPORT
    }
    Post "/api/jobs/{id}/fail" FailJob Work "Report a failure" {
        about: "Retried while the error is transient and attempts are left; otherwise as the lifecycle defines.",
        body: report("FailBody", r#"{"worker":"w1","fence":1,"error":{"code":"FETCH_FAILED","message":"the host does not answer","stage":"fetch"}}"#),
        problems: PAUSING, ..REPORT
    }
    Post "/api/jobs/{id}/reject" RejectJob Work "Reject a job" {
        about: "In a ready or waiting state there is no lease: an operator or admin rejects without `worker` and `fence`.",
        body: report("RejectBody", r#"{"worker":"w1","fence":1,"reason":"not a picture"}"#), ..REPORT
    }
    Post "/api/jobs/{id}/release" ReleaseJob Work "Give a job back" {
        about: "Ends the attempt without counting it as failed.",
        body: report("ReleaseBody", r#"{"worker":"w1","fence":1,"checkpoint":{"page":4}}"#),
        problems: PAUSING, ..REPORT
    }
    Post "/api/jobs/{id}/cancel-confirm" ConfirmCancel Work "Confirm a cancel" {
        about: "After a soft cancel: the worker has stopped.",
        body: report("CancelConfirmBody", r#"{"worker":"w1","fence":1,"checkpoint":{"page":4}}"#), ..REPORT
    }
    Post "/api/reports" ReportJobs Work "Report on up to 10,000 jobs" {
        parameters: &[PREFER],
        body: Body::Json(of::<Reports>(), r#"{"worker":"w1","reports":[{"job":"019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00","fence":1,"verb":"succeed","result":{"pages":10}}]}"#),
        answers: &[ok("One result for each report, in order.", Ref("ReportResults")).with(&[PREFERENCE_APPLIED])],
    }
    Get "/api/workers" ListWorkers ReadSystem "List workers and what they hold" {
        answers: &[ok("Workers, the last seen first.", Page("workers", &of::<WorkerStatus>(), NextCursor::Null))],
    }
}
