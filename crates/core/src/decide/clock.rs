//! Clocks as triggers (law 9): a clock that is overdue when a command arrives fires before it, at the clock's own time
//! and in order, whether or not a sweep has run.

use crate::decide::DecisionContext;
use crate::decide::transition::TransitionRequest;
use crate::id::{Actor, JobId};
use crate::job::{Category, Class, Job, JobError};
use crate::lifecycle::{Phase, Trigger};
use crate::limits;
use crate::refusal::Refusal;
use crate::time::Deadline;

/// The clocks of a job. Those due at the same time fire in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Clock {
    LeaseEnd,
    HeartbeatLost,
    Grace,
    Timeout,
    Due,
}

/// Fires every overdue clock of the job.
pub(crate) fn catch_up(context: &mut DecisionContext<'_>, id: JobId) -> Result<(), Refusal> {
    let present = context.now;
    for _ in 0..limits::OVERDUE_MAX {
        let job = context.job(id)?;
        let Some((deadline, clock)) = next(&job).filter(|(deadline, _)| *deadline <= present.running())
        else {
            return Ok(());
        };
        context.now = present.with(present.calendar(deadline).max(job.times.updated_at).min(present.at));
        let fired = fire(context, &job, clock);
        context.now = present;
        fired?;
    }
    Ok(())
}

fn next(job: &Job) -> Option<(Deadline, Clock)> {
    let lease = job.lease.as_deref();
    let clocks = [
        (lease.map(|lease| lease.ends), Clock::LeaseEnd),
        (lease.map(|lease| lease.beat_by), Clock::HeartbeatLost),
        (job.cancel.as_ref().map(|cancel| cancel.hard_at), Clock::Grace),
        (job.clocks.timeout, Clock::Timeout),
        (job.clocks.due, Clock::Due),
    ];
    clocks.into_iter().filter_map(|(deadline, clock)| Some((deadline?, clock))).min()
}

fn fire(context: &mut DecisionContext<'_>, job: &Job, clock: Clock) -> Result<(), Refusal> {
    let step = |trigger| TransitionRequest::new(trigger, Actor::clock().into());
    let lifecycle = context.lifecycle(job)?;
    match clock {
        Clock::LeaseEnd => {
            let error = JobError::own("LEASE_EXPIRED", "the lease ran out", Category::System);
            context.transition(job.id(), step(Trigger::LeaseExpired).failing(error))
        }
        Clock::HeartbeatLost => {
            let error =
                JobError::own("HEARTBEAT_LOST", "two heartbeats in a row were missed", Category::System);
            context.transition(job.id(), step(Trigger::LeaseExpired).failing(error))
        }
        Clock::Grace if lifecycle.has_rule(job.state.as_str(), &Trigger::Cancel) => {
            let error =
                JobError::own("CANCEL_GRACE_EXPIRED", "the worker did not confirm in time", Category::System);
            let error = JobError { class: Class::Permanent, ..error };
            context.transition(job.id(), step(Trigger::Cancel).failing(error))?;
            context.set.discard_assets(job.id(), context.now.at);
            Ok(())
        }
        // The job is in a state that cannot be cancelled: the request is void.
        Clock::Grace => {
            context.set.job_mut(job.id()).cancel = None;
            Ok(())
        }
        Clock::Timeout => context.transition(job.id(), timed_out(job)),
        Clock::Due => context.transition(job.id(), due(job)),
    }
}

/// The timeout of the job's state.
pub(crate) fn timed_out(job: &Job) -> TransitionRequest {
    TransitionRequest::new(Trigger::Timeout, Actor::clock().into()).failing(timeout_error(job.phase))
}

/// The due time of the job's state.
pub(crate) fn due(job: &Job) -> TransitionRequest {
    let cause = job.output.error.as_ref().map(|error| error.code.clone());
    TransitionRequest { cause, ..TransitionRequest::new(Trigger::Due, Actor::clock().into()) }
}

/// The codes of timeouts in states without a lease.
pub(crate) const WAIT_CODES: [&str; 2] = ["QUEUE_TIMEOUT", "WAIT_TIMEOUT"];

fn timeout_error(phase: Phase) -> JobError {
    let (code, message, category) = match phase {
        Phase::Ready => ("QUEUE_TIMEOUT", "no worker claimed it in time", Category::Queue),
        Phase::Held => ("DISPATCH_TIMEOUT", "its worker did not start it in time", Category::System),
        Phase::Active => ("RUN_TIMEOUT", "it did not finish in time", Category::Engine),
        Phase::Waiting | Phase::Final(_) => {
            ("WAIT_TIMEOUT", "what it waited for did not come", Category::Queue)
        }
    };
    JobError::own(code, message, category)
}
