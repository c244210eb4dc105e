//! Progress and logs: under the fence, not transitions.

use crate::command::{AppendLog, Hold};
use crate::decide::heartbeat::no_lease;
use crate::decide::report::fits;
use crate::decide::{Answer, Done, Scene, lease};
use crate::event::{LogLine, Signal};
use crate::id::{Fence, Name};
use crate::job::{Job, Progress};
use crate::lifecycle::Phase;
use crate::limits;
use crate::refusal::Refusal;

/// From the present or last holder; counts in an active state, and is ignored elsewhere.
pub(crate) fn progress(scene: &mut Scene<'_>, hold: &Hold, percent: f64, message: Option<&str>) -> Answer {
    if !(0.0..=100.0).contains(&percent) {
        return Err(Refusal::invalid("#/progress", "must be from 0 to 100"));
    }
    fits("message", message.map_or(0, str::len), limits::MESSAGE_BYTES_MAX)?;
    let job = scene.job(hold.job)?;
    if !is_or_was_held_by(&job, &hold.worker, hold.fence) {
        return Err(no_lease(&job, hold));
    }
    if job.lease.is_some() {
        scene.hear(hold.job, false);
    }
    if job.phase != Phase::Active {
        return Ok(Done::Job { job: scene.job(hold.job)?, replayed: false, ignored: true });
    }
    let message = message.map(str::to_owned);
    let noted = Progress { percent, message: message.clone() };
    scene.set.job_mut(hold.job).output.progress = Some(Box::new(noted));
    let signal = Signal::JobProgress { progress: percent, message };
    scene.tell(hold.job, (hold.worker.clone(), hold.fence), signal);
    scene.done(hold.job)
}

/// Lines from the present or last holder, or from whoever owns the job.
pub(crate) fn log(scene: &mut Scene<'_>, append: &AppendLog) -> Answer {
    let job = scene.job(append.job)?;
    if append.lines.len() > limits::LOG_LINES_MAX {
        return Err(Refusal::invalid("#/lines", format!("at most {} lines at once", limits::LOG_LINES_MAX)));
    }
    for (stream, level, text) in &append.lines {
        fits("log line", text.len(), limits::LOG_LINE_BYTES_MAX)?;
        fits("log stream", stream.as_str().len(), limits::NAME_BYTES_MAX)?;
        fits("log level", level.as_str().len(), limits::NAME_BYTES_MAX)?;
    }
    if let Some((worker, fence)) = &append.holder {
        if !is_or_was_held_by(&job, worker, *fence) {
            return Err(lease::conflict(&job, Some(*fence)));
        }
        if lease::is_held_by(&job, worker, *fence) {
            scene.hear(append.job, false);
        }
    }
    let ts = scene.now.at;
    for (stream, level, text) in append.lines.iter().cloned() {
        let job = scene.set.job_mut(append.job);
        job.output.log_count += 1;
        let n = job.output.log_count;
        // PostgreSQL cannot store U+0000 in text, and both stores behave alike.
        let text = text.replace('\0', "\u{fffd}");
        scene.set.changes.logs.push((append.job, LogLine { n, ts, stream, level, text }));
    }
    Ok(Done::Logged(scene.job(append.job)?.output.log_count))
}

fn is_or_was_held_by(job: &Job, worker: &Name, fence: Fence) -> bool {
    let was = || job.last_lease.as_ref().is_some_and(|ended| ended.fence == fence && ended.worker == *worker);
    lease::is_held_by(job, worker, fence) || (job.lease.is_none() && was())
}
