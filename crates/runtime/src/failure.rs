//! What can go wrong besides a refusal: the command was not decided.

use std::sync::Arc;

use tenure_store::StoreError;

/// The command was not decided. A failure of a store is shared by all commands of its batch.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// Too many commands wait already.
    #[error("too many commands wait; try again soon")]
    Overloaded,
    /// The runtime is stopping or has stopped.
    #[error("the runtime has stopped")]
    Stopped,
    /// The store did not take the batch.
    #[error(transparent)]
    Store(Arc<StoreError>),
}

/// Why a runtime could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A lifecycle or a type cannot be in force.
    #[error("{0}")]
    Definition(String),
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The definitions could not be brought into the store's force.
    #[error(transparent)]
    Register(#[from] Failure),
}
