//! Reports about flow control for operators, from the unfinished jobs in memory.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::flow::{Blocked, BucketId, BucketUse, PauseScope, SequenceId};
use tenure_core::id::ResourceName;
use tenure_core::limits::LISTED_BUCKETS_MAX;

use super::{Live, LiveJob, ReadyJob};
use crate::prelude::*;
use crate::{
    BucketReport, ResourceFilter, ResourceReport, SequenceFilter, SequenceReport, WaitKind, WaitReport,
};

/// Holders that are named.
const HOLDERS_MAX: usize = 10;

impl Live {
    pub(crate) fn resources(&self, filter: &ResourceFilter, now: Timestamp) -> Vec<ResourceReport> {
        let state = self.flow_state();
        let mut buckets: BTreeMap<&ResourceName, Vec<(BucketId, BucketUse)>> = BTreeMap::new();
        for (id, bucket) in self.claims.uses.buckets() {
            buckets.entry(&id.resource).or_default().push((id.clone(), *bucket));
        }
        // A pause puts a bucket in use that no job uses.
        for scope in state.pauses.keys() {
            if let PauseScope::Bucket(id) = scope {
                let known = buckets.entry(&id.resource).or_default();
                if !known.iter().any(|(known, _)| known == id) {
                    known.push((id.clone(), BucketUse::default()));
                }
            }
        }
        let wanted = |name: &&ResourceName| {
            filter.name.as_ref().is_none_or(|wanted| wanted == *name)
                && filter.after.as_ref().is_none_or(|after| after < *name)
        };
        let names = state.declarations.resources.keys().filter(wanted).take(filter.limit);
        names
            .map(|name| self.resource(name, &buckets.remove(name).unwrap_or_default(), filter, now))
            .collect()
    }

    fn resource(
        &self,
        name: &ResourceName,
        buckets: &[(BucketId, BucketUse)],
        filter: &ResourceFilter,
        now: Timestamp,
    ) -> ResourceReport {
        let state = self.flow_state();
        let limits = state.limits(name);
        let pause = |scope: &PauseScope| state.pauses.get(scope).filter(|pause| !pause.is_over(now)).cloned();
        let report = |(id, bucket): &(BucketId, BucketUse)| BucketReport {
            key: id.key.clone(),
            running: bucket.running,
            waiting: bucket.unfinished,
            tokens: limits.rate.map(|rate| bucket.level.tokens(&rate, now)),
            paused: state.pause(id, now).cloned(),
        };
        let is_in_use = |bucket: &BucketReport| {
            let lacks =
                limits.rate.is_some_and(|rate| bucket.tokens.is_some_and(|tokens| tokens < rate.burst));
            bucket.running > 0 || bucket.waiting > 0 || lacks || bucket.paused.is_some()
        };
        let mut reports: Vec<BucketReport> = buckets.iter().map(report).filter(is_in_use).collect();
        let bucket_count = reports.len();
        if let Some(key) = &filter.key {
            reports.retain(|bucket| bucket.key.as_ref() == Some(key));
        }
        reports.sort_by(|a, b| (b.running, b.waiting, &a.key).cmp(&(a.running, a.waiting, &b.key)));
        reports.truncate(LISTED_BUCKETS_MAX);
        ResourceReport {
            name: name.clone(),
            key: state.declarations.resources.get(name).and_then(|resource| resource.key.clone()),
            limits,
            is_overridden: state.overrides.contains_key(name),
            paused: pause(&PauseScope::Resource(name.clone())),
            running: buckets.iter().map(|(_, bucket)| bucket.running).sum(),
            bucket_count,
            waits: self.claims.uses.waits(name),
            buckets: reports,
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
        waits
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
