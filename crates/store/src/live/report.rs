//! Reports about flow control for operators, from the unfinished jobs in memory.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use tenure_core::flow::{Blocked, BucketId, BucketUse, PauseScope, SequenceId};
use tenure_core::id::ResourceName;
use tenure_core::limits::LISTED_BUCKETS_MAX;

use super::{Live, LiveJob, ReadyJob};
use crate::claim_index::ReadyEntry;
use crate::prelude::*;
use crate::{
    BucketReport, ResourceFilter, ResourceReport, SequenceFilter, SequenceReport, WaitKind, WaitReport,
};

/// Holders that are named.
const HOLDERS_MAX: usize = 10;

/// A bucket, and what uses it.
type UsedBucket<'a> = (&'a BucketId, BucketUse);

impl Live {
    pub(crate) fn resources(&self, filter: &ResourceFilter, now: Timestamp) -> Vec<ResourceReport> {
        let state = self.flow_state();
        let wanted = |name: &&ResourceName| {
            filter.name.as_ref().is_none_or(|wanted| wanted == *name)
                && filter.after.as_ref().is_none_or(|after| after < *name)
        };
        let names = state.declarations.resources.keys().filter(wanted).take(filter.limit);
        let mut buckets: BTreeMap<&ResourceName, Vec<UsedBucket<'_>>> =
            names.map(|name| (name, Vec::new())).collect();
        for (id, used) in self.claims.uses.buckets() {
            if let Some(known) = buckets.get_mut(&id.resource) {
                known.push((id, *used));
            }
        }
        // A pause puts a bucket in use that no job uses.
        for scope in state.pauses.keys() {
            if let PauseScope::Bucket(id) = scope
                && let Some(known) = buckets.get_mut(&id.resource)
                && !self.claims.uses.contains(id)
            {
                known.push((id, BucketUse::default()));
            }
        }
        buckets.into_iter().map(|(name, buckets)| self.resource(name, buckets, filter, now)).collect()
    }

    fn resource(
        &self,
        name: &ResourceName,
        mut buckets: Vec<UsedBucket<'_>>,
        filter: &ResourceFilter,
        now: Timestamp,
    ) -> ResourceReport {
        let state = self.flow_state();
        let limits = state.limits(name);
        let pause = |scope: &PauseScope| state.pauses.get(scope).filter(|pause| !pause.is_over(now)).cloned();
        let running = buckets.iter().map(|(_, bucket)| bucket.running).sum();
        buckets.retain(|(id, bucket)| {
            let lacks = || limits.rate.is_some_and(|rate| bucket.level.tokens(&rate, now) < rate.burst);
            bucket.running > 0 || bucket.unfinished > 0 || lacks() || state.pause(id, now).is_some()
        });
        let bucket_count = buckets.len();
        if filter.sums_only {
            buckets.clear();
        }
        if let Some(key) = &filter.key {
            buckets.retain(|(id, _)| id.key.as_ref() == Some(key));
        }
        keep_first(&mut buckets, LISTED_BUCKETS_MAX, |(a, of_a), (b, of_b)| {
            let is_paused = |id| state.pause(id, now).is_some();
            let (first, second) = (is_paused(a), is_paused(b));
            (second, of_b.running, of_b.unfinished, &a.key).cmp(&(
                first,
                of_a.running,
                of_a.unfinished,
                &b.key,
            ))
        });
        let report = |(id, bucket): (&BucketId, BucketUse)| BucketReport {
            key: id.key.clone(),
            running: bucket.running,
            waiting: bucket.unfinished,
            tokens: limits.rate.map(|rate| bucket.level.tokens(&rate, now)),
            paused: state.pause(id, now).cloned(),
        };
        ResourceReport {
            name: name.clone(),
            key: state.declarations.resources.get(name).and_then(|resource| resource.key.clone()),
            limits,
            is_overridden: state.overrides.contains_key(name),
            paused: pause(&PauseScope::Resource(name.clone())),
            running,
            bucket_count,
            waits: self.claims.uses.waits(name),
            buckets: buckets.into_iter().map(report).collect(),
        }
    }

    pub(crate) fn sequences(&self, filter: &SequenceFilter) -> Vec<SequenceReport> {
        let halts = &self.flow_state().halts;
        let unfinished = self.sequences.ids().filter(|_| !filter.halted);
        let ids: BTreeSet<&SequenceId> = match &filter.id {
            Some(id) => [id].into(),
            None => halts.keys().chain(unfinished).collect(),
        };
        let after = ids.into_iter().filter(|id| filter.after.as_ref().is_none_or(|after| after < *id));
        let report = |id: &SequenceId| SequenceReport {
            id: id.clone(),
            waiting: self.sequences.len(id),
            first: self.sequences.first(id, 1).first().map(|(_, job)| *job),
            halted: halts.get(id).map(|halt| (halt.job, halt.at)),
        };
        after.take(filter.limit).map(report).collect()
    }

    /// What makes a job wait that is here completely.
    pub(crate) fn waits(&mut self, job: &Job, now: Timestamp) -> Vec<WaitReport> {
        if job.phase != Phase::Ready {
            return Vec::new();
        }
        // Jobs that became ready since the last claim on this node count, too.
        self.promote_delayed(now);
        let mut waits = self.sequence_wait(job);
        let entry = ReadyJob::of(job).entry();
        for demand in &job.flow().resources {
            let (id, state) = (demand.bucket(), self.flow_state());
            let bucket = self.claims.uses.bucket(&id);
            let Some(why) = state.blocked(demand, &bucket, now) else { continue };
            let limits = state.limits(&demand.resource);
            let (kind, limit) = match why {
                Blocked::Running => (WaitKind::Running, limits.running),
                Blocked::Tokens(_) => (WaitKind::Rate, limits.rate.map(|rate| rate.count)),
                Blocked::Paused(_) => (WaitKind::Pause, None),
            };
            let holders = if kind == WaitKind::Running { self.holders(&id) } else { Vec::new() };
            waits.push(WaitReport {
                kind,
                resource: Some(demand.resource.clone()),
                key: demand.key.clone(),
                running: Some(bucket.running),
                limit,
                holders,
                before: self.claims.ahead_at(&id, &entry, now),
                until: why.until(),
            });
        }
        waits.extend(self.batch_wait(job, now));
        if waits.is_empty() {
            waits.extend(self.share_wait(&entry, now));
        }
        waits
    }

    /// A job that nothing blocks waits for keys of its queue that have fewer leases for their weight.
    fn share_wait(&self, entry: &ReadyEntry, now: Timestamp) -> Option<WaitReport> {
        let (load, before) = self.claims.ahead_by_share(entry, now)?;
        Some(WaitReport {
            kind: WaitKind::Share,
            resource: None,
            key: entry.flow.share.clone(),
            running: Some(load.leases),
            limit: Some(load.weight),
            holders: Vec::new(),
            before,
            until: None,
        })
    }

    fn sequence_wait(&self, job: &Job) -> Vec<WaitReport> {
        let Some(id) = job.flow().sequence_of(&job.spec.job_type) else { return Vec::new() };
        let halt = self.flow_state().halts.get(&id);
        let before = self.sequences.before(&id, job.flow().place);
        let wait = |kind, holder: Option<JobId>| WaitReport {
            kind,
            resource: None,
            key: Some(id.key.clone()),
            running: None,
            limit: None,
            holders: holder.into_iter().collect(),
            before,
            until: None,
        };
        match halt {
            Some(halt) => vec![wait(WaitKind::Halt, Some(halt.job))],
            None if before > 0 => {
                let first = self.sequences.first(&id, 1).first().map(|(_, job)| *job);
                vec![wait(WaitKind::Sequence, first)]
            }
            None => Vec::new(),
        }
    }

    /// A job of an incomplete group waits for others, or for its time.
    fn batch_wait(&self, job: &Job, now: Timestamp) -> Option<WaitReport> {
        let key = job.flow().batch.as_ref().filter(|_| job.attempt <= 1)?;
        let declared = self.flow_state().declarations.job_type(job.spec.job_type.as_str())?.batch.as_ref()?;
        let group = ((job.spec.queue.clone(), job.spec.job_type.clone()), key.clone());
        let (waiting, oldest) = self.claims.group(&group.0, key)?;
        let until = oldest + declared.wait;
        (waiting < declared.size as usize && now < until).then(|| WaitReport {
            kind: WaitKind::Batch,
            resource: None,
            key: key.key.clone(),
            running: Some(waiting as u64),
            limit: Some(declared.size),
            holders: Vec::new(),
            before: self.claims.ahead_in_group(&group, &ReadyJob::of(job).entry(), now),
            until: Some(until),
        })
    }

    /// Jobs with a lease that uses a bucket.
    fn holders(&self, bucket: &BucketId) -> Vec<JobId> {
        let uses = |id: &&JobId| match self.jobs.find(**id) {
            Some(LiveJob::Complete(job)) => job.flow().resources.iter().any(|used| used.bucket() == *bucket),
            Some(LiveJob::Busy(busy)) => busy.flow.resources.iter().any(|used| used.bucket() == *bucket),
            _ => false,
        };
        self.leased.iter().filter(uses).take(HOLDERS_MAX).copied().collect()
    }
}

/// Sorts the rows and keeps the first of them, without sorting the others.
fn keep_first<T>(rows: &mut Vec<T>, limit: usize, mut compare: impl FnMut(&T, &T) -> Ordering) {
    if rows.len() > limit {
        rows.select_nth_unstable_by(limit, &mut compare);
        rows.truncate(limit);
    }
    rows.sort_unstable_by(compare);
}

#[cfg(test)]
mod tests {
    use tenure_core::flow::{Declarations, FlowRecord, Limits, Pause, Rate, Resource, TokenLevel};

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn bucket(resource: &str, number: u64) -> BucketId {
        BucketId { resource: resource.into(), key: Some(format!("k{number}").into()) }
    }

    /// Of two resources, 300 buckets lack tokens and 200, of which 100 are the same, are paused.
    fn with_pauses() -> Live {
        let rate = Rate { count: 10, per: Millis(60_000), burst: 10 };
        let limits = Limits { rate: Some(rate), ..Limits::default() };
        let resource = Resource { key: Some("payload.k".to_owned()), limits };
        let resources = [("one".into(), resource.clone()), ("two".into(), resource)].into();
        let declared = Declarations { resources, ..Declarations::default() };
        let mut records = vec![FlowRecord::Declarations(declared.into())];
        let pause = Pause { until: None, by: "operator:ann".into(), at: NOW };
        for name in ["one", "two"] {
            let level = TokenLevel::default().take(&rate, 5, NOW);
            records.extend((0..300).map(|n: u64| FlowRecord::Level(bucket(name, n), level, NOW)));
            let scope = |n: u64| PauseScope::Bucket(bucket(name, n));
            records.extend((200..400).map(|n| FlowRecord::Pause(scope(n), pause.clone())));
        }
        let mut live = Live::default();
        live.open_flow(&records);
        live
    }

    #[test]
    fn buckets_that_are_used_or_paused_are_counted_once() {
        let live = with_pauses();
        let all = ResourceFilter { limit: 9, ..ResourceFilter::default() };
        let found = live.resources(&all, NOW);
        assert_eq!(found.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        let mut keys: Vec<_> = (200..400).map(|n| bucket("one", n).key).collect();
        keys.sort();
        for report in &found {
            assert_eq!((report.bucket_count, report.buckets.len()), (400, LISTED_BUCKETS_MAX));
            let listed: Vec<_> = report.buckets.iter().map(|bucket| bucket.key.clone()).collect();
            assert_eq!(listed, keys[..LISTED_BUCKETS_MAX], "paused ones first, equal ones by their keys");
        }
        for number in [0, 250, 399] {
            let key = bucket("two", number).key;
            let one = ResourceFilter { name: Some("two".into()), key: key.clone(), ..all.clone() };
            let [report] = &live.resources(&one, NOW)[..] else { panic!("one resource is asked for") };
            let [found] = &report.buckets[..] else { panic!("one bucket is asked for") };
            assert_eq!((&found.key, found.paused.is_some()), (&key, number >= 200));
        }
        for report in live.resources(&ResourceFilter { sums_only: true, ..all }, NOW) {
            assert_eq!((report.bucket_count, report.buckets), (400, vec![]));
        }
    }

    #[test]
    fn the_busiest_are_found_without_sorting_the_others() {
        const ROWS: u64 = 50_000;
        let mut rows: Vec<u64> = (0..ROWS).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).collect();
        let mut sorted = rows.clone();
        sorted.sort_unstable();
        let mut comparisons = 0;
        keep_first(&mut rows, 100, |a, b| {
            comparisons += 1;
            a.cmp(b)
        });
        assert_eq!(rows, sorted[..100]);
        assert!(comparisons < 8 * ROWS, "{comparisons}: sorting needs about {}", 15 * ROWS);
        keep_first(&mut rows, 100, u64::cmp);
        assert_eq!(rows, sorted[..100]);
    }
}
