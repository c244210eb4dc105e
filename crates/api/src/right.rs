//! What a call requires of its caller.

/// A right, given by a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Read jobs: all of them, or those of the caller.
    ReadJobs,
    /// Read statistics, workers, queues and other state of the system.
    ReadSystem,
    /// Create, cancel, retry and signal jobs: all of them, or those of the caller.
    ManageJobs,
    /// Claim jobs and report on them.
    Work,
    /// Operate the system: queues, dead letters, credits, schedules, webhooks, bulk actions.
    Operate,
    /// Create and revoke keys.
    ManageKeys,
}

impl Right {
    /// The roles that have it.
    pub const fn roles(self) -> &'static [&'static str] {
        match self {
            Self::ReadJobs => &["producer", "worker", "operator", "viewer", "admin"],
            Self::ReadSystem => &["operator", "viewer", "admin"],
            Self::ManageJobs => &["producer", "operator", "admin"],
            Self::Work => &["worker", "operator", "admin"],
            Self::Operate => &["operator", "admin"],
            Self::ManageKeys => &["admin"],
        }
    }
}
