//! Checks after the faults: no job is stuck, nothing that was acknowledged is missing, and every final state had its
//! effects.

use std::collections::BTreeMap;

use tenure_core::lifecycle::Outcome;

use crate::auditor::job_model::JobModel;
use crate::auditor::{Auditor, Violation, hash};
use crate::prelude::*;
use crate::ready;

impl Auditor {
    /// Law 10, and the effects of each final state.
    pub(crate) fn check_end(&mut self) {
        self.read_automations();
        let letters = letters(&self.store);
        let ids: Vec<JobId> = self.models.keys().copied().collect();
        for id in ids {
            self.compare(id);
            let model = &self.models[&id];
            let violation = stuck(model)
                .or_else(|| self.overdue(model))
                .or_else(|| dead_letter(model, letters.get(&id)))
                .or_else(|| self.compensation(model));
            self.violations.extend(violation);
        }
        let violations = self.credits.check_end(&self.models);
        self.violations.extend(violations);
        self.violations.extend(self.webhooks.check_end(&self.store, self.now));
    }

    /// Law 5: the journal only grows; events that were read before have not changed.
    pub(crate) fn check_journal_again(&mut self, journal: &[JournalEntry]) {
        let kept = |id: &JobId| self.models.get(id).is_some_and(|model| !model.purged);
        let before = self.events_read.iter().copied().filter(|(id, _)| kept(id));
        let now = journal.iter().map(|one| (one.event.job_id, hash(&one.event))).filter(|(id, _)| kept(id));
        if !before.eq(now) {
            self.report(Violation::new(5, None, "events of the journal have changed".to_owned()));
        }
    }

    /// A job is deleted within a minute after its retention.
    fn overdue(&self, model: &JobModel) -> Option<Violation> {
        let minute = Millis::seconds(62);
        let stable = self.faults_ended_at.is_some_and(|at| at + minute < self.now);
        let over = model.kept_until().is_some_and(|until| until + minute < self.now);
        let what = format!("the job still exists at {}", self.now);
        (stable && over && !model.purged)
            .then(|| model.violation(10, what, format!("deleted by {:?}", model.kept_until())))
    }

    /// A job that ran and did not succeed is compensated once, and a note records that the compensation succeeded.
    fn compensation(&self, model: &JobModel) -> Option<Violation> {
        let compensations: Vec<&JobModel> =
            self.models.values().filter(|other| other.spec.links.compensates == Some(model.id())).collect();
        let unsuccessful =
            matches!(model.phase, Phase::Final(Outcome::Failed | Outcome::Cancelled | Outcome::Dead));
        let wanted = unsuccessful && model.was_active && model.kind.definition.compensate_with.is_some();
        if compensations.len() != usize::from(wanted) {
            let what = format!("{} compensations", compensations.len());
            return Some(model.violation(10, what, format!("{}", usize::from(wanted))));
        }
        let first = compensations.first()?;
        if Some(first.spec.created_at) != model.completed_at {
            let what = format!("compensated at {}", first.spec.created_at);
            return Some(model.violation(10, what, format!("in the commit of {:?}", model.completed_at)));
        }
        let succeeded = u32::from(first.phase == Phase::Final(Outcome::Succeeded));
        let wrong = model.notes != succeeded;
        wrong.then(|| model.violation(10, format!("{} notes about it", model.notes), succeeded.to_string()))
    }
}

fn stuck(model: &JobModel) -> Option<Violation> {
    let over = model.phase.is_final();
    let what = format!("in state {} since {}, long after the faults", model.state, model.updated_at);
    (!over).then(|| model.violation(10, what, "a final state"))
}

fn dead_letter(model: &JobModel, letter: Option<&DeadLetter>) -> Option<Violation> {
    let compensates = model.spec.links.compensates.is_some();
    let failed_to_compensate = compensates && model.phase != Phase::Final(Outcome::Succeeded);
    let wanted = model.phase == Phase::Final(Outcome::Dead) || failed_to_compensate;
    match letter {
        _ if model.purged => None,
        None if wanted => Some(model.violation(10, format!("{} without a dead letter", model.state), "one")),
        Some(_) if !wanted => {
            Some(model.violation(10, format!("{} with a dead letter", model.state), "none"))
        }
        Some(letter) if letter.attempts != model.attempt => {
            let what = format!("the dead letter has {} attempts", letter.attempts);
            Some(model.violation(10, what, model.attempt.to_string()))
        }
        Some(letter) if failed_to_compensate && letter.reason_code != ReasonCode::CompensationFailed => {
            let what = format!("the dead letter has {}", letter.reason_code.as_str());
            Some(model.violation(10, what, "compensation_failed"))
        }
        Some(_) | None => None,
    }
}

fn letters(store: &Store) -> BTreeMap<JobId, DeadLetter> {
    let page = Page { before: None, limit: usize::MAX };
    let of = |dismissed| {
        let filter = DeadLetterFilter { dismissed, ..DeadLetterFilter::default() };
        ready(store.dead_letters(filter, page)).unwrap_or_default()
    };
    of(false).into_iter().chain(of(true)).map(|letter| (letter.job_id, letter)).collect()
}
