//! Unique keys: a request creates no second job with a key, and with `cancel` the first one is being cancelled.

use tenure_core::flow::{Among, OnConflict, Unique};

use super::{KeysModel, Models, Step, is_unfinished};
use crate::auditor::Violation;
use crate::auditor::job_model::JobModel;
use crate::auditor::rules;
use crate::fixtures::flow::TypeRules;
use crate::prelude::*;

fn rule_of(model: &JobModel) -> Option<Unique> {
    let unique = TypeRules::of(model.spec.job_type.as_str()).and_then(|rules| rules.unique);
    unique.map(|(_, rule)| rule).filter(|_| model.keys.unique.is_some())
}

/// Whether a new job with this key is compared with another one.
fn matches(unique: Unique, model: &JobModel, other: &JobModel, now: Timestamp) -> bool {
    let same_key = (&other.spec.job_type, &other.keys.unique) == (&model.spec.job_type, &model.keys.unique);
    let counts = match unique.among {
        Among::Waiting => matches!(other.phase, Phase::Ready | Phase::Waiting),
        Among::Unfinished => is_unfinished(other),
        Among::Created(span) => now < other.spec.created_at + span,
    };
    other.seq > 0 && other.id() != model.id() && same_key && counts
}

pub(super) fn check(step: &Step<'_>) -> Option<Violation> {
    let (model, at) = (step.model, step.event.ts);
    let unique = rule_of(model)?;
    let others = step.models.values().filter(|other| matches(unique, model, other, at));
    if unique.on_conflict == OnConflict::Cancel {
        // A worker that holds a match learns of the cancel; others are cancelled in the same commit.
        let mut missed = others.filter(|other| {
            other.held.is_none() && rules::has_rule(&other.kind.lifecycle, &other.state, &Trigger::Cancel)
        });
        let first = missed.next()?;
        let what = format!("created while job {} with its key is {}", first.id(), first.state);
        return Some(model.violation(12, what, "that job is cancelled in the same commit"));
    }
    if let Some(first) = { others }.next() {
        let what = format!("created although job {} has the key {:?}", first.id(), model.keys.unique);
        return Some(model.violation(12, what, "one job for each key"));
    }
    let OnConflict::Postpone { delay, .. } = unique.on_conflict else { return None };
    let run_at = step.event.facts.run_at;
    let expected = format!("{}", at + delay);
    (run_at != Some(at + delay)).then(|| model.violation(12, format!("runs at {run_at:?}"), expected))
}

/// With `cancel`, the new job requests the soft cancel of every job with its key that a worker holds.
pub(in crate::auditor) fn cancel_others(models: &mut Models, id: JobId, running: i64) {
    let Some(model) = models.get(&id) else { return };
    let Some(unique) = rule_of(model).filter(|unique| unique.on_conflict == OnConflict::Cancel) else {
        return;
    };
    let now = model.spec.created_at;
    let held: Vec<JobId> = models
        .values()
        .filter(|other| other.held.is_some() && matches(unique, model, other, now))
        .map(JobModel::id)
        .collect();
    for id in held {
        let Some(other) = models.get_mut(&id) else { continue };
        let grace = running + other.kind.policy.cancel_grace.0 as i64;
        other.graces.iter_mut().for_each(|one| *one = Some(one.unwrap_or(grace)));
    }
}

/// A request for a job of a type with unique keys was answered with this job, new or not.
pub(in crate::auditor) fn check_answer(
    model: &JobModel,
    new: &NewJob,
    job: &Job,
    is_amended: bool,
) -> Option<Violation> {
    let wanted = KeysModel::of(&model.spec, &new.payload).unique;
    if model.seq == job.seq && wanted != model.keys.unique {
        let what = format!("answers a request with key {wanted:?}");
        return Some(model.violation(12, what, format!("a job with key {:?}", model.keys.unique)));
    }
    let has_values = *job.payload() == new.payload && job.priority() == new.priority.unwrap_or(0);
    let what = format!("replaced by {} with priority {}", job.payload().as_str(), job.priority());
    let expected = || format!("{} with priority {:?}", new.payload.as_str(), new.priority);
    (is_amended && !has_values).then(|| model.violation(12, what, expected()))
}
