//! Leases (law 4): every verb that needs the lease is checked here first.

use crate::command::{Hold, Holder};
use crate::command_origin::CommandOrigin;
use crate::decide::{DecisionContext, invalid_transition};
use crate::event::{Signal, Telemetry};
use crate::id::{Fence, JobId, Name, WorkerId};
use crate::job::{Job, LeaseEnd};
use crate::lifecycle::{Lifecycle, Retention, Trigger};
use crate::refusal::{ConflictCause, Refusal};

/// What a caller presents as the holder of a lease. The worker's name is no proof of identity: the credential is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presented<'a> {
    worker: &'a WorkerId,
    pub(crate) fence: Fence,
    credential: Option<&'a Name>,
}

impl<'a> Presented<'a> {
    pub(crate) fn by(by: &'a CommandOrigin, worker: &'a WorkerId, fence: Fence) -> Self {
        Self { worker, fence, credential: by.credential.as_ref() }
    }

    pub(crate) fn holder(by: &'a CommandOrigin, Holder { worker, fence }: &'a Holder) -> Self {
        Self::by(by, worker, *fence)
    }

    pub(crate) fn hold(by: &'a CommandOrigin, Hold { worker, fence, .. }: &'a Hold) -> Self {
        Self::by(by, worker, *fence)
    }

    /// Whether it is the live lease.
    pub(crate) fn holds(&self, job: &Job) -> bool {
        job.lease.as_ref().is_some_and(|lease| {
            lease.fence == self.fence && lease.worker == *self.worker && lease.admits(self.credential)
        })
    }

    /// Whether it is the last lease that ended.
    pub(crate) fn held_last(&self, job: &Job) -> bool {
        job.last_lease.as_ref().is_some_and(|ended| {
            ended.fence == self.fence && ended.worker == *self.worker && ended.admits(self.credential)
        })
    }
}

/// Refuses a caller without the live lease, whatever the rules say.
pub(crate) fn check(job: &Job, presented: &Presented<'_>) -> Result<(), Refusal> {
    if presented.holds(job) { Ok(()) } else { Err(conflict(job, Some(presented.fence))) }
}

/// The refusal for a caller without the live lease: by the presented fence first, then by the rules.
pub(crate) fn refuse(job: &Job, lifecycle: &Lifecycle, fence: Option<Fence>, trigger: &Trigger) -> Refusal {
    let was_granted = fence.is_some_and(|fence| (Fence(1)..=job.fence).contains(&fence));
    if !was_granted && !lifecycle.has_rule(job.state.as_str(), trigger) {
        return invalid_transition(job, lifecycle, trigger);
    }
    conflict(job, fence)
}

/// The conflict of a fence that is not the live one, or of the live one with another worker or credential.
pub(crate) fn conflict(job: &Job, fence: Option<Fence>) -> Refusal {
    let presented = fence.unwrap_or_default();
    let cause = match (&job.lease, &job.last_lease) {
        (Some(lease), _) if presented < lease.fence && presented > Fence(0) => ConflictCause::Superseded,
        (Some(_), _) => ConflictCause::WrongWorker,
        (None, Some(ended)) if presented > Fence(0) && presented < ended.fence => ConflictCause::Superseded,
        (None, Some(ended)) if presented == ended.fence && ended.end == LeaseEnd::Revoked => {
            ConflictCause::Revoked
        }
        (None, _) => ConflictCause::Lost,
    };
    Refusal::LeaseConflict { job: job.id(), fence, cause }
}

impl DecisionContext<'_> {
    /// Every accepted verb of the holder counts as a heartbeat and may renew the lease. Telemetry records renewals, and
    /// heartbeats that are not part of another verb.
    pub(crate) fn renew_lease(&mut self, id: JobId, only_a_heartbeat: bool) {
        let now = self.now;
        let lease = self.set.job_mut(id).lease.as_mut().expect("the caller holds the live lease");
        let renewed = lease.heartbeat_received(now);
        let (worker, fence) = (lease.worker.clone(), lease.fence);
        match (renewed, only_a_heartbeat) {
            (true, _) => self.record_telemetry(id, worker, fence, Signal::JobLeaseRenewed),
            (false, true) => self.record_telemetry(id, worker, fence, Signal::JobHeartbeat),
            (false, false) => {}
        }
    }

    /// Appends telemetry that is kept for as long as the lifecycle says.
    pub(crate) fn record_telemetry(&mut self, id: JobId, worker: WorkerId, fence: Fence, signal: Signal) {
        let lifecycle = self.job(id).and_then(|job| self.lifecycle(&job));
        let kept = lifecycle.map_or_else(|_| Retention::default(), |lifecycle| lifecycle.retention).telemetry;
        let ts = self.now.at;
        let telemetry = Telemetry { job_id: id, ts, worker, fence, signal, keep_until: ts + kept };
        self.set.changes.appended.telemetry.push(telemetry);
    }
}
