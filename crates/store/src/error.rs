//! What can go wrong in a store. A refusal is not among it: that is an answer.

/// Something broke.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached now. Nothing was written; it may be tried again.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// The disk is full. Nothing was written; it may be tried again when there is space.
    #[error("the disk is full")]
    Full,
    /// Others were faster, again and again. Nothing was written; it may be tried again.
    #[error("the batch met conflicts {0} times in a row")]
    Conflict(u32),
    /// A commit was begun and its outcome is not known. Whoever gets this must stop rather than guess.
    #[error("the outcome of a commit is unknown: {0}")]
    OutcomeUnknown(String),
    /// A row that no Tenure wrote.
    #[error("{table} {key} is corrupt: {why}")]
    Corrupt {
        /// In which table.
        table: &'static str,
        /// Which row.
        key: String,
        /// What is wrong.
        why: String,
    },
    /// The schema is newer than this binary.
    #[error("the store has schema {found}, and this binary knows {known}; run a newer one")]
    SchemaAhead {
        /// What the store has.
        found: u32,
        /// What this binary knows.
        known: u32,
    },
    /// A migration that was run is not the one that this binary has.
    #[error("migration {0} of the store is not the one that this binary has")]
    MigrationChanged(u32),
    /// Another process has the file.
    #[error("{path} is in use by process {holder}")]
    InUse {
        /// Which file.
        path: String,
        /// The other process.
        holder: String,
    },
    /// A setting of the database that would lose acknowledged work.
    #[error("{0}")]
    Unsafe(String),
    /// A statement that the database does not accept: a mistake of ours.
    #[error("the database refused a statement: {0}")]
    Statement(String),
}

impl StoreError {
    /// Whether nothing was written and the same may be tried again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Full | Self::Conflict(_) => true,
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
