//! What unfinished jobs use: units, places in buckets, and leases of shared queues.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tenure_core::flow::{BucketId, BucketUse, FlowKeys, FlowState, Share, TokenLevel};

use tenure_core::id::ResourceName;

use super::rank::ShareLoad;
use crate::prelude::*;

/// What one unfinished job uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlowUse {
    pub(crate) queue: QueueName,
    pub(crate) flow: Arc<FlowKeys>,
    pub(crate) is_leased: bool,
}

#[derive(Debug, Default)]
pub(crate) struct BucketUses {
    pub(crate) state: Arc<FlowState>,
    buckets: HashMap<BucketId, BucketUse>,
    /// Live leases by queue and key, of queues that are shared.
    leases: HashMap<(QueueName, Option<Name>), u64>,
    /// How often subqueues were parked at a resource.
    waits: HashMap<ResourceName, u64>,
    /// The number of buckets at which those that nothing uses are forgotten.
    prune_at: usize,
}

/// Fewer buckets are not worth a search for those that nothing uses.
const PRUNED_FROM: usize = 1024;

impl BucketUses {
    pub(crate) fn with_state(state: Arc<FlowState>) -> Self {
        Self { state, ..Self::default() }
    }

    pub(super) fn share(&self, queue: &QueueName) -> Option<&Share> {
        self.state.declarations.queues.get(queue)?.share.as_ref()
    }

    /// Whether a job of the queue uses anything.
    pub(crate) fn tracks(&self, queue: &QueueName, flow: &FlowKeys) -> bool {
        !flow.resources.is_empty() || self.share(queue).is_some()
    }

    pub(super) fn aging(&self, queue: &QueueName) -> Option<Millis> {
        self.state.declarations.queues.get(queue)?.aging
    }

    pub(super) fn load(&self, queue: &QueueName, key: Option<&Name>) -> ShareLoad {
        self.load_with(queue, key, 0)
    }

    /// The load of a key with more leases.
    pub(super) fn load_with(&self, queue: &QueueName, key: Option<&Name>, more: u64) -> ShareLoad {
        let Some(share) = self.share(queue) else { return ShareLoad::NONE };
        let leases = self.leases.get(&(queue.clone(), key.cloned())).copied().unwrap_or(0);
        ShareLoad { leases: leases + more, weight: share.weight(key).max(1) }
    }

    pub(crate) fn bucket(&self, id: &BucketId) -> BucketUse {
        self.buckets.get(id).copied().unwrap_or_default()
    }

    pub(crate) fn contains(&self, id: &BucketId) -> bool {
        self.buckets.contains_key(id)
    }

    pub(crate) fn buckets(&self) -> impl Iterator<Item = (&BucketId, &BucketUse)> {
        self.buckets.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.buckets.len()
    }

    pub(super) fn moved(&mut self, before: Option<&FlowUse>, after: Option<&FlowUse>) {
        // Added first, so that a bucket that stays in use is not removed in between.
        if let Some(used) = after {
            self.add(used);
        }
        if let Some(used) = before {
            self.subtract(used);
        }
    }

    fn add(&mut self, used: &FlowUse) {
        for demand in &used.flow.resources {
            let bucket = self.buckets.entry(demand.bucket()).or_default();
            bucket.unfinished += 1;
            bucket.running += if used.is_leased { demand.units } else { 0 };
        }
        if used.is_leased && self.share(&used.queue).is_some() {
            *self.leases.entry((used.queue.clone(), used.flow.share.clone())).or_default() += 1;
        }
    }

    fn subtract(&mut self, used: &FlowUse) {
        for demand in &used.flow.resources {
            let id = demand.bucket();
            let Some(bucket) = self.buckets.get_mut(&id) else { continue };
            bucket.unfinished = bucket.unfinished.saturating_sub(1);
            bucket.running = bucket.running.saturating_sub(if used.is_leased { demand.units } else { 0 });
            if *bucket == BucketUse::default() {
                self.buckets.remove(&id);
            }
        }
        let key = (used.queue.clone(), used.flow.share.clone());
        if used.is_leased
            && let Some(leases) = self.leases.get_mut(&key)
        {
            *leases -= 1;
            if *leases == 0 {
                self.leases.remove(&key);
            }
        }
    }

    /// The tokens of a bucket have changed. Of two levels the later one counts: a node may learn them in another order.
    pub(crate) fn set_level(&mut self, id: &BucketId, level: TokenLevel) {
        let bucket = self.buckets.entry(id.clone()).or_default();
        bucket.level = bucket.level.latest(level);
        // The times of levels never go back, so a bucket that was full then is full now.
        if self.prune_at.max(PRUNED_FROM) <= self.buckets.len() {
            self.prune(level.at());
            self.prune_at = 2 * self.buckets.len();
        }
    }

    /// Forgets buckets that nothing uses and that are full again.
    pub(crate) fn prune(&mut self, now: Timestamp) {
        let state = &self.state;
        self.buckets.retain(|id, bucket| {
            let rate = state.limits(&id.resource).rate;
            let is_full = rate.is_none_or(|rate| bucket.level.full_at(&rate) <= now);
            bucket.unfinished > 0 || !is_full
        });
    }

    pub(super) fn waited(&mut self, resource: &ResourceName) {
        *self.waits.entry(resource.clone()).or_default() += 1;
    }

    pub(crate) fn waits(&self, resource: &ResourceName) -> u64 {
        self.waits.get(resource).copied().unwrap_or(0)
    }

    /// The levels of all buckets, to be kept when everything else is counted again.
    pub(crate) fn levels(&self) -> BTreeMap<BucketId, TokenLevel> {
        let known = self.buckets.iter().filter(|(_, bucket)| bucket.level != TokenLevel::default());
        known.map(|(id, bucket)| (id.clone(), bucket.level)).collect()
    }
}
