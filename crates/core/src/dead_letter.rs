//! Dead letters: the record written when a job enters a state with outcome `dead`.

use serde::{Deserialize, Serialize};

use crate::id::{Actor, JobId, Name, TypeName, WorkerId};
use crate::job::{JobError, Stage};
use crate::time::Timestamp;

named! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ReasonCode {
        ParseError = "parse_error",
        ValidationFailed = "validation_failed",
        DependencyUnavailable = "dependency_unavailable",
        Timeout = "timeout",
        ExhaustedRetries = "exhausted_retries",
        PolicyViolation = "policy_violation",
        InfrastructureFailure = "infrastructure_failure",
        CompensationFailed = "compensation_failed",
    }
}

/// On the wire, unknown fields are null and never omitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    pub job_id: JobId,
    /// Only in listings, which read it with the job.
    #[serde(skip)]
    pub job_type: Option<TypeName>,
    pub created_at: Timestamp,
    pub reason_code: ReasonCode,
    pub stage: Option<Stage>,
    pub last_error: Option<JobError>,
    pub attempts: u32,
    pub last_owner: Option<WorkerId>,
    /// When the last lease would have expired.
    pub last_lease_expires_at: Option<Timestamp>,
    pub correlation_id: Name,
    /// Set when an operator dismissed it.
    pub dismissed: Option<Dismissal>,
}

/// A dead letter in memory without the texts that callers choose, about.
const DEAD_LETTER_BYTES: usize = 512;

impl DeadLetter {
    /// Bytes in memory, about: the texts that callers choose, and the rest.
    pub fn bytes(&self) -> usize {
        let error = self.last_error.as_ref();
        let details = error.and_then(|error| error.details.as_ref()).map_or(0, |json| json.as_str().len());
        let message = error.map_or(0, |error| error.message.len());
        let reason = self.dismissed.as_ref().map_or(0, |dismissed| dismissed.reason.len());
        DEAD_LETTER_BYTES + details + message + reason
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dismissal {
    pub at: Timestamp,
    pub by: Actor,
    pub reason: String,
}
