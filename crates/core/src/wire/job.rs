//! A job as it is written: straight into the answer, without a tree of values in between.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::job::{Job, Lease, trace_id_of};
use crate::time::{Now, Timestamp};
use crate::wire::{self, ErrorForm};

/// A job in its one JSON form, with what an answer adds to it.
#[derive(Clone, Copy, Debug)]
pub struct JobForm<'a> {
    /// Which.
    pub job: &'a Job,
    /// What time it is.
    pub now: Now,
    /// The command had been done before.
    pub replayed: bool,
    /// The command had no effect.
    pub ignored: bool,
    /// As its worker gets it: with the trace, and with how long the lease lasts.
    pub claimed: bool,
}

impl<'a> JobForm<'a> {
    /// A job, and what time it is.
    pub fn new(job: &'a Job, now: Now) -> Self {
        Self { job, now, replayed: false, ignored: false, claimed: false }
    }

    fn asked<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let spec = &self.job.spec;
        map.serialize_entry("id", &spec.id)?;
        map.serialize_entry("lifecycle", &spec.lifecycle.name)?;
        map.serialize_entry("lifecycle_version", &spec.lifecycle.version)?;
        map.serialize_entry("type", &spec.job_type)?;
        map.serialize_entry("queue", &spec.queue)?;
        map.serialize_entry("user_id", &spec.user_id)?;
        map.serialize_entry("max_attempts", &spec.max_attempts)?;
        map.serialize_entry("priority", &spec.priority)?;
        map.serialize_entry("payload", &spec.payload)?;
        match &spec.links.correlation_id {
            Some(correlation) => map.serialize_entry("correlation_id", correlation)?,
            None => map.serialize_entry("correlation_id", &spec.id)?,
        }
        let traceparent = spec.traceparent();
        map.serialize_entry("trace_id", trace_id_of(&traceparent))?;
        if self.claimed {
            map.serialize_entry("traceparent", &traceparent)?;
        }
        map.serialize_entry("idempotency_key", &spec.links.idempotency_key)?;
        map.serialize_entry("retry_of", &spec.links.retry_of)?;
        map.serialize_entry("created_at", &spec.created_at)
    }

    fn standing<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let job = self.job;
        map.serialize_entry("state", &job.state)?;
        map.serialize_entry("phase", job.phase.as_str())?;
        map.serialize_entry("outcome", &job.phase.outcome())?;
        map.serialize_entry("seq", &job.seq)?;
        map.serialize_entry("attempt", &job.attempt)?;
        map.serialize_entry("retry_count", &job.retry_count)?;
        map.serialize_entry("worker", &job.worker())?;
        let lease = job.lease.as_deref();
        map.serialize_entry(
            "lease",
            &lease.map(|lease| LeaseForm { lease, now: self.now, whole: self.claimed }),
        )?;
        let cancel = job.cancel.as_deref();
        map.serialize_entry("cancel_requested", &cancel.map(|request| wire::cancel(request, self.now)))?;
        map.serialize_entry("run_at", &job.run_at)
    }

    fn output<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let output = &self.job.output;
        let progress = output.progress.as_ref();
        map.serialize_entry("progress", &Percent(progress.map_or(0.0, |progress| progress.percent)))?;
        map.serialize_entry("progress_message", &progress.and_then(|progress| progress.message.as_deref()))?;
        map.serialize_entry("result", &output.result)?;
        map.serialize_entry("error", &output.error.as_deref().map(ErrorForm::new))?;
        map.serialize_entry("checkpoint", &output.checkpoint)
    }

    fn times<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let times = &self.job.times;
        map.serialize_entry("updated_at", &times.updated_at)?;
        map.serialize_entry("claimed_at", &times.claimed_at)?;
        map.serialize_entry("started_at", &times.started_at)?;
        map.serialize_entry("completed_at", &times.completed_at)?;
        map.serialize_entry("entered", &Entered(&times.entered))?;
        map.serialize_entry("duration_ms", &self.job.duration().map(|span| span.0))?;
        map.serialize_entry("run_ms", &self.job.run_time().map(|span| span.0))
    }
}

impl Serialize for JobForm<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        self.asked(&mut map)?;
        self.standing(&mut map)?;
        self.output(&mut map)?;
        self.times(&mut map)?;
        if self.replayed {
            map.serialize_entry("replayed", &true)?;
        }
        if self.ignored {
            map.serialize_entry("ignored", &true)?;
        }
        map.end()
    }
}

/// How far it is: a whole number where it is one.
struct Percent(f64);

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 { to.serialize_u8(self.0 as u8) } else { to.serialize_f64(self.0) }
    }
}

/// State and when it was last entered.
struct Entered<'a>(&'a [(crate::id::StateName, Timestamp)]);

impl Serialize for Entered<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(state, at)| (state, at)))
    }
}

/// A lease: what anybody sees of it, or the whole that its holder needs.
#[derive(Clone, Copy, Debug)]
pub struct LeaseForm<'a> {
    /// Which.
    pub lease: &'a Lease,
    /// What time it is.
    pub now: Now,
    /// With its spans.
    pub whole: bool,
}

impl Serialize for LeaseForm<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("fence", &self.lease.fence)?;
        map.serialize_entry("expires_at", &self.now.calendar(self.lease.expires()))?;
        if self.whole {
            map.serialize_entry("heartbeat", &self.lease.heartbeat)?;
            map.serialize_entry("ttl", &self.lease.ttl)?;
        }
        map.end()
    }
}
