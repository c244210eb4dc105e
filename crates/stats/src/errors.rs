//! Failed attempts of the last hour: by type and code, by code and signature, and by all three.

use std::collections::{BTreeMap, BTreeSet};

use crate::assemble::SnapshotInputs;
use crate::counters::{FailureCount, USERS_MAX};
use crate::minute_ring::{MINUTES, MinuteRing};
use crate::prelude::*;
use crate::snapshot::{ErrorNow, FailureNow};

impl SnapshotInputs<'_> {
    fn recent_failures(&self) -> impl Iterator<Item = &FailureCount> {
        self.counted.failures.iter().filter(|failure| failure.minutes.sum(self.minute()) > 0)
    }

    /// By type and code, the most frequent first.
    pub(super) fn failures(&self) -> Vec<FailureNow> {
        let mut groups: BTreeMap<(&TypeName, &Name), FailureNow> = BTreeMap::new();
        for failure in self.recent_failures() {
            let new = FailureNow {
                job_type: failure.job_type.clone(),
                code: failure.code.clone(),
                count: failure.minutes.sum(self.minute()),
                first_at: Timestamp(failure.first),
                last_at: Timestamp(failure.last),
                job_id: failure.job,
                message: failure.message.clone(),
            };
            let Some(known) = groups.get_mut(&(&failure.job_type, &failure.code)) else {
                groups.insert((&failure.job_type, &failure.code), new);
                continue;
            };
            let (count, first_at) = (known.count + new.count, known.first_at.min(new.first_at));
            if new.last_at >= known.last_at {
                *known = new;
            }
            (known.count, known.first_at) = (count, first_at);
        }
        let mut failures: Vec<_> = groups.into_values().collect();
        failures.sort_by(|a, b| b.count.cmp(&a.count).then(b.last_at.cmp(&a.last_at)));
        failures
    }

    /// By code and signature, the most frequent first.
    pub(super) fn errors(&self) -> Vec<ErrorNow> {
        self.grouped(|failure| (&failure.code, &failure.signature))
    }

    /// By type, code and signature, the most frequent first.
    pub(super) fn type_errors(&self) -> Vec<ErrorNow> {
        self.grouped(|failure| (&failure.job_type, &failure.code, &failure.signature))
    }

    fn grouped<'a, K: Ord>(&'a self, key: impl Fn(&'a FailureCount) -> K) -> Vec<ErrorNow> {
        let mut groups: BTreeMap<K, Vec<&FailureCount>> = BTreeMap::new();
        for failure in self.recent_failures() {
            groups.entry(key(failure)).or_default().push(failure);
        }
        let mut errors: Vec<_> = groups.into_values().filter_map(|group| self.error(&group)).collect();
        errors.sort_by(|a, b| b.count.cmp(&a.count).then(b.last_at.cmp(&a.last_at)));
        errors
    }

    fn error(&self, group: &[&FailureCount]) -> Option<ErrorNow> {
        let last = group.iter().max_by_key(|failure| failure.last)?;
        let (mut minutes, mut retried) = (MinuteRing::default(), MinuteRing::default());
        for failure in group {
            minutes.merge(&failure.minutes);
            retried.merge(&failure.retried);
        }
        let types: BTreeSet<_> = group.iter().map(|failure| &failure.job_type).collect();
        let users: BTreeSet<_> = group.iter().flat_map(|failure| &failure.users).collect();
        Some(ErrorNow {
            code: last.code.clone(),
            signature: last.signature.clone(),
            types: types.into_iter().cloned().collect(),
            count: minutes.sum(self.minute()),
            retried: retried.sum(self.minute()),
            minutes: minutes.until(self.minute(), MINUTES).collect(),
            first_at: Timestamp(group.iter().map(|failure| failure.first).min()?),
            last_at: Timestamp(last.last),
            job_id: last.job,
            message: last.message.clone(),
            users: users.into_iter().take(USERS_MAX).cloned().collect(),
        })
    }
}
