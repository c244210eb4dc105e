//! Errors of calls: a refusal by the server, a server that cannot be reached, or a message that is not of the protocol. Only
//! the second can be retried unchanged.

use std::time::Duration;

pub use tenure_api::Problem;

/// The result of most functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The server refused the call.
    #[error("{0}")]
    Refused(Problem),
    /// No answer: no connection, a broken one, a timeout, or a proxy that reports that the server is down.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// The answer or the request is not of the protocol.
    #[error("{0}")]
    Protocol(String),
    /// A job did not finish in the time that [`Client::wait`](crate::Client::wait) was given.
    #[error("the job did not finish within {0:?}")]
    TimedOut(Duration),
}

impl Error {
    /// The problem, if the server refused.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            Self::Unreachable(_) | Self::Protocol(_) | Self::TimedOut(_) => None,
        }
    }

    /// The code of the refusal, such as `lease_conflict`.
    pub fn code(&self) -> Option<&str> {
        self.problem().map(Problem::code)
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Refused(problem) => problem.is_retryable(),
            Self::Unreachable(_) => true,
            Self::Protocol(_) | Self::TimedOut(_) => false,
        }
    }

    /// How long to wait before the next try, if the server said so.
    pub fn retry_after(&self) -> Option<Duration> {
        self.problem().and_then(|problem| problem.retry_after)
    }

    pub(crate) fn unreachable(error: &reqwest::Error) -> Self {
        Self::Unreachable(with_causes(error))
    }
}

/// The message of an error and those of its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", with_causes(cause)),
        None => error.to_string(),
    }
}
