//! Sequences: of the jobs with one key only the first unfinished one is claimed, and none while the sequence is halted.

use std::collections::btree_map::Entry;

use tenure_core::flow::OnFailure;
use tenure_core::lifecycle::Outcome;

use super::keys::SequenceKey;
use super::{FlowAuditor, Models, Step, is_unfinished};
use crate::auditor::job_model::JobModel;
use crate::auditor::{STABLE, Violation};
use crate::fixtures::flow::TypeRules;
use crate::prelude::*;

impl FlowAuditor {
    pub(super) fn check_order(&mut self, step: &Step<'_>) -> Option<Violation> {
        let model = step.model;
        let line = model.keys.line(&model.spec)?;
        if let Entry::Occupied(halt) = self.halts.entry(line.clone()) {
            if self.resuming == 0 {
                let what = format!("claimed although job {} has halted {line:?}", halt.get());
                return Some(model.violation(13, what, "no claim until it is resumed"));
            }
            halt.remove();
        }
        let first = self.first(&line, step.models)?;
        let what = format!("claimed before job {first} of {line:?}");
        (first != model.id()).then(|| model.violation(13, what, "the first unfinished job"))
    }

    /// The first unfinished job of a sequence.
    fn first(&self, line: &SequenceKey, models: &Models) -> Option<JobId> {
        let own =
            |model: &&JobModel| is_unfinished(model) && model.keys.line(&model.spec).as_ref() == Some(line);
        let jobs = models.values().filter(own).map(JobModel::id);
        jobs.min_by_key(|id| self.places.get(id))
    }

    /// Places new jobs, and halts sequences whose first job fails.
    pub(super) fn note_order(&mut self, step: &Step<'_>) {
        let Step { event, model, models, .. } = step;
        if event.trigger == Trigger::Create {
            // The retry of the job that halted its sequence takes its place.
            let line = model.keys.line(&model.spec);
            let retried = model.spec.links.retry_of;
            let halted = line.filter(|line| retried.is_some() && self.halts.get(line) == retried.as_ref());
            let place = halted.and_then(|line| {
                self.halts.remove(&line);
                self.places.get(&retried?).copied()
            });
            let next = self.places.len() as u64 * 2;
            self.places.insert(model.id(), place.map_or(next, |place| place + 1));
            return;
        }
        let Phase::Final(outcome) = event.facts.phase() else { return };
        let Some(line) = model.keys.line(&model.spec).filter(|_| event.seq.is_some()) else { return };
        let rules = TypeRules::of(model.spec.job_type.as_str()).and_then(|rules| rules.sequence);
        let halts = rules.is_some_and(|(_, on_failure)| on_failure == OnFailure::Halt);
        let failed = !matches!(outcome, Outcome::Succeeded | Outcome::Partial);
        if halts && failed && self.first(&line, models) == Some(model.id()) {
            self.counts.halted += 1;
            self.halts.entry(line).or_insert(model.id());
        }
    }

    /// The halts that are stored are those that failures caused and no request ended.
    pub(super) fn check_halts(&mut self) -> Option<Violation> {
        if self.resuming > 0 {
            let stored = &self.after.halts;
            self.halts.retain(|line, job| stored.get(line) == Some(job));
        }
        let what = || format!("halted sequences are {:?}", self.after.halts);
        let expected = || Some(format!("{:?}", self.halts));
        (self.halts != self.after.halts)
            .then(|| Violation { expected: expected(), ..Violation::new(13, None, what()) })
    }

    pub(super) fn may_wait_in_line(&self, model: &JobModel, models: &Models, now: Timestamp) -> bool {
        let Some(line) = model.keys.line(&model.spec) else { return false };
        let stable = STABLE.as_millis() as i64;
        let was_touched = self.touched_lines.get(&line).is_some_and(|at| now.0 < at.0 + stable);
        was_touched || self.halts.contains_key(&line) || self.first(&line, models) != Some(model.id())
    }
}
