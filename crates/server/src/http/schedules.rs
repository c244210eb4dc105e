//! Schedules: create, list with their next times, replace, run, pause, resume, delete.

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::command::When;
use tenure_core::schedule::{Plan, Schedule, ScheduleChange, Template};
use tenure_service::schedules::{self, Times};

use crate::headers::Trace;
use crate::http::automations::{added, automation_of, created, find, new_id};
use crate::http::jobs::{self, new_job};
use crate::http::prelude::*;

pub(crate) async fn create(call: CallContext, body: Body<request::NewSchedule>) -> Reply {
    let (key, mut body) = (body.key, body.value);
    let id = new_id(body.id.take(), key.as_ref())?;
    let plan = plan(&call, body)?;
    let output = call.runtime().add_schedule(call.caller.origin(), id.clone(), plan).await?;
    let id = (AutomationKind::Schedule, id);
    let (automation, replayed) = added(&call, &id, key, output.map_err(Problem::from)).await?;
    Ok(created(&shown(&call, automation), CallId::GetSchedule, &id.1, replayed))
}

pub(crate) async fn replace(
    call: CallContext,
    Named(id): Named<Name>,
    body: Body<request::NewSchedule>,
) -> Reply {
    let mut body = body.value;
    let is_same = body.id.take().is_none_or(|given| id == given.as_str());
    require(is_same, "#/id", "is not the id of the path")?;
    let plan = plan(&call, body)?;
    let output = call.runtime().replace_schedule(call.caller.origin(), id, plan).await??;
    ok(&shown(&call, automation_of(output).0))
}

fn plan(call: &CallContext, body: request::NewSchedule) -> Result<Plan> {
    let job = body.job.as_deref().map_or("null", RawValue::get);
    Ok(Plan {
        cron: body.cron,
        timezone: body.timezone.unwrap_or_else(|| "UTC".to_owned()).into(),
        job: template(call, job).map_err(|problem| problem.inside("job"))?,
        misfire: parsed("#/misfire", body.misfire)?.unwrap_or_default(),
        overlap: parsed("#/overlap", body.overlap)?.unwrap_or_default(),
    })
}

/// The job of a schedule is checked like any other; the schedule sets its time and its correlation id.
fn template(call: &CallContext, text: &str) -> Result<Template> {
    let new = new_job(call, parse(text)?, &Trace(None), None)?;
    let is_unset = new.when == When::Now && new.links.correlation_id.is_none();
    let detail = format!("the schedule sets {}", request::SET_BY_SCHEDULE.join(", "));
    require(is_unset, "#", detail)?;
    Ok(Template {
        job_type: new.job_type,
        payload: new.payload,
        lifecycle: new.lifecycle,
        user_id: new.user_id,
        queue: new.queue,
        priority: new.priority,
        max_attempts: new.max_attempts,
    })
}

fn schedule_of(automation: Automation) -> Schedule {
    automation.into_schedule().expect("an automation of this kind is a schedule")
}

/// A schedule with its description in words and its next times.
fn shown(app: &App, automation: Automation) -> tenure_api::Schedule {
    let schedule = schedule_of(automation);
    let Times { describe, next } = Times::of(app, &schedule);
    let next_times = next.iter().map(ToString::to_string).collect();
    tenure_api::Schedule { describe, next_times, ..wire::schedule(&schedule) }
}

pub(crate) async fn list(State(app): State<App>) -> Reply {
    let known = app.store().automations(AutomationKind::Schedule).await?;
    let schedules = known.into_iter().map(|automation| shown(&app, automation));
    page(CallId::ListSchedules, schedules.collect(), None)
}

pub(crate) async fn get(State(app): State<App>, Named(id): Named<Name>) -> Reply {
    ok(&shown(&app, find(&app, &(AutomationKind::Schedule, id)).await?))
}

pub(crate) async fn remove(call: CallContext, Named(id): Named<Name>) -> Reply {
    change(&call, None, id, ScheduleChange::Remove).await
}

pub(crate) async fn pause(call: CallContext, Named(id): Named<Name>, body: EmptyBody) -> Reply {
    change(&call, body.key, id, ScheduleChange::Pause).await
}

async fn change(call: &CallContext, key: Option<IdempotencyKey>, id: Name, change: ScheduleChange) -> Reply {
    let output = call.submit(key, Command::ChangeSchedule { id, change }).await?;
    ok(&shown(call, automation_of(output).0))
}

pub(crate) async fn resume(call: CallContext, Named(id): Named<Name>, body: EmptyBody) -> Reply {
    let automation = find(&call, &(AutomationKind::Schedule, id)).await?;
    let (by, schedule) = (call.caller.origin(), schedule_of(automation));
    let output = call.runtime().resume_schedule(by, &schedule, body.key).await??;
    ok(&shown(&call, automation_of(output).0))
}

pub(crate) async fn run(call: CallContext, Named(id): Named<Name>, body: EmptyBody) -> Reply {
    let automation = find(&call, &(AutomationKind::Schedule, id)).await?;
    let output = schedules::run(&call, &call.caller, &schedule_of(automation), body.key).await?;
    Ok(jobs::created(&call, output))
}
