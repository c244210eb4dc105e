//! The search for candidates: which jobs the claims of a batch may take, if they are granted one after the other.

use std::cmp::Reverse;
use std::collections::btree_map::Range;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::ops::Bound;

use tenure_core::flow::{Blocked, BucketId, BucketUse, Candidate, Group};

use super::rank::{Head, QueueRank};
use super::{ClaimIndex, GateId, Heads, Place, SubqueueId, SubqueueKey};
use crate::prelude::*;

/// What is searched.
pub(crate) struct Wanted<'a> {
    pub(crate) places: Places<'a>,
    /// How many jobs each claim takes, in order.
    pub(crate) claims: &'a [u32],
    pub(crate) now: Timestamp,
}

/// Queues and types.
#[derive(Clone, Copy)]
pub(crate) enum Places<'a> {
    Admitted(&'a dyn Fn(&Place) -> bool),
    One(&'a Place),
}

/// What the jobs that were found would use.
#[derive(Clone, Debug, Default)]
struct Granted {
    buckets: HashMap<BucketId, BucketUse>,
    leases: HashMap<(QueueName, Option<Name>), u64>,
    jobs: HashSet<JobId>,
}

/// Jobs of a queue that may be next. Ranks may be too low: the load of their keys grows with each job that is found.
struct QueueSearch<'a> {
    queue: QueueName,
    heap: BinaryHeap<Reverse<Entry>>,
    cursors: Vec<Cursor<'a>>,
}

/// Subqueues in order, of which the first is in the heap.
struct Cursor<'a> {
    heads: Range<'a, Head, SubqueueId>,
    /// Where they are parked.
    gate: Option<&'a GateId>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    rank: Head,
    /// `run_at` and id identify the job in its subqueue.
    subqueue: SubqueueId,
    /// The cursor that its subqueue comes from.
    cursor: usize,
    /// Whether the next subqueue of the cursor is not in the heap yet.
    leads: bool,
}

struct Search<'a> {
    index: &'a ClaimIndex,
    now: Timestamp,
    queues: Vec<QueueSearch<'a>>,
    /// The best job of each queue.
    order: BinaryHeap<Reverse<(QueueRank, usize)>>,
    granted: Granted,
    found: Vec<Candidate>,
    /// Subqueues that have nothing for this search.
    skipped: HashSet<SubqueueId>,
    /// Subqueues whose group had too few jobs for the present claim.
    incomplete: HashSet<SubqueueId>,
    /// Their best jobs, which were removed from the heaps, with the number of the queue.
    deferred: Vec<(usize, Entry)>,
    /// Whether one of the groups had more jobs than the present claim had room for.
    lacked_room: bool,
    /// Subqueues that are blocked whatever this search takes, where they are parked, and until when.
    blocked: Vec<(SubqueueId, GateId, Option<Timestamp>)>,
    /// Gates that have nothing more for this search, and why.
    closed: BTreeMap<GateId, SubqueueBlocked>,
}

/// Why a subqueue has nothing for a claim.
struct SubqueueBlocked {
    gate: GateId,
    why: Blocked,
    /// Whether it is so without the jobs that this search has found.
    is_lasting: bool,
}

impl ClaimIndex {
    /// The jobs that claims may take, in claim order. [`ClaimIndex::promote`] comes before.
    pub(crate) fn search(&mut self, wanted: &Wanted<'_>) -> Vec<Candidate> {
        let mut search = Search::new(self, wanted);
        let mut before = None;
        for max in wanted.claims {
            search.offer_deferred(before.is_some_and(|before| max < before));
            search.claim(*max as usize);
            before = Some(max);
        }
        let Search { found, blocked, closed, .. } = search;
        for (subqueue, gate, until) in blocked {
            self.park(subqueue, &gate, until);
        }
        for (gate, blocked) in closed.into_iter().filter(|(_, blocked)| blocked.is_lasting) {
            self.close_gate(&gate, blocked.why.until());
        }
        found
    }
}

impl<'a> Search<'a> {
    fn new(index: &'a ClaimIndex, wanted: &Wanted<'_>) -> Self {
        let mut search = Self {
            index,
            now: wanted.now,
            queues: Vec::new(),
            order: BinaryHeap::new(),
            granted: Granted::default(),
            found: Vec::new(),
            skipped: HashSet::new(),
            incomplete: HashSet::new(),
            deferred: Vec::new(),
            lacked_room: false,
            blocked: Vec::new(),
            closed: BTreeMap::new(),
        };
        let mut numbers = HashMap::new();
        search.add_heads(&index.open, None, wanted, &mut numbers);
        for id in &index.open_gates {
            if let Some(gate) = index.gates.get(id) {
                search.add_heads(&gate.heads, Some(id), wanted, &mut numbers);
            }
        }
        search.offer_all();
        search
    }

    fn add_heads(
        &mut self,
        heads: &'a Heads,
        gate: Option<&'a GateId>,
        wanted: &Wanted<'_>,
        numbers: &mut HashMap<QueueName, usize>,
    ) {
        let one = |place| heads.get_key_value(place).into_iter().collect::<Vec<_>>();
        let places = match wanted.places {
            Places::Admitted(admits) => heads.iter().filter(|(place, _)| admits(place)).collect(),
            Places::One(place) => one(place),
        };
        for (place, heads) in places {
            let number = *numbers.entry(place.0.clone()).or_insert_with(|| {
                self.queues.push(QueueSearch {
                    queue: place.0.clone(),
                    heap: BinaryHeap::new(),
                    cursors: Vec::new(),
                });
                self.queues.len() - 1
            });
            self.add_place(number, heads, gate);
        }
    }

    /// One cursor for the subqueues of a queue and type. Where jobs grow older, one for each priority, since the effective priority
    /// differs; where they also share, one for each subqueue, since neither order contains the other.
    fn add_place(&mut self, queue: usize, heads: &'a BTreeMap<Head, SubqueueId>, gate: Option<&'a GateId>) {
        let name = self.queues[queue].queue.clone();
        let uses = &self.index.uses;
        let (ages, shares) = (uses.aging(&name).is_some(), uses.share(&name).is_some());
        if !ages {
            return self.add_cursor(queue, heads.range(..), gate);
        }
        let mut from = Bound::Unbounded;
        while let Some((first, _)) = heads.range((from, Bound::Unbounded)).next() {
            let last = if shares { *first } else { last_of_priority(first) };
            self.add_cursor(queue, heads.range((Bound::Included(*first), Bound::Included(last))), gate);
            from = Bound::Excluded(last);
        }
    }

    fn add_cursor(&mut self, queue: usize, heads: Range<'a, Head, SubqueueId>, gate: Option<&'a GateId>) {
        let number = self.queues[queue].cursors.len();
        self.queues[queue].cursors.push(Cursor { heads, gate });
        self.advance(queue, number);
    }

    /// Puts the next subqueue of a cursor into the heap.
    fn advance(&mut self, queue: usize, cursor: usize) {
        let searched = &mut self.queues[queue];
        let Some((head, subqueue)) = searched.cursors[cursor].heads.next() else { return };
        let rank = head.aged(self.index.uses.aging(&searched.queue), self.now);
        searched.heap.push(Reverse(Entry { rank, subqueue: *subqueue, cursor, leads: true }));
    }

    /// Puts the best job of a queue that can be taken among those of the others, after correcting ranks that are too low.
    fn offer(&mut self, number: usize) {
        while let Some(Reverse(entry)) = self.queues[number].heap.peek().copied() {
            let key = &self.index.subqueues[&entry.subqueue].key;
            let load = self.index.uses.load_with(&key.queue, key.share.as_ref(), self.granted.leases_of(key));
            if load == entry.rank.load && self.can_take(number, entry) {
                self.order.push(Reverse((entry.rank.between_queues(), number)));
                return;
            }
            if load != entry.rank.load {
                let rank = Head { load, ..entry.rank };
                self.pop(number, entry);
                self.queues[number].heap.push(Reverse(Entry { rank, leads: false, ..entry }));
            }
        }
    }

    /// Offers the best job of every queue again: a bucket that several queues use has less room.
    fn offer_all(&mut self) {
        self.order.clear();
        (0..self.queues.len()).for_each(|queue| self.offer(queue));
    }

    /// Offers groups again that the claim before had no room for. Not to a smaller claim: what is a whole group for that one might fit into
    /// the room that was left, in which it is a part of one.
    fn offer_deferred(&mut self, is_smaller: bool) {
        if self.deferred.is_empty() || is_smaller || !self.lacked_room {
            return;
        }
        self.lacked_room = false;
        self.incomplete.clear();
        for (number, entry) in std::mem::take(&mut self.deferred) {
            self.queues[number].heap.push(Reverse(Entry { leads: false, ..entry }));
        }
        self.offer_all();
    }

    /// Finds jobs for one claim.
    fn claim(&mut self, max: usize) {
        let end = self.found.len() + max;
        while self.found.len() < end {
            let Some(Reverse((_, number))) = self.order.pop() else { return };
            let Some(Reverse(entry)) = self.queues[number].heap.peek().copied() else { continue };
            self.pop(number, entry);
            let key = &self.index.subqueues[&entry.subqueue].key;
            if let Some((size, wait)) = self.group_rule(key) {
                self.take_group(number, entry, size.min(max), end, wait);
            } else {
                self.grant(key, entry.rank.id);
                self.found.push(entry.rank.id.into());
                self.push_next(number, entry);
            }
            if key.resources.is_empty() || self.queues.len() == 1 {
                self.offer(number);
            } else {
                self.offer_all();
            }
        }
    }

    /// Removes the best job of a queue. The next subqueue of its cursor takes its place.
    fn pop(&mut self, number: usize, entry: Entry) {
        self.queues[number].heap.pop();
        if entry.leads {
            self.advance(number, entry.cursor);
        }
    }

    /// Whether the best job of a queue can be taken. If not, it is removed, with its subqueue or gate if that is blocked.
    fn can_take(&mut self, number: usize, entry: Entry) -> bool {
        let gate = self.queues[number].cursors[entry.cursor].gate;
        let is_closed = gate.is_some_and(|gate| self.closed.contains_key(gate));
        let is_skipped =
            is_closed || self.skipped.contains(&entry.subqueue) || self.incomplete.contains(&entry.subqueue);
        let is_granted = self.granted.jobs.contains(&entry.rank.id);
        let key = &self.index.subqueues[&entry.subqueue].key;
        // The jobs of a group are judged together.
        let is_grouped = self.group_rule(key).is_some();
        let blocked = if is_skipped || is_granted || is_grouped { None } else { self.blocked(key) };
        if !is_skipped && !is_granted && blocked.is_none() {
            return true;
        }
        if self.incomplete.contains(&entry.subqueue) {
            self.deferred.push((number, entry));
        }
        // The other subqueues of a closed gate are blocked, too.
        self.pop(number, Entry { leads: entry.leads && !is_closed, ..entry });
        if is_granted && !is_skipped {
            self.push_next(number, entry);
        }
        if let Some(blocked) = blocked {
            self.skip(entry.subqueue, gate, blocked);
        }
        false
    }

    /// The next job of a subqueue.
    fn push_next(&mut self, number: usize, entry: Entry) {
        let after = (entry.rank.run_at, entry.rank.id);
        let subqueue = &self.index.subqueues[&entry.subqueue];
        let Some(&(run_at, id)) = subqueue.jobs.after(&after).next() else { return };
        let queue = &mut self.queues[number];
        let head = Head { priority: Reverse(subqueue.key.priority), load: entry.rank.load, run_at, id };
        let rank = head.aged(self.index.uses.aging(&queue.queue), self.now);
        queue.heap.push(Reverse(Entry { rank, leads: false, ..entry }));
    }

    fn skip(&mut self, subqueue: SubqueueId, gate: Option<&GateId>, blocked: SubqueueBlocked) {
        self.skipped.insert(subqueue);
        if gate == Some(&blocked.gate) {
            // Its other subqueues are blocked, too.
            self.closed.insert(blocked.gate.clone(), blocked);
        } else if blocked.is_lasting {
            self.blocked.push((subqueue, blocked.gate, blocked.why.until()));
        }
    }

    fn blocked(&self, key: &SubqueueKey) -> Option<SubqueueBlocked> {
        key.resources.iter().find_map(|demand| {
            let (bucket, state) = (demand.bucket(), &self.index.uses.state);
            let committed = self.index.uses.bucket(&bucket);
            let lasting = state.blocked(demand, &committed, self.now);
            let with_found = || {
                let granted = self.granted.buckets.get(&bucket)?;
                state.blocked(demand, granted, self.now)
            };
            let (why, is_lasting) = match lasting {
                Some(why) => (why, true),
                None => (with_found()?, false),
            };
            Some(SubqueueBlocked { gate: (bucket, demand.units), why, is_lasting })
        })
    }

    fn grant(&mut self, key: &SubqueueKey, job: JobId) {
        for demand in &key.resources {
            let (id, uses) = (demand.bucket(), &self.index.uses);
            let limits = uses.state.limits(&demand.resource);
            let bucket = self.granted.buckets.entry(id.clone()).or_insert_with(|| uses.bucket(&id));
            bucket.running += demand.units;
            if let Some(rate) = limits.rate {
                bucket.level = bucket.level.take(&rate, demand.units, self.now);
            }
        }
        if self.index.uses.share(&key.queue).is_some() {
            *self.granted.leases.entry((key.queue.clone(), key.share.clone())).or_default() += 1;
        }
        self.granted.jobs.insert(job);
    }

    /// The size of groups and how long they are waited for, if jobs of the subqueue are claimed in groups.
    fn group_rule(&self, key: &SubqueueKey) -> Option<(usize, Millis)> {
        key.batch.as_ref()?;
        let declared = self.index.uses.state.declarations.job_type(key.job_type.as_str())?;
        declared.batch.as_ref().map(|batch| (batch.size as usize, batch.wait))
    }

    /// Takes the group that the best job belongs to: a whole one, or after the wait what there is.
    fn take_group(&mut self, number: usize, entry: Entry, needed: usize, end: usize, wait: Millis) {
        let (key, room) = (&self.index.subqueues[&entry.subqueue].key, end - self.found.len());
        let subqueues =
            key.group().and_then(|group| self.index.groups.get(&group)).cloned().unwrap_or_default();
        let before = self.granted.clone();
        let chosen = self.choose(&subqueues, needed.min(room));
        let first = |subqueue: &SubqueueId| {
            self.index.subqueues[subqueue].jobs.iter().find(|job| !before.jobs.contains(&job.1))
        };
        let oldest = subqueues.iter().filter_map(first).map(|(run_at, _)| *run_at).min();
        let is_due = oldest.is_some_and(|oldest| oldest + wait <= self.now);
        if chosen.is_empty() || !(chosen.len() == needed || is_due) {
            self.granted = before;
            self.lacked_room |= room < needed;
            self.incomplete.extend(subqueues);
            self.deferred.push((number, entry));
            return;
        }
        let group = Group { first: chosen[0], size: chosen.len(), is_due };
        self.found.extend(chosen.iter().map(|id| Candidate { id: *id, group: Some(group) }));
        // What is left may be another group.
        self.push_next(number, entry);
    }

    /// Jobs of some subqueues that fit together, in claim order.
    fn choose(&mut self, subqueues: &BTreeSet<SubqueueId>, max: usize) -> Vec<JobId> {
        let untaken = |id: &SubqueueId| {
            let jobs = self.index.subqueues[id].jobs.iter();
            let jobs = jobs.filter(|job| !self.granted.jobs.contains(&job.1)).take(max);
            (*id, jobs.copied().collect::<VecDeque<_>>())
        };
        let mut waiting: Vec<_> = subqueues.iter().map(untaken).collect();
        let mut chosen = Vec::new();
        while chosen.len() < max {
            let heads = waiting.iter().enumerate();
            let heads = heads.filter_map(|(at, (id, jobs))| Some((self.head(*id, *jobs.front()?), at)));
            let Some((head, at)) = heads.min() else { break };
            let key = &self.index.subqueues[&waiting[at].0].key;
            if self.blocked(key).is_some() {
                // What blocks this one blocks others: each grant costs one pass.
                waiting.retain(|(id, _)| self.blocked(&self.index.subqueues[id].key).is_none());
            } else {
                self.grant(key, head.id);
                chosen.push(head.id);
                waiting[at].1.pop_front();
            }
        }
        chosen
    }

    /// A job of a subqueue as it compares with others, after the jobs that were found.
    fn head(&self, subqueue: SubqueueId, (run_at, id): (Timestamp, JobId)) -> Head {
        let (key, uses) = (&self.index.subqueues[&subqueue].key, &self.index.uses);
        let load = uses.load_with(&key.queue, key.share.as_ref(), self.granted.leases_of(key));
        let head = Head { priority: Reverse(key.priority), load, run_at, id };
        head.aged(uses.aging(&key.queue), self.now)
    }
}

impl Granted {
    fn leases_of(&self, key: &SubqueueKey) -> u64 {
        if self.leases.is_empty() {
            return 0;
        }
        self.leases.get(&(key.queue.clone(), key.share.clone())).copied().unwrap_or(0)
    }
}

/// Not before any head of the same priority.
fn last_of_priority(head: &Head) -> Head {
    let load = super::ShareLoad { leases: u64::MAX, weight: 1 };
    Head { load, run_at: Timestamp(i64::MAX), id: JobId(uuid::Uuid::max()), ..*head }
}
