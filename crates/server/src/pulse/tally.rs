//! What this node committed, counted by minute as it happens: told of every commit by the runtime, and as quick as that
//! must be. Kept in memory, and told to the store every other second, so that every node can show what all of them did.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tenure_core::id::{JobId, Name};
use tenure_core::job::Job;
use tenure_core::job_type::{CATCH_ALL, Catalog};
use tenure_core::lifecycle::{Outcome, Trigger};
use tenure_core::time::Timestamp;
use tenure_runtime::{Committed, Failed, Transition};

use super::ring::{Ring, Spread};

/// Failures that are told apart; of more, those that happened last.
const FAILURES_MAX: usize = 100;
/// Standings whose ends are counted. Of more, the ends are seen when jobs are counted the next time.
const STANDINGS_MAX: usize = 10_000;

/// Lifecycle, type, queue and state of finished jobs.
pub(crate) type Standing = (Name, Name, Name, Name);
/// How many more finished jobs there are than at the start, by standing.
pub(crate) type Ended = BTreeMap<Standing, i64>;

/// What this node committed.
pub(crate) struct Tally {
    /// Types that are told apart; all others are the catch-all's, so that callers cannot make this grow.
    types: BTreeSet<Name>,
    catch_all: Name,
    started: Instant,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    counted: Counted,
    ended: Ended,
    commits: Commits,
    /// Grows with whatever is counted.
    version: u64,
}

/// What is told to the store: everything by minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counted {
    /// By lifecycle and type.
    pub(crate) lifecycles: BTreeMap<Name, BTreeMap<Name, OfType>>,
    /// By type and error code.
    pub(crate) failures: Vec<FailureTally>,
}

/// One lifecycle and type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct OfType {
    /// Each kind of transition.
    pub(crate) steps: Vec<StepTally>,
    /// Failed attempts.
    pub(crate) failed: Ring,
}

/// One kind of transition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepTally {
    /// Where from; `None` at creation.
    pub(crate) from: Option<Name>,
    /// What happened.
    pub(crate) trigger: Trigger,
    /// Where to.
    pub(crate) to: Name,
    /// What the end means, if it is one.
    pub(crate) outcome: Option<Outcome>,
    /// How often.
    pub(crate) minutes: Ring,
}

/// Failed attempts that have type and error code in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FailureTally {
    pub(crate) job_type: Name,
    pub(crate) code: Name,
    pub(crate) minutes: Ring,
    /// The first after an hour without.
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// The last one's job and words.
    pub(crate) job: JobId,
    pub(crate) message: Name,
}

/// How commits went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commits {
    /// Commands in each.
    pub(crate) commands: Spread,
    /// Microseconds that each took.
    pub(crate) took_us: Spread,
}

impl Tally {
    pub(crate) fn new(catalog: &Catalog) -> Self {
        let types = catalog.types().map(|job_type| job_type.name.clone()).collect();
        Self { types, catch_all: CATCH_ALL.into(), started: Instant::now(), inner: Mutex::default() }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nobody panics while counting")
    }

    /// The name under which a type is counted.
    pub(crate) fn label<'a>(&'a self, job_type: &'a Name) -> &'a Name {
        if self.types.contains(job_type) { job_type } else { &self.catch_all }
    }

    /// Counts a commit.
    pub(crate) fn count(&self, committed: &Committed) {
        let mut inner = self.inner();
        let minute = (self.started.elapsed().as_secs() / 60) as i64;
        let took_us = u32::try_from(committed.took.as_micros()).unwrap_or(u32::MAX);
        inner.commits.commands.add(minute, committed.commands as u32);
        inner.commits.took_us.add(minute, took_us);
        inner.version += committed.transitions.len() as u64;
        for it in &committed.transitions {
            inner.counted.count(self.label(&it.job_type), it);
            if it.phase.is_final() {
                let standing = (it.lifecycle.clone(), it.job_type.clone(), it.queue.clone(), it.to.clone());
                inner.end(standing, 1);
            }
        }
        for job in &committed.purged {
            inner.end(standing(job), -1);
        }
    }

    /// Everything by minute, as it is now.
    pub(crate) fn counted(&self) -> Counted {
        self.inner().counted.clone()
    }

    /// Another number whenever something was counted by minute.
    pub(crate) fn version(&self) -> u64 {
        self.inner().version
    }

    /// The ends, as they are counted by now.
    pub(crate) fn ended(&self) -> Ended {
        self.inner().ended.clone()
    }

    /// How commits went lately.
    pub(crate) fn commits(&self) -> Commits {
        self.inner().commits.clone()
    }
}

fn standing(job: &Job) -> Standing {
    let spec = &job.spec;
    (spec.lifecycle.name.clone(), spec.job_type.clone(), spec.queue.clone(), job.state.clone())
}

impl Inner {
    fn end(&mut self, standing: Standing, more: i64) {
        if let Some(known) = self.ended.get_mut(&standing) {
            *known += more;
        } else if self.ended.len() < STANDINGS_MAX {
            self.ended.insert(standing, more);
        }
    }
}

impl Counted {
    fn of(&mut self, lifecycle: &Name, job_type: &Name) -> &mut OfType {
        if !self.lifecycles.get(lifecycle).is_some_and(|types| types.contains_key(job_type)) {
            self.lifecycles.entry(lifecycle.clone()).or_default().insert(job_type.clone(), OfType::default());
        }
        let types = self.lifecycles.get_mut(lifecycle);
        types.and_then(|types| types.get_mut(job_type)).expect("it is there or was just put there")
    }

    fn count(&mut self, label: &Name, it: &Transition) {
        let minute = it.at.minute();
        let of_type = self.of(&it.lifecycle, label);
        of_type.step(it.from.as_ref(), &it.trigger, &it.to, it.phase.outcome()).add(minute, 1);
        if let Some(failed) = it.failure() {
            of_type.failed.add(minute, 1);
            self.fail(label, failed, it);
        }
    }

    fn fail(&mut self, job_type: &Name, failed: &Failed, it: &Transition) {
        let minutes = Ring::default();
        let (code, at, job, message) = (failed.code.clone(), it.at.0, it.job, failed.message.clone());
        let mut failure =
            FailureTally { job_type: job_type.clone(), code, minutes, first: at, last: at, job, message };
        failure.minutes.add(it.at.minute(), 1);
        self.add_failure(&failure);
    }

    fn add_failure(&mut self, new: &FailureTally) {
        let same = |known: &&mut FailureTally| known.job_type == new.job_type && known.code == new.code;
        if let Some(known) = self.failures.iter_mut().find(same) {
            return known.merge(new);
        }
        if self.failures.len() >= FAILURES_MAX {
            let oldest = self.failures.iter().enumerate().min_by_key(|(_, known)| known.last);
            let oldest = oldest.map(|(at, _)| at).expect("there are many");
            self.failures.swap_remove(oldest);
        }
        self.failures.push(new.clone());
    }

    /// Adds what another node counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (lifecycle, types) in &other.lifecycles {
            for (job_type, theirs) in types {
                let ours = self.of(lifecycle, job_type);
                ours.failed.merge(&theirs.failed);
                for step in &theirs.steps {
                    let StepTally { from, trigger, to, outcome, minutes } = step;
                    ours.step(from.as_ref(), trigger, to, *outcome).merge(minutes);
                }
            }
        }
        other.failures.iter().for_each(|failure| self.add_failure(failure));
    }
}

impl OfType {
    fn step(
        &mut self,
        from: Option<&Name>,
        trigger: &Trigger,
        to: &Name,
        outcome: Option<Outcome>,
    ) -> &mut Ring {
        let is = |step: &StepTally| step.to == *to && step.trigger == *trigger && step.from.as_ref() == from;
        let at = self.steps.iter().position(is).unwrap_or_else(|| {
            let (from, trigger, to) = (from.cloned(), trigger.clone(), to.clone());
            self.steps.push(StepTally { from, trigger, to, outcome, minutes: Ring::default() });
            self.steps.len() - 1
        });
        &mut self.steps[at].minutes
    }
}

impl FailureTally {
    fn merge(&mut self, other: &Self) {
        let was_forgotten = self.minutes.sum(Timestamp(other.last).minute()) == 0;
        self.first = if was_forgotten { other.first } else { self.first.min(other.first) };
        self.minutes.merge(&other.minutes);
        if other.last >= self.last {
            (self.last, self.job, self.message) = (other.last, other.job, other.message.clone());
        }
    }
}

#[cfg(test)]
mod tests;
