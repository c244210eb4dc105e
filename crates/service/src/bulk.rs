//! One action on every job that matches a filter.

use serde::Deserialize;
use tenure_core::command::Cancel;
use tenure_core::decide::CommandOutput;
use tenure_core::job::CancelMode;
use tenure_core::job_query::JobQuery;
use tenure_core::limits::PAGE_BYTES_MAX;

use crate::prelude::*;

/// Jobs per request; the answer has a cursor for the rest.
pub const ACTION_JOBS_MAX: usize = 10_000;

/// Jobs that a request examines if its query looks into jobs.
const ACTION_EXAMINED_MAX: usize = 100_000;

/// Jobs per read of the store.
pub const PAGE_JOBS: usize = 500;

/// Commands of the first portion.
const FIRST_ITEMS: usize = 128;
/// The smallest and the largest of the other portions.
const PORTION_ITEMS: (usize, usize) = (16, 1024);

/// The result of one command.
pub type Answer = Result<CommandResult, Failure>;

/// How many of many commands are submitted together: the jobs of their results are in memory at the same time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Portions {
    items: usize,
    bytes: usize,
}

impl Portions {
    /// The size of the next portion: about a page of bytes, if its jobs are like those before.
    pub fn size(self) -> usize {
        if self.items == 0 {
            return FIRST_ITEMS;
        }
        let (least, most) = PORTION_ITEMS;
        (PAGE_BYTES_MAX / (self.bytes / self.items).max(1)).clamp(least, most)
    }

    /// Counts a result, with the bytes of its job.
    pub fn add(&mut self, bytes: usize) {
        self.items += 1;
        self.bytes += bytes;
    }

    /// Whether the results have more bytes than a page.
    pub fn is_full(self) -> bool {
        self.bytes > PAGE_BYTES_MAX
    }
}

/// Bytes of the job that a command returns.
pub fn output_bytes(output: &CommandOutput) -> usize {
    match output {
        CommandOutput::Job { job, .. } | CommandOutput::Amended(job) => job.bytes(),
        _ => 0,
    }
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Cancel,
    Retry,
    Delete,
}

/// Binds the key of a request about many jobs to its body: the same key with another body is refused as a whole. If the request
/// came before, the time of the first one: a repeat acts on no job that matches since then.
pub async fn bind_request(
    service: &Service,
    caller: &Caller,
    call: &str,
    key: Option<&IdempotencyKey>,
    adds_work: bool,
) -> Result<Option<Timestamp>> {
    let Some(key) = key else { return Ok(None) };
    // No user has a control character.
    let scope = format!("{call}\n{}", caller.user.as_deref().unwrap_or_default()).into();
    match service.submit(caller, Some(key.clone()), Command::KeyRequest { scope, adds_work }).await? {
        CommandOutput::RequestBound { first_at, replayed: true } => Ok(Some(first_at)),
        _ => Ok(None),
    }
}

impl Action {
    /// Whether a job could be in the selection of a request that was made at this time. Copied and deleted are only jobs that
    /// have finished.
    pub fn concerned(self, job: &Job, at: Timestamp) -> bool {
        let had_finished = || job.times.completed_at.is_none_or(|end| end <= at);
        job.spec.created_at <= at && (self == Self::Cancel || had_finished())
    }
}

/// Matching jobs in the caller's scopes that `keep` accepts, newest first, and a cursor if there are more than one request may touch or examine, or
/// if they have more than `bytes_max` bytes.
pub async fn matching(
    service: &Service,
    caller: &Caller,
    query: &JobQuery,
    mut before: Option<JobId>,
    bytes_max: usize,
    keep: impl Fn(&Job) -> bool,
) -> Result<(Vec<JobId>, Option<JobId>)> {
    let mut filter = query.filter.clone();
    caller.narrow(&mut filter)?;
    let (mut jobs, mut bytes, mut examined) = (Vec::new(), 0, 0);
    loop {
        let found = service.store().list_page(filter.clone(), Page { before, limit: PAGE_JOBS }).await?;
        examined += found.rows.len();
        let matches = |job: &&Arc<Job>| query.admits(job) && caller.has_in_scope(&job.spec) && keep(job);
        let matching = found.rows.iter().filter(matches);
        bytes += matching.clone().map(|job| job.bytes()).sum::<usize>();
        jobs.extend(matching.map(|job| job.id()));
        before = found.rows.last().map(|job| job.id()).or(before);
        if !found.has_more {
            return Ok((jobs, None));
        }
        if jobs.len() >= ACTION_JOBS_MAX || bytes > bytes_max || examined >= ACTION_EXAMINED_MAX {
            return Ok((jobs, before));
        }
    }
}

/// The jobs that the caller may copy, and the problem of each of the others.
pub async fn split_copies(
    service: &Service,
    caller: &Caller,
    jobs: Vec<JobId>,
) -> (Vec<JobId>, Vec<(JobId, Problem)>) {
    let (mut allowed, mut refused) = (Vec::with_capacity(jobs.len()), Vec::new());
    for job in jobs {
        match service.check_copy(caller, job).await {
            Ok(()) => allowed.push(job),
            Err(problem) => refused.push((job, problem)),
        }
    }
    (allowed, refused)
}

/// Submits a command for each job in portions, and passes each result on before the next portion is submitted.
pub async fn submit_portions(
    service: &Service,
    commands: impl Iterator<Item = (JobId, CommandEnvelope)>,
    mut each: impl FnMut(JobId, Answer),
) {
    let (mut commands, mut portions) = (commands, Portions::default());
    loop {
        let (jobs, portion): (Vec<_>, Vec<_>) = commands.by_ref().take(portions.size()).unzip();
        if jobs.is_empty() {
            return;
        }
        for (job, answer) in jobs.into_iter().zip(service.runtime().submit_all(portion).await) {
            portions
                .add(answer.as_ref().ok().and_then(|result| result.as_ref().ok()).map_or(0, output_bytes));
            each(job, answer);
        }
    }
}

/// Submits the same command for each job, as the caller.
pub async fn submit_each(
    service: &Service,
    caller: &Caller,
    action: Action,
    mode: CancelMode,
    key: Option<IdempotencyKey>,
    jobs: &[JobId],
    each: impl FnMut(JobId, Answer),
) {
    let by = caller.origin();
    let command = |&job: &JobId| {
        let command = match action {
            Action::Cancel => Command::Cancel(Cancel { job, mode, reason: None }),
            Action::Delete => Command::Delete { job, reason: None },
            Action::Retry => Command::Retry(Retry { job, id: service.runtime().new_id(), when: When::Now }),
        };
        (job, CommandEnvelope { by: by.clone(), key: key.clone(), command })
    };
    submit_portions(service, jobs.iter().map(command), each).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions_become_smaller_when_their_jobs_are_large() {
        let mut portions = Portions::default();
        assert_eq!(portions.size(), 128);
        portions.add(1000);
        assert_eq!(portions.size(), 1024);
        portions.add(1 << 20);
        assert_eq!((portions.size(), portions.is_full()), (16, false));
        portions.add(8 << 20);
        assert_eq!((portions.size(), portions.is_full()), (16, true));
    }
}
