//! Assembles a snapshot from its inputs, without I/O.

use std::collections::{BTreeMap, BTreeSet};

use crate::counters::{CountKey, Counted, FinishedDelta, TypeCounts};
use crate::minute_ring::{MINUTES, MinuteRing};
use crate::prelude::*;
use crate::queues::{phase_of, queues};
use crate::read::{FinishedCounts, Held, Live, Sample, TypeTimes};
use crate::snapshot::{
    CountNow, FailureNow, LifecycleNow, Minutes, QueueNow, StateNow, TransitionNow, TypeNow,
};

/// Minutes of a state's trend.
const TREND: usize = 20;

pub(super) struct SnapshotInputs<'a> {
    pub(super) catalog: &'a Catalog,
    /// Minutes are counted back from here.
    pub(super) now: Timestamp,
    pub(super) live: &'a Live,
    pub(super) held: &'a Held,
    pub(super) sample: &'a Sample,
    /// The sum over all nodes.
    pub(super) counted: &'a Counted,
}

impl SnapshotInputs<'_> {
    fn minute(&self) -> i64 {
        self.now.minute()
    }

    pub(super) fn lifecycles(&self, counts: &[CountNow]) -> Vec<LifecycleNow> {
        let names: BTreeSet<_> = self.catalog.lifecycles().map(|lifecycle| &lifecycle.name).collect();
        names.into_iter().map(|name| self.lifecycle(name, counts)).collect()
    }

    fn lifecycle(&self, name: &LifecycleName, counts: &[CountNow]) -> LifecycleNow {
        let mut by_state: BTreeMap<&StateName, u64> = BTreeMap::new();
        for count in counts.iter().filter(|count| count.lifecycle == *name) {
            *by_state.entry(&count.state).or_default() += count.count;
        }
        let newest = self.catalog.newest(name.as_str()).expect("the name comes from the catalog");
        let mut states: Vec<(&StateName, Phase)> =
            newest.states.iter().map(|state| (&state.name, state.phase)).collect();
        let older = by_state.keys().filter(|state| newest.state(state.as_str()).is_none());
        states.extend(older.filter_map(|state| Some((*state, phase_of(self.catalog, name, state)?))));
        let steps = self.steps(name);
        let trend = |state: &StateName| {
            let mut came = MinuteRing::default();
            steps.iter().filter(|((_, _, to), _)| *to == state).for_each(|(_, ring)| came.merge(ring));
            came.until(self.minute(), TREND).collect()
        };
        let state = |(state, phase): (&StateName, Phase)| StateNow {
            count: by_state.get(state).copied().unwrap_or(0),
            trend: trend(state),
            oldest_since: self.oldest(name, state, phase),
            p95_ms: self.sample.states.get(&(name.clone(), state.clone())).and_then(|spans| spans.p95),
            name: state.clone(),
            phase,
        };
        let states = states.into_iter().map(state).collect();
        let made = steps.iter().filter(|(_, ring)| ring.sum(self.minute()) > 0);
        let transitions = made.map(|((from, trigger, to), ring)| TransitionNow {
            from: from.cloned(),
            trigger: (*trigger).clone(),
            to: (*to).clone(),
            per_minute: self.per_minute(ring),
        });
        LifecycleNow { name: name.clone(), states, transitions: transitions.collect() }
    }

    /// Transitions of a lifecycle, summed over its types.
    fn steps(
        &self,
        lifecycle: &LifecycleName,
    ) -> BTreeMap<(Option<&StateName>, &Trigger, &StateName), MinuteRing> {
        let mut steps: BTreeMap<_, MinuteRing> = BTreeMap::new();
        let types = self.counted.lifecycles.get(lifecycle).into_iter().flat_map(BTreeMap::values);
        for step in types.flat_map(|of_type| &of_type.steps) {
            steps.entry((step.from.as_ref(), &step.trigger, &step.to)).or_default().merge(&step.minutes);
        }
        steps
    }

    /// Over the last full minute and the current one.
    fn per_minute(&self, ring: &MinuteRing) -> f64 {
        let current = self.now.0.rem_euclid(60_000) as f64 / 60_000.0;
        let rate = ring.until(self.minute(), 2).sum::<u64>() as f64 / (1.0 + current);
        (rate * 100.0).round() / 100.0
    }

    /// When the oldest job of a state entered it. Ready jobs are known by queue and type only: if a type has several ready
    /// states in one queue, all of them show the oldest.
    fn oldest(&self, lifecycle: &LifecycleName, state: &StateName, phase: Phase) -> Option<Timestamp> {
        match phase {
            Phase::Ready => {
                let gauges = &self.live.gauges;
                let in_state = |count: &&Count| count.lifecycle == *lifecycle && count.state == *state;
                let places = gauges.jobs.iter().filter(in_state).map(|count| (&count.queue, &count.job_type));
                let places: BTreeSet<_> = places.collect();
                let is_here = |ready: &&OldestReady| places.contains(&(&ready.queue, &ready.job_type));
                gauges.oldest_ready.iter().filter(is_here).map(|ready| ready.since).min()
            }
            Phase::Held | Phase::Active | Phase::Waiting => {
                self.held.oldest.get(&(lifecycle.clone(), state.clone())).copied()
            }
            Phase::Final(_) => None,
        }
    }

    /// Every declared type with its lifecycle, and every other pair that was counted.
    pub(super) fn types(&self, idle: impl Fn(&QueueName, &TypeName) -> usize) -> Vec<TypeNow> {
        let declared = self.catalog.types();
        let declared = declared.map(|job_type| (job_type.name.clone(), job_type.lifecycle.name.clone()));
        let mut pairs: BTreeSet<(TypeName, LifecycleName)> =
            declared.filter(|(name, _)| name != CATCH_ALL).collect();
        for (lifecycle, types) in &self.counted.lifecycles {
            pairs.extend(types.keys().map(|job_type| (job_type.clone(), lifecycle.clone())));
        }
        let shown = |(name, lifecycle): (TypeName, LifecycleName)| {
            let of_type = self.counted.lifecycles.get(&lifecycle).and_then(|types| types.get(&name));
            let times = self.sample.types.get(&(lifecycle.clone(), name.clone()));
            let TypeTimes { wait_ms, run_ms } = times.copied().unwrap_or_default();
            let queue = self.catalog.job_type(name.as_str()).map(|job_type| job_type.queue.clone());
            let idle = queue.map_or(0, |queue| idle(&queue, &name));
            let busy = self.busy(&name);
            let minutes = self.minutes(of_type);
            TypeNow { name, lifecycle, minutes, wait_ms, run_ms, idle, busy }
        };
        pairs.into_iter().map(shown).collect()
    }

    /// How many workers hold jobs of a type. The catch-all stands for every type that is not declared.
    fn busy(&self, name: &TypeName) -> usize {
        let is_counted = |held: &TypeName| match name.as_str() {
            CATCH_ALL => self.catalog.types().all(|declared| declared.name != *held),
            _ => held == name,
        };
        let workers = self.held.workers.iter().filter(|(held, _)| is_counted(held));
        workers.flat_map(|(_, workers)| workers).collect::<BTreeSet<_>>().len()
    }

    /// All types together.
    pub(super) fn all_minutes(&self) -> Minutes {
        self.minutes(self.counted.lifecycles.values().flat_map(BTreeMap::values))
    }

    fn minutes<'a>(&self, types: impl IntoIterator<Item = &'a TypeCounts>) -> Minutes {
        let [mut created, mut finished, mut failed] = <[MinuteRing; 3]>::default();
        for of_type in types {
            failed.merge(&of_type.failed);
            for step in &of_type.steps {
                if step.from.is_none() {
                    created.merge(&step.minutes);
                }
                if step.outcome.is_some() {
                    finished.merge(&step.minutes);
                }
            }
        }
        let shown = |ring: &MinuteRing| ring.until(self.minute(), MINUTES).collect();
        Minutes { created: shown(&created), finished: shown(&finished), failed: shown(&failed) }
    }

    pub(super) fn failures(&self) -> Vec<FailureNow> {
        let shown = self.counted.failures.iter().map(|failure| FailureNow {
            job_type: failure.job_type.clone(),
            code: failure.code.clone(),
            count: failure.minutes.sum(self.minute()),
            first_at: Timestamp(failure.first),
            last_at: Timestamp(failure.last),
            job_id: failure.job,
            message: failure.message.clone(),
        });
        let mut failures: Vec<_> = shown.filter(|failure| failure.count > 0).collect();
        failures.sort_by(|a, b| b.count.cmp(&a.count).then(b.last_at.cmp(&a.last_at)));
        failures
    }

    pub(super) fn queues(&self) -> Vec<QueueNow> {
        queues(self.catalog, &self.live.paused, &self.live.gauges.jobs)
    }
}

/// Live jobs, plus finished jobs as last counted in the store, plus what changed on this node since.
pub(super) fn counts(live: &[Count], finished: &FinishedCounts, now: &FinishedDelta) -> Vec<CountNow> {
    let mut counts: BTreeMap<CountKey, i64> = BTreeMap::new();
    for count in live.iter().chain(&finished.counts) {
        *counts.entry(CountKey::of(count)).or_default() += count.count as i64;
    }
    for (key, more) in now {
        *counts.entry(key.clone()).or_default() += more - finished.mark.get(key).copied().unwrap_or(0);
    }
    let shown = |(key, count): (CountKey, i64)| {
        let CountKey { lifecycle, job_type, queue, state } = key;
        CountNow { lifecycle, job_type, queue, state, count: count as u64 }
    };
    counts.into_iter().filter(|(_, count)| *count > 0).map(shown).collect()
}
