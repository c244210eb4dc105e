//! Which ready jobs can be claimed, in claim order, as flow control admits them.
//!
//! Ready jobs with the same queue, type, priority and keys form a *subqueue*, in order of age. Only the first job of each subqueue is
//! compared with the others, so that a subqueue that is blocked costs one step, however many jobs it has. A subqueue that a bucket blocks
//! is *parked* there, and the bucket's next change puts it back: blocked jobs are not looked at again before that. Jobs of groups are not parked.

mod ahead;
mod awaited;
mod bucket_uses;
mod rank;
#[cfg(test)]
mod reference;
mod search;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tenure_core::flow::{BatchKey, BucketId, FlowKeys, FlowState, Pause, PauseScope, ResourceUse};
use tenure_core::id::ResourceName;

use crate::prelude::*;
use crate::sorted::SortedVecs;
use bucket_uses::BucketUses;
pub(crate) use bucket_uses::FlowUse;
use rank::{Head, ShareLoad};
pub(crate) use search::{Places, Wanted};

/// Ready jobs are indexed by queue and type.
pub(crate) type Place = (QueueName, TypeName);

/// A parked subqueue is moved back when its bucket changes, unless so many are parked there: then they stay and are searched where they
/// are, and end with one step when the bucket is full again.
const MOVED_SUBQUEUES_MAX: usize = 8;

/// What the index needs of a ready job.
#[derive(Clone, Debug)]
pub(crate) struct ReadyEntry {
    pub(crate) id: JobId,
    pub(crate) queue: QueueName,
    pub(crate) job_type: TypeName,
    pub(crate) priority: i32,
    pub(crate) run_at: Timestamp,
    /// Whether it was never claimed: only then it waits for a group.
    pub(crate) is_new: bool,
    pub(crate) flow: Arc<FlowKeys>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SubqueueKey {
    queue: QueueName,
    job_type: TypeName,
    priority: i32,
    share: Option<Name>,
    batch: Option<BatchKey>,
    resources: Vec<ResourceUse>,
}

impl SubqueueKey {
    fn of(entry: &ReadyEntry) -> Self {
        let flow = &entry.flow;
        Self {
            queue: entry.queue.clone(),
            job_type: entry.job_type.clone(),
            priority: entry.priority,
            share: flow.share.clone(),
            batch: flow.batch.clone().filter(|_| entry.is_new),
            resources: flow.resources.clone(),
        }
    }

    fn place(&self) -> Place {
        (self.queue.clone(), self.job_type.clone())
    }

    fn group(&self) -> Option<GroupId> {
        self.batch.clone().map(|key| (self.place(), key))
    }
}

type SubqueueId = u64;
/// Subqueues that need the same number of units of a bucket are blocked together.
type GateId = (BucketId, u64);
pub(crate) type GroupId = (Place, BatchKey);
/// The first job of each subqueue, by queue and type.
type Heads = BTreeMap<Place, BTreeMap<Head, SubqueueId>>;

#[derive(Debug)]
struct Subqueue {
    key: SubqueueKey,
    jobs: SortedVecs<(Timestamp, JobId)>,
    /// As it is among the heads.
    head: Option<Head>,
    /// Where it is parked.
    parked: Option<GateId>,
}

/// Subqueues that a bucket blocks.
#[derive(Debug, Default)]
struct Gate {
    heads: Heads,
    subqueues: usize,
    /// When the bucket admits jobs again without another change.
    opens_at: Option<Timestamp>,
}

#[derive(Debug, Default)]
pub(crate) struct ClaimIndex {
    /// Ready jobs with a future `run_at`, and those that became ready since the last search.
    later: BTreeMap<Place, SortedVecs<(Timestamp, JobId)>>,
    subqueues: HashMap<SubqueueId, Subqueue>,
    subqueue_ids: HashMap<SubqueueKey, SubqueueId>,
    last_subqueue: SubqueueId,
    /// Subqueues that are not parked.
    open: Heads,
    gates: BTreeMap<GateId, Gate>,
    /// Gates with many subqueues whose bucket may have room.
    open_gates: BTreeSet<GateId>,
    timers: BTreeSet<(Timestamp, GateId)>,
    groups: HashMap<GroupId, BTreeSet<SubqueueId>>,
    /// The subqueues of each key of a queue that is shared.
    shared_subqueues: HashMap<(QueueName, Option<Name>), BTreeSet<SubqueueId>>,
    pub(crate) uses: BucketUses,
}

impl ClaimIndex {
    pub(crate) fn with_state(state: Arc<FlowState>) -> Self {
        Self { uses: BucketUses::with_state(state), ..Self::default() }
    }

    pub(crate) fn state(&self) -> &Arc<FlowState> {
        &self.uses.state
    }

    /// Adds a ready job. It can be found once its `run_at` has passed.
    pub(crate) fn insert(&mut self, entry: &ReadyEntry) {
        if entry.run_at != Timestamp::NEVER {
            let place = (entry.queue.clone(), entry.job_type.clone());
            self.later.entry(place).or_default().insert((entry.run_at, entry.id));
        }
    }

    pub(crate) fn remove(&mut self, entry: &ReadyEntry) {
        let place = (entry.queue.clone(), entry.job_type.clone());
        let job = (entry.run_at, entry.id);
        if let Some(delayed) = self.later.get_mut(&place)
            && delayed.remove(&job).is_some()
        {
            if delayed.is_empty() {
                self.later.remove(&place);
            }
            return;
        }
        let Some(&subqueue) = self.subqueue_ids.get(&SubqueueKey::of(entry)) else { return };
        if let Some(found) = self.subqueues.get_mut(&subqueue) {
            found.jobs.remove(&job);
        }
        self.refresh(subqueue);
    }

    /// Moves jobs whose `run_at` has passed to their subqueues, and opens gates whose time has come.
    pub(crate) fn promote(&mut self, now: Timestamp, entry_of: impl Fn(JobId) -> Option<ReadyEntry>) {
        let is_due = |(run_at, _): &(Timestamp, JobId)| *run_at <= now;
        let due = self.later.iter().filter(|(_, delayed)| delayed.first().is_some_and(is_due));
        let places: Vec<Place> = due.map(|(place, _)| place.clone()).collect();
        for place in places {
            let Some(mut delayed) = self.later.remove(&place) else { continue };
            // A few at a time: a million of them, when a store is opened, are not in memory twice.
            while let Some(segment) = delayed.pop_segment_if(is_due) {
                self.promote_each(segment, &entry_of);
            }
            while delayed.first().is_some_and(is_due) {
                self.promote_each(delayed.pop_first(), &entry_of);
            }
            if !delayed.is_empty() {
                self.later.insert(place, delayed);
            }
        }
        while let Some((_, gate)) = self.timers.first().filter(|(at, _)| *at <= now).cloned() {
            self.open_gate(&gate);
        }
    }

    /// Moves jobs to their subqueues.
    fn promote_each(
        &mut self,
        jobs: impl IntoIterator<Item = (Timestamp, JobId)>,
        entry_of: impl Fn(JobId) -> Option<ReadyEntry>,
    ) {
        for (run_at, id) in jobs {
            let Some(entry) = entry_of(id) else { continue };
            let subqueue = self.subqueue(SubqueueKey::of(&entry));
            if let Some(found) = self.subqueues.get_mut(&subqueue) {
                found.jobs.insert((run_at, id));
            }
            self.refresh(subqueue);
        }
    }

    /// The subqueue with this key, which is created if it does not exist.
    fn subqueue(&mut self, key: SubqueueKey) -> SubqueueId {
        if let Some(known) = self.subqueue_ids.get(&key) {
            return *known;
        }
        self.last_subqueue += 1;
        let id = self.last_subqueue;
        self.groups.extend(
            key.group()
                .filter(|group| !self.groups.contains_key(group))
                .map(|group| (group, BTreeSet::new())),
        );
        if let Some(subqueues) = key.group().and_then(|group| self.groups.get_mut(&group)) {
            subqueues.insert(id);
        }
        if self.uses.share(&key.queue).is_some() {
            self.shared_subqueues.entry((key.queue.clone(), key.share.clone())).or_default().insert(id);
        }
        self.subqueue_ids.insert(key.clone(), id);
        self.subqueues.insert(id, Subqueue { key, jobs: SortedVecs::default(), head: None, parked: None });
        id
    }

    /// Updates the place of a subqueue among the heads; an empty subqueue is removed.
    fn refresh(&mut self, id: SubqueueId) {
        let Some(subqueue) = self.subqueues.get(&id) else { return };
        let head = subqueue.jobs.first().map(|&(run_at, job)| Head {
            priority: std::cmp::Reverse(subqueue.key.priority),
            load: self.uses.load(&subqueue.key.queue, subqueue.key.share.as_ref()),
            run_at,
            id: job,
        });
        if subqueue.head == head {
            return;
        }
        let (place, parked, old) = (subqueue.key.place(), subqueue.parked.clone(), subqueue.head);
        let heads = match &parked {
            Some(bucket) => &mut self.gates.entry(bucket.clone()).or_default().heads,
            None => &mut self.open,
        };
        let of_place = heads.entry(place.clone()).or_default();
        if let Some(old) = old {
            of_place.remove(&old);
        }
        if let Some(head) = head {
            of_place.insert(head, id);
        }
        if of_place.is_empty() {
            heads.remove(&place);
        }
        match (head, self.subqueues.get_mut(&id)) {
            (Some(head), Some(subqueue)) => subqueue.head = Some(head),
            _ => self.drop_subqueue(id),
        }
    }

    fn drop_subqueue(&mut self, id: SubqueueId) {
        let Some(subqueue) = self.subqueues.remove(&id) else { return };
        if let Some(bucket) = &subqueue.parked {
            self.leave_gate(bucket);
        }
        if let Some(group) = subqueue.key.group() {
            remove_from(&mut self.groups, &group, id);
        }
        remove_from(
            &mut self.shared_subqueues,
            &(subqueue.key.queue.clone(), subqueue.key.share.clone()),
            id,
        );
        self.subqueue_ids.remove(&subqueue.key);
    }

    /// Parks a subqueue at the bucket that blocks it, until a time or until the bucket changes.
    fn park(&mut self, id: SubqueueId, at: &GateId, until: Option<Timestamp>) {
        self.unpark(id);
        let Some(subqueue) = self.subqueues.get_mut(&id) else { return };
        let Some(head) = subqueue.head else { return };
        let place = subqueue.key.place();
        subqueue.parked = Some(at.clone());
        if let Some(heads) = self.open.get_mut(&place) {
            heads.remove(&head);
            if heads.is_empty() {
                self.open.remove(&place);
            }
        }
        self.uses.waited(&at.0.resource);
        let gate = self.gates.entry(at.clone()).or_default();
        gate.subqueues += 1;
        gate.heads.entry(place).or_default().insert(head, id);
        self.close_gate(at, until);
    }

    /// A gate that admits nothing until a time, or until its bucket changes.
    fn close_gate(&mut self, at: &GateId, until: Option<Timestamp>) {
        self.open_gates.remove(at);
        let Some(gate) = self.gates.get_mut(at) else { return };
        let Some(until) = until else { return };
        if let Some(planned) = gate.opens_at {
            if planned <= until {
                return;
            }
            self.timers.remove(&(planned, at.clone()));
        }
        gate.opens_at = Some(until);
        self.timers.insert((until, at.clone()));
    }

    /// Moves a parked subqueue back to the open ones.
    fn unpark(&mut self, id: SubqueueId) {
        let Some(subqueue) = self.subqueues.get_mut(&id) else { return };
        let Some(at) = subqueue.parked.take() else { return };
        let (place, head) = (subqueue.key.place(), subqueue.head);
        if let (Some(head), Some(gate)) = (head, self.gates.get_mut(&at)) {
            if let Some(heads) = gate.heads.get_mut(&place) {
                heads.remove(&head);
                if heads.is_empty() {
                    gate.heads.remove(&place);
                }
            }
            self.open.entry(place).or_default().insert(head, id);
        }
        self.leave_gate(&at);
    }

    fn leave_gate(&mut self, at: &GateId) {
        let Some(gate) = self.gates.get_mut(at) else { return };
        gate.subqueues -= 1;
        if gate.subqueues > 0 {
            return;
        }
        if let Some(planned) = gate.opens_at {
            self.timers.remove(&(planned, at.clone()));
        }
        self.gates.remove(at);
        self.open_gates.remove(at);
    }

    /// The bucket may admit jobs again.
    fn open_gate(&mut self, at: &GateId) {
        let Some(gate) = self.gates.get_mut(at) else { return };
        if let Some(planned) = gate.opens_at.take() {
            self.timers.remove(&(planned, at.clone()));
        }
        if gate.subqueues > MOVED_SUBQUEUES_MAX {
            self.open_gates.insert(at.clone());
            return;
        }
        let subqueues: Vec<SubqueueId> = gate.heads.values().flat_map(BTreeMap::values).copied().collect();
        for subqueue in subqueues {
            self.unpark(subqueue);
        }
    }

    /// Opens the gates of resources whose limits have changed, and of pauses that have ended or end earlier.
    pub(crate) fn open_gates(&mut self, before: &FlowState, after: &FlowState) {
        let changed =
            |resource: &&ResourceName| before.overrides.get(*resource) != after.overrides.get(*resource);
        let overrides = before.overrides.keys().chain(after.overrides.keys()).filter(changed);
        let overrides = overrides.map(|resource| PauseScope::Resource(resource.clone()));
        let ends = |pause: &Pause| pause.until.unwrap_or(Timestamp::NEVER);
        let shorter = before
            .pauses
            .iter()
            .filter(|(scope, pause)| after.pauses.get(scope).is_none_or(|other| ends(other) < ends(pause)));
        let scopes: Vec<PauseScope> = overrides.chain(shorter.map(|(scope, _)| scope.clone())).collect();
        for scope in scopes {
            match scope {
                PauseScope::Bucket(bucket) => self.freed(bucket),
                PauseScope::Resource(resource) => self.open_gates_of(&resource),
            }
        }
    }

    fn open_gates_of(&mut self, resource: &ResourceName) {
        let first = (BucketId { resource: resource.clone(), key: None }, 0);
        let gates = self.gates.range(first..).map(|(gate, _)| gate);
        let gates: Vec<GateId> = gates.take_while(|gate| gate.0.resource == *resource).cloned().collect();
        for gate in &gates {
            self.open_gate(gate);
        }
    }

    /// A bucket may have more room.
    fn freed(&mut self, bucket: BucketId) {
        let gates = self.gates.range((bucket.clone(), 0)..=(bucket, u64::MAX));
        let gates: Vec<GateId> = gates.map(|(gate, _)| gate.clone()).collect();
        for gate in &gates {
            self.open_gate(gate);
        }
    }

    /// What a job uses has changed: opens the gates of buckets that have more room, and orders the subqueues of shared queues again.
    pub(crate) fn moved(&mut self, before: Option<&FlowUse>, after: Option<&FlowUse>) {
        if before == after {
            return;
        }
        self.uses.moved(before, after);
        for demand in before.iter().flat_map(|before| &before.flow.resources) {
            self.freed(demand.bucket());
        }
        for changed in [before, after].into_iter().flatten() {
            let key = (changed.queue.clone(), changed.flow.share.clone());
            let subqueues: Vec<SubqueueId> =
                self.shared_subqueues.get(&key).into_iter().flatten().copied().collect();
            for subqueue in subqueues {
                self.refresh(subqueue);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.later.is_empty() && self.subqueues.is_empty() && self.open.is_empty() && self.gates.is_empty()
    }

    /// The number of queues and types with delayed jobs.
    #[cfg(test)]
    pub(crate) fn delayed_places(&self) -> usize {
        self.later.len()
    }
}

fn remove_from<K: Eq + std::hash::Hash>(
    sets: &mut HashMap<K, BTreeSet<SubqueueId>>,
    key: &K,
    subqueue: SubqueueId,
) {
    let Some(subqueues) = sets.get_mut(key) else { return };
    subqueues.remove(&subqueue);
    if subqueues.is_empty() {
        sets.remove(key);
    }
}
