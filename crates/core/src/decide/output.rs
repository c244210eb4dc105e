//! Progress and logs: they need the lease, and are not transitions.

use crate::command::{AppendLog, Hold, NewLogLine};
use crate::command_origin::CommandOrigin;
use crate::decide::lease::Presented;
use crate::decide::report::fits;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, lease};
use crate::event::{LogLine, Signal};
use crate::job::{Job, Progress};
use crate::lifecycle::Phase;
use crate::limits;
use crate::refusal::Refusal;

/// Accepted from the present or last holder; ignored outside active states.
pub(crate) fn progress(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    hold: &Hold,
    percent: f64,
    message: Option<&str>,
) -> CommandResult {
    if !(0.0..=100.0).contains(&percent) {
        return Err(Refusal::invalid("#/progress", "must be from 0 to 100"));
    }
    fits("message", message.map_or(0, str::len), limits::MESSAGE_BYTES_MAX)?;
    let job = context.job(hold.job)?;
    if !holds_or_held(&job, &Presented::hold(by, hold)) {
        return Err(lease::conflict(&job, Some(hold.fence)));
    }
    if job.lease.is_some() {
        context.renew_lease(hold.job, false);
    }
    if job.phase != Phase::Active {
        return Ok(CommandOutput::Job { job: context.job(hold.job)?, replayed: false, ignored: true });
    }
    let message = message.map(str::to_owned);
    let noted = Progress { percent, message: message.clone() };
    let now = context.now.at;
    let changed = context.set.job_mut(hold.job);
    changed.output.progress = Some(Box::new(noted));
    changed.times.updated_at = changed.times.updated_at.max(now);
    let signal = Signal::JobProgress { progress: percent, message };
    context.record_telemetry(hold.job, hold.worker.clone(), hold.fence, signal);
    context.job_output(hold.job)
}

/// Accepted from the present or last holder, the job's owner or an operator.
pub(crate) fn log(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    append: &AppendLog,
) -> CommandResult {
    let job = context.job(append.job)?;
    if append.lines.len() > limits::LOG_LINES_MAX {
        return Err(Refusal::invalid("#/lines", format!("at most {} lines at once", limits::LOG_LINES_MAX)));
    }
    for NewLogLine { stream, level, text } in &append.lines {
        fits("log line", text.len(), limits::LOG_LINE_BYTES_MAX)?;
        fits("log stream", stream.as_str().len(), limits::NAME_BYTES_MAX)?;
        fits("log level", level.as_str().len(), limits::NAME_BYTES_MAX)?;
    }
    if let Some(presented) = append.holder.as_ref().map(|holder| Presented::holder(by, holder)) {
        if !holds_or_held(&job, &presented) {
            return Err(lease::conflict(&job, Some(presented.fence)));
        }
        if presented.holds(&job) {
            context.renew_lease(append.job, false);
        }
    }
    let ts = context.now.at;
    for NewLogLine { stream, level, text } in append.lines.iter().cloned() {
        let job = context.set.job_mut(append.job);
        job.output.log_count += 1;
        let n = job.output.log_count;
        // PostgreSQL cannot store U+0000 in text, and both stores behave alike.
        let text = text.replace('\0', "\u{fffd}");
        context.set.changes.appended.logs.push((append.job, LogLine { n, ts, stream, level, text }));
    }
    Ok(CommandOutput::Logged(context.job(append.job)?.output.log_count))
}

fn holds_or_held(job: &Job, presented: &Presented<'_>) -> bool {
    presented.holds(job) || (job.lease.is_none() && presented.held_last(job))
}
