//! What a node refused: rightly, for the right reason, and saying what is true (laws 1, 4 and 7).

use std::collections::BTreeSet;

use tenure_core::command::{Asked, Command, Verb};
use tenure_core::id::Name;
use tenure_core::job::LeaseEnd;
use tenure_core::lifecycle::Trigger;
use tenure_core::refusal::{ConflictCause, Refusal};

use crate::auditor::answers::Before;
use crate::auditor::rules;
use crate::auditor::track::Track;
use crate::auditor::{Auditor, Violation};
use crate::network::Request;

/// What an honest node says to a worker's verb.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Accepted,
    Replayed,
    Conflict(Option<ConflictCause>),
    NoRule,
}

impl Auditor {
    pub(super) fn refused(
        &mut self,
        before: &Before,
        request: &Request,
        refusal: &Refusal,
    ) -> Option<Violation> {
        let Request::Ask(asked) = request else { return None };
        let id = asked.command.job()?;
        if matches!(refusal, Refusal::NotFound { what: "job", .. }) {
            self.compare(id);
            let track = self.tracks.get(&id).filter(|track| !track.purged)?;
            return Some(track.breaks(8, format!("{refusal}"), "it is kept until its retention is over"));
        }
        let track = self.tracks.get(&id)?;
        // With others' doings in between, what it was judged on is not known.
        if track.steps[before.seq as usize..].iter().any(|step| !step.by_clock) || track.in_flight > 0 {
            return None;
        }
        said_the_truth(track, asked, refusal).or_else(|| was_right(track, asked, refusal))
    }
}

/// Law 1: a refusal names the current state and what is allowed from it.
fn said_the_truth(track: &Track, asked: &Asked, refusal: &Refusal) -> Option<Violation> {
    let Refusal::InvalidTransition { current_state, trigger, allowed, .. } = refusal else { return None };
    let own: BTreeSet<&Trigger> = track
        .kind
        .lifecycle
        .rules
        .iter()
        .filter(|rule| rule.from.as_ref() == Some(&track.state))
        .map(|rule| &rule.on)
        .collect();
    let told: BTreeSet<&Trigger> = allowed.iter().collect();
    if *current_state != track.state || own != told {
        let what = format!("refused in {current_state}, allowing {told:?}");
        return Some(track.breaks(1, what, format!("{}, allowing {own:?}", track.state)));
    }
    let without_request = matches!(&asked.command, Command::Report(report)
        if matches!(report.verb, Verb::CancelConfirm { .. }) && track.graces.contains(&None));
    let retry_of_a_live_one = matches!(asked.command, Command::Retry(_)) && !track.phase.is_final();
    let leads = rules::leads(&track.kind.lifecycle, &track.state, trigger);
    let wrongly = leads && !without_request && !retry_of_a_live_one;
    wrongly.then(|| track.breaks(1, format!("{trigger} was refused in {}", track.state), "a rule leads on"))
}

/// Law 4: who has the lease is heard, who had it is told what became of it.
fn was_right(track: &Track, asked: &Asked, refusal: &Refusal) -> Option<Violation> {
    let (expected, said): (Verdict, (Name, u64)) = match &asked.command {
        Command::Report(report) => {
            let (worker, fence) = report.holder.clone()?;
            let confirms = matches!(report.verb, Verb::CancelConfirm { .. });
            let verdict = of_report(track, (&worker, fence.0), &report.verb.trigger());
            if verdict == Verdict::Accepted && confirms && track.graces.contains(&None) {
                return None;
            }
            (verdict, (worker, fence.0))
        }
        Command::Heartbeat(hold) => {
            let said = (hold.worker.clone(), hold.fence.0);
            let verdict = if is_live(track, &said) { Verdict::Accepted } else { of_fence(track, said.1) };
            (verdict, said)
        }
        Command::Progress(hold, ..) => {
            let said = (hold.worker.clone(), hold.fence.0);
            let last = track.held.is_none()
                && track.ended.as_ref().is_some_and(|end| end.worker == said.0 && end.fence == said.1);
            let heard = last || is_live(track, &said);
            (if heard { Verdict::Accepted } else { of_fence(track, said.1) }, said)
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
    let (verb, (worker, fence)) = (asked.command.verb(), said);
    Some(track.breaks(
        law,
        format!("{verb} of {worker} with fence {fence}: {got:?}"),
        format!("{expected:?}"),
    ))
}

fn of_report(track: &Track, (worker, fence): (&Name, u64), trigger: &Trigger) -> Verdict {
    let leads = rules::leads(&track.kind.lifecycle, &track.state, trigger);
    if is_live(track, &(worker.clone(), fence)) {
        return if leads { Verdict::Accepted } else { Verdict::NoRule };
    }
    let repeats = track.ended.as_ref().is_some_and(|end| {
        end.fence == fence && end.worker == *worker && end.by == *trigger && end.how == LeaseEnd::Reported
    });
    if repeats {
        return Verdict::Replayed;
    }
    let granted = (1..=track.fence).contains(&fence);
    if granted || leads { of_fence(track, fence) } else { Verdict::NoRule }
}

/// What became of a fence that is not the live holder's.
fn of_fence(track: &Track, fence: u64) -> Verdict {
    if !(1..=track.fence).contains(&fence) {
        return Verdict::Conflict(None);
    }
    Verdict::Conflict(Some(match (&track.held, &track.ended) {
        (Some(held), _) if held.fence == fence => ConflictCause::WrongWorker,
        (None, Some(end)) if end.fence == fence && end.how == LeaseEnd::Revoked => ConflictCause::Revoked,
        (None, Some(end)) if end.fence == fence => ConflictCause::Lost,
        _ => ConflictCause::Superseded,
    }))
}

fn is_live(track: &Track, (worker, fence): &(Name, u64)) -> bool {
    track.held.as_ref().is_some_and(|held| held.fence == *fence && held.worker == *worker)
}
