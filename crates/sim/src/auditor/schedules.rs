//! Checks schedules: each time fires at most once and creates one job; none is lost beyond what `misfire`, `overlap` and a
//! pause allow.

use std::collections::BTreeMap;

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::schedule::{Misfire, Overlap, Schedule};

use crate::auditor::{SWEEP_MS_MAX, Violation};
use crate::prelude::*;
use crate::ready;

const MINUTE_MS: i64 = 60_000;
/// A time that is older was missed.
const LATE_MS: i64 = 60_000;

#[derive(Debug, Default)]
pub(super) struct ScheduleModel {
    /// The times that fired, and their jobs, in the journal's order.
    fired: BTreeMap<Name, Vec<(Timestamp, JobId)>>,
    /// Each row as it was last read, and how many times had fired.
    rows: BTreeMap<Name, (Schedule, usize)>,
    /// Requests in flight that change a schedule, and when the last one was answered, in virtual milliseconds.
    changes: BTreeMap<Name, (u32, u64)>,
}

impl ScheduleModel {
    pub(super) fn fired(&self) -> u64 {
        self.fired.values().map(|times| times.len() as u64).sum()
    }

    pub(super) fn begin_change(&mut self, id: &Name) {
        self.changes.entry(id.clone()).or_default().0 += 1;
    }

    pub(super) fn end_change(&mut self, id: &Name, now_ms: u64) {
        let (in_flight, answered_ms) = self.changes.entry(id.clone()).or_default();
        *in_flight = in_flight.saturating_sub(1);
        *answered_ms = now_ms;
    }

    fn is_changing(&self, id: &Name, now_ms: u64) -> bool {
        self.changes.get(id).is_some_and(|(in_flight, answered_ms)| *in_flight > 0 || now_ms <= *answered_ms)
    }

    /// Notes the first event of a job. The job of a schedule has its id and its time as correlation id.
    pub(super) fn note(
        &mut self,
        JournalEntry { event, correlation_id, .. }: &JournalEntry,
    ) -> Option<Violation> {
        let actor = event.actor.to_string();
        let id = actor.strip_prefix("schedule:").filter(|_| event.seq == Some(1))?;
        let violation =
            |law, what| Some(Violation::new(law, Some(event.job_id), format!("schedule {id} {what}")));
        let time = correlation_id.as_str().strip_prefix(id).and_then(|rest| rest.strip_prefix('@'));
        let Some(at) = time.and_then(Timestamp::parse).filter(|at| at.0 % MINUTE_MS == 0) else {
            return violation(9, format!("fired for {correlation_id}, which is not one of its times"));
        };
        let times = self.fired.entry(id.into()).or_default();
        let last = times.last().map(|(last, _)| *last);
        times.push((at, event.job_id));
        if times.iter().filter(|(other, _)| *other == at).count() > 1 {
            return violation(7, format!("created a second job for {at}"));
        }
        if last > Some(at) {
            return violation(5, format!("fired for {at} after {last:?}"));
        }
        if event.ts < at {
            return violation(9, format!("fired for {at} at {}", event.ts));
        }
        None
    }

    /// Compares the rows with the journal and with themselves as they were.
    pub(super) fn read(&mut self, store: &Store, now: Timestamp, now_ms: u64) -> Vec<Violation> {
        let mut violations = Vec::new();
        for automation in ready(store.automations(AutomationKind::Schedule)).unwrap_or_default() {
            let Automation::Schedule(row) = automation else { continue };
            let times = self.fired.get(&row.id).map(Vec::as_slice).unwrap_or_default();
            violations.extend(compare(&row, times));
            if let Some((before, count)) = self.rows.get(&row.id)
                && !self.is_changing(&row.id, now_ms)
            {
                violations.extend(lost(before, &row, &times[*count..], now));
            }
            self.rows.insert(row.id.clone(), (row, times.len()));
        }
        violations
    }

    /// Law 9: without faults, schedules fire within a second.
    pub(super) fn late(&self, now: Timestamp) -> Option<Violation> {
        let due = |row: &Schedule| row.next_at.map(|next| next.max(row.created_at));
        let is_late = |row: &Schedule| due(row).is_some_and(|due| due.0 + SWEEP_MS_MAX < now.0);
        let (row, _) = self.rows.values().find(|(row, _)| is_late(row))?;
        let what = format!("at {now} schedule {} of {:?} has not fired", row.id, row.next_at);
        Some(Violation::new(9, row.last_job, what))
    }
}

/// Law 6: the row is what the journal says.
fn compare(row: &Schedule, times: &[(Timestamp, JobId)]) -> Option<Violation> {
    let last = times.last();
    let same_job = row.last_job == last.map(|(_, job)| *job);
    let at = last.map(|(at, _)| *at);
    let is_past = row.last_at >= at && row.next_at.is_none_or(|next| Some(next) > at);
    let what = format!(
        "schedule {} has last job {:?}, last time {:?} and next time {:?}",
        row.id, row.last_job, row.last_at, row.next_at
    );
    let expected = Some(format!("the job and the time of {last:?}, and a later one"));
    (!same_job || !is_past).then(|| Violation {
        expected,
        ..Violation::new(6, row.last_job.or(last.map(|(_, job)| *job)), what)
    })
}

/// Between two reads the next time moved from one to another: those in between fired, except where a policy says otherwise.
fn lost(before: &Schedule, row: &Schedule, new: &[(Timestamp, JobId)], now: Timestamp) -> Option<Violation> {
    let (Some(due), Some(next)) = (before.next_at, row.next_at) else {
        let is_paused = before.next_at.is_none() && row.next_at.is_none();
        let what = format!("schedule {} fired while it was paused", row.id);
        return new.first().filter(|_| is_paused).map(|(_, job)| Violation::new(1, Some(*job), what));
    };
    let step = if row.plan.cron.starts_with("*/2 ") { 2 * MINUTE_MS } else { MINUTE_MS };
    let has_fired = |at: i64| new.iter().any(|(fired, _)| fired.0 == at);
    let times = || (due.0..next.0).step_by(step as usize);
    // A time that was missed needs no job by the policy `skip`.
    let required = |at: &i64| row.plan.misfire != Misfire::Skip || now.0 - at <= LATE_MS;
    let missing = match (row.plan.overlap, row.plan.misfire) {
        _ if due >= next => None,
        // The last job was unfinished, or the job was refused.
        _ if row.last_error.is_some() => None,
        (Overlap::Skip, _) => times().last().filter(required).filter(|_| new.is_empty()),
        (Overlap::Allow, Misfire::All) => times().find(|at| !has_fired(*at)),
        (Overlap::Allow, Misfire::Once | Misfire::Skip) => {
            times().last().filter(required).filter(|at| !has_fired(*at))
        }
    };
    let missing = Timestamp(missing?);
    let what = format!("schedule {} moved from {due} to {next} and created no job for {missing}", row.id);
    let job = row.last_job.or(new.last().map(|(_, job)| *job));
    Some(Violation {
        expected: Some(format!("one, by {:?}", row.plan.misfire)),
        ..Violation::new(10, job, what)
    })
}
