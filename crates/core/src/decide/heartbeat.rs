//! A worker lives: its lease is kept, and it learns what it must know.

use crate::command::Hold;
use crate::decide::{Answer, Done, Scene, lease};
use crate::job::Job;
use crate::refusal::Refusal;

pub(crate) fn decide(scene: &mut Scene<'_>, hold: &Hold) -> Answer {
    let job = scene.job(hold.job)?;
    if !lease::is_held_by(&job, &hold.worker, hold.fence) {
        return Err(no_lease(&job, hold));
    }
    scene.hear(hold.job, true);
    answer(scene.job(hold.job)?.as_ref(), hold)
}

/// What the holder must know; anybody else must stop.
pub(crate) fn answer(job: &Job, hold: &Hold) -> Answer {
    let lease = job.lease.as_deref().filter(|_| lease::is_held_by(job, &hold.worker, hold.fence));
    let lease = lease.ok_or_else(|| no_lease(job, hold))?.clone();
    Ok(Done::Beat { lease, cancel: job.cancel.as_ref().map(|cancel| cancel.mode) })
}

/// A heartbeat is no trigger, so whoever is not the holder gets a conflict, whatever the rules say.
pub(crate) fn no_lease(job: &Job, hold: &Hold) -> Refusal {
    lease::conflict(job, Some(hold.fence))
}
