//! Failures of a store. A refusal is not a failure.

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Nothing was written; the batch may be tried again.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The database refuses connections. Nothing was written; the batch may be tried again.
    #[error("the database refused the connection: {0}")]
    Denied(String),
    /// Nothing was written; the batch may be tried again when there is space.
    #[error("the disk is full")]
    Full,
    /// Repeated conflicts with other batches. Nothing was written; the batch may be tried again.
    #[error("the batch conflicted {0} times in a row")]
    Conflict(u32),
    /// The outcome of a commit is unknown. The process must stop.
    #[error("the outcome of a commit is unknown: {0}")]
    OutcomeUnknown(String),
    /// A row that Tenure cannot have written.
    #[error("{table} {key} is corrupt: {why}")]
    Corrupt { table: &'static str, key: String, why: String },
    #[error("the store has schema {found}, and this binary supports up to {known}; use a newer binary")]
    SchemaAhead { found: u32, known: u32 },
    /// A migration in the database differs from the one in this binary.
    #[error("migration {0} of the store differs from the one in this binary")]
    MigrationChanged(u32),
    #[error("{path} is in use by process {holder}")]
    InUse { path: String, holder: String },
    /// A setting of the database that could lose acknowledged work.
    #[error("{0}")]
    Unsafe(String),
    /// A statement that the database rejects: a defect of Tenure.
    #[error("the database refused a statement: {0}")]
    Statement(String),
}

impl StoreError {
    /// Whether nothing was written and the batch may be tried again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Denied(_) | Self::Full | Self::Conflict(_) => true,
            Self::OutcomeUnknown(_)
            | Self::Corrupt { .. }
            | Self::SchemaAhead { .. }
            | Self::MigrationChanged(_)
            | Self::InUse { .. }
            | Self::Unsafe(_)
            | Self::Statement(_) => false,
        }
    }
}
