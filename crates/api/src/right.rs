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
    /// List dead letters: all of them, or those of the caller.
    ReadDeadLetters,
    /// Operate on jobs of all users: dead letters, bulk actions.
    Operate,
    /// Change what is not one job: queues, credits, schedules, webhooks, users.
    ManageSystem,
    /// Create, rotate and revoke keys.
    ManageKeys,
}

impl Right {
    /// Whether it is about the whole system. A caller that is limited to some jobs does not have it.
    pub const fn is_about_system(self) -> bool {
        matches!(self, Self::ReadSystem | Self::ManageSystem | Self::ManageKeys)
    }

    /// The roles that have it.
    pub const fn roles(self) -> &'static [&'static str] {
        match self {
            Self::ReadJobs => &["producer", "worker", "operator", "viewer", "admin"],
            Self::ReadSystem => &["operator", "viewer", "admin"],
            Self::ManageJobs => &["producer", "operator", "admin"],
            Self::Work => &["worker", "operator", "admin"],
            Self::ReadDeadLetters => &["producer", "operator", "viewer", "admin"],
            Self::Operate | Self::ManageSystem => &["operator", "admin"],
            Self::ManageKeys => &["admin"],
        }
    }
}
