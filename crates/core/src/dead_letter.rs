//! Dead letters: what is written down when a job enters an outcome `dead`.

use serde::{Deserialize, Serialize};

use crate::id::{Actor, JobId, Name, WorkerId};
use crate::job::{JobError, Stage};
use crate::time::Timestamp;

/// Why a job is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the spec's, and say all there is")]
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
    /// All of them.
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

    /// Its name in files and on the wire.
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

    /// By its name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == text)
    }
}

/// What an operator needs to know about a dead job. Fields that are not known are null, never left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The dead job.
    pub job_id: JobId,
    /// When it died.
    pub created_at: Timestamp,
    /// Why.
    pub reason_code: ReasonCode,
    /// Where in the work.
    pub stage: Option<Stage>,
    /// The last failure.
    pub last_error: Option<JobError>,
    /// How many attempts there were.
    pub attempts: u32,
    /// Who held it last.
    pub last_owner: Option<WorkerId>,
    /// When that lease would have ended.
    pub last_lease_expires_at: Option<Timestamp>,
    /// What else belongs to it.
    pub correlation_id: Name,
    /// Set when an operator put it aside.
    pub dismissed: Option<Dismissal>,
}

/// Who put a dead letter aside, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dismissal {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Actor,
    /// Why.
    pub reason: String,
}
