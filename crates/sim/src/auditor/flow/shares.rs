//! Shares: within one effective priority of the shared queue, the next job is of the key with the fewest live leases divided by
//! its weight, then the oldest.
//!
//! A commit judges its claims by what it found, so leases that end or are granted to others in the same commit may count or not.

use super::{FlowAuditor, Models, Step};
use crate::auditor::Violation;
use crate::auditor::job_model::JobModel;
use crate::fixtures::flow::{AGING, SHARED_QUEUE, TypeRules, WEIGHT};
use crate::prelude::*;

fn is_shared(model: &JobModel) -> bool {
    model.spec.queue.as_str() == SHARED_QUEUE
}

fn weight(key: Option<&str>) -> u64 {
    if key == Some(WEIGHT.0) { WEIGHT.1 } else { 1 }
}

fn leases(models: &Models, key: Option<&str>) -> u64 {
    let own =
        |model: &&JobModel| model.held.is_some() && is_shared(model) && model.keys.share.as_deref() == key;
    models.values().filter(own).count() as u64
}

fn effective_priority(model: &JobModel, at: Timestamp) -> i64 {
    i64::from(model.priority) + (at.0 - model.run_at.0).max(0) / AGING.0 as i64
}

impl FlowAuditor {
    pub(super) fn check_share(&mut self, step: &Step<'_>) -> Option<Violation> {
        let Step { event, model, models, claims, .. } = step;
        if !is_shared(model) || claims.is_empty() {
            return None;
        }
        // Jobs that nothing but this order keeps from the claim, ready since an earlier commit.
        let is_free = |other: &&JobModel| {
            let plain =
                TypeRules::of(other.spec.job_type.as_str()).is_some_and(|rules| rules.uses.is_empty());
            let admits = |claim: &&Claim| claim.filter.admits(&other.spec.queue, &other.spec.job_type);
            is_shared(other)
                && plain
                && other.id() != model.id()
                && other.seq > 0
                && other.phase == Phase::Ready
                && other.run_at <= event.ts
                && !self.fresh.changed.contains(&other.id())
                && claims.iter().all(admits)
        };
        let others: Vec<&JobModel> = models.values().filter(is_free).collect();
        self.counts.shared += u64::from(!others.is_empty());
        let first = others.into_iter().find(|other| self.is_before(step, other))?;
        let what = format!(
            "claimed with {} leases of its key, priority {}, before job {}",
            leases(models, model.keys.share.as_deref()),
            effective_priority(model, event.ts),
            first.id(),
        );
        let expected = format!(
            "that job first: {} leases of {:?}, priority {}",
            leases(models, first.keys.share.as_deref()),
            first.keys.share,
            effective_priority(first, event.ts)
        );
        Some(model.violation(14, what, expected))
    }

    /// Whether another job comes first, whatever else the commit has decided before.
    fn is_before(&self, step: &Step<'_>, other: &JobModel) -> bool {
        let (model, at) = (step.model, step.event.ts);
        let priorities = effective_priority(other, at).cmp(&effective_priority(model, at));
        if priorities.is_ne() {
            return priorities.is_gt();
        }
        let worker = step.event.actor.to_string();
        let by_others = |key: &Option<String>| -> u64 {
            let granted = self.fresh.granted.iter();
            granted.filter(|((by, of), _)| *by != worker && of == key).map(|(_, count)| count).sum()
        };
        let released = |key: &Option<String>| self.fresh.released.get(key).copied().unwrap_or(0);
        let (own, its) = (&model.keys.share, &other.keys.share);
        let (own_leases, its_leases) =
            (leases(step.models, own.as_deref()), leases(step.models, its.as_deref()));
        let (own_weight, its_weight) = (weight(own.as_deref()), weight(its.as_deref()));
        let least = own_leases.saturating_sub(by_others(own)) * its_weight;
        let most = (its_leases + released(its)) * own_weight;
        let is_certain = [own, its].iter().all(|key| by_others(key) == 0 && released(key) == 0);
        let is_equal = is_certain && own_leases * its_weight == its_leases * own_weight;
        most < least || (is_equal && other.run_at < model.run_at)
    }

    pub(super) fn note_share(&mut self, step: &Step<'_>) {
        if !is_shared(step.model) {
            return;
        }
        let key = step.model.keys.share.clone();
        if step.ends_lease() {
            *self.fresh.released.entry(key).or_default() += 1;
        } else if step.event.trigger == Trigger::Claim {
            *self.fresh.granted.entry((step.event.actor.to_string(), key)).or_default() += 1;
        }
    }
}
