//! What if: how a recorded history would have ended under another version of its lifecycle.
//!
//! A replay of recorded triggers, not a simulation. What callers, workers and leases did is repeated in its order and at its times; whether a
//! rule allows it, and where it leads, is decided as for a live job. Timeouts and due times are not repeated: they fire when the
//! rules of the other version say so. What workers would have done differently is unknown.

use std::fmt;
use std::sync::Arc;

use crate::command::When;
use crate::command_origin::CommandOrigin;
use crate::decide::transition::TransitionRequest;
use crate::decide::{DecisionContext, clock, create};
use crate::event::Event;
use crate::id::{Actor, StateName};
use crate::job::{Clocks, Job, LeaseEnd, LifecycleRef, Spec};
use crate::job_type::Catalog;
use crate::lifecycle::{Lifecycle, Outcome, Phase, Trigger};
use crate::limits;
use crate::refusal::Refusal;
use crate::time::{Deadline, Millis, Now, Timestamp};
use crate::working_set::WorkingSet;

/// How a replay ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplayEnd {
    /// In a final state.
    Finished { state: StateName, outcome: Outcome },
    /// The history has no further event, and the job would be live.
    Unfinished { state: StateName },
    /// No rule allowed an event.
    Stopped(Obstacle),
}

/// Why a replay could not follow an event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Obstacle {
    pub trigger: Trigger,
    /// The state in which the replay was.
    pub state: StateName,
    /// The state that the recorded event left.
    pub recorded: StateName,
    /// The roles that may send the signal; empty if there is no rule.
    pub by: Vec<&'static str>,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trigger, state, recorded, by } = self;
        if !by.is_empty() {
            return write!(f, "`{trigger}` from `{state}` may be sent by {} only", by.join(", "));
        }
        write!(f, "no rule for `{trigger}` from `{state}`")?;
        if state == recorded { Ok(()) } else { write!(f, "; the recorded job was in `{recorded}`") }
    }
}

/// The result of one replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    pub end: ReplayEnd,
    /// The number of the event that could not be followed, or of the last one that was followed.
    pub seq: u32,
    /// Whether the job was final before the last event of a caller or worker.
    pub is_early: bool,
    /// The job after the replay.
    pub job: Job,
}

/// The versions that a history is compared under, and the types in force.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'a> {
    pub catalog: &'a Catalog,
    /// The version that the job followed.
    pub old: &'a Lifecycle,
    pub new: &'a Lifecycle,
}

impl Versions<'_> {
    /// Replays the numbered events of a job, from the first one.
    pub fn replay(self, spec: &Spec, events: &[Event]) -> Replayed {
        let events: Vec<&Event> = events.iter().filter(|event| event.seq.is_some()).collect();
        let times = self.times(spec, &events);
        let mut set = WorkingSet::default();
        let job = Job::blank(Arc::new(self.spec(spec)));
        let context = DecisionContext { set: &mut set, catalog: self.catalog, now: Now::default() };
        let mut replay = Replay { context, lifecycle: self.new, job };
        let mut seq = 0;
        for (event, now) in events.iter().zip(times) {
            let is_clock = matches!(event.trigger, Trigger::Timeout | Trigger::Due | Trigger::Amend);
            if replay.job.phase.is_final() && is_clock {
                continue;
            }
            let followed = replay.follow(event, now);
            if let Ok(false) = followed {
                return replay.ended(seq, true);
            }
            if let Err(refusal) = followed {
                let by = match refusal {
                    Refusal::RoleNotPermitted { by, .. } => by.iter().map(|role| role.as_str()).collect(),
                    _ => Vec::new(),
                };
                let (trigger, state) = (event.trigger.clone(), replay.job.state.clone());
                let recorded = event.from.clone().unwrap_or_else(|| state.clone());
                let end = ReplayEnd::Stopped(Obstacle { trigger, state, recorded, by });
                let seq = event.seq.unwrap_or_default();
                return Replayed { end, seq, is_early: false, job: replay.job };
            }
            seq = event.seq.unwrap_or_default();
        }
        replay.ended(seq, false)
    }

    /// The request, as if it had been created under the new version.
    fn spec(self, spec: &Spec) -> Spec {
        let lifecycle = LifecycleRef { name: self.new.name.clone(), version: self.new.version };
        Spec { lifecycle, max_attempts: self.max_attempts(spec), ..spec.clone() }
    }

    /// The number in the new file, unless the type or the caller has set another one than the old file.
    fn max_attempts(self, spec: &Spec) -> u32 {
        let job_type = self.catalog.job_type(spec.job_type.as_str());
        let follows = job_type.filter(|job_type| job_type.lifecycle.name == self.new.name);
        let is_set = follows.is_some_and(|job_type| {
            let declared = self.catalog.lifecycle(&job_type.lifecycle);
            declared.is_some_and(|it| it.policy.max_attempts != job_type.policy.max_attempts)
        });
        let is_file = spec.max_attempts == self.old.policy.max_attempts && !is_set;
        if is_file { self.new.policy.max_attempts } else { spec.max_attempts }
    }

    /// The store's clock at each event. A lease that is granted or expires, a timeout that begins and a clock that fires record the
    /// running time; otherwise no outage is assumed since the event before, unless a clock that did not fire proves one.
    fn times(self, spec: &Spec, events: &[&Event]) -> Vec<Now> {
        let mut set = WorkingSet::default();
        let context = DecisionContext { set: &mut set, catalog: self.catalog, now: Now::default() };
        let span = |event: &Event| context.timeout(&spec.job_type, self.old, event.to.as_str());
        let mut clocks = Clocks::default();
        let mut recorded = Vec::with_capacity(events.len());
        for event in events {
            let unfired = clocks.timeout.into_iter().chain(clocks.due).min();
            recorded.push((running(event, clocks, span(event)), unfired));
            let timeout = if event.trigger == Trigger::Amend { clocks.timeout } else { event.facts.timeout };
            clocks = Clocks { timeout, due: event.facts.due };
        }
        let outage = |event: &Event, running: Deadline| event.ts.0.saturating_sub(running.0).max(0);
        let known =
            events.iter().zip(&recorded).find_map(|(event, (running, _))| Some(outage(event, (*running)?)));
        let mut stopped = known.unwrap_or_default();
        let time = |(event, (running, unfired)): (&&Event, &(Option<Deadline>, Option<Deadline>))| {
            let assumed = Deadline(event.ts.0 - stopped);
            let latest = unfired.map_or(assumed, |deadline| assumed.min(before(deadline, Millis(1))));
            stopped = outage(event, running.unwrap_or(latest));
            Now { at: event.ts, stopped: Millis(stopped.unsigned_abs()) }
        };
        events.iter().zip(&recorded).map(time).collect()
    }
}

/// The running time of an event, if its record shows it. `clocks` are those of the state that it leaves, `span` is the timeout of the state
/// that it enters, as time since 0.
fn running(event: &Event, clocks: Clocks, span: Option<Deadline>) -> Option<Deadline> {
    let facts = &event.facts;
    let fired = match event.trigger {
        Trigger::Timeout => clocks.timeout,
        Trigger::Due => clocks.due,
        Trigger::LeaseExpired => facts.lease_end.map(|ended| ended.expires),
        _ => None,
    };
    let granted = facts.lease.as_ref().map(|lease| before(lease.ends, lease.ttl));
    let begun = facts.timeout.zip(span);
    let begun = begun.map(|(deadline, span)| before(deadline, Millis(span.0.unsigned_abs())));
    fired.or(granted).or(begun)
}

/// A time on the same clock, this long before.
fn before(deadline: Deadline, span: Millis) -> Deadline {
    Deadline(deadline.0.saturating_sub_unsigned(span.0))
}

/// A job while its history is replayed.
struct Replay<'a> {
    context: DecisionContext<'a>,
    lifecycle: &'a Lifecycle,
    job: Job,
}

impl Replay<'_> {
    fn ended(self, seq: u32, is_early: bool) -> Replayed {
        let state = self.job.state.clone();
        let end = match self.job.phase {
            Phase::Final(outcome) => ReplayEnd::Finished { state, outcome },
            Phase::Ready | Phase::Held | Phase::Active | Phase::Waiting => ReplayEnd::Unfinished { state },
        };
        Replayed { end, seq, is_early, job: self.job }
    }

    /// Follows one recorded event, after the clocks of the new rules that were due before it. `false` if the job is final by then.
    fn follow(&mut self, event: &Event, now: Now) -> Result<bool, Refusal> {
        self.context.now = now;
        if event.trigger == Trigger::Create {
            let by = origin(event);
            let run_at = event.facts.run_at.filter(|at| *at != Timestamp::NEVER);
            let when = run_at.map_or(When::Now, When::At);
            let first = create::first_event(&self.context, &self.job, self.lifecycle, &by, when);
            self.job.evolve(&first);
            self.catch_up(now.running())?;
            return Ok(true);
        }
        // A lease that expires goes before other clocks of the same time.
        let is_lease =
            event.actor == Actor::clock() && !matches!(event.trigger, Trigger::Timeout | Trigger::Due);
        self.catch_up(before(now.running(), Millis(u64::from(is_lease))))?;
        match event.trigger {
            // An amendment moves no state, and a timeout fires by the new rules only.
            Trigger::Amend | Trigger::Timeout => {}
            // The recorded delay may have been the worker's.
            Trigger::Due if self.job.clocks.due.is_none() => {}
            Trigger::Due => self.apply(clock::due(&self.job))?,
            _ if self.job.phase.is_final() => return Ok(false),
            _ => self.apply(request(event))?,
        }
        self.catch_up(now.running())?;
        Ok(true)
    }

    fn apply(&mut self, request: TransitionRequest) -> Result<(), Refusal> {
        let (_, event) = self.context.next_event(&self.job, self.lifecycle, request)?;
        self.job.evolve(&event);
        Ok(())
    }

    /// Fires the clocks of the state that are due until a time.
    fn catch_up(&mut self, until: Deadline) -> Result<(), Refusal> {
        let present = self.context.now;
        for _ in 0..limits::OVERDUE_MAX {
            let clocks = self.job.clocks;
            let Some(deadline) = clocks.timeout.into_iter().chain(clocks.due).min() else { break };
            if deadline > until {
                break;
            }
            let is_timeout = clocks.timeout == Some(deadline);
            let fired = if is_timeout { clock::timed_out(&self.job) } else { clock::due(&self.job) };
            let at = present.calendar(deadline).max(self.job.times.updated_at).min(present.at);
            self.context.now = present.with(at);
            let applied = self.apply(fired);
            self.context.now = present;
            applied?;
        }
        Ok(())
    }
}

fn origin(event: &Event) -> CommandOrigin {
    CommandOrigin { credential: event.facts.credential.clone(), ..event.actor.clone().into() }
}

/// The request that an event was the answer to.
fn request(event: &Event) -> TransitionRequest {
    let facts = &event.facts;
    TransitionRequest {
        cause: event.cause.clone(),
        error: facts.error.as_deref().cloned(),
        result: facts.result.clone(),
        checkpoint: facts.checkpoint.clone(),
        note: facts.note.clone(),
        lease: facts.lease.as_deref().cloned(),
        reported: facts.lease_end.is_some_and(|ended| ended.how == LeaseEnd::Reported),
        ..TransitionRequest::new(event.trigger.clone(), origin(event))
    }
}
