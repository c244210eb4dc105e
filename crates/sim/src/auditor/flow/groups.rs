//! Batches: a claim gets whole groups of jobs of one key, or what there is once the oldest has waited long enough.

use super::keys::GroupKey;
use super::{FlowAuditor, Models, Step};
use crate::auditor::job_model::JobModel;
use crate::auditor::{STABLE, Violation};
use crate::fixtures::flow::{BatchRules, TypeRules};
use crate::prelude::*;

/// A group whose claims are being read.
#[derive(Debug)]
pub(super) struct OpenGroup {
    name: Name,
    worker: Actor,
    first: JobId,
    key: GroupKey,
    ts: Timestamp,
    size: usize,
    rules: &'static BatchRules,
    /// The sizes that the claims in flight may ask for.
    wanted: Vec<usize>,
    /// Whether a part of a group may be claimed.
    may_be_partial: bool,
}

fn rules_of(model: &JobModel) -> Option<(&'static BatchRules, &GroupKey)> {
    let rules = TypeRules::of(model.spec.job_type.as_str())?.batch.as_ref()?;
    Some((rules, model.keys.batch.as_ref()?))
}

/// The jobs that may be in a group with this one: ready for the first time, of the same type, queue and key.
fn together<'a>(model: &'a JobModel, models: &'a Models) -> impl Iterator<Item = &'a JobModel> {
    models.values().filter(move |other| {
        let same_place =
            (&other.spec.queue, &other.spec.job_type) == (&model.spec.queue, &model.spec.job_type);
        let is_new = other.seq > 0 && other.phase == Phase::Ready && other.attempt <= 1;
        is_new && same_place && other.keys.batch == model.keys.batch
    })
}

impl FlowAuditor {
    pub(super) fn check_group(&mut self, step: &Step<'_>) -> Option<Violation> {
        let Step { event, model, models, claims, .. } = step;
        let group = event.facts.lease.as_ref().and_then(|lease| lease.group.clone());
        let rules = rules_of(model).filter(|_| model.attempt <= 1);
        let (Some(name), Some((rules, key))) = (group.clone(), rules) else {
            let differs = group.is_some() != rules.is_some();
            let what = format!("claimed in group {group:?}, attempt {}", model.attempt);
            return differs.then(|| model.violation(15, what, "groups only of first attempts with a key"));
        };
        if let Some(open) = &mut self.group {
            open.size += 1;
            let same = open.key == *key && open.ts == event.ts && open.worker == event.actor;
            let what = format!("in group {name} of job {}", open.first);
            return (!same).then(|| model.violation(15, what, "one key, one worker, one commit"));
        }
        let oldest = together(model, models).map(|other| other.run_at).min().unwrap_or(model.run_at);
        // The jobs of the group may have been others when the commit began.
        let changed = together(model, models).any(|other| self.fresh.changed.contains(&other.id()));
        self.group = Some(OpenGroup {
            name,
            worker: event.actor.clone(),
            first: model.id(),
            key: key.clone(),
            ts: event.ts,
            size: 1,
            rules,
            wanted: claims.iter().map(|claim| rules.size.min(claim.max as usize)).collect(),
            may_be_partial: changed || oldest + rules.wait <= event.ts,
        });
        None
    }

    /// Ends the open group if this event is not of it.
    pub(super) fn end_group_before(&mut self, step: &Step<'_>) -> Option<Violation> {
        let lease = step.event.facts.lease.as_ref();
        let open = self.group.as_ref()?;
        // With `start`, a second event of each job follows.
        let starts = step.event.trigger == Trigger::Start && step.event.actor == open.worker;
        let continues = lease.is_some_and(|lease| lease.group.as_ref() == Some(&open.name));
        if starts || continues { None } else { self.end_group() }
    }

    pub(super) fn end_group(&mut self) -> Option<Violation> {
        let OpenGroup { name, first, size, rules, wanted, may_be_partial, .. } = self.group.take()?;
        self.counts.grouped += u64::from(size > 1);
        let is_whole = wanted.is_empty() || wanted.contains(&size);
        if size <= rules.size && (is_whole || may_be_partial) {
            return None;
        }
        let what = format!("group {name} has {size} jobs, and its oldest has not waited for {}", rules.wait);
        let expected = Some(format!("{wanted:?}"));
        Some(Violation { expected, ..Violation::new(15, Some(first), what) })
    }
}

/// Whether an incomplete group may keep a job from claims.
pub(super) fn may_wait(model: &JobModel, models: &Models, now: Timestamp) -> bool {
    let Some((rules, _)) = rules_of(model).filter(|_| model.attempt <= 1) else { return false };
    let oldest = together(model, models).map(|other| other.run_at).min().unwrap_or(model.run_at);
    now.0 < oldest.0 + rules.wait.0 as i64 + STABLE.as_millis() as i64
}
