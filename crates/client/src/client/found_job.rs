//! What an id leads to: a job, or a request for one in SQL that is not a job.

use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;
use tenure_api::{JobError, JobRecord, JobRequest, Problem};

/// A job, or a request for one in SQL: not taken in yet, refused, or answered with another job.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundJob {
    Job(Box<JobRecord>),
    Request(Box<JobRequest>),
}

/// The member in which they differ.
#[derive(Deserialize)]
struct Phase {
    #[serde(default)]
    phase: Option<String>,
}

impl<'de> Deserialize<'de> for FoundJob {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(from)?;
        let Phase { phase } = serde_json::from_str(raw.get()).map_err(de::Error::custom)?;
        let found = match phase.as_deref() {
            Some("intake" | "refused" | "merged") => serde_json::from_str(raw.get()).map(Self::Request),
            _ => serde_json::from_str(raw.get()).map(Self::Job),
        };
        found.map_err(de::Error::custom)
    }
}

impl FoundJob {
    /// Why it was refused, if it is a request that was.
    pub fn refusal(&self) -> Option<Problem> {
        match self {
            Self::Job(_) => None,
            Self::Request(request) => serde_json::from_value(request.problem.clone()?).ok(),
        }
    }
}

/// A request has no state: the text is empty. Its refusal is its error.
impl From<FoundJob> for JobRecord {
    fn from(found: FoundJob) -> Self {
        let refusal = found.refusal();
        let request = match found {
            FoundJob::Job(job) => return *job,
            FoundJob::Request(request) => *request,
        };
        let error = refusal.map(|problem| {
            let text = problem.to_string();
            JobError { code: problem.code, text, ..JobError::default() }
        });
        Self {
            id: request.id,
            job_type: request.job_type,
            queue: request.queue.unwrap_or_default(),
            user_id: request.user_id,
            correlation_id: Some(request.correlation_id),
            phase: request.phase,
            created_at: request.requested_at,
            error,
            ..Self::default()
        }
    }
}
