//! One span for each attempt of a worker at a job, from the claim to the end of the lease, as the conventions of OpenTelemetry
//! describe the processing of a message.
//!
//! The span is created when the lease has ended, by the node whose commit ended it. Its id is known before: the worker gets it
//! with the job, so its own spans are children, and the requests that claim or report link to it.

use std::time::{Duration, SystemTime};

use tenure_core::decide::CommandOutput;
use tenure_core::id::{Fence, Name};
use tenure_core::job::{Job, LeaseEnd};
use tenure_core::time::Timestamp;
use tenure_runtime::{Committed, EndedAttempt};
use tenure_service::attempt_trace;

use super::{is_traced, traces};
use crate::trace_context::TraceContext;

/// A span that has ended.
#[cfg_attr(not(feature = "otel"), allow(dead_code, reason = "only exported spans are read"))]
pub(super) struct AttemptSpan {
    pub(super) name: String,
    /// The span that created the job.
    pub(super) parent: TraceContext,
    /// Its `parent_id` is the id of this span.
    pub(super) context: TraceContext,
    pub(super) start: SystemTime,
    pub(super) end: SystemTime,
    pub(super) attributes: Vec<(&'static str, String)>,
    /// The message of the error that ended the attempt.
    pub(super) error: Option<String>,
}

/// Exports a span for each attempt that a commit ended.
pub(crate) fn export(committed: &Committed) {
    if is_traced() {
        committed.ended_attempts.iter().filter_map(span_of).for_each(traces::export);
    }
}

/// Links the current request to the attempts that it begins or reports about.
pub(crate) fn link(output: &CommandOutput) {
    if !is_traced() {
        return;
    }
    let jobs = match output {
        CommandOutput::Claimed { jobs, .. } => jobs.as_slice(),
        CommandOutput::Job { job, .. } | CommandOutput::Amended(job) => std::slice::from_ref(job),
        _ => &[],
    };
    let span = tracing::Span::current();
    for job in jobs {
        let attempt = fence_of(job).and_then(|fence| context_of(job, fence));
        if let Some(context) = attempt {
            traces::add_link(&span, &context);
        }
    }
}

/// The trace context that a worker continues: that of its attempt if attempts are exported, else that of the job.
pub(crate) fn traceparent(job: &Job, fence: Fence) -> Name {
    if is_traced() { attempt_trace::traceparent(&job.spec, fence) } else { job.spec.traceparent() }
}

/// The fence of the current lease, or of the last one.
fn fence_of(job: &Job) -> Option<Fence> {
    let live = job.lease.as_ref().map(|lease| lease.fence);
    live.or(job.last_lease.as_ref().map(|ended| ended.fence))
}

fn context_of(job: &Job, fence: Fence) -> Option<TraceContext> {
    TraceContext::parse(attempt_trace::traceparent(&job.spec, fence).as_str())
}

pub(super) fn span_of(ended: &EndedAttempt) -> Option<AttemptSpan> {
    let (job, spec) = (&*ended.job, &*ended.job.spec);
    let lease = job.last_lease.as_ref()?;
    let mut attributes = vec![
        ("messaging.system", "tenure".to_owned()),
        ("messaging.operation.name", "process".to_owned()),
        ("messaging.operation.type", "process".to_owned()),
        ("messaging.destination.name", spec.queue.to_string()),
        ("messaging.message.id", spec.id.to_string()),
        ("messaging.message.conversation_id", spec.correlation_id().to_string()),
        ("messaging.client.id", lease.worker.to_string()),
        ("tenure.job.type", spec.job_type.to_string()),
        ("tenure.job.lifecycle", spec.lifecycle.name.to_string()),
        ("tenure.job.state", ended.to.to_string()),
        ("tenure.lease.fence", lease.fence.0.to_string()),
        ("tenure.lease.end", ended.trigger.to_string()),
    ];
    let error = ended.error.as_ref();
    attributes.extend(error.map(|error| ("error.type", error.code.to_string())));
    let lost = (error.is_none() && lease.end == LeaseEnd::Lost).then(|| "the lease expired".to_owned());
    let end = time(ended.at);
    Some(AttemptSpan {
        name: format!("process {}", spec.queue),
        parent: TraceContext::parse(spec.traceparent().as_str())?,
        context: context_of(job, lease.fence)?,
        start: job.times.claimed_at.map_or(end, time).min(end),
        end,
        attributes,
        error: error.map(|error| error.message.to_string()).or(lost),
    })
}

fn time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(at.0.unsigned_abs())
}
