//! What must hold when the faults are long over: nothing is stuck, nothing that was acknowledged is gone, and every end
//! had its consequences.

use std::collections::BTreeMap;

use tenure_core::dead_letter::{DeadLetter, ReasonCode};
use tenure_core::id::JobId;
use tenure_core::lifecycle::{Outcome, Phase};
use tenure_core::query::{DeadLetterFilter, Page};
use tenure_core::time::Millis;
use tenure_store::{Journaled, MemoryStore, Store};

use crate::auditor::track::Track;
use crate::auditor::{Auditor, Violation, hash};
use crate::ready;

impl Auditor {
    /// Law 10, and what each end must have brought.
    pub(crate) fn check_the_end(&mut self) {
        let letters = letters(&self.store);
        let ids: Vec<JobId> = self.tracks.keys().copied().collect();
        for id in ids {
            self.compare(id);
            let track = &self.tracks[&id];
            let found = stuck(track)
                .or_else(|| self.overdue(track))
                .or_else(|| dead_letter(track, letters.get(&id)))
                .or_else(|| self.compensation(track));
            self.found.extend(found);
        }
        let found = self.money.check_the_end(&self.tracks);
        self.found.extend(found);
    }

    /// Law 5: the journal only grows; what was read before is still what is there.
    pub(crate) fn check_journal_again(&mut self, journal: &[Journaled]) {
        let kept = |id: &JobId| self.tracks.get(id).is_some_and(|track| !track.purged);
        let first = self.written.iter().copied().filter(|(id, _)| kept(id));
        let again = journal.iter().map(|one| (one.event.job_id, hash(&one.event))).filter(|(id, _)| kept(id));
        if !first.eq(again) {
            self.say(Violation::new(
                5,
                None,
                "the journal is not what it was when it was first read".to_owned(),
            ));
        }
    }

    /// What is past its retention is gone within a minute.
    fn overdue(&self, track: &Track) -> Option<Violation> {
        let minute = Millis::seconds(62);
        let well = self.healed_at.is_some_and(|at| at + minute < self.now);
        let over = track.kept_until().is_some_and(|until| until + minute < self.now);
        let what = format!("it is still there at {}", self.now);
        (well && over && !track.purged)
            .then(|| track.breaks(10, what, format!("gone by {:?}", track.kept_until())))
    }

    /// What did something and ended badly is undone, once; and it is noted when that succeeded.
    fn compensation(&self, track: &Track) -> Option<Violation> {
        let undone_by: Vec<&Track> =
            self.tracks.values().filter(|other| other.spec.links.compensates == Some(track.id())).collect();
        let badly = matches!(track.phase, Phase::Final(Outcome::Failed | Outcome::Cancelled | Outcome::Dead));
        let wanted = badly && track.was_active && track.kind.definition.compensate_with.is_some();
        if undone_by.len() != usize::from(wanted) {
            let what = format!("{} compensations", undone_by.len());
            return Some(track.breaks(10, what, format!("{}", usize::from(wanted))));
        }
        let first = undone_by.first()?;
        if Some(first.spec.created_at) != track.completed_at {
            let what = format!("compensated at {}", first.spec.created_at);
            return Some(track.breaks(10, what, format!("in the commit of {:?}", track.completed_at)));
        }
        let succeeded = u32::from(first.phase == Phase::Final(Outcome::Succeeded));
        let wrong = track.notes != succeeded;
        wrong.then(|| track.breaks(10, format!("{} notes of it", track.notes), succeeded.to_string()))
    }
}

fn stuck(track: &Track) -> Option<Violation> {
    let over = track.phase.is_final();
    let what =
        format!("it is {} since {}, and everyone was well for long enough", track.state, track.updated_at);
    (!over).then(|| track.breaks(10, what, "a final state"))
}

fn dead_letter(track: &Track, letter: Option<&DeadLetter>) -> Option<Violation> {
    let undoes = track.spec.links.compensates.is_some();
    let failed_to_undo = undoes && track.phase != Phase::Final(Outcome::Succeeded);
    let wanted = track.phase == Phase::Final(Outcome::Dead) || failed_to_undo;
    match letter {
        _ if track.purged => None,
        None if wanted => Some(track.breaks(10, format!("{} without a dead letter", track.state), "one")),
        Some(_) if !wanted => Some(track.breaks(10, format!("{} with a dead letter", track.state), "none")),
        Some(letter) if letter.attempts != track.attempt => {
            let what = format!("its dead letter counts {} attempts", letter.attempts);
            Some(track.breaks(10, what, track.attempt.to_string()))
        }
        Some(letter) if failed_to_undo && letter.reason_code != ReasonCode::CompensationFailed => {
            let what = format!("its dead letter says {}", letter.reason_code.as_str());
            Some(track.breaks(10, what, "compensation_failed"))
        }
        Some(_) | None => None,
    }
}

fn letters(store: &MemoryStore) -> BTreeMap<JobId, DeadLetter> {
    let page = Page { before: None, limit: usize::MAX };
    let of = |dismissed| {
        let filter = DeadLetterFilter { dismissed, ..DeadLetterFilter::default() };
        ready(store.dead_letters(filter, page)).unwrap_or_default()
    };
    of(false).into_iter().chain(of(true)).map(|letter| (letter.job_id, letter)).collect()
}
