//! Who holds a job (law 4): every verb that needs the lease passes here first.

use crate::decide::{Scene, invalid_transition};
use crate::event::{Signal, Telemetry};
use crate::id::{Fence, JobId, Name};
use crate::job::{Job, LeaseEnd};
use crate::lifecycle::{Lifecycle, Retention, Trigger};
use crate::refusal::{ConflictCause, Refusal};

/// Whether this worker and fence are the live lease's.
pub(crate) fn is_held_by(job: &Job, worker: &Name, fence: Fence) -> bool {
    job.lease.as_ref().is_some_and(|lease| lease.fence == fence && lease.worker == *worker)
}

/// Why someone who is not the holder may not say `trigger`: the fence he presents decides, then the rules.
pub(crate) fn refuse(
    job: &Job,
    lifecycle: &Lifecycle,
    holder: Option<(&Name, Fence)>,
    trigger: &Trigger,
) -> Refusal {
    let granted = holder.filter(|(_, fence)| (Fence(1)..=job.fence).contains(fence));
    if granted.is_none() && !lifecycle.has_rule(job.state.as_str(), trigger) {
        return invalid_transition(job, lifecycle, trigger);
    }
    conflict(job, holder.map(|(_, fence)| fence))
}

/// The conflict of a fence that is not the live one, or of the live one with another worker.
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

impl Scene<'_> {
    /// Notes that the holder was heard: every accepted verb counts as a heartbeat and renews like one. Telemetry tells
    /// of renewals, and of a heartbeat that is nothing else; other verbs leave traces of their own.
    pub(crate) fn hear(&mut self, id: JobId, only_a_heartbeat: bool) {
        let now = self.now;
        let lease = self.set.job_mut(id).lease.as_mut().expect("only a holder is heard");
        let renewed = lease.beat(now);
        let holder = (lease.worker.clone(), lease.fence);
        match (renewed, only_a_heartbeat) {
            (true, _) => self.tell(id, holder, Signal::JobLeaseRenewed),
            (false, true) => self.tell(id, holder, Signal::JobHeartbeat),
            (false, false) => {}
        }
    }

    /// Keeps a word of telemetry for as long as the lifecycle says.
    pub(crate) fn tell(&mut self, id: JobId, (worker, fence): (Name, Fence), signal: Signal) {
        let lifecycle = self.job(id).and_then(|job| self.lifecycle(&job));
        let kept = lifecycle.map_or_else(|_| Retention::default(), |lifecycle| lifecycle.retention).telemetry;
        let ts = self.now.at;
        self.set.changes.telemetry.push(Telemetry {
            job_id: id,
            ts,
            worker,
            fence,
            signal,
            keep_until: ts + kept,
        });
    }
}
