//! The order of claims.

use std::cmp::{Ordering, Reverse};

use crate::prelude::*;

/// Live leases of a key divided by its weight. Equal for all keys of a queue without shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShareLoad {
    pub(crate) leases: u64,
    pub(crate) weight: u64,
}

impl ShareLoad {
    pub(super) const NONE: Self = Self { leases: 0, weight: 1 };
}

impl Ord for ShareLoad {
    fn cmp(&self, other: &Self) -> Ordering {
        let scaled = |one: &Self, by: &Self| u128::from(one.leases) * u128::from(by.weight);
        scaled(self, other).cmp(&scaled(other, self))
    }
}

impl PartialOrd for ShareLoad {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ShareLoad {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ShareLoad {}

/// Higher priority, then earlier `run_at`, then earlier creation.
pub(super) type QueueRank = (Reverse<i32>, Timestamp, JobId);

/// The first job of a subqueue, in claim order: higher priority, then less load, then earlier `run_at`, then earlier creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Head {
    pub(super) priority: Reverse<i32>,
    pub(super) load: ShareLoad,
    pub(super) run_at: Timestamp,
    pub(super) id: JobId,
}

impl Head {
    /// With the effective priority of a queue in which ready jobs grow older by `aging`.
    pub(super) fn aged(self, aging: Option<Millis>, now: Timestamp) -> Self {
        let Some(aging) = aging.filter(|aging| aging.0 > 0) else { return self };
        let steps = (now.0 - self.run_at.0).max(0) / aging.0 as i64;
        let raised = i64::from(self.priority.0).saturating_add(steps).min(i64::from(i32::MAX));
        Self { priority: Reverse(raised as i32), ..self }
    }

    /// The order between queues, which do not share.
    pub(super) fn between_queues(self) -> QueueRank {
        (self.priority, self.run_at, self.id)
    }
}
