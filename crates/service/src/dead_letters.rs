//! Access to dead letters, and redriving them.

use tenure_core::dead_letter::DeadLetter;

use crate::bulk::{ACTION_JOBS_MAX, Answer, PAGE_JOBS, submit_portions};
use crate::fields::require;
use crate::prelude::*;

/// Upper bound of `max_per_second`.
const RATE_MAX: f64 = 100_000.0;

/// Restricts a listing to what the caller may see: everything, or the dead letters of its user, in its scopes. What it
/// finds is to be filtered by [`visible`].
pub fn narrow(caller: &Caller, filter: &mut DeadLetterFilter) -> Result<()> {
    if caller.has(Role::Producer) && !caller.sees_all_users() {
        if filter.jobs.user_id.is_some() && filter.jobs.user_id != caller.user {
            return Err(Problem::forbidden("a producer lists only dead letters of its user"));
        }
        filter.jobs.user_id.clone_from(&caller.user);
    }
    caller.narrow(&mut filter.jobs)?;
    caller.may(Right::ReadDeadLetters)
}

/// The dead letters whose jobs the caller may see. Without scopes, nothing is read.
pub async fn visible(
    service: &Service,
    caller: &Caller,
    mut letters: Vec<DeadLetter>,
) -> Result<Vec<DeadLetter>> {
    if caller.scopes.limits_jobs() {
        let mut hidden = Vec::new();
        for letter in &letters {
            match service.check_scope(caller, letter.job_id).await {
                Ok(()) => {}
                Err(problem) if problem.code() == ProblemCode::Forbidden.code() => hidden.push(letter.job_id),
                Err(problem) => return Err(problem),
            }
        }
        letters.retain(|letter| !hidden.contains(&letter.job_id));
    }
    Ok(letters)
}

pub fn check_rate(pointer: &str, max_per_second: Option<f64>) -> Result<()> {
    let is_allowed = max_per_second.is_none_or(|rate| rate > 0.0 && rate <= RATE_MAX);
    require(is_allowed, pointer, format_args!("must be above 0 and at most {RATE_MAX}"))
}

/// Creates a copy of each job. The rate is kept by the times at which the copies may be claimed, so that it holds even if
/// this node stops.
pub async fn redrive_each(
    service: &Service,
    caller: &Caller,
    max_per_second: Option<f64>,
    key: Option<IdempotencyKey>,
    jobs: &[JobId],
    each: impl FnMut(JobId, Answer),
) {
    let by = caller.origin();
    let command = |(index, &job): (usize, &JobId)| {
        let delay = max_per_second.map_or(0, |rate| (index as f64 * 1000.0 / rate) as u64);
        let when = if delay == 0 { When::Now } else { When::In(Millis(delay)) };
        let command = Command::Retry(Retry { job, id: service.runtime().new_id(), when });
        (job, CommandEnvelope { by: by.clone(), key: key.clone(), command })
    };
    submit_portions(service, jobs.iter().enumerate().map(command), each).await;
}

/// Matching dead letters that `keep` accepts, and a cursor if there are more than one request may touch.
pub async fn matching(
    service: &Service,
    caller: &Caller,
    mut filter: DeadLetterFilter,
    mut before: Option<JobId>,
    keep: impl Fn(&DeadLetter) -> bool,
) -> Result<(Vec<JobId>, Option<JobId>)> {
    narrow(caller, &mut filter)?;
    let mut found: Vec<JobId> = Vec::new();
    loop {
        let page = Page { before, limit: PAGE_JOBS };
        let page = service.store().dead_letters_page(filter.clone(), page).await?;
        before = page.rows.last().map(|letter| letter.job_id).or(before);
        let letters = visible(service, caller, page.rows).await?;
        found.extend(letters.iter().filter(|letter| keep(letter)).map(|letter| letter.job_id));
        if !page.has_more {
            return Ok((found, None));
        }
        if found.len() >= ACTION_JOBS_MAX {
            return Ok((found, before));
        }
    }
}

/// The dead letter of a job, dismissed or not.
pub async fn find(service: &Service, job: JobId) -> Result<Option<DeadLetter>> {
    let just_after = JobId(uuid::Uuid::from_u128(job.seed().wrapping_add(1)));
    for dismissed in [false, true] {
        let filter = DeadLetterFilter { dismissed, ..DeadLetterFilter::default() };
        let found = service.store().dead_letters(filter, Page { before: Some(just_after), limit: 1 }).await?;
        if let Some(letter) = found.into_iter().find(|letter| letter.job_id == job) {
            return Ok(Some(letter));
        }
    }
    Ok(None)
}
