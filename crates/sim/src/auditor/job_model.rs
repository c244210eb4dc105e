//! The auditor's model of one job, built from its events and from replies, never from its row. The row is compared with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::auditor::Violation;
use crate::auditor::flow::KeysModel;
use crate::auditor::rules;
use crate::fixtures::TypeModel;
use crate::prelude::*;

#[derive(Debug)]
pub(super) struct JobModel {
    pub(super) kind: Arc<TypeModel>,
    pub(super) spec: Arc<Spec>,
    /// After all amendments, as the next two.
    pub(super) payload: Json,
    pub(super) priority: i32,
    pub(super) keys: KeysModel,
    pub(super) ranks: BTreeMap<StateName, usize>,
    pub(super) state: StateName,
    pub(super) phase: Phase,
    pub(super) seq: u32,
    pub(super) attempt: u32,
    pub(super) failed: u32,
    /// Whether the job waits after its attempt was counted in `failed`.
    pub(super) is_counted: bool,
    pub(super) fence: u64,
    pub(super) run_at: Timestamp,
    pub(super) updated_at: Timestamp,
    claimed_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    pub(super) completed_at: Option<Timestamp>,
    entered: BTreeMap<StateName, Timestamp>,
    pub(super) error: Option<JobError>,
    result: Option<Json>,
    pub(super) held: Option<LeaseModel>,
    pub(super) ended: Option<EndedLease>,
    /// When a soft cancel becomes hard: every possible value; `None` without a cancel.
    pub(super) graces: Vec<Option<i64>>,
    pub(super) timeout: Option<i64>,
    pub(super) due: Option<i64>,
    pub(super) steps: Vec<Transition>,
    pub(super) notes: u32,
    pub(super) was_active: bool,
    /// Its retention ended, and the row is deleted.
    pub(super) purged: bool,
    /// Requests without a reply.
    pub(super) in_flight: u32,
    /// When a reply last left the outcome unknown, in virtual milliseconds.
    pub(super) unknown_at_ms: Option<u64>,
}

/// The current lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaseModel {
    pub(super) worker: WorkerId,
    pub(super) fence: u64,
    /// The end of the lease and of the second missed heartbeat: every possible pair.
    pub(super) ends: Vec<(i64, i64)>,
}

impl LeaseModel {
    pub(super) fn holder(&self) -> Holder {
        Holder { worker: self.worker.clone(), fence: Fence(self.fence) }
    }
}

/// The last lease that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EndedLease {
    pub(super) worker: WorkerId,
    pub(super) fence: u64,
    pub(super) by: Trigger,
    pub(super) how: LeaseEnd,
}

#[derive(Clone, Debug)]
pub(super) struct Transition {
    pub(super) trigger: Trigger,
    pub(super) to: StateName,
    pub(super) ts: Timestamp,
    pub(super) by_clock: bool,
    /// The holder at that time.
    pub(super) holder: Option<Holder>,
}

impl JobModel {
    pub(super) fn new(kind: Arc<TypeModel>, spec: Arc<Spec>) -> Self {
        Self {
            payload: spec.payload.clone(),
            priority: spec.priority,
            keys: KeysModel::of(&spec, &spec.payload),
            ranks: rules::ranks(&kind.lifecycle),
            kind,
            state: "".into(),
            phase: Phase::Ready,
            seq: 0,
            attempt: 1,
            failed: 0,
            is_counted: false,
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
            unknown_at_ms: None,
            spec,
        }
    }

    pub(super) fn id(&self) -> JobId {
        self.spec.id
    }

    pub(super) fn violation(
        &self,
        law: u8,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) -> Violation {
        Violation { law, job: Some(self.id()), what: what.into(), expected: Some(expected.into()) }
    }

    pub(super) fn buckets(&self) -> Vec<(String, Option<String>)> {
        self.keys.demands.iter().map(|(bucket, _)| bucket.clone()).collect()
    }

    pub(super) fn is_held_by(&self, hold: &Hold) -> bool {
        self.held.as_ref().is_some_and(|held| held.fence == hold.fence.0 && held.worker == hold.worker)
    }

    /// Whether this was the last lease that ended.
    pub(super) fn was_held_by(&self, hold: &Hold) -> bool {
        self.ended.as_ref().is_some_and(|end| end.fence == hold.fence.0 && end.worker == hold.worker)
    }

    /// Applies an event.
    pub(super) fn apply(&mut self, event: &Event, running: i64) {
        if event.trigger == Trigger::Amend {
            return self.apply_amendment(event);
        }
        let facts = &event.facts;
        let holder = self.held.as_ref().map(LeaseModel::holder);
        let by_clock = event.actor == "clock";
        let (trigger, to, ts) = (event.trigger.clone(), event.to.clone(), event.ts);
        self.steps.push(Transition { trigger, to, ts, by_clock, holder });
        self.seq += 1;
        self.attempt = event.attempt;
        let counts = self.counts(event);
        self.failed += u32::from(counts);
        self.state = event.to.clone();
        let was_active = self.phase == Phase::Active;
        self.phase = rules::phase(&self.kind.lifecycle, &event.to).unwrap_or(facts.phase());
        self.is_counted = self.phase == Phase::Waiting && (self.is_counted || counts);
        self.run_at = facts.run_at.unwrap_or(self.run_at);
        self.due = facts.due.map(|due| due.0);
        self.timeout = self.kind.timeout(&event.to).map(|span| running + span.0 as i64);
        self.apply_to_lease(event, running);
        self.apply_to_times(event, was_active);
        if event.trigger == Trigger::Succeed {
            self.error = None;
        }
        self.error = facts.error.as_deref().cloned().or(self.error.take());
        self.result = facts.result.clone().or(self.result.take());
    }

    fn apply_to_lease(&mut self, event: &Event, running: i64) {
        if event.trigger == Trigger::Claim {
            let policy = &self.kind.policy;
            let ends = (running + policy.lease.0 as i64, running + 2 * policy.heartbeat.0 as i64);
            let worker = event.actor.to_string().trim_start_matches("worker:").into();
            self.fence += 1;
            self.held = Some(LeaseModel { worker, fence: self.fence, ends: vec![ends] });
        } else if self.phase.is_leased() {
            self.renew(running);
        } else if let Some(held) = self.held.take() {
            let (how, by) = (end_of(event, &held), event.trigger.clone());
            self.ended = Some(EndedLease { worker: held.worker, fence: held.fence, by, how });
        }
        if self.held.is_none() {
            self.graces = vec![None];
        }
    }

    fn apply_to_times(&mut self, event: &Event, was_active: bool) {
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

    /// A heartbeat was accepted: renews every possible pair of ends. The lease is renewed when half or less remains.
    pub(super) fn renew(&mut self, running: i64) {
        let lease = self.kind.policy.lease.0 as i64;
        let heartbeat_by = running + 2 * self.kind.policy.heartbeat.0 as i64;
        let Some(held) = &mut self.held else { return };
        for (ends, by) in &mut held.ends {
            *by = heartbeat_by;
            if (*ends - running).max(0) * 2 <= lease {
                *ends = running + lease;
            }
        }
        held.ends.sort_unstable();
        held.ends.dedup();
    }

    /// A heartbeat was accepted or not: both are possible.
    pub(super) fn perhaps_renew(&mut self, running: i64) {
        let before = self.held.as_ref().map(|held| held.ends.clone()).unwrap_or_default();
        self.renew(running);
        if let Some(held) = &mut self.held {
            held.ends.extend(before);
            held.ends.sort_unstable();
            held.ends.dedup();
        }
    }

    /// When its retention ends.
    pub(super) fn kept_until(&self) -> Option<Timestamp> {
        self.completed_at.map(|end| end + self.kind.lifecycle.retention.jobs)
    }

    /// Law 6: the row is what the history says.
    pub(super) fn compare(&mut self, row: &Job, now_ms: u64) -> Option<Violation> {
        let differs = self.difference(row).or_else(|| self.difference_of_leases(row, now_ms));
        differs.map(|(field, row, own)| {
            self.violation(6, format!("the row has {field} {row}"), format!("{own}, by the history"))
        })
    }

    fn difference(&self, row: &Job) -> Option<(&'static str, String, String)> {
        let entered: BTreeMap<StateName, Timestamp> = row.times.entered.iter().cloned().collect();
        let holder =
            row.lease.as_ref().map(|lease| Holder { worker: lease.worker.clone(), fence: lease.fence });
        let own_holder = self.held.as_ref().map(LeaseModel::holder);
        let shown = |value: &dyn std::fmt::Debug| format!("{value:?}");
        let current = self.held.as_ref().map(|held| &held.worker);
        let worker =
            current.or(self.ended.as_ref().map(|end| &end.worker)).filter(|_| self.phase != Phase::Ready);
        // Progress, which has no event, moves it in an active state.
        let has_progress = self.phase == Phase::Active && row.output.progress.is_some();
        let updated_at =
            if has_progress { row.times.updated_at.min(self.updated_at) } else { row.times.updated_at };
        let fields = [
            ("seq", shown(&row.seq), shown(&self.seq)),
            ("state", shown(&row.state), shown(&self.state)),
            ("phase", shown(&row.phase), shown(&self.phase)),
            ("attempt", shown(&row.attempt), shown(&self.attempt)),
            ("retry_count", shown(&row.retry_count), shown(&self.failed)),
            ("fence", shown(&row.fence.0), shown(&self.fence)),
            ("run_at", shown(&row.run_at), shown(&self.run_at)),
            ("payload", shown(row.payload()), shown(&self.payload)),
            ("priority", shown(&row.priority()), shown(&self.priority)),
            ("keys", shown(&KeysModel::of_row(row.flow())), shown(&self.keys)),
            ("updated_at", shown(&updated_at), shown(&self.updated_at)),
            ("claimed_at", shown(&row.times.claimed_at), shown(&self.claimed_at)),
            ("started_at", shown(&row.times.started_at), shown(&self.started_at)),
            ("completed_at", shown(&row.times.completed_at), shown(&self.completed_at)),
            ("entered", shown(&entered), shown(&self.entered)),
            ("error", shown(&row.output.error.as_deref()), shown(&self.error.as_ref())),
            ("result", shown(&row.output.result), shown(&self.result)),
            ("timeout", shown(&row.clocks.timeout.map(|at| at.0)), shown(&self.timeout)),
            ("due", shown(&row.clocks.due.map(|at| at.0)), shown(&self.due)),
            ("lease", shown(&holder), shown(&own_holder)),
            ("worker", shown(&row.worker()), shown(&worker)),
        ];
        fields.into_iter().find(|(_, row, own)| row != own)
    }

    /// Leases and cancels also change between events. The row then tells which of the possible values is the real one.
    fn difference_of_leases(&mut self, row: &Job, now_ms: u64) -> Option<(&'static str, String, String)> {
        if self.in_flight > 0 || self.unknown_at_ms.is_some_and(|at| now_ms <= at) {
            return None;
        }
        self.unknown_at_ms = None;
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
fn end_of(event: &Event, held: &LeaseModel) -> LeaseEnd {
    match event.trigger {
        Trigger::LeaseExpired | Trigger::Disconnected => LeaseEnd::Lost,
        _ if event.actor.to_string() == format!("worker:{}", held.worker) => LeaseEnd::Reported,
        _ => LeaseEnd::Revoked,
    }
}
