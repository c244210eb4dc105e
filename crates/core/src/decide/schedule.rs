//! Schedules: added, paused, resumed, removed, fired. Each due time creates one job, however many nodes fire it: a node
//! that finds a different `next_at` than it read changes nothing.

use serde_json::{Value, json};

use crate::automation::{Automation, AutomationKind};
use crate::command_origin::CommandOrigin;
use crate::decide::audit::ValueChange;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, create};
use crate::id::Name;
use crate::refusal::Refusal;
use crate::schedule::{Fire, NewSchedule, Overlap, Plan, Schedule, ScheduleChange};

/// The same id with the same plan is a replay.
pub(crate) fn add(context: &mut DecisionContext<'_>, by: &CommandOrigin, new: &NewSchedule) -> CommandResult {
    if let Ok(known) = find(context, &new.id) {
        if known.plan != new.plan {
            return Err(Refusal::invalid("#/id", "there is another schedule with this id"));
        }
        return Ok(CommandOutput::automation(known, true));
    }
    let schedule = Schedule {
        id: new.id.clone(),
        plan: new.plan.clone(),
        created_at: context.now.at,
        created_by: by.actor.clone(),
        next_at: Some(new.next_at),
        last_at: None,
        last_job: None,
        last_error: None,
    };
    context.audit(by, "schedule_create", &new.id, &ValueChange::new(Value::Null, values(&schedule)));
    Ok(context.put_automation(schedule))
}

pub(crate) fn change(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    id: &Name,
    change: ScheduleChange,
) -> CommandResult {
    let known = find(context, id)?;
    let (action, next_at) = match change {
        ScheduleChange::Pause => ("schedule_pause", None),
        ScheduleChange::Resume(_) if known.next_at.is_some() => ("schedule_resume", known.next_at),
        ScheduleChange::Resume(at) => ("schedule_resume", Some(at)),
        ScheduleChange::Remove => {
            context.set.remove_automation(&(AutomationKind::Schedule, id.clone()));
            context.audit(by, "schedule_remove", id, &ValueChange::new(values(&known), Value::Null));
            return Ok(CommandOutput::automation(known, false));
        }
    };
    if known.next_at == next_at {
        return Ok(CommandOutput::automation(known, true));
    }
    let before = values(&known);
    let schedule = Schedule { next_at, ..known };
    context.audit(by, action, id, &ValueChange::new(before, values(&schedule)));
    Ok(context.put_automation(schedule))
}

/// Creates the job of a due schedule and sets its next time, in one commit.
pub(crate) fn fire(context: &mut DecisionContext<'_>, by: &CommandOrigin, fire: &Fire) -> CommandResult {
    let mut schedule = find(context, &fire.schedule)?;
    let is_stale = schedule.next_at != Some(fire.due_at) || schedule.last_job != fire.last_job;
    if is_stale || context.now.at < fire.due_at {
        return Ok(CommandOutput::automation(schedule, true));
    }
    schedule.next_at = Some(fire.next_at);
    if let Some((at, job)) = &fire.occurrence {
        schedule.last_at = Some(*at);
        let is_busy =
            fire.last_job.and_then(|id| context.set.job(id)).is_some_and(|job| !job.phase.is_final());
        let made = if is_busy && schedule.plan.overlap == Overlap::Skip {
            Err("its last job is unfinished".to_owned())
        } else {
            let made = job.clone().and_then(|job| create::decide(context, by, &job));
            made.map_err(|refusal| format!("{}: {refusal}", refusal.code()))
        };
        schedule.last_error = made.as_ref().err().map(|error| Automation::clipped(error));
        if let Ok(CommandOutput::Job { job, .. } | CommandOutput::Amended(job)) = made {
            schedule.last_job = Some(job.id());
        }
    }
    Ok(context.put_automation(schedule))
}

fn find(context: &DecisionContext<'_>, id: &Name) -> Result<Schedule, Refusal> {
    match context.set.automations.get(&(AutomationKind::Schedule, id.clone())) {
        Some(Automation::Schedule(schedule)) => Ok(schedule.clone()),
        _ => Err(Refusal::NotFound { what: "schedule", name: id.to_string() }),
    }
}

/// A schedule in the audit log, without the payload of its jobs.
fn values(schedule: &Schedule) -> Value {
    let Plan { cron, timezone, job, .. } = &schedule.plan;
    json!({ "cron": cron, "timezone": timezone, "type": job.job_type, "next_at": schedule.next_at })
}
