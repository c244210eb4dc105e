//! Schedules: made, listed with their next times and in words, paused, resumed, removed.

use axum::extract::State;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure_core::command::{Command, When};
use tenure_core::id::Name;
use tenure_core::order::{Order, OrderKind};
use tenure_core::schedule::{Misfire, Overlap, Plan, Schedule, ScheduleChange, Template};
use tenure_core::wire;
use tenure_runtime::cron::Cron;
use tenure_store::Store as _;

use crate::app::App;
use crate::body::{Body, OptionalBody, parse};
use crate::caller::{Caller, Right};
use crate::headers::Trace;
use crate::http::jobs::{EmptyBody, NewJobBody};
use crate::http::orders::{self, order_of};
use crate::http::{Named, Reply, ok, page};
use crate::problem::Problem;
use crate::query::Given;

/// Times that are told ahead.
const NEXT_TIMES: usize = 5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleBody {
    id: Option<String>,
    cron: String,
    timezone: Option<String>,
    job: Box<RawValue>,
    misfire: Option<Misfire>,
    overlap: Option<Overlap>,
}

pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    given: Given,
    body: Body<ScheduleBody>,
) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    let (key, body) = (body.key, body.value);
    let id = orders::id_of(body.id, key.as_ref())?;
    let plan = Plan {
        cron: body.cron,
        timezone: body.timezone.unwrap_or_else(|| "UTC".to_owned()).into(),
        job: template(&caller, body.job.get()).map_err(|problem| problem.inside("job"))?,
        misfire: body.misfire.unwrap_or_default(),
        overlap: body.overlap.unwrap_or_default(),
    };
    let asked = match app.runtime().add_schedule(caller.actor(), id.clone(), plan).await? {
        Ok(done) => done,
        Err(refusal) => {
            return Err(orders::refused(&app, &(OrderKind::Schedule, id), key, refusal.into()).await);
        }
    };
    let (order, replayed) = order_of(asked);
    Ok(orders::made(&shown(&app, &order), format!("/api/schedules/{id}"), replayed))
}

/// The job of a schedule is asked for like any other; when it runs is the schedule's to say.
fn template(caller: &Caller, text: &str) -> Result<Template, Problem> {
    let new = parse::<NewJobBody>(text)?.ask(caller, &Trace(None), None)?;
    if new.when != When::Now || new.links.correlation_id.is_some() {
        let detail = "run_at, delay and correlation_id are made of the schedule's times";
        return Err(Problem::malformed("#", detail));
    }
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

fn as_schedule(order: &Order) -> &Schedule {
    match order {
        Order::Schedule(schedule) => schedule,
        Order::Webhook(_) => unreachable!("orders of this kind are schedules"),
    }
}

/// A schedule with its expression in words and the times to come.
fn shown(app: &App, order: &Order) -> Value {
    let (schedule, now) = (as_schedule(order), app.runtime().now());
    let mut shown = wire::schedule(schedule);
    let cron = Cron::parse(&schedule.plan.cron, schedule.plan.timezone.as_str()).ok();
    let mut next = schedule.next_at;
    let mut times = Vec::new();
    while let (Some(at), Some(cron), true) = (next, &cron, times.len() < NEXT_TIMES) {
        times.push(at);
        next = cron.next(at.max(now));
    }
    shown["describe"] = json!(cron.map(|cron| cron.describe()));
    shown["next_times"] = json!(times);
    shown
}

pub(crate) async fn list(State(app): State<App>, caller: Caller, given: Given) -> Reply {
    caller.may(Right::Oversee)?;
    given.done()?;
    let known = app.store().orders(OrderKind::Schedule).await?;
    page("schedules", known.iter().map(|order| shown(&app, order)).collect(), None)
}

pub(crate) async fn get(State(app): State<App>, caller: Caller, Named(id): Named, given: Given) -> Reply {
    caller.may(Right::Oversee)?;
    given.done()?;
    ok(&shown(&app, &orders::find(&app, &(OrderKind::Schedule, id)).await?))
}

pub(crate) async fn remove(State(app): State<App>, caller: Caller, Named(id): Named, given: Given) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    change(&app, &caller, id, ScheduleChange::Remove).await
}

pub(crate) async fn pause(
    State(app): State<App>,
    caller: Caller,
    Named(id): Named,
    given: Given,
    _: OptionalBody<EmptyBody>,
) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    change(&app, &caller, id, ScheduleChange::Pause).await
}

async fn change(app: &App, caller: &Caller, id: Name, change: ScheduleChange) -> Reply {
    let done = app.submit(caller, None, Command::ChangeSchedule(id, change)).await?;
    ok(&shown(app, &order_of(done).0))
}

pub(crate) async fn resume(
    State(app): State<App>,
    caller: Caller,
    Named(id): Named,
    given: Given,
    _: OptionalBody<EmptyBody>,
) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    let order = orders::find(&app, &(OrderKind::Schedule, id)).await?;
    let done = app.runtime().resume_schedule(caller.actor(), as_schedule(&order)).await??;
    ok(&shown(&app, &order_of(done).0))
}
