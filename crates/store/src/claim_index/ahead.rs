//! How many ready jobs come before one that waits: for explanations, not for claims.

use std::cmp::Reverse;

use tenure_core::flow::BucketId;

use super::rank::{Head, QueueRank, ShareLoad};
use super::{ClaimIndex, GroupId, ReadyEntry, Subqueue};

/// Jobs of other keys that are counted.
const OTHER_KEYS_MAX: usize = 1000;
use crate::prelude::*;

impl ClaimIndex {
    /// Ready jobs that need a bucket and come before one of them, as if their queue was not shared. Looks at every subqueue.
    pub(crate) fn ahead_at(&self, bucket: &BucketId, entry: &ReadyEntry, now: Timestamp) -> usize {
        let needs = |subqueue: &&Subqueue| {
            let mut demands = subqueue.key.resources.iter();
            demands.any(|used| used.resource == bucket.resource && used.key == bucket.key)
        };
        self.ahead(self.subqueues.values().filter(needs), entry, now)
    }

    /// Jobs that wait for the same group and come before one of them.
    pub(crate) fn ahead_in_group(&self, group: &GroupId, entry: &ReadyEntry, now: Timestamp) -> usize {
        let subqueues = self.groups.get(group).into_iter().flatten();
        self.ahead(subqueues.filter_map(|id| self.subqueues.get(id)), entry, now)
    }

    /// The load of a job's key in a shared queue, and how many subqueues of other keys have a job that comes first, as far as they
    /// are counted. `None` if none has.
    pub(crate) fn ahead_by_share(&self, entry: &ReadyEntry, now: Timestamp) -> Option<(ShareLoad, usize)> {
        let queue = &entry.queue;
        self.uses.share(queue)?;
        let (aging, key) = (self.uses.aging(queue), &entry.flow.share);
        let load = self.uses.load(queue, key.as_ref());
        let own = Head { priority: Reverse(entry.priority), load, run_at: entry.run_at, id: entry.id };
        let own = own.aged(aging, now);
        let others = self.open.iter().filter(|((other, _), _)| other == queue).flat_map(|(_, heads)| heads);
        let others = others.filter(|(_, subqueue)| self.subqueues[subqueue].key.share != *key);
        let first = others.take(OTHER_KEYS_MAX).filter(|(head, _)| head.aged(aging, now) < own).count();
        (first > 0).then_some((load, first))
    }

    fn ahead<'a>(
        &'a self,
        subqueues: impl Iterator<Item = &'a Subqueue>,
        entry: &ReadyEntry,
        now: Timestamp,
    ) -> usize {
        let own = self.rank(&entry.queue, (entry.priority, entry.run_at, entry.id), now);
        // The jobs of a subqueue are in order.
        subqueues
            .map(|subqueue| subqueue.jobs.partition_point(|job| self.rank_in(subqueue, job, now) < own))
            .sum()
    }

    fn rank_in(&self, subqueue: &Subqueue, &(run_at, id): &(Timestamp, JobId), now: Timestamp) -> QueueRank {
        self.rank(&subqueue.key.queue, (subqueue.key.priority, run_at, id), now)
    }

    pub(super) fn rank(
        &self,
        queue: &QueueName,
        (priority, run_at, id): (i32, Timestamp, JobId),
        now: Timestamp,
    ) -> QueueRank {
        let head = Head { priority: Reverse(priority), load: ShareLoad::NONE, run_at, id };
        head.aged(self.uses.aging(queue), now).between_queues()
    }
}
