//! Calls of workers: claims and reports.

use super::shared::{CHANGED, JOB_ID, JSON, PREFER, PREFERENCE_APPLIED, answer};
use super::{Answer, Body, Call, Tag};
use crate::problem::ProblemCode::{InvalidTransition, LeaseConflict, NotFound};
use crate::request::{Claim, Reports};
use crate::right::Right::{ReadSystem, Work};
use crate::schema::NextCursor;
use crate::schema::Schema::{Page, Ref};
use crate::schema::of;
use crate::{ClaimedJobs, HeartbeatAnswer, WorkerStatus};

pub(super) const CLAIM_JOBS: Call = Call::post("/api/claims", Tag::Workers, Work)
    .says(
        "Claim jobs",
        "Higher `priority` first, then earlier `run_at`, then earlier creation. Waits up to `wait` for work.",
    )
    .reads(Body::Json(
        of::<Claim>(),
        r#"{"worker":"w1","types":["index"],"max":10,"wait":"20s","start":true}"#,
    ))
    .answers(&[answer(
        200,
        "The jobs, each with its lease; none if no work arrived in time.",
        &[(JSON, of::<ClaimedJobs>())],
    )]);

/// A report about one job.
const fn report(path: &'static str, body: &'static str, example: &'static str) -> Call {
    Call::post(path, Tag::Workers, Work)
        .takes(&[JOB_ID, PREFER])
        .reads(Body::Json(Ref(body), example))
        .answers(CHANGED)
        .refuses(&[NotFound, InvalidTransition, LeaseConflict])
}

pub(super) const START_JOB: Call =
    report("/api/jobs/{id}/start", "StartBody", r#"{"worker":"w1","fence":1}"#)
        .says("Start a claimed job", "");

const LEASE: &[Answer] =
    &[answer(200, "The lease, and whether the worker must stop.", &[(JSON, of::<HeartbeatAnswer>())])];

pub(super) const HEARTBEAT_JOB: Call =
    report("/api/jobs/{id}/heartbeat", "HeartbeatBody", r#"{"worker":"w1","fence":1}"#)
        .says(
            "Keep a lease alive",
            "Renews the lease when half of it or less remains. Every accepted report of the holder counts as a heartbeat.",
        )
        .takes(&[JOB_ID])
        .answers(LEASE)
        .refuses(&[NotFound, LeaseConflict]);

pub(super) const REPORT_PROGRESS: Call = report(
    "/api/jobs/{id}/progress",
    "ProgressBody",
    r#"{"worker":"w1","fence":1,"progress":40,"message":"page 4 of 10"}"#,
)
.says(
    "Report progress",
    "From the current or last holder. Outside an active state it is ignored, and the answer has `ignored`.",
)
.refuses(&[NotFound, LeaseConflict]);

pub(super) const SUCCEED_JOB: Call =
    report("/api/jobs/{id}/succeed", "SucceedBody", r#"{"worker":"w1","fence":1,"result":{"pages":10}}"#)
        .says("Report success", "");

pub(super) const PARTIAL_JOB: Call =
    report("/api/jobs/{id}/partial", "PartialBody", r#"{"worker":"w1","fence":1,"result":{"pages":9}}"#)
        .says("Report a partial success", "");

pub(super) const FAIL_JOB: Call = report(
    "/api/jobs/{id}/fail",
    "FailBody",
    r#"{"worker":"w1","fence":1,"error":{"code":"FETCH_FAILED","message":"the host does not answer","stage":"fetch"}}"#,
)
.says("Report a failure", "Retried while the error is transient and attempts are left; otherwise as the lifecycle defines.");

pub(super) const REJECT_JOB: Call =
    report("/api/jobs/{id}/reject", "RejectBody", r#"{"worker":"w1","fence":1,"reason":"not a picture"}"#).says(
        "Reject a job",
        "In a ready or waiting state there is no lease: an operator or admin rejects without `worker` and `fence`.",
    );

pub(super) const RELEASE_JOB: Call =
    report("/api/jobs/{id}/release", "ReleaseBody", r#"{"worker":"w1","fence":1,"checkpoint":{"page":4}}"#)
        .says("Give a job back", "Ends the attempt without counting it as failed.");

pub(super) const CONFIRM_CANCEL: Call = report(
    "/api/jobs/{id}/cancel-confirm",
    "CancelConfirmBody",
    r#"{"worker":"w1","fence":1,"checkpoint":{"page":4}}"#,
)
.says("Confirm a cancel", "After a soft cancel: the worker has stopped.");

pub(super) const REPORT_JOBS: Call = Call::post("/api/reports", Tag::Workers, Work)
    .says("Report on up to 10,000 jobs", "")
    .takes(&[PREFER])
    .reads(Body::Json(
        of::<Reports>(),
        r#"{"worker":"w1","reports":[{"job":"019a8b7e-4c00-7d2a-9f31-5b6c7d8e9f00","fence":1,"verb":"succeed","result":{"pages":10}}]}"#,
    ))
    .answers(&[answer(200, "One result for each report, in order.", &[(JSON, Ref("ReportResults"))])
        .with(&[PREFERENCE_APPLIED])]);

pub(super) const LIST_WORKERS: Call = Call::get("/api/workers", Tag::Workers, ReadSystem)
    .says("List workers and what they hold", "")
    .answers(&[answer(
        200,
        "Workers, the last seen first.",
        &[(JSON, Page("workers", &of::<WorkerStatus>(), NextCursor::Null))],
    )]);
