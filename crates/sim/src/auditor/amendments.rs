//! Checks amendments: one numbered event with the values that changed, in a state without a lease, and no other change.

use tenure_runtime::Amendment;

use crate::auditor::flow::KeysModel;
use crate::auditor::job_model::{JobModel, Transition};
use crate::auditor::replies::RequestStart;
use crate::auditor::{Auditor, Violation};
use crate::prelude::*;

impl JobModel {
    /// Laws 1, 3 and 6 for an amendment.
    pub(super) fn check_amendment(&self, event: &Event, running: i64) -> Option<Violation> {
        let Event { from, to, attempt, name, facts, .. } = event;
        let stays = from.as_ref() == Some(&self.state) && *to == self.state && *attempt == self.attempt;
        let amendable = matches!(self.phase, Phase::Ready | Phase::Waiting);
        if !stays || !amendable || *name != "job_amended" || facts.phase() != self.phase {
            let what = format!("{name} led from {} to {to}, attempt {attempt}", self.state);
            return Some(self.violation(1, what, "no move, and only in a ready or waiting state"));
        }
        let payload = facts.payload.as_ref().filter(|new| **new != self.payload);
        let priority = facts.priority.filter(|new| *new != self.priority);
        let run_at = facts.run_at.filter(|new| *new != self.run_at && *new >= event.ts);
        let given = [facts.payload.is_some(), facts.priority.is_some(), facts.run_at.is_some()];
        let differ = [payload.is_some(), priority.is_some(), run_at.is_some()];
        if given != differ || differ == [false; 3] {
            let what = format!("{:?}, {:?}, {:?}", facts.payload, facts.priority, facts.run_at);
            let (payload, priority, run_at) = (self.payload.as_str(), self.priority, self.run_at);
            let expected = format!("others than {payload}, {priority} and {run_at}");
            return Some(self.violation(6, format!("amended to {what}"), expected));
        }
        let keys = payload.map(|payload| KeysModel::of(&self.spec, payload)).filter(|new| *new != self.keys);
        let stored = facts.flow.as_deref().map(KeysModel::of_row);
        if keys != stored {
            return Some(self.violation(6, format!("amended to keys {stored:?}"), format!("{keys:?}")));
        }
        let moved = facts.run_at.map(|at| running + (at.0 - event.ts.0));
        let due = self.due.map(|due| moved.unwrap_or(due));
        let clocks = (facts.due.map(|due| due.0), facts.timeout.map(|at| at.0));
        let expected = (due, self.timeout);
        (clocks != expected).then(|| self.violation(9, format!("clocks {clocks:?}"), format!("{expected:?}")))
    }

    pub(super) fn apply_amendment(&mut self, event: &Event) {
        let (trigger, to, ts) = (event.trigger.clone(), event.to.clone(), event.ts);
        self.steps.push(Transition { trigger, to, ts, by_clock: false, holder: None });
        self.seq += 1;
        self.updated_at = event.ts;
        self.run_at = event.facts.run_at.unwrap_or(self.run_at);
        self.due = event.facts.due.map(|due| due.0);
        self.priority = event.facts.priority.unwrap_or(self.priority);
        if let Some(payload) = &event.facts.payload {
            self.payload = payload.clone();
            self.keys = KeysModel::of(&self.spec, payload);
        }
    }
}

impl Auditor {
    /// An answered amendment: the job has the requested values.
    pub(super) fn check_amended(
        &self,
        start: &RequestStart,
        amendment: &Amendment,
        output: &CommandOutput,
    ) -> Option<Violation> {
        let CommandOutput::Job { job, .. } = output else {
            return Some(Violation::new(8, None, "an amendment returned another kind of output".to_owned()));
        };
        let model = match self.journaled(job) {
            Ok(model) => model,
            Err(violation) => return Some(violation),
        };
        let payload = amendment.payload.as_ref().is_none_or(|wanted| wanted == job.payload());
        let priority = amendment.priority.is_none_or(|wanted| wanted == job.priority());
        let run_at = amendment.run_at.is_none_or(|wanted| {
            // A due time that has passed moves the job in the same commit.
            let moved = job.run_at == Timestamp::NEVER || job.phase != Phase::Ready;
            let range = start.at.max(wanted)..=self.now.max(wanted);
            job.run_at == wanted || moved || range.contains(&job.run_at)
        });
        let expected = format!("{amendment:?}");
        if !(payload && priority && run_at) {
            let what = format!("amended to {}, {}, {}", job.payload().as_str(), job.priority(), job.run_at);
            return Some(model.violation(6, what, expected));
        }
        // Without a change there was no event; with one, the number grew by one.
        let stale = amendment.if_seq.is_some_and(|seq| job.seq < seq);
        stale.then(|| model.violation(5, format!("amended at seq {}", job.seq), expected))
    }

    pub(super) fn check_amendment_refusal(
        &self,
        start: &RequestStart,
        id: JobId,
        amendment: &Amendment,
        refusal: &Refusal,
    ) -> Option<Violation> {
        let model = self.models.get(&id)?;
        if model.in_flight > 0 || model.steps.len() != start.seq as usize {
            return None;
        }
        let wrongly = match refusal {
            Refusal::InvalidTransition { .. } => matches!(model.phase, Phase::Ready | Phase::Waiting),
            Refusal::PreconditionFailed { seq, .. } => {
                *seq != model.seq || amendment.if_seq.is_none_or(|wanted| wanted == model.seq)
            }
            _ => false,
        };
        wrongly.then(|| model.violation(1, format!("refused: {refusal}"), "amended"))
    }
}
