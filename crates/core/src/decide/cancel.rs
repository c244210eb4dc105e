//! Stop a job: at once where nobody holds it; told to its worker where somebody does; at once when hard.

use crate::command::Cancel;
use crate::decide::report::fits;
use crate::decide::transition::Step;
use crate::decide::{Answer, Scene, clock, invalid_transition};
use crate::id::{Actor, Name};
use crate::job::{CancelMode, CancelRequest};
use crate::lifecycle::Trigger;
use crate::limits;

pub(crate) fn decide(scene: &mut Scene<'_>, by: &Actor, cancel: &Cancel) -> Answer {
    let job = scene.job(cancel.job)?;
    let lifecycle = scene.lifecycle(&job)?;
    fits("reason", cancel.reason.as_ref().map_or(0, String::len), limits::MESSAGE_BYTES_MAX)?;
    if !lifecycle.has_rule(job.state.as_str(), &Trigger::Cancel) {
        return Err(invalid_transition(&job, &lifecycle, &Trigger::Cancel));
    }
    if cancel.mode == CancelMode::Hard || !job.phase.is_leased() {
        let cause = cancel.reason.as_deref().map(Name::from);
        scene.follow(cancel.job, Step { cause, ..Step::new(Trigger::Cancel, by.clone()) })?;
        if cancel.mode == CancelMode::Hard {
            scene.set.discard_assets(cancel.job, scene.now.at);
        }
        clock::catch_up(scene, cancel.job)?;
        return scene.done(cancel.job);
    }
    if job.cancel.is_none() {
        let grace = scene.policy(&job.spec.job_type, &lifecycle).cancel_grace;
        let (at, hard_at) = (scene.now.at, scene.now.running() + grace);
        let (mode, reason) = (CancelMode::Soft, cancel.reason.clone());
        scene.set.job_mut(cancel.job).cancel =
            Some(Box::new(CancelRequest { mode, reason, by: by.clone(), at, hard_at }));
    }
    scene.done(cancel.job)
}
