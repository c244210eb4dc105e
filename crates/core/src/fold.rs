//! Verification (law 6): folds a job's events and reports each difference from its row and each broken law.
//! Used by `tenure verify`, the simulator and the crash tests.

use std::fmt;
use std::sync::Arc;

use crate::credit::{Account, LedgerLine, Movement};
use crate::dead_letter::DeadLetter;
use crate::decide::amend;
use crate::event::Event;
use crate::id::{JobId, UserId};
use crate::job::{Job, Spec, Times};
use crate::lifecycle::{Lifecycle, Outcome, Phase, Trigger};

/// All stored records of one job.
#[derive(Clone, Debug)]
pub struct Record {
    pub job: Arc<Job>,
    /// In journal order.
    pub events: Vec<Event>,
    pub dead_letter: Option<DeadLetter>,
    pub ledger: Vec<LedgerLine>,
    /// The number of log lines, and the number of the last line.
    pub logs: (u64, u64),
}

impl Record {
    /// Bytes in memory, about.
    pub fn bytes(&self) -> usize {
        self.job.bytes() + self.events.iter().map(Event::bytes).sum::<usize>()
    }
}

/// A broken law.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// `None` for an account or the store.
    pub job: Option<JobId>,
    pub law: u8,
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.job {
            Some(job) => write!(f, "job {job}: law {}: {}", self.law, self.what),
            None => write!(f, "law {}: {}", self.law, self.what),
        }
    }
}

/// Folds a history: the job after `until` transitions (`None`: all), or why it cannot be folded.
pub fn fold(spec: Arc<Spec>, events: &[Event], until: Option<u32>) -> Result<Job, Difference> {
    let mut job = Job::blank(spec);
    for event in events.iter().filter(|event| event.seq.is_some()) {
        if until.is_some_and(|until| job.seq >= until) {
            break;
        }
        step(&mut job, event)?;
    }
    Ok(job)
}

/// Folds the next numbered event into a job, or says why it cannot be the next.
pub fn step(job: &mut Job, event: &Event) -> Result<(), Difference> {
    let broken = |law, what| Err(Difference { job: Some(event.job_id), law, what });
    if event.seq != Some(job.seq + 1) {
        let seq = event.seq.unwrap_or_default();
        return broken(5, format!("event {seq} follows event {}", job.seq));
    }
    if event.facts.lease_end.is_some() && job.lease.is_none() {
        return broken(4, format!("event {} ends a lease that no worker holds", job.seq + 1));
    }
    job.evolve(event);
    Ok(())
}

/// Law 6: the differences between a row and its folded history, up to `until` transitions.
pub fn differences(job: &Job, events: &[Event], until: Option<u32>) -> Vec<Difference> {
    let mut found = Vec::new();
    match fold(Arc::clone(&job.spec), events, until) {
        Ok(folded) => compare(job, &folded, &mut |law, what| {
            found.push(Difference { job: Some(job.id()), law, what });
        }),
        Err(difference) => found.push(difference),
    }
    found
}

/// Checks one job against every law that its records can break.
pub fn verify(record: &Record, lifecycle: Option<&Lifecycle>) -> Vec<Difference> {
    let job = &record.job;
    let mut found = Vec::new();
    let mut say = |law: u8, what: String| found.push(Difference { job: Some(job.id()), law, what });
    let Some(lifecycle) = lifecycle else {
        let key = &job.spec.lifecycle;
        say(1, format!("its lifecycle {} version {} is not in the store", key.name, key.version));
        return found;
    };
    check_path(record, lifecycle, &mut say);
    for difference in differences(job, &record.events, None) {
        say(difference.law, difference.what);
    }
    check_standing(job, lifecycle, &mut say);
    check_dead_letter(record, &mut say);
    check_credits(record, lifecycle, &mut say);
    if record.logs != (job.output.log_count, job.output.log_count) {
        let ((count, last), counted) = (record.logs, job.output.log_count);
        say(10, format!("it counts {counted} log lines, and {count} are there, the last with number {last}"));
    }
    found
}

/// Laws 1, 2, 3 and 5 along the history.
fn check_path(record: &Record, lifecycle: &Lifecycle, say: &mut impl FnMut(u8, String)) {
    let mut before: Option<&Event> = None;
    for event in &record.events {
        let Some(seq) = event.seq else {
            if before.is_none_or(|last| last.seq != Some(record.job.seq)) {
                say(5, format!("the note {} stands before the end", event.name));
            }
            continue;
        };
        if !is_amendment(event) && !is_declared(lifecycle, event) {
            let (Event { name, to, trigger, .. }, from) = (event, origin(event));
            say(1, format!("event {seq} ({name}): no rule leads from {from} to {to} by {trigger}"));
        }
        if before.is_none() && event.attempt != u32::from(event.facts.phase() == Phase::Ready) {
            say(3, format!("event {seq} is of attempt {}, and no attempt was before it", event.attempt));
        }
        if let Some(last) = before {
            check_transition(lifecycle, last, event, seq, say);
        }
        before = Some(event);
    }
}

fn check_transition(
    lifecycle: &Lifecycle,
    last: &Event,
    event: &Event,
    seq: u32,
    say: &mut impl FnMut(u8, String),
) {
    if event.from.as_ref() != Some(&last.to) {
        say(1, format!("event {seq} leaves {}, and the job was {}", origin(event), last.to));
    }
    if last.facts.phase().is_final() {
        say(2, format!("event {seq} leaves the final state {}", last.to));
    }
    if event.ts < last.ts {
        say(5, format!("event {seq} is earlier than the one before it"));
    }
    if is_amendment(event) {
        if event.attempt != last.attempt || event.facts.phase() != last.facts.phase() {
            say(3, format!("event {seq} is an amendment, and moves the job"));
        }
        return;
    }
    let [was_rank, rank] = [last, event].map(|it| lifecycle.state(&it.to).map_or(0, |state| state.rank));
    let (was, now) = (last.attempt, event.attempt);
    if (now, rank) <= (was, was_rank) {
        let path = format!("from attempt {was}, rank {was_rank} to attempt {now}, rank {rank}");
        say(3, format!("event {seq} goes {path}"));
    }
    let returns = event.facts.phase() == Phase::Ready;
    if now != was + u32::from(returns) {
        say(3, format!("event {seq} is of attempt {now}, and the one before of attempt {was}"));
    }
}

/// The state that an event leaves.
fn origin(event: &Event) -> &str {
    event.from.as_deref().unwrap_or("nothing")
}

/// An amendment stays in its state, which no worker holds.
fn is_amendment(event: &Event) -> bool {
    event.trigger == Trigger::Amend
        && event.name == amend::EVENT
        && event.from.as_ref() == Some(&event.to)
        && matches!(event.facts.phase(), Phase::Ready | Phase::Waiting)
}

fn is_declared(lifecycle: &Lifecycle, event: &Event) -> bool {
    let phase = lifecycle.state(event.to.as_str()).map(|state| state.phase);
    let by_rule = lifecycle.rules.iter().any(|rule| {
        rule.on == event.trigger && rule.from == event.from && rule.to == event.to && rule.event == event.name
    });
    by_rule && phase == Some(event.facts.phase())
}

/// Law 6: the folded job equals the row.
fn compare(job: &Job, folded: &Job, say: &mut impl FnMut(u8, String)) {
    let mut differ = |what: &str, row: String, history: String| {
        if row != history {
            say(6, format!("{what} is {row} in the row and {history} by its history"));
        }
    };
    differ("seq", job.seq.to_string(), folded.seq.to_string());
    differ("state", job.state.to_string(), folded.state.to_string());
    differ("phase", format!("{:?}", job.phase), format!("{:?}", folded.phase));
    differ("attempt", job.attempt.to_string(), folded.attempt.to_string());
    differ("retry_count", job.retry_count.to_string(), folded.retry_count.to_string());
    differ("fence", job.fence.to_string(), folded.fence.to_string());
    differ("run_at", job.run_at.to_string(), folded.run_at.to_string());
    differ("clocks", format!("{:?}", job.clocks), format!("{:?}", folded.clocks));
    differ("times", format!("{:?}", times_without_progress(job, folded)), format!("{:?}", folded.times));
    differ("error", format!("{:?}", job.output.error), format!("{:?}", folded.output.error));
    differ("result", format!("{:?}", job.output.result), format!("{:?}", folded.output.result));
    differ("checkpoint", format!("{:?}", job.output.checkpoint), format!("{:?}", folded.output.checkpoint));
    differ("amendments", format!("{:?}", job.amended), format!("{:?}", folded.amended));
    differ("last lease", format!("{:?}", job.last_lease), format!("{:?}", folded.last_lease));
    let holder = |job: &Job| {
        job.lease.as_ref().map(|lease| (lease.fence, lease.worker.clone(), lease.credential.clone()))
    };
    differ("lease", format!("{:?}", holder(job)), format!("{:?}", holder(folded)));
}

/// Progress, which has no event, moves `updated_at` of an active job.
fn times_without_progress(job: &Job, folded: &Job) -> Times {
    let (row, last) = (job.times.clone(), folded.times.updated_at);
    let is_later = job.phase == Phase::Active && job.output.progress.is_some() && last < row.updated_at;
    if is_later { Times { updated_at: last, ..row } } else { row }
}

/// Invariants of a single row.
fn check_standing(job: &Job, lifecycle: &Lifecycle, say: &mut impl FnMut(u8, String)) {
    match lifecycle.state(job.state.as_str()) {
        None => say(1, format!("its lifecycle has no state {}", job.state)),
        Some(state) if state.phase != job.phase => {
            say(1, format!("state {} is {:?}, and the row says {:?}", job.state, state.phase, job.phase));
        }
        Some(_) => {}
    }
    if job.phase.is_leased() != job.lease.is_some() {
        let leased = if job.lease.is_some() { "and leased" } else { "without a lease" };
        say(4, format!("it is {} {leased}", job.phase.as_str()));
    }
    if job.phase.is_final() != job.times.completed_at.is_some() {
        say(2, format!("it is {} and completed_at is {:?}", job.phase.as_str(), job.times.completed_at));
    }
    let failed = matches!(job.phase, Phase::Final(Outcome::Failed));
    if failed && job.output.error.is_none() {
        say(10, "it failed without an error".to_owned());
    }
}

fn check_dead_letter(record: &Record, say: &mut impl FnMut(u8, String)) {
    let job = &record.job;
    let failed_compensation = job.spec.links.compensates.is_some()
        && matches!(job.phase, Phase::Final(outcome) if outcome != Outcome::Succeeded);
    let wanted = matches!(job.phase, Phase::Final(Outcome::Dead)) || failed_compensation;
    match (&record.dead_letter, wanted) {
        (None, true) => say(10, "it is dead, and there is no dead letter".to_owned()),
        (Some(_), false) => say(10, format!("it is {}, and there is a dead letter", job.state)),
        (Some(letter), true) if letter.attempts != job.attempt => {
            let (counted, had) = (letter.attempts, job.attempt);
            say(10, format!("its dead letter counts {counted} attempts, and it had {had}"));
        }
        (Some(_), true) | (None, false) => {}
    }
}

/// A reservation is settled or refunded exactly once, when the job is final.
fn check_credits(record: &Record, lifecycle: &Lifecycle, say: &mut impl FnMut(u8, String)) {
    let job = &record.job;
    let costs = usize::from(job.spec.cost > 0);
    let settles = lifecycle.credits.as_ref().is_some_and(|credits| credits.settle.contains(&job.state));
    let over = costs * usize::from(job.phase.is_final());
    let expected = [
        (Movement::Reserve, costs),
        (Movement::Settle, over * usize::from(settles)),
        (Movement::Refund, over * usize::from(!settles)),
    ];
    for (kind, times) in expected {
        let count = record.ledger.iter().filter(|line| line.kind == kind).count();
        if count != times {
            say(7, format!("the ledger has {count} {kind} lines for it, and {times} belong there"));
        }
    }
    if record.ledger.iter().any(|line| line.amount != job.spec.cost) {
        say(7, format!("the ledger moves another amount than its cost of {}", job.spec.cost));
    }
}

/// The differences between a stored account and its ledger.
pub fn verify_account(user: &UserId, stored: Account, sums: &[(Movement, u64)]) -> Vec<Difference> {
    let broken = |what: String| vec![Difference { job: None, law: 7, what }];
    let Some(added) = Account::added_up(sums) else {
        return broken(format!("account {user}: more was settled and refunded than was ever reserved"));
    };
    if added != stored {
        return broken(format!("account {user} is {stored:?}, and its ledger adds up to {added:?}"));
    }
    if stored.granted < stored.reserved + stored.spent {
        return broken(format!("account {user} is overdrawn: {stored:?}"));
    }
    Vec::new()
}
