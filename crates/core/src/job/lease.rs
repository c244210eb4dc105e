//! Leases of jobs, live and ended.

use serde::{Deserialize, Serialize};

use crate::id::{Fence, Name, WorkerId};
use crate::lifecycle::Trigger;
use crate::time::{Deadline, Millis, Now};

/// A worker's exclusive, timed right to a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub fence: Fence,
    pub worker: WorkerId,
    /// The credential that claimed the job: the only one that may act under this lease. `None` in leases of earlier versions
    /// and of embedding programs, under which the worker's name and the fence suffice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Name>,
    /// The group in which the job was claimed, if its type declares groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Name>,
    /// Duration from each renewal.
    #[serde(with = "span_ms")]
    pub ttl: Millis,
    /// Expected interval of heartbeats.
    #[serde(with = "span_ms")]
    pub heartbeat: Millis,
    pub ends: Deadline,
    /// When the second heartbeat in a row is missed.
    pub beat_by: Deadline,
}

/// Spans in stored leases are plain milliseconds.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde says how these are called")]
mod span_ms {
    use super::{Deserialize, Millis};
    pub(super) fn serialize<S: serde::Serializer>(span: &Millis, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(span.0)
    }
    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Millis, D::Error> {
        u64::deserialize(from).map(Millis)
    }
}

impl Lease {
    pub fn grant(fence: Fence, worker: WorkerId, ttl: Millis, heartbeat: Millis, now: Now) -> Self {
        let (ends, beat_by) = (now.running() + ttl, now.running() + two(heartbeat));
        Self { fence, worker, credential: None, group: None, ttl, heartbeat, ends, beat_by }
    }

    /// Restricts the lease to a credential.
    #[must_use]
    pub fn bound_to(self, credential: Option<Name>) -> Self {
        Self { credential, ..self }
    }

    #[must_use]
    pub fn in_group(self, group: Option<Name>) -> Self {
        Self { group, ..self }
    }

    /// Whether a caller with this credential may act under the lease.
    pub fn admits(&self, credential: Option<&Name>) -> bool {
        is_bound_to(self.credential.as_ref(), credential)
    }

    /// The earlier of the lease's end and the second missed heartbeat; this is what workers see.
    pub fn expires(&self) -> Deadline {
        self.ends.min(self.beat_by)
    }

    /// Resets the heartbeat deadline, and renews the lease when half of it or less remains. Returns whether it renewed.
    pub fn heartbeat_received(&mut self, now: Now) -> bool {
        let running = now.running();
        self.beat_by = running + two(self.heartbeat);
        let renews = (self.ends - running).0 * 2 <= self.ttl.0;
        if renews {
            self.ends = running + self.ttl;
        }
        renews
    }
}

/// A lease that no credential is bound to admits all.
fn is_bound_to(bound: Option<&Name>, presented: Option<&Name>) -> bool {
    bound.is_none() || bound == presented
}

fn two(heartbeat: Millis) -> Millis {
    Millis(heartbeat.0.saturating_mul(2))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedLease {
    pub fence: Fence,
    pub worker: WorkerId,
    /// The credential of the lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Name>,
    pub end: LeaseEnd,
    /// The trigger that ended it: the same verb again from its holder is a replay.
    pub by: Trigger,
    /// When it would have expired.
    pub expires: Deadline,
}

impl EndedLease {
    /// Whether a caller with this credential may act as the last holder.
    pub fn admits(&self, credential: Option<&Name>) -> bool {
        is_bound_to(self.credential.as_ref(), credential)
    }
}

/// The worker that holds or held a job, and the credential that its lease is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseOwner {
    pub worker: WorkerId,
    pub credential: Option<Name>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseEnd {
    /// It expired.
    Lost,
    /// Its holder ended it.
    Reported,
    /// Cancelled, dead-lettered, timed out or signalled away.
    Revoked,
}
