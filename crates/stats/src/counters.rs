//! Counters of this node's commits, by minute. The runtime calls [`Counters::count`] for every commit, so it must be
//! quick. Counters are kept in memory and written to the store every two seconds, so that every node can show the sum.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, RwLock};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tenure_core::error_signature::error_signature;
use tenure_core::id::UserId;
use tenure_core::lifecycle::Outcome;
use tenure_runtime::{Committed, Failed, Transition};

use crate::minute_ring::{Histogram, MinuteRing};
use crate::prelude::*;
use crate::span_histogram::SpanHistogram;

/// Distinct failures that are kept; the ones that happened last win.
const FAILURES_MAX: usize = 200;
/// Users that are kept for each failure.
pub(crate) const USERS_MAX: usize = 10;
/// Types that have their own counters although the catalog does not declare them, and queues. Callers choose these names,
/// and every report of a node contains the counters.
const UNDECLARED_TYPES_MAX: usize = 50;
pub(crate) const QUEUES_MAX: usize = 100;
/// Keys whose finished jobs are counted. Jobs under further keys appear with the next count in the store.
const COUNT_KEYS_MAX: usize = 10_000;

/// What finished jobs are counted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountKey {
    pub lifecycle: LifecycleName,
    pub job_type: TypeName,
    pub queue: QueueName,
    pub state: StateName,
}

impl CountKey {
    fn new(lifecycle: &LifecycleName, job_type: &TypeName, queue: &QueueName, state: &StateName) -> Self {
        let (lifecycle, job_type) = (lifecycle.clone(), job_type.clone());
        Self { lifecycle, job_type, queue: queue.clone(), state: state.clone() }
    }

    pub(crate) fn of(count: &Count) -> Self {
        Self::new(&count.lifecycle, &count.job_type, &count.queue, &count.state)
    }
}

/// How many more finished jobs there are than at the start, by key.
pub(crate) type FinishedDelta = BTreeMap<CountKey, i64>;

/// What this node committed.
pub struct Counters {
    names: RwLock<CountedNames>,
    catch_all: TypeName,
    started: Instant,
    state: Mutex<State>,
}

/// What is counted separately.
#[derive(Default)]
struct CountedNames {
    /// The types of the catalog, and the first others that were seen. All further types share the catch-all's counters.
    types: BTreeSet<TypeName>,
    undeclared: usize,
    /// The ready states of every lifecycle.
    ready: BTreeSet<(LifecycleName, StateName)>,
}

impl CountedNames {
    fn add(&mut self, catalog: &Catalog) {
        self.types.extend(catalog.types().map(|job_type| job_type.name.clone()));
        for lifecycle in catalog.lifecycles() {
            let ready = lifecycle.states.iter().filter(|state| state.phase == Phase::Ready);
            self.ready.extend(ready.map(|state| (lifecycle.name.clone(), state.name.clone())));
        }
    }
}

#[derive(Default)]
struct State {
    counted: Counted,
    finished: FinishedDelta,
    commits: Commits,
    /// Grows with every counted transition.
    version: u64,
}

/// Counts by minute, as they are written to the store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// By lifecycle and type.
    pub lifecycles: BTreeMap<LifecycleName, BTreeMap<TypeName, TypeCounts>>,
    /// By type, error code and signature of the message.
    pub failures: Vec<FailureCount>,
    #[serde(default)]
    pub queues: BTreeMap<QueueName, QueueCounts>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TypeCounts {
    pub steps: Vec<TransitionCount>,
    /// Failed attempts.
    pub failed: MinuteRing,
    /// How long jobs were claimable before each claim.
    #[serde(default)]
    pub wait: SpanHistogram,
    /// Run times of finished jobs.
    #[serde(default)]
    pub run: SpanHistogram,
}

/// How many jobs entered and left the ready states of a queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct QueueCounts {
    pub entered: MinuteRing,
    pub left: MinuteRing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TransitionCount {
    /// `None` at creation.
    pub from: Option<StateName>,
    pub trigger: Trigger,
    pub to: StateName,
    /// Set if `to` is final.
    pub outcome: Option<Outcome>,
    pub minutes: MinuteRing,
}

/// Failed attempts that have type, error code and signature in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailureCount {
    pub job_type: TypeName,
    pub code: Name,
    #[serde(default = "no_signature")]
    pub signature: Name,
    pub minutes: MinuteRing,
    /// Those that another attempt follows.
    #[serde(default)]
    pub retried: MinuteRing,
    /// The first users whose jobs failed so.
    #[serde(default)]
    pub users: BTreeSet<UserId>,
    /// The first after an hour without any.
    pub first: i64,
    pub last: i64,
    /// Job and message of the last one.
    pub job: JobId,
    pub message: Name,
}

/// Reports of older versions have no signatures.
fn no_signature() -> Name {
    "".into()
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Commits {
    /// Commands per commit.
    pub commands: Histogram,
    /// Microseconds per commit.
    pub took_us: Histogram,
}

impl Counters {
    pub fn new(catalog: &Catalog) -> Self {
        let mut names = CountedNames::default();
        names.add(catalog);
        let (names, catch_all) = (RwLock::new(names), CATCH_ALL.into());
        Self { names, catch_all, started: Instant::now(), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while counting")
    }

    /// Counts the types of a changed catalog separately from now on. Types that it lacks keep their counters.
    pub fn add_types(&self, catalog: &Catalog) {
        self.names.write().expect("no panic while counting").add(catalog);
    }

    /// The name under which a type is counted.
    pub(crate) fn label(&self, job_type: &TypeName) -> TypeName {
        if self.names.read().expect("no panic while counting").types.contains(job_type) {
            return job_type.clone();
        }
        let mut names = self.names.write().expect("no panic while counting");
        if names.undeclared < UNDECLARED_TYPES_MAX {
            names.undeclared += usize::from(names.types.insert(job_type.clone()));
            return job_type.clone();
        }
        self.catch_all.clone()
    }

    fn is_ready(&self, lifecycle: &LifecycleName, state: Option<&StateName>) -> bool {
        let Some(state) = state else { return false };
        let names = self.names.read().expect("no panic while counting");
        names.ready.contains(&(lifecycle.clone(), state.clone()))
    }

    /// Counts a commit.
    pub fn count(&self, committed: &Committed) {
        let mut state = self.state();
        let minute = (self.started.elapsed().as_secs() / 60) as i64;
        let took_us = u32::try_from(committed.took.as_micros()).unwrap_or(u32::MAX);
        state.commits.commands.add(minute, committed.commands as u32);
        state.commits.took_us.add(minute, took_us);
        state.version += committed.transitions.len() as u64;
        for it in &committed.transitions {
            state.counted.count(&self.label(&it.job_type), it);
            let was_ready = self.is_ready(&it.lifecycle, it.from.as_ref());
            state.counted.count_queue(it, was_ready);
            if it.phase.is_final() {
                state.add_finished(CountKey::new(&it.lifecycle, &it.job_type, &it.queue, &it.to), 1);
            }
        }
        for job in &committed.purged {
            let spec = &job.spec;
            let key = CountKey::new(&spec.lifecycle.name, &spec.job_type, &spec.queue, &job.state);
            state.add_finished(key, -1);
        }
    }

    pub(crate) fn by_minute(&self) -> Counted {
        self.state().counted.clone()
    }

    /// Changes whenever a count by minute changes.
    pub(crate) fn version(&self) -> u64 {
        self.state().version
    }

    pub(crate) fn finished(&self) -> FinishedDelta {
        self.state().finished.clone()
    }

    pub(crate) fn commits(&self) -> Commits {
        self.state().commits.clone()
    }
}

impl State {
    fn add_finished(&mut self, key: CountKey, more: i64) {
        if let Some(known) = self.finished.get_mut(&key) {
            *known += more;
        } else if self.finished.len() < COUNT_KEYS_MAX {
            self.finished.insert(key, more);
        }
    }
}

impl Counted {
    fn of(&mut self, lifecycle: &LifecycleName, job_type: &TypeName) -> &mut TypeCounts {
        if !self.lifecycles.get(lifecycle).is_some_and(|types| types.contains_key(job_type)) {
            self.lifecycles
                .entry(lifecycle.clone())
                .or_default()
                .insert(job_type.clone(), TypeCounts::default());
        }
        let types = self.lifecycles.get_mut(lifecycle);
        types.and_then(|types| types.get_mut(job_type)).expect("the entry exists or was just inserted")
    }

    fn count(&mut self, label: &TypeName, it: &Transition) {
        let minute = it.at.minute();
        let of_type = self.of(&it.lifecycle, label);
        of_type.step(it.from.as_ref(), &it.trigger, &it.to, it.phase.outcome()).add(minute, 1);
        it.waited.inspect(|span| of_type.wait.add(minute, *span));
        it.ran.inspect(|span| of_type.run.add(minute, *span));
        if let Some(failed) = it.failure() {
            of_type.failed.add(minute, 1);
            self.fail(label, failed, it);
        }
    }

    fn count_queue(&mut self, it: &Transition, was_ready: bool) {
        let is_ready = it.phase == Phase::Ready;
        if is_ready == was_ready {
            return;
        }
        let counts = if self.queues.contains_key(&it.queue) || self.queues.len() < QUEUES_MAX {
            self.queues.entry(it.queue.clone()).or_default()
        } else {
            return;
        };
        let ring = if is_ready { &mut counts.entered } else { &mut counts.left };
        ring.add(it.at.minute(), 1);
    }

    fn fail(&mut self, job_type: &TypeName, failed: &Failed, it: &Transition) {
        let (mut minutes, mut retried) = (MinuteRing::default(), MinuteRing::default());
        minutes.add(it.at.minute(), 1);
        if it.is_retry {
            retried.add(it.at.minute(), 1);
        }
        self.add_failure(&FailureCount {
            job_type: job_type.clone(),
            code: failed.code.clone(),
            signature: error_signature(&failed.message).into(),
            minutes,
            retried,
            users: it.user_id.iter().cloned().collect(),
            first: it.at.0,
            last: it.at.0,
            job: it.job,
            message: failed.message.clone(),
        });
    }

    fn add_failure(&mut self, new: &FailureCount) {
        let same = |known: &&mut FailureCount| {
            known.job_type == new.job_type && known.code == new.code && known.signature == new.signature
        };
        if let Some(known) = self.failures.iter_mut().find(same) {
            return known.merge(new);
        }
        if self.failures.len() >= FAILURES_MAX {
            let oldest = self.failures.iter().enumerate().min_by_key(|(_, known)| known.last);
            let oldest = oldest.map(|(at, _)| at).expect("the list is full");
            self.failures.swap_remove(oldest);
        }
        self.failures.push(new.clone());
    }

    /// Adds the counts of another node.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (lifecycle, types) in &other.lifecycles {
            for (job_type, theirs) in types {
                let ours = self.of(lifecycle, job_type);
                ours.failed.merge(&theirs.failed);
                ours.wait.merge(&theirs.wait);
                ours.run.merge(&theirs.run);
                for step in &theirs.steps {
                    let TransitionCount { from, trigger, to, outcome, minutes } = step;
                    ours.step(from.as_ref(), trigger, to, *outcome).merge(minutes);
                }
            }
        }
        for (queue, theirs) in &other.queues {
            let ours = self.queues.entry(queue.clone()).or_default();
            ours.entered.merge(&theirs.entered);
            ours.left.merge(&theirs.left);
        }
        other.failures.iter().for_each(|failure| self.add_failure(failure));
    }
}

impl TypeCounts {
    fn step(
        &mut self,
        from: Option<&StateName>,
        trigger: &Trigger,
        to: &StateName,
        outcome: Option<Outcome>,
    ) -> &mut MinuteRing {
        let is =
            |step: &TransitionCount| step.to == *to && step.trigger == *trigger && step.from.as_ref() == from;
        let at = self.steps.iter().position(is).unwrap_or_else(|| {
            let (from, trigger, to) = (from.cloned(), trigger.clone(), to.clone());
            self.steps.push(TransitionCount { from, trigger, to, outcome, minutes: MinuteRing::default() });
            self.steps.len() - 1
        });
        &mut self.steps[at].minutes
    }
}

impl FailureCount {
    fn merge(&mut self, other: &Self) {
        let is_new_series = self.minutes.sum(Timestamp(other.last).minute()) == 0;
        self.first = if is_new_series { other.first } else { self.first.min(other.first) };
        self.minutes.merge(&other.minutes);
        self.retried.merge(&other.retried);
        let new_users = other.users.iter().filter(|user| !self.users.contains(*user));
        let new_users: Vec<_> = new_users.take(USERS_MAX.saturating_sub(self.users.len())).cloned().collect();
        self.users.extend(new_users);
        if other.last >= self.last {
            (self.last, self.job, self.message) = (other.last, other.job, other.message.clone());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
