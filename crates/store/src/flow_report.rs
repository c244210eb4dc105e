//! Reports about flow control for operators: resources with their buckets, sequences, and reasons for which a job waits.

use tenure_core::flow::{Limits, Pause, SequenceId};
use tenure_core::id::ResourceName;

use crate::prelude::*;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceFilter {
    pub name: Option<ResourceName>,
    /// Only the bucket of this key.
    pub key: Option<Name>,
    /// Resources after this one.
    pub after: Option<ResourceName>,
    /// Without buckets.
    pub sums_only: bool,
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceReport {
    pub name: ResourceName,
    /// The expression of its key.
    pub key: Option<String>,
    pub limits: Limits,
    /// Whether an operator has overridden the limits of the file.
    pub is_overridden: bool,
    /// The pause of all its buckets.
    pub paused: Option<Pause>,
    /// Units of live leases in all buckets.
    pub running: u64,
    /// Buckets in use.
    pub bucket_count: usize,
    /// How often this node found jobs that had to wait for it.
    pub waits: u64,
    /// Paused ones first, then the busiest.
    pub buckets: Vec<BucketReport>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketReport {
    pub key: Option<Name>,
    pub running: u64,
    /// Unfinished jobs.
    pub waiting: u64,
    /// `None` without a rate.
    pub tokens: Option<u64>,
    /// The pause of this bucket or of all.
    pub paused: Option<Pause>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SequenceFilter {
    /// Only this one.
    pub id: Option<SequenceId>,
    /// Only halted ones.
    pub halted: bool,
    /// Sequences after this one.
    pub after: Option<SequenceId>,
    pub limit: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceReport {
    pub id: SequenceId,
    /// Unfinished jobs.
    pub waiting: usize,
    /// The first unfinished job.
    pub first: Option<JobId>,
    /// The job that halted it, and when.
    pub halted: Option<(JobId, Timestamp)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    Running,
    Rate,
    Pause,
    Sequence,
    Halt,
    Batch,
    Share,
}

impl WaitKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Rate => "rate",
            Self::Pause => "pause",
            Self::Sequence => "sequence",
            Self::Halt => "halt",
            Self::Batch => "batch",
            Self::Share => "share",
        }
    }
}

/// One reason why a job is not claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitReport {
    pub kind: WaitKind,
    pub resource: Option<ResourceName>,
    pub key: Option<Name>,
    /// Units in use; of a share, the leases of the key, and `limit` is its weight.
    pub running: Option<u64>,
    pub limit: Option<u64>,
    /// Jobs that hold what is missing, a few of them.
    pub holders: Vec<JobId>,
    /// Ready jobs ahead that need the same bucket or group; in a sequence, unfinished ones; in a shared queue, one for each other key.
    pub before: usize,
    /// When it ends because time has passed.
    pub until: Option<Timestamp>,
}
