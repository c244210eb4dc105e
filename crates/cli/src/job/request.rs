//! Requests for jobs in SQL that are not jobs: in the intake, refused, or answered with another job.

use tenure_api::JobRecord;
use tenure_client::FoundJob;

/// As a job is shown: a request has its phase instead of a state, and its problem instead of an error.
pub(crate) fn shown(found: FoundJob) -> JobRecord {
    let FoundJob::Request(request) = &found else { return found.into() };
    let (state, outcome) = (request.phase.clone(), request.job_id.as_ref().map(|job| format!("as {job}")));
    let entered = request.refused_at.clone().map(|at| (state.clone(), at)).into_iter().collect();
    JobRecord { state, outcome, entered, phase: "request in SQL".to_owned(), ..found.into() }
}
