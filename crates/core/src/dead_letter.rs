//! Dead letters: the record written when a job enters a state with outcome `dead`.

use serde::{Deserialize, Serialize};

use crate::id::{Actor, JobId, Name, WorkerId};
use crate::job::{JobError, Stage};
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    ParseError,
    ValidationFailed,
    DependencyUnavailable,
    Timeout,
    ExhaustedRetries,
    PolicyViolation,
    InfrastructureFailure,
    CompensationFailed,
}

impl ReasonCode {
    pub const ALL: [Self; 8] = [
        Self::ParseError,
        Self::ValidationFailed,
        Self::DependencyUnavailable,
        Self::Timeout,
        Self::ExhaustedRetries,
        Self::PolicyViolation,
        Self::InfrastructureFailure,
        Self::CompensationFailed,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ParseError => "parse_error",
            Self::ValidationFailed => "validation_failed",
            Self::DependencyUnavailable => "dependency_unavailable",
            Self::Timeout => "timeout",
            Self::ExhaustedRetries => "exhausted_retries",
            Self::PolicyViolation => "policy_violation",
            Self::InfrastructureFailure => "infrastructure_failure",
            Self::CompensationFailed => "compensation_failed",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == text)
    }
}

/// On the wire, unknown fields are null and never omitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    pub job_id: JobId,
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dismissal {
    pub at: Timestamp,
    pub by: Actor,
    pub reason: String,
}
