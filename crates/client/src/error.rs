//! What a call can come to besides its answer: a refusal by the server, a server that cannot be reached, or an answer
//! that is not of the protocol. Only the second is worth trying again as it is.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

/// What most functions of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The server said no, and why.
    #[error("{0}")]
    Refused(Problem),
    /// No answer came: no connection, a broken one, a timeout, or a proxy that speaks for a server that is away.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// What came or what was to be sent is not of the protocol.
    #[error("{0}")]
    Protocol(String),
}

impl Error {
    /// The problem, if the server refused.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            Self::Unreachable(_) | Self::Protocol(_) => None,
        }
    }

    /// The code of the refusal, such as `lease_conflict`.
    pub fn code(&self) -> Option<&str> {
        self.problem().map(Problem::code)
    }

    /// Whether the same call may succeed a little later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Refused(problem) => problem.is_passing(),
            Self::Unreachable(_) => true,
            Self::Protocol(_) => false,
        }
    }

    /// How long the server asked to wait before the next try.
    pub fn retry_after(&self) -> Option<Duration> {
        self.problem().and_then(|problem| problem.retry_after)
    }

    pub(crate) fn unreachable(error: &reqwest::Error) -> Self {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        Self::Unreachable(text)
    }
}

/// A refusal as HTTP says it (RFC 9457).
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// What to switch on: `invalid_transition`, `lease_conflict`, `not_found` and so on.
    pub code: String,
    /// The code in words.
    #[serde(default)]
    pub title: String,
    /// What happened here.
    #[serde(default)]
    pub detail: Option<String>,
    /// How long to wait before the next try, from the header of that name.
    #[serde(skip)]
    pub retry_after: Option<Duration>,
    /// Everything else: `current_state`, `allowed`, `errors`, `cause` and so on.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Problem {
    /// What to switch on.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Whether the server could not take it now, and changed nothing.
    pub fn is_passing(&self) -> bool {
        self.status >= 500 || self.code == "rate_limited"
    }

    /// Whether it says that the lease is no longer the caller's.
    pub fn is_lease_conflict(&self) -> bool {
        self.code == "lease_conflict"
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.detail.as_deref() {
            Some(detail) if !detail.is_empty() => write!(f, "{}: {detail}", self.code),
            _ => write!(f, "{}: {}", self.code, self.title),
        }
    }
}

impl std::error::Error for Problem {}
