//! Assembles a snapshot from its inputs, without I/O.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::lifecycle::Outcome;

use crate::counters::{CountKey, Counted, FinishedDelta, QueueCounts, TypeCounts};
use crate::minute_ring::{MINUTES, MinuteRing};
use crate::prelude::*;
use crate::queues::{phase_of, queues, with_recent};
use crate::read::{FinishedCounts, Held, Live, Sample};
use crate::snapshot::{
    ComparedWait, CountNow, LifecycleNow, Minutes, Overlong, QueueNow, StateNow, TransitionNow, TypeNow,
};
use crate::span_histogram::SpanHistogram;

/// Minutes of a state's trend.
const TREND: usize = 20;
/// Conditions younger than this are not reported.
pub(super) const GRACE: Millis = Millis::seconds(60);
/// Minutes of each of two compared periods.
pub(super) const COMPARED_MINUTES: i64 = 30;

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
    pub(super) fn minute(&self) -> i64 {
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
            oldest_since: self.oldest(name, state, phase).into_values().min(),
            overlong: self.overlong(name, state, phase),
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

    /// When the oldest job of each type entered a state. Ready jobs are known by queue and type only: if a type has several
    /// ready states in one queue, all of them show the oldest.
    fn oldest(
        &self,
        lifecycle: &LifecycleName,
        state: &StateName,
        phase: Phase,
    ) -> BTreeMap<&TypeName, Timestamp> {
        let mut oldest = BTreeMap::new();
        let mut note = |job_type, since: Timestamp| {
            let known = oldest.entry(job_type).or_insert(since);
            *known = since.min(*known);
        };
        match phase {
            Phase::Ready => {
                let gauges = &self.live.gauges;
                let in_state = |count: &&Count| count.lifecycle == *lifecycle && count.state == *state;
                let places = gauges.jobs.iter().filter(in_state).map(|count| (&count.queue, &count.job_type));
                let places: BTreeSet<_> = places.collect();
                let is_here = |ready: &&OldestReady| places.contains(&(&ready.queue, &ready.job_type));
                gauges.oldest_ready.iter().filter(is_here).for_each(|it| note(&it.job_type, it.since));
            }
            Phase::Held | Phase::Active | Phase::Waiting => {
                let here = self.held.oldest.iter().filter(|((of, _, at), _)| of == lifecycle && at == state);
                here.for_each(|((_, job_type, _), since)| note(job_type, *since));
            }
            Phase::Final(_) => {}
        }
        oldest
    }

    /// The type whose oldest job in a state is the furthest over ten times the 95th percentile of its type.
    fn overlong(&self, lifecycle: &LifecycleName, state: &StateName, phase: Phase) -> Option<Overlong> {
        let candidates = self.oldest(lifecycle, state, phase).into_iter().filter_map(|(job_type, since)| {
            let key = (lifecycle.clone(), job_type.clone(), state.clone());
            let p95_ms = self.sample.type_states.get(&key)?.p95?;
            let usual = GRACE.max(Millis(p95_ms.saturating_mul(10)));
            let over = (self.live.now - since).0.checked_sub(usual.0).filter(|over| *over > 0)?;
            Some((over, Overlong { job_type: job_type.clone(), since, p95_ms }))
        });
        candidates.max_by_key(|(over, _)| *over).map(|(_, overlong)| overlong)
    }

    /// Every declared type with its lifecycle, and every other pair that was counted or has live jobs.
    pub(super) fn types(&self, idle: impl Fn(&QueueName, &TypeName) -> usize) -> Vec<TypeNow> {
        let declared = self.catalog.types();
        let declared = declared.map(|job_type| (job_type.name.clone(), job_type.lifecycle.name.clone()));
        let mut pairs: BTreeSet<(TypeName, LifecycleName)> =
            declared.filter(|(name, _)| name != CATCH_ALL).collect();
        for (lifecycle, types) in &self.counted.lifecycles {
            pairs.extend(types.keys().map(|job_type| (job_type.clone(), lifecycle.clone())));
        }
        let live = self.live.gauges.jobs.iter();
        pairs.extend(live.map(|count| (count.job_type.clone(), count.lifecycle.clone())));
        pairs.into_iter().map(|(name, lifecycle)| self.of_type(name, lifecycle, &idle)).collect()
    }

    fn of_type(
        &self,
        name: TypeName,
        lifecycle: LifecycleName,
        idle: impl Fn(&QueueName, &TypeName) -> usize,
    ) -> TypeNow {
        let counts = self.counted.lifecycles.get(&lifecycle).and_then(|types| types.get(&name));
        let minutes = self.minutes(counts);
        let spans = |of: fn(&TypeCounts) -> &SpanHistogram| {
            counts.map(|counts| of(counts).percentiles(self.minute(), MINUTES as i64)).unwrap_or_default()
        };
        let is_here = |count: &&Count| count.job_type == name && count.lifecycle == lifecycle;
        let live = || self.live.gauges.jobs.iter().filter(is_here);
        let is_ready =
            |count: &&Count| phase_of(self.catalog, &count.lifecycle, &count.state) == Some(Phase::Ready);
        let oldest = self.live.gauges.oldest_ready.iter().filter(|ready| ready.job_type == name);
        let declared = self.catalog.job_type(name.as_str()).filter(|declared| declared.name == name);
        let mut queues: BTreeSet<&QueueName> = live().map(|count| &count.queue).collect();
        queues.extend(self.catalog.job_type(name.as_str()).map(|job_type| &job_type.queue));
        TypeNow {
            declared: declared.is_some(),
            totals: minutes.all(),
            minutes,
            wait_ms: spans(|counts| &counts.wait),
            run_ms: spans(|counts| &counts.run),
            ready: live().filter(is_ready).map(|count| count.count).sum(),
            unfinished: live().map(|count| count.count).sum(),
            oldest_ready: oldest.map(|ready| ready.since).min(),
            idle: queues.into_iter().map(|queue| idle(queue, &name)).max().unwrap_or(0),
            busy: self.held.workers.get(&name).map_or(0, BTreeSet::len),
            name,
            lifecycle,
        }
    }

    /// Wait times over all types.
    pub(super) fn wait(&self) -> ComparedWait {
        let mut all = SpanHistogram::default();
        let types = self.counted.lifecycles.values().flat_map(BTreeMap::values);
        types.for_each(|of_type| all.merge(&of_type.wait));
        let minute = self.minute();
        ComparedWait {
            now: all.percentiles(minute, COMPARED_MINUTES),
            before: all.percentiles(minute - COMPARED_MINUTES, COMPARED_MINUTES),
        }
    }

    /// All types together.
    pub(super) fn all_minutes(&self) -> Minutes {
        self.minutes(self.counted.lifecycles.values().flat_map(BTreeMap::values))
    }

    fn minutes<'a>(&self, types: impl IntoIterator<Item = &'a TypeCounts>) -> Minutes {
        let [mut created, mut finished, mut succeeded, mut failed_jobs, mut failed] =
            <[MinuteRing; 5]>::default();
        for of_type in types {
            failed.merge(&of_type.failed);
            for step in &of_type.steps {
                if step.from.is_none() {
                    created.merge(&step.minutes);
                }
                let counted = outcome_counts(step.outcome);
                for (ring, _) in [&mut finished, &mut succeeded, &mut failed_jobs]
                    .into_iter()
                    .zip(counted)
                    .filter(|(_, counted)| *counted > 0)
                {
                    ring.merge(&step.minutes);
                }
            }
        }
        let shown = |ring: &MinuteRing| ring.until(self.minute(), MINUTES).collect();
        Minutes {
            created: shown(&created),
            finished: shown(&finished),
            succeeded: shown(&succeeded),
            failed_jobs: shown(&failed_jobs),
            failed: shown(&failed),
        }
    }

    pub(super) fn queues(&self) -> Vec<QueueNow> {
        let minute = self.minute();
        let is_used = |counts: &QueueCounts| counts.entered.sum(minute) + counts.left.sum(minute) > 0;
        let recent = self.counted.queues.iter().filter(|(_, counts)| is_used(counts)).map(|(name, _)| name);
        with_recent(queues(self.catalog, &self.live.paused, &self.live.gauges.jobs), recent)
    }
}

/// Whether a job with this outcome counts as finished, succeeded and failed: each 0 or 1.
pub(super) fn outcome_counts(outcome: Option<Outcome>) -> [u64; 3] {
    outcome.map_or([0; 3], |outcome| [1, u64::from(outcome.is_success()), u64::from(outcome.is_failure())])
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
