//! Schedules: added, paused, resumed, replaced, run, removed, fired. Each due time creates one job, however many nodes fire it: a node
//! that finds a different `next_at` than it read changes nothing.

use serde_json::{Value, json};

use crate::automation::{Automation, AutomationKind};
use crate::command_origin::CommandOrigin;
use crate::decide::audit::ValueChange;
use crate::decide::{CommandOutput, CommandResult, DecisionContext, create};
use crate::id::{JobId, Name};
use crate::refusal::Refusal;
use crate::schedule::{Fire, NewSchedule, Overlap, Plan, RunNow, Schedule, ScheduleChange};
use crate::time::Timestamp;

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
    change: &ScheduleChange,
) -> CommandResult {
    let known = find(context, id)?;
    let (action, next_at) = match change {
        ScheduleChange::Run(run) => return run_now(context, by, known, run),
        ScheduleChange::Replace(plan, next_at) => return Ok(replace(context, by, known, plan, *next_at)),
        ScheduleChange::Pause => ("schedule_pause", None),
        ScheduleChange::Resume(_) if known.next_at.is_some() => ("schedule_resume", known.next_at),
        ScheduleChange::Resume(at) => ("schedule_resume", Some(*at)),
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

/// A new plan. What the schedule did before stays, and so does a pause.
fn replace(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    known: Schedule,
    plan: &Plan,
    next_at: Timestamp,
) -> CommandOutput {
    if known.plan == *plan {
        return CommandOutput::automation(known, true);
    }
    let before = values(&known);
    let next_at = known.next_at.map(|_| next_at);
    let schedule = Schedule { plan: plan.clone(), next_at, last_error: None, ..known };
    context.audit(by, "schedule_replace", &schedule.id, &ValueChange::new(before, values(&schedule)));
    context.put_automation(schedule)
}

/// Creates the job of a schedule now; its times stay. The answer is the job.
fn run_now(
    context: &mut DecisionContext<'_>,
    by: &CommandOrigin,
    mut schedule: Schedule,
    run: &RunNow,
) -> CommandResult {
    if let Some(done) = create::existing(context, &run.job)? {
        return Ok(done);
    }
    if schedule.plan.overlap == Overlap::Skip {
        if schedule.last_job != run.last_job {
            return Err(Refusal::invalid("#", "the schedule has created a job meanwhile: run it again"));
        }
        if is_unfinished(context, run.last_job) {
            return Err(Refusal::invalid("#", LAST_JOB_UNFINISHED));
        }
    }
    let output = create::decide(context, by, &run.job)?;
    if let CommandOutput::Job { job, replayed: false, .. } = &output {
        let id = job.id();
        let change = ValueChange::new(json!({ "last_job": schedule.last_job }), json!({ "last_job": id }));
        context.push_audit(by, "schedule_run", Some(id), Some(schedule.id.as_str()), &change);
        (schedule.last_job, schedule.last_error) = (Some(id), None);
        context.put_automation(schedule);
    }
    Ok(output)
}

const LAST_JOB_UNFINISHED: &str = "its last job is unfinished";

fn is_unfinished(context: &DecisionContext<'_>, job: Option<JobId>) -> bool {
    job.and_then(|id| context.set.job(id)).is_some_and(|job| !job.phase.is_final())
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
        let is_busy = is_unfinished(context, fire.last_job);
        let made = if is_busy && schedule.plan.overlap == Overlap::Skip {
            Err(LAST_JOB_UNFINISHED.to_owned())
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

pub(crate) fn find(context: &DecisionContext<'_>, id: &Name) -> Result<Schedule, Refusal> {
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
