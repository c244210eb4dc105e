//! Checks refusals: the command had to be refused, for this reason, and the details are correct (laws 1, 4 and 7).

use std::collections::BTreeSet;

use tenure_core::refusal::ConflictCause;

use crate::auditor::job_model::{EndedLease, JobModel};
use crate::auditor::replies::{RequestStart, hold_of};
use crate::auditor::rules;
use crate::auditor::{Auditor, Violation};
use crate::network::Request;
use crate::prelude::*;

/// The correct answer to a worker's command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Accepted,
    Replayed,
    Conflict(Option<ConflictCause>),
    NoRule,
}

impl Auditor {
    pub(super) fn check_refusal(
        &mut self,
        start: &RequestStart,
        request: &Request,
        refusal: &Refusal,
    ) -> Option<Violation> {
        if let (Request::Create(new), Refusal::QueueFull { bucket, limit }) = (request, refusal) {
            let bucket = (bucket.resource.to_string(), bucket.key.as_ref().map(ToString::to_string));
            let what = format!("{} was refused because {bucket:?} has {limit} jobs", new.job_type);
            let may =
                self.flow.may_be_full(&self.models, &bucket, *limit) || start.events < self.events_read.len();
            return (!may).then(|| Violation::new(11, None, what));
        }
        let id = request.job()?;
        if matches!(refusal, Refusal::NotFound { what: "job", .. }) {
            self.compare(id);
            let model = self.models.get(&id).filter(|model| !model.purged)?;
            return Some(model.violation(8, format!("{refusal}"), "the job, until its retention ends"));
        }
        let envelope = match request {
            Request::Submit(envelope) => envelope,
            Request::Amend(_, _, amendment) => {
                return self.check_amendment_refusal(start, id, amendment, refusal);
            }
            _ => return None,
        };
        let model = self.models.get(&id)?;
        // After other commands in between, the state that was judged is not known.
        if model.steps[start.seq as usize..].iter().any(|step| !step.by_clock) || model.in_flight > 0 {
            return None;
        }
        check_details(model, envelope, refusal).or_else(|| check_reason(model, envelope, refusal))
    }
}

/// Law 1: a refusal names the current state and what is allowed from it.
fn check_details(model: &JobModel, envelope: &CommandEnvelope, refusal: &Refusal) -> Option<Violation> {
    let Refusal::InvalidTransition { current_state, trigger, allowed, .. } = refusal else { return None };
    let rules = model.kind.lifecycle.rules.iter();
    let expected: BTreeSet<&Trigger> =
        rules.filter(|rule| rule.from.as_ref() == Some(&model.state)).map(|rule| &rule.on).collect();
    let allowed: BTreeSet<&Trigger> = allowed.iter().collect();
    if *current_state != model.state || expected != allowed {
        let what = format!("refused in {current_state}, allowing {allowed:?}");
        return Some(model.violation(1, what, format!("{}, allowing {expected:?}", model.state)));
    }
    let without_request = matches!(&envelope.command, Command::Report(report)
        if matches!(report.verb, Verb::CancelConfirm { .. }) && model.graces.contains(&None));
    let retry_of_live_job = matches!(envelope.command, Command::Retry(_)) && !model.phase.is_final();
    let has_rule = rules::has_rule(&model.kind.lifecycle, &model.state, trigger);
    let wrongly = has_rule && !without_request && !retry_of_live_job;
    wrongly.then(|| model.violation(1, format!("{trigger} was refused in {}", model.state), "a transition"))
}

/// Law 4: the holder of the lease is accepted; others get the cause of the conflict.
fn check_reason(model: &JobModel, envelope: &CommandEnvelope, refusal: &Refusal) -> Option<Violation> {
    let (expected, hold) = match &envelope.command {
        Command::Report(report) => {
            let Holder { worker, fence } = report.holder.clone()?;
            let hold = Hold { job: report.job, worker, fence };
            let verdict = of_report(model, &hold, &report.verb.trigger());
            let confirms = matches!(report.verb, Verb::CancelConfirm { .. });
            if verdict == Verdict::Accepted && confirms && model.graces.contains(&None) {
                return None;
            }
            (verdict, hold)
        }
        Command::Heartbeat(hold) => {
            let accepted = model.is_held_by(hold);
            (if accepted { Verdict::Accepted } else { of_fence(model, hold.fence.0) }, hold.clone())
        }
        Command::Upload(_) | Command::AddAsset(_) => {
            let hold = hold_of(&envelope.command)?;
            let accepted = model.is_held_by(&hold);
            (if accepted { Verdict::Accepted } else { of_fence(model, hold.fence.0) }, hold)
        }
        Command::Progress { hold, .. } => {
            let accepted = model.is_held_by(hold) || (model.held.is_none() && model.was_held_by(hold));
            (if accepted { Verdict::Accepted } else { of_fence(model, hold.fence.0) }, hold.clone())
        }
        _ => return None,
    };
    let got = match refusal {
        Refusal::LeaseConflict { cause, .. } => Verdict::Conflict(Some(*cause)),
        Refusal::InvalidTransition { .. } => Verdict::NoRule,
        _ => return None,
    };
    let any_cause = expected == Verdict::Conflict(None) && matches!(got, Verdict::Conflict(_));
    if got == expected || any_cause {
        return None;
    }
    let law = if expected == Verdict::Replayed { 7 } else { 4 };
    let Hold { worker, fence, .. } = hold;
    let what = format!("{} of {worker} with fence {fence}: {got:?}", envelope.command.verb());
    Some(model.violation(law, what, format!("{expected:?}")))
}

fn of_report(model: &JobModel, hold: &Hold, trigger: &Trigger) -> Verdict {
    let has_rule = rules::has_rule(&model.kind.lifecycle, &model.state, trigger);
    if model.is_held_by(hold) {
        return if has_rule { Verdict::Accepted } else { Verdict::NoRule };
    }
    let same_end = |end: &EndedLease| end.by == *trigger && end.how == LeaseEnd::Reported;
    if model.was_held_by(hold) && model.ended.as_ref().is_some_and(same_end) {
        return Verdict::Replayed;
    }
    let granted = (1..=model.fence).contains(&hold.fence.0);
    if granted || has_rule { of_fence(model, hold.fence.0) } else { Verdict::NoRule }
}

/// The conflict of a fence that is not the current holder's.
fn of_fence(model: &JobModel, fence: u64) -> Verdict {
    if !(1..=model.fence).contains(&fence) {
        return Verdict::Conflict(None);
    }
    Verdict::Conflict(Some(match (&model.held, &model.ended) {
        (Some(held), _) if held.fence == fence => ConflictCause::WrongWorker,
        (None, Some(end)) if end.fence == fence && end.how == LeaseEnd::Revoked => ConflictCause::Revoked,
        (None, Some(end)) if end.fence == fence => ConflictCause::Lost,
        _ => ConflictCause::Superseded,
    }))
}
