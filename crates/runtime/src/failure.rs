//! Failures: reasons why a command was not decided. A refusal is not a failure.

use std::sync::Arc;

use crate::prelude::*;

/// The command was not decided. A failure of a store is shared by all commands of its batch.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    #[error("too many commands are queued; try again soon")]
    Overloaded,
    #[error("the runtime has stopped")]
    Stopped,
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// A defect of Tenure, confined to the commands of the batch. Nothing was changed.
    #[error("the decision panicked: {0}")]
    Panicked(Arc<str>),
}

impl Failure {
    /// Whether it may come from one command, so that others succeed without it.
    pub fn may_concern_one_command(&self) -> bool {
        match self {
            Self::Panicked(_) => true,
            Self::Store(error) => matches!(**error, StoreError::Corrupt { .. } | StoreError::Statement(_)),
            Self::Overloaded | Self::Stopped => false,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

/// Why a runtime could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0}")]
    Definition(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Register(#[from] Failure),
}
