//! One job as the auditor knows it: from its events and from what was answered, never from its row. The row is then
//! compared with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::event::Event;
use tenure_core::id::{JobId, Name};
use tenure_core::job::{Job, JobError, LeaseEnd, Spec};
use tenure_core::json::Json;
use tenure_core::lifecycle::{Phase, Trigger};
use tenure_core::time::Timestamp;

use crate::auditor::Violation;
use crate::auditor::rules;
use crate::cast::Kind;

/// Where a job stands.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) kind: Arc<Kind>,
    pub(super) spec: Arc<Spec>,
    pub(super) ranks: BTreeMap<Name, usize>,
    pub(super) state: Name,
    pub(super) phase: Phase,
    pub(super) seq: u32,
    pub(super) attempt: u32,
    pub(super) failed: u32,
    pub(super) fence: u64,
    pub(super) run_at: Timestamp,
    pub(super) updated_at: Timestamp,
    claimed_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    pub(super) completed_at: Option<Timestamp>,
    entered: BTreeMap<Name, Timestamp>,
    pub(super) error: Option<JobError>,
    result: Option<Json>,
    pub(super) held: Option<Held>,
    pub(super) ended: Option<Ended>,
    /// When a soft cancel becomes hard: every value that is possible, nothing asked among them.
    pub(super) graces: Vec<Option<i64>>,
    pub(super) timeout: Option<i64>,
    pub(super) due: Option<i64>,
    pub(super) steps: Vec<Step>,
    pub(super) notes: u32,
    pub(super) was_active: bool,
    /// Its retention was over, and it is gone.
    pub(super) purged: bool,
    /// Requests about it that a node has and has not answered.
    pub(super) in_flight: u32,
    /// When an answer last left open what was done, in virtual milliseconds.
    pub(super) unsure_ms: Option<u64>,
}

/// The live lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) worker: Name,
    pub(super) fence: u64,
    /// The lease's end and the second missed heartbeat: every pair that is possible.
    pub(super) ends: Vec<(i64, i64)>,
}

/// The last lease that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) worker: Name,
    pub(super) fence: u64,
    pub(super) by: Trigger,
    pub(super) how: LeaseEnd,
}

/// One transition.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) trigger: Trigger,
    pub(super) to: Name,
    pub(super) ts: Timestamp,
    pub(super) by_clock: bool,
    /// Who held the job when it happened.
    pub(super) holder: Option<(Name, u64)>,
}

impl Track {
    pub(super) fn new(kind: Arc<Kind>, spec: Arc<Spec>) -> Self {
        Self {
            ranks: rules::ranks(&kind.lifecycle),
            kind,
            state: "".into(),
            phase: Phase::Ready,
            seq: 0,
            attempt: 1,
            failed: 0,
            fence: 0,
            run_at: spec.created_at,
            updated_at: spec.created_at,
            claimed_at: None,
            started_at: None,
            completed_at: None,
            entered: BTreeMap::new(),
            error: None,
            result: None,
            held: None,
            ended: None,
            graces: vec![None],
            timeout: None,
            due: None,
            steps: Vec::new(),
            notes: 0,
            was_active: false,
            purged: false,
            in_flight: 0,
            unsure_ms: None,
            spec,
        }
    }

    pub(super) fn id(&self) -> JobId {
        self.spec.id
    }

    /// A violation by this job.
    pub(super) fn breaks(&self, law: u8, what: impl Into<String>, expected: impl Into<String>) -> Violation {
        Violation { law, job: Some(self.id()), what: what.into(), expected: Some(expected.into()) }
    }

    /// Takes an event that was found lawful (or not: then the rest of the story is told as well as it can be).
    pub(super) fn take(&mut self, event: &Event, stopped: i64) {
        let facts = &event.facts;
        let holder = self.held.as_ref().map(|held| (held.worker.clone(), held.fence));
        let by_clock = event.actor.to_string() == "clock";
        let (trigger, to, ts) = (event.trigger.clone(), event.to.clone(), event.ts);
        self.steps.push(Step { trigger, to, ts, by_clock, holder });
        self.seq += 1;
        self.attempt = event.attempt;
        self.failed += u32::from(rules::fails(&event.trigger));
        self.state = event.to.clone();
        let was_active = self.phase == Phase::Active;
        self.phase = rules::phase(&self.kind.lifecycle, &event.to).unwrap_or(facts.phase());
        self.run_at = facts.run_at.unwrap_or(self.run_at);
        self.due = facts.due.map(|due| due.0);
        self.timeout = self.kind.timeout(&event.to).map(|span| ts.0 - stopped + span.0 as i64);
        self.take_lease(event, stopped);
        self.take_times(event, was_active);
        if event.trigger == Trigger::Succeed {
            self.error = None;
        }
        self.error = facts.error.as_deref().cloned().or(self.error.take());
        self.result = facts.result.clone().or(self.result.take());
    }

    fn take_lease(&mut self, event: &Event, stopped: i64) {
        let running = event.ts.0 - stopped;
        if event.trigger == Trigger::Claim {
            let policy = &self.kind.policy;
            let ends = (running + policy.lease.0 as i64, running + 2 * policy.heartbeat.0 as i64);
            let worker = event.actor.to_string().trim_start_matches("worker:").into();
            self.fence += 1;
            self.held = Some(Held { worker, fence: self.fence, ends: vec![ends] });
        } else if self.phase.is_leased() {
            self.beat(running);
        } else if let Some(held) = self.held.take() {
            let how = end_of(event, &held);
            self.ended =
                Some(Ended { worker: held.worker, fence: held.fence, by: event.trigger.clone(), how });
        }
        if self.held.is_none() {
            self.graces = vec![None];
        }
    }

    fn take_times(&mut self, event: &Event, was_active: bool) {
        self.updated_at = event.ts;
        if self.phase == Phase::Ready {
            (self.claimed_at, self.started_at) = (None, None);
        }
        if event.trigger == Trigger::Claim {
            self.claimed_at = Some(event.ts);
        }
        if self.phase == Phase::Active && !was_active {
            self.started_at = Some(event.ts);
        }
        self.was_active |= self.phase == Phase::Active;
        self.completed_at = self.phase.is_final().then_some(event.ts);
        self.entered.insert(event.to.clone(), event.ts);
    }

    /// The holder was heard: every possible pair of ends moves on.
    pub(super) fn beat(&mut self, running: i64) {
        let ends = self.held.as_ref().map(|held| held.ends.clone()).unwrap_or_default();
        let beaten: Vec<_> = ends.into_iter().map(|pair| self.beaten(pair, running)).collect();
        if let Some(held) = &mut self.held {
            held.ends = beaten;
            held.ends.sort_unstable();
            held.ends.dedup();
        }
    }

    /// Perhaps the holder was heard.
    pub(super) fn perhaps_beat(&mut self, running: i64) {
        let before = self.held.as_ref().map(|held| held.ends.clone()).unwrap_or_default();
        self.beat(running);
        if let Some(held) = &mut self.held {
            held.ends.extend(before);
            held.ends.sort_unstable();
            held.ends.dedup();
        }
    }

    /// Renewed when half of the lease or less remains.
    fn beaten(&self, (ends, _): (i64, i64), running: i64) -> (i64, i64) {
        let lease = self.kind.policy.lease.0 as i64;
        let renews = (ends - running).max(0) * 2 <= lease;
        (if renews { running + lease } else { ends }, running + 2 * self.kind.policy.heartbeat.0 as i64)
    }

    /// When its retention is over.
    pub(super) fn kept_until(&self) -> Option<Timestamp> {
        self.completed_at.map(|end| end + self.kind.lifecycle.retention.jobs)
    }

    /// Law 6: what the row says and the history does not.
    pub(super) fn compare(&mut self, row: &Job, now_ms: u64) -> Option<Violation> {
        let differs = self.difference(row).or_else(|| self.difference_of_leases(row, now_ms));
        differs.map(|(what, row, own)| {
            self.breaks(6, format!("the row says {what} {row}"), format!("{own}, by its history"))
        })
    }

    fn difference(&self, row: &Job) -> Option<(&'static str, String, String)> {
        let entered: BTreeMap<Name, Timestamp> = row.times.entered.iter().cloned().collect();
        let holder = row.lease.as_ref().map(|lease| (lease.worker.clone(), lease.fence.0));
        let own_holder = self.held.as_ref().map(|held| (held.worker.clone(), held.fence));
        let shown = |value: &dyn std::fmt::Debug| format!("{value:?}");
        let worker = (self.phase != Phase::Ready)
            .then(|| {
                own_holder
                    .clone()
                    .map(|(worker, _)| worker)
                    .or(self.ended.as_ref().map(|end| end.worker.clone()))
            })
            .flatten();
        let fields = [
            ("seq", shown(&row.seq), shown(&self.seq)),
            ("state", shown(&row.state), shown(&self.state)),
            ("phase", shown(&row.phase), shown(&self.phase)),
            ("attempt", shown(&row.attempt), shown(&self.attempt)),
            ("retry_count", shown(&row.retry_count), shown(&self.failed)),
            ("fence", shown(&row.fence.0), shown(&self.fence)),
            ("run_at", shown(&row.run_at), shown(&self.run_at)),
            ("updated_at", shown(&row.times.updated_at), shown(&self.updated_at)),
            ("claimed_at", shown(&row.times.claimed_at), shown(&self.claimed_at)),
            ("started_at", shown(&row.times.started_at), shown(&self.started_at)),
            ("completed_at", shown(&row.times.completed_at), shown(&self.completed_at)),
            ("entered", shown(&entered), shown(&self.entered)),
            ("error", shown(&row.output.error.as_deref()), shown(&self.error.as_ref())),
            ("result", shown(&row.output.result), shown(&self.result)),
            ("timeout", shown(&row.clocks.timeout.map(|at| at.0)), shown(&self.timeout)),
            ("due", shown(&row.clocks.due.map(|at| at.0)), shown(&self.due)),
            ("lease", shown(&holder), shown(&own_holder)),
            ("worker", shown(&row.worker()), shown(&worker.as_ref())),
        ];
        fields.into_iter().find(|(_, row, own)| row != own)
    }

    /// Leases and cancels also change between events. What was possible becomes certain by looking.
    fn difference_of_leases(&mut self, row: &Job, now_ms: u64) -> Option<(&'static str, String, String)> {
        if self.in_flight > 0 || self.unsure_ms.is_some_and(|at| now_ms <= at) {
            return None;
        }
        self.unsure_ms = None;
        if let (Some(lease), Some(held)) = (&row.lease, &mut self.held) {
            let ends = (lease.ends.0, lease.beat_by.0);
            if !held.ends.contains(&ends) {
                return Some(("the lease's ends", format!("{ends:?}"), format!("{:?}", held.ends)));
            }
            held.ends = vec![ends];
        }
        let grace = row.cancel.as_ref().map(|cancel| cancel.hard_at.0);
        if !self.graces.contains(&grace) {
            return Some(("a cancel's grace", format!("{grace:?}"), format!("{:?}", self.graces)));
        }
        self.graces = vec![grace];
        None
    }
}

/// How this event ends the lease.
fn end_of(event: &Event, held: &Held) -> LeaseEnd {
    match event.trigger {
        Trigger::LeaseExpired | Trigger::Disconnected => LeaseEnd::Lost,
        _ if event.actor.to_string() == format!("worker:{}", held.worker) => LeaseEnd::Reported,
        _ => LeaseEnd::Revoked,
    }
}
