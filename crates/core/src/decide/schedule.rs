//! Schedules: added, paused, resumed, removed, fired. A time makes one job, however many nodes try: who finds another
//! `next_at` than it read came second, and changes nothing.

use crate::decide::operate::audit;
use crate::decide::{Answer, Done, Scene, create};
use crate::id::{Actor, Name};
use crate::order::{Order, OrderKind};
use crate::refusal::Refusal;
use crate::schedule::{Fire, NewSchedule, Overlap, Schedule, ScheduleChange};

/// A new schedule. The same name with the same plan again is a repeat.
pub(crate) fn add(scene: &mut Scene<'_>, by: &Actor, new: &NewSchedule) -> Answer {
    if let Ok(known) = find(scene, &new.id) {
        if known.plan != new.plan {
            return Err(Refusal::invalid("#/id", "there is another schedule with this id"));
        }
        return Ok(Done::order(known, true));
    }
    let schedule = Schedule {
        id: new.id.clone(),
        plan: new.plan.clone(),
        created_at: scene.now.at,
        created_by: by.clone(),
        next_at: Some(new.next_at),
        last_at: None,
        last_job: None,
        last_error: None,
    };
    audit(scene, by, "schedule_create", (None, Some(new.id.as_str())));
    Ok(scene.put_order(schedule))
}

/// An operator changes a schedule.
pub(crate) fn change(scene: &mut Scene<'_>, by: &Actor, (id, change): (&Name, ScheduleChange)) -> Answer {
    let known = find(scene, id)?;
    let (action, next_at) = match change {
        ScheduleChange::Pause => ("schedule_pause", None),
        ScheduleChange::Resume(_) if known.next_at.is_some() => ("schedule_resume", known.next_at),
        ScheduleChange::Resume(at) => ("schedule_resume", Some(at)),
        ScheduleChange::Remove => {
            scene.set.remove_order(&(OrderKind::Schedule, id.clone()));
            audit(scene, by, "schedule_remove", (None, Some(id.as_str())));
            return Ok(Done::order(known, false));
        }
    };
    if known.next_at == next_at {
        return Ok(Done::order(known, true));
    }
    audit(scene, by, action, (None, Some(id.as_str())));
    Ok(scene.put_order(Schedule { next_at, ..known }))
}

/// A schedule's time has come: its job, and when it fires next, in one commit.
pub(crate) fn fire(scene: &mut Scene<'_>, by: &Actor, fire: &Fire) -> Answer {
    let mut schedule = find(scene, &fire.schedule)?;
    let is_stale = schedule.next_at != Some(fire.due_at) || schedule.last_job != fire.last_job;
    if is_stale || scene.now.at < fire.due_at {
        return Ok(Done::order(schedule, true));
    }
    schedule.next_at = Some(fire.next_at);
    if let Some((at, job)) = &fire.occurrence {
        schedule.last_at = Some(*at);
        let is_busy = fire.last_job.and_then(|id| scene.set.job(id)).is_some_and(|job| !job.phase.is_final());
        let made = if is_busy && schedule.plan.overlap == Overlap::Skip {
            Err("its last job is unfinished".to_owned())
        } else {
            let made = job.clone().and_then(|job| create::decide(scene, by, &job));
            made.map_err(|refusal| format!("{}: {refusal}", refusal.code()))
        };
        schedule.last_error = made.as_ref().err().map(|error| Order::clipped(error));
        if let Ok(Done::Job { job, .. }) = made {
            schedule.last_job = Some(job.id());
        }
    }
    Ok(scene.put_order(schedule))
}

fn find(scene: &Scene<'_>, id: &Name) -> Result<Schedule, Refusal> {
    match scene.set.orders.get(&(OrderKind::Schedule, id.clone())) {
        Some(Order::Schedule(schedule)) => Ok(schedule.clone()),
        _ => Err(Refusal::NotFound { what: "schedule", name: id.to_string() }),
    }
}
