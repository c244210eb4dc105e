//! Requests for jobs in SQL that are not jobs: in the intake, refused, or answered with another job.

use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;
use tenure_api::{CallId, JobError, JobRecord, JobRequest, Problem};
use tenure_core::json::quote_unreadable_numbers;

use crate::client::{self, Answer, Server};

/// Delay between two looks at a request that no node has taken in. That takes milliseconds while one runs.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// What an id leads to.
pub(crate) enum FoundJob {
    Job(Box<JobRecord>),
    Request(Box<JobRequest>),
}

/// A request has no state.
#[derive(Deserialize)]
struct State {
    state: Option<String>,
}

impl<'de> Deserialize<'de> for FoundJob {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(from)?;
        let text = quote_unreadable_numbers(raw.get());
        let state: State = serde_json::from_str(&text).map_err(de::Error::custom)?;
        let found = match state.state {
            Some(_) => serde_json::from_str(&text).map(Self::Job),
            None => serde_json::from_str(&text).map(Self::Request),
        };
        found.map_err(de::Error::custom)
    }
}

impl FoundJob {
    /// As a job is shown: a request has its phase instead of a state, and its problem instead of an error.
    pub(crate) fn shown(self) -> JobRecord {
        let request = match self {
            Self::Job(job) => return *job,
            Self::Request(request) => *request,
        };
        let error =
            problem(&request).map(|problem| JobError { text: problem.to_string(), ..JobError::default() });
        let entered = request.refused_at.map(|at| (request.phase.clone(), at));
        JobRecord {
            id: request.id,
            job_type: request.job_type,
            queue: request.queue.unwrap_or_default(),
            user_id: request.user_id,
            correlation_id: Some(request.correlation_id),
            entered: entered.into_iter().collect(),
            outcome: request.job_id.map(|job| format!("as {job}")),
            state: request.phase,
            phase: "request in SQL".to_owned(),
            created_at: request.requested_at,
            error,
            ..JobRecord::default()
        }
    }
}

fn problem(request: &JobRequest) -> Option<Problem> {
    serde_json::from_value(request.problem.clone()?).ok()
}

/// The job that a request became, as soon as a node has taken it in, or that answers it. Fails with the problem of a refusal.
pub(super) async fn job(server: &Server, mut id: String) -> Result<String> {
    loop {
        let found: Answer<FoundJob> = server.get(CallId::GetJob, &[&id]).await?;
        let FoundJob::Request(request) = found.into_inner() else { return Ok(id) };
        match (problem(&request), request.job_id) {
            (Some(problem), _) => return Err(client::refusal(&problem).into()),
            (None, Some(job)) => id = job,
            (None, None) => tokio::time::sleep(LOOK_PAUSE).await,
        }
    }
}
