//! A snapshot out of its parts. Pure: everything was read before.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::id::Name;
use tenure_core::job_type::{CATCH_ALL, Catalog};
use tenure_core::lifecycle::{Phase, Trigger};
use tenure_core::time::Timestamp;
use tenure_store::Count;

use super::queues::{phase, queues};
use super::read::{Finals, Held, Live, Sample};
use super::ring::{MINUTES, Ring};
use super::snapshot::{
    CountNow, FailureNow, LifecycleNow, Minutes, Percentiles, QueueNow, StateNow, TransitionNow, TypeNow,
};
use super::tally::{Counted, Ended, OfType, Standing};

/// Minutes of a state's trend.
const TREND: usize = 20;

/// What a snapshot is made of.
pub(super) struct Made<'a> {
    pub(super) catalog: &'a Catalog,
    /// This moment, by which minutes are counted.
    pub(super) now: Timestamp,
    pub(super) live: &'a Live,
    pub(super) held: &'a Held,
    pub(super) sample: &'a Sample,
    /// What all nodes counted.
    pub(super) counted: &'a Counted,
}

impl Made<'_> {
    fn minute(&self) -> i64 {
        self.now.minute()
    }

    pub(super) fn lifecycles(&self, counts: &[CountNow]) -> Vec<LifecycleNow> {
        let names: BTreeSet<&Name> = self.catalog.lifecycles().map(|lifecycle| &lifecycle.name).collect();
        names.into_iter().map(|name| self.lifecycle(name, counts)).collect()
    }

    fn lifecycle(&self, name: &Name, counts: &[CountNow]) -> LifecycleNow {
        let mut by_state: BTreeMap<&Name, u64> = BTreeMap::new();
        for count in counts.iter().filter(|count| count.lifecycle == *name) {
            *by_state.entry(&count.state).or_default() += count.count;
        }
        let newest = self.catalog.newest(name.as_str()).expect("its name is the catalog's");
        let mut states: Vec<(&Name, Phase)> =
            newest.states.iter().map(|state| (&state.name, state.phase)).collect();
        let older = by_state.keys().filter(|state| newest.state(state.as_str()).is_none());
        states.extend(older.filter_map(|state| Some((*state, phase(self.catalog, name, state)?))));
        let steps = self.steps(name);
        let trend = |state: &Name| {
            let mut came = Ring::default();
            steps.iter().filter(|((_, _, to), _)| *to == state).for_each(|(_, ring)| came.merge(ring));
            came.until(self.minute(), TREND).collect()
        };
        let state = |(state, phase): (&Name, Phase)| StateNow {
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

    /// Each kind of transition of a lifecycle, whatever the type.
    fn steps(&self, lifecycle: &Name) -> BTreeMap<(Option<&Name>, &Trigger, &Name), Ring> {
        let mut steps: BTreeMap<_, Ring> = BTreeMap::new();
        let types = self.counted.lifecycles.get(lifecycle).into_iter().flat_map(BTreeMap::values);
        for step in types.flat_map(|of_type| &of_type.steps) {
            steps.entry((step.from.as_ref(), &step.trigger, &step.to)).or_default().merge(&step.minutes);
        }
        steps
    }

    /// Over the last full minute and the current one.
    fn per_minute(&self, ring: &Ring) -> f64 {
        let current = self.now.0.rem_euclid(60_000) as f64 / 60_000.0;
        let rate = ring.until(self.minute(), 2).sum::<u64>() as f64 / (1.0 + current);
        (rate * 100.0).round() / 100.0
    }

    /// Since when a state's oldest job is there. Ready jobs are looked at by queue and type: where one type has several
    /// ready states in one queue, the oldest of them stands for all.
    fn oldest(&self, lifecycle: &Name, state: &Name, phase: Phase) -> Option<Timestamp> {
        match phase {
            Phase::Ready => {
                let places = self.live.gauges.jobs.iter();
                let places: BTreeSet<(&Name, &Name)> = places
                    .filter(|count| count.lifecycle == *lifecycle && count.state == *state)
                    .map(|count| (&count.queue, &count.job_type))
                    .collect();
                let ready = self.live.gauges.oldest_ready.iter();
                let here = ready.filter(|ready| places.contains(&(&ready.queue, &ready.job_type)));
                here.map(|ready| ready.since).min()
            }
            Phase::Held | Phase::Active | Phase::Waiting => {
                self.held.oldest.get(&(lifecycle.clone(), state.clone())).copied()
            }
            Phase::Final(_) => None,
        }
    }

    /// Every type of the catalog with its lifecycle, and every other pair that was counted.
    pub(super) fn types(&self, is_awaited: impl Fn(&Name, &Name) -> bool) -> Vec<TypeNow> {
        let declared = self.catalog.types();
        let declared = declared.map(|job_type| (job_type.name.clone(), job_type.lifecycle.name.clone()));
        let mut pairs: BTreeSet<(Name, Name)> = declared.filter(|(name, _)| name != CATCH_ALL).collect();
        for (lifecycle, types) in &self.counted.lifecycles {
            pairs.extend(types.keys().map(|job_type| (job_type.clone(), lifecycle.clone())));
        }
        let shown = |(name, lifecycle): (Name, Name)| {
            let of_type = self.counted.lifecycles.get(&lifecycle).and_then(|types| types.get(&name));
            let (wait_ms, run_ms) = self
                .sample
                .types
                .get(&(lifecycle.clone(), name.clone()))
                .copied()
                .unwrap_or((Percentiles::default(), Percentiles::default()));
            let queue = self.catalog.job_type(name.as_str()).map(|job_type| job_type.queue.clone());
            let awaited = queue.is_some_and(|queue| is_awaited(&queue, &name));
            let minutes = self.minutes(of_type);
            TypeNow { name, lifecycle, minutes, wait_ms, run_ms, awaited }
        };
        pairs.into_iter().map(shown).collect()
    }

    /// All types together.
    pub(super) fn all_minutes(&self) -> Minutes {
        self.minutes(self.counted.lifecycles.values().flat_map(BTreeMap::values))
    }

    fn minutes<'a>(&self, types: impl IntoIterator<Item = &'a OfType>) -> Minutes {
        let (mut created, mut finished, mut failed) = (Ring::default(), Ring::default(), Ring::default());
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
        let shown = |ring: &Ring| ring.until(self.minute(), MINUTES).collect();
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

/// How many jobs are where: the live ones as they are, the finished ones as they were counted and what ended since.
pub(super) fn counts(live: &[Count], finals: &Finals, ended: &Ended) -> Vec<CountNow> {
    let mut counts: BTreeMap<Standing, i64> = BTreeMap::new();
    for Count { lifecycle, job_type, queue, state, count } in live.iter().chain(&finals.counts) {
        let standing = (lifecycle.clone(), job_type.clone(), queue.clone(), state.clone());
        *counts.entry(standing).or_default() += *count as i64;
    }
    for (standing, more) in ended {
        let since = more - finals.mark.get(standing).copied().unwrap_or(0);
        if since != 0 {
            *counts.entry(standing.clone()).or_default() += since;
        }
    }
    let shown = counts.into_iter().filter(|(_, count)| *count > 0);
    let shown = shown.map(|((lifecycle, job_type, queue, state), count)| {
        let count = count as u64;
        CountNow { lifecycle, job_type, queue, state, count }
    });
    shown.collect()
}
