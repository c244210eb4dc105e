//! Resources: never more units than `running`, the law of the token bucket over every window, pauses, and the limit of
//! unfinished jobs.

use tenure_core::flow::Rate;

use super::keys::Bucket;
use super::{FlowAuditor, Models, Step, is_unfinished};
use crate::auditor::job_model::JobModel;
use crate::auditor::{STABLE, Violation};
use crate::prelude::*;

/// Units of live leases.
pub(super) fn running(models: &Models, bucket: &Bucket) -> u64 {
    models.values().filter(|model| model.held.is_some()).map(|model| model.keys.units_of(bucket)).sum()
}

/// Unfinished jobs that use a bucket.
pub(super) fn unfinished(models: &Models, bucket: &Bucket) -> u64 {
    let uses = |model: &&JobModel| is_unfinished(model) && model.keys.units_of(bucket) > 0;
    models.values().filter(uses).count() as u64
}

impl FlowAuditor {
    pub(super) fn check_buckets(&self, step: &Step<'_>) -> Option<Violation> {
        let Step { event, model, models, .. } = step;
        model.keys.demands.iter().find_map(|(bucket, units)| {
            let used = running(models, bucket) + units;
            let limits = [&self.before, &self.after].map(|rows| rows.limits(&bucket.0).running);
            let most = limits.map(|limit| limit.unwrap_or(u64::MAX)).into_iter().max()?;
            if used > most {
                let what = format!("its lease makes {used} units of {bucket:?} at once");
                return Some(model.violation(11, what, format!("at most {most}")));
            }
            if self.is_paused(bucket, event.ts) {
                let what = format!("claimed at {}, and {bucket:?} is paused", event.ts);
                return Some(model.violation(11, what, "no lease before the pause ends"));
            }
            self.check_tokens(step, bucket, *units)
        })
    }

    fn is_paused(&self, bucket: &Bucket, at: Timestamp) -> bool {
        let lasts = |end: Option<Option<Timestamp>>| end.is_some_and(|end| end.is_none_or(|end| at < end));
        lasts(self.before.pause(bucket)) && lasts(self.after.pause(bucket))
    }

    /// Over every window: no more tokens than a full bucket has, and those that arrived meanwhile.
    fn check_tokens(&self, step: &Step<'_>, bucket: &Bucket, units: u64) -> Option<Violation> {
        let rate = self.rate(&bucket.0)?;
        let mut sum = u128::from(units);
        if sum > u128::from(rate.burst) {
            let what = format!("it takes {sum} tokens of {bucket:?}");
            return Some(step.model.violation(11, what, format!("at most {}", rate.burst)));
        }
        for (at, taken) in self.taken.get(bucket).into_iter().flatten().rev() {
            sum += u128::from(*taken);
            if !is_lawful(&rate, sum, step.event.ts.0 - at.0) {
                let what = format!("{sum} tokens of {bucket:?} were taken from {at} to {}", step.event.ts);
                let expected = format!("{} in {}, and {} at once", rate.count, rate.per, rate.burst);
                return Some(step.model.violation(11, what, expected));
            }
        }
        None
    }

    /// The rate, unless it changes now.
    fn rate(&self, resource: &str) -> Option<Rate> {
        let [before, after] = [&self.before, &self.after].map(|rows| rows.limits(resource).rate);
        after.filter(|_| before == after)
    }

    pub(super) fn note_tokens(&mut self, step: &Step<'_>) {
        for (bucket, units) in &step.model.keys.demands {
            if self.rate(&bucket.0).is_some() {
                self.taken.entry(bucket.clone()).or_default().push((step.event.ts, *units));
            }
        }
    }

    pub(super) fn check_waiting_limit(&self, step: &Step<'_>) -> Option<Violation> {
        let model = step.model;
        model.keys.demands.iter().find_map(|(bucket, _)| {
            let limits = [&self.before, &self.after].map(|rows| rows.limits(&bucket.0).waiting);
            let most = limits.map(|limit| limit.unwrap_or(u64::MAX)).into_iter().max()?;
            let known = unfinished(step.models, bucket);
            let what = format!("created while {known} jobs of {bucket:?} were unfinished");
            (known >= most).then(|| model.violation(11, what, format!("refused from {most} on")))
        })
    }

    /// Whether a creation may have been refused because of this limit.
    pub(in crate::auditor) fn may_be_full(&self, models: &Models, bucket: &Bucket, limit: u64) -> bool {
        self.is_changing() || limit <= unfinished(models, bucket)
    }

    pub(super) fn may_wait_for_buckets(&self, model: &JobModel, models: &Models, now: Timestamp) -> bool {
        let stable = STABLE.as_millis() as i64;
        model.keys.demands.iter().any(|(bucket, units)| {
            let limits = self.after.limits(&bucket.0);
            let is_busy = limits.running.is_some_and(|limit| limit < running(models, bucket) + units);
            let was_touched = self.touched.get(bucket).is_some_and(|at| now.0 < at.0 + stable);
            is_busy || was_touched || self.after.pause(bucket).is_some() || {
                let at = Timestamp(now.0 - stable);
                limits.rate.is_some_and(|rate| self.may_lack_tokens(&rate, bucket, *units, at))
            }
        })
    }

    fn may_lack_tokens(&self, rate: &Rate, bucket: &Bucket, units: u64, at: Timestamp) -> bool {
        let changed_at = self.rate_changed_at.get(&bucket.0);
        let full_after = (rate.burst * rate.per.0 / rate.count) as i64;
        if changed_at.is_some_and(|changed| at.0 <= changed.0 + full_after + 1) {
            return true;
        }
        let mut sum = u128::from(units);
        self.taken.get(bucket).into_iter().flatten().rev().any(|(then, taken)| {
            sum += u128::from(*taken);
            !is_lawful(rate, sum, at.0 - then.0)
        })
    }
}

/// Whether this many tokens may be taken in a window of this many milliseconds.
fn is_lawful(rate: &Rate, tokens: u128, window: i64) -> bool {
    let per = u128::from(rate.per.0);
    tokens * per <= u128::from(rate.burst) * per + u128::from(rate.count) * window.max(0) as u128
}
