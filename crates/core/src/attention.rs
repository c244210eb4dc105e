//! Thresholds of the rules that say what needs an operator's attention.

use crate::time::Millis;

/// When a condition is reported. Every field has a setting in `[attention]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionThresholds {
    /// A type is reported if at least this share of the jobs that ended in the last hour failed.
    pub failure_percent: u8,
    /// And if at least this many of them failed.
    pub failed_jobs: u32,
    /// The oldest ready job of a type is reported at this age.
    pub oldest_ready: Millis,
    /// A queue with at least this many ready jobs is reported if it does not drain within `drain_within`.
    pub backlog: u32,
    pub drain_within: Millis,
    /// A queue that is paused for longer than this is reported, with or without ready jobs.
    pub pause: Millis,
    /// Leases that expired in the last ten minutes, from which on they are reported.
    pub lost_leases: u32,
    /// The 95th percentile of the commit time from which on the store is reported.
    pub commit_time: Millis,
}

impl Default for AttentionThresholds {
    fn default() -> Self {
        Self {
            failure_percent: 5,
            failed_jobs: 3,
            oldest_ready: Millis::seconds(15 * 60),
            backlog: 100,
            drain_within: Millis::seconds(3600),
            pause: Millis::seconds(3600),
            lost_leases: 5,
            commit_time: Millis::seconds(1),
        }
    }
}
