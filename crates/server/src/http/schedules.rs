//! Schedules: made, listed with their next times and in words, paused, resumed, removed.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure_core::command::{Command, When};
use tenure_core::decide::Done;
use tenure_core::id::Name;
use tenure_core::order::{Order, OrderKind};
use tenure_core::refusal::Refusal;
use tenure_core::schedule::{Misfire, Overlap, Plan, Schedule, ScheduleChange, Template};
use tenure_core::time::Timestamp;
use tenure_core::wire;
use tenure_runtime::cron::Cron;
use tenure_store::Store as _;

use crate::app::App;
use crate::body::{Body, OptionalBody, parse};
use crate::caller::{Caller, Right};
use crate::headers::Trace;
use crate::http::jobs::{EmptyBody, NewJobBody};
use crate::http::{Named, Reply, answer, ok, order_id, page};
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
    let id = order_id(body.id, key.as_ref())?;
    let plan = Plan {
        cron: body.cron,
        timezone: body.timezone.unwrap_or_else(|| "UTC".to_owned()).into(),
        job: template(&caller, body.job.get()).map_err(|problem| problem.inside("job"))?,
        misfire: body.misfire.unwrap_or_default(),
        overlap: body.overlap.unwrap_or_default(),
    };
    match app.runtime().add_schedule(caller.actor(), id.clone(), plan).await? {
        Ok(Done::Order { order, replayed }) => Ok(made(&app, &order, replayed)),
        Ok(_) => unreachable!("a new schedule is answered with the schedule"),
        Err(refusal) => {
            let is_taken = find(&app, &id).await.is_ok();
            let given = key.filter(|_| is_taken).map(|given| Refusal::IdempotencyMismatch(given.key));
            Err(given.unwrap_or(refusal).into())
        }
    }
}

/// 201 and where it is; 200 for one that was there before.
fn made(app: &App, order: &Order, replayed: bool) -> Response {
    let Order::Schedule(schedule) = order else { unreachable!("a schedule is a schedule") };
    let shown = shown(schedule, app.runtime().now());
    if replayed {
        let mut response = answer(StatusCode::OK, &shown);
        response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
        return response;
    }
    let mut response = answer(StatusCode::CREATED, &shown);
    if let Ok(place) = HeaderValue::try_from(format!("/api/schedules/{}", schedule.id)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
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

/// A schedule with its expression in words and the times to come.
fn shown(schedule: &Schedule, now: Timestamp) -> Value {
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

async fn find(app: &App, id: &Name) -> Result<Schedule, Problem> {
    let known = app.store().orders(OrderKind::Schedule).await?;
    let found = known.into_iter().find_map(|order| match order {
        Order::Schedule(schedule) if schedule.id == *id => Some(schedule),
        _ => None,
    });
    found.ok_or_else(|| Problem::not_found("schedule", id))
}

pub(crate) async fn list(State(app): State<App>, caller: Caller, given: Given) -> Reply {
    caller.may(Right::Oversee)?;
    given.done()?;
    let now = app.runtime().now();
    let known = app.store().orders(OrderKind::Schedule).await?;
    let rows = known.iter().filter_map(|order| match order {
        Order::Schedule(schedule) => Some(shown(schedule, now)),
        Order::Webhook(_) => None,
    });
    page("schedules", rows.collect(), None)
}

pub(crate) async fn get(State(app): State<App>, caller: Caller, Named(id): Named, given: Given) -> Reply {
    caller.may(Right::Oversee)?;
    given.done()?;
    ok(&shown(&find(&app, &id).await?, app.runtime().now()))
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
    told(app, &app.submit(caller, None, Command::ChangeSchedule(id, change)).await?)
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
    let schedule = find(&app, &id).await?;
    told(&app, &app.runtime().resume_schedule(caller.actor(), &schedule).await??)
}

fn told(app: &App, done: &Done) -> Reply {
    let Done::Order { order, .. } = done else { unreachable!("a schedule is answered with itself") };
    let Order::Schedule(schedule) = &**order else { unreachable!("a schedule is a schedule") };
    ok(&shown(schedule, app.runtime().now()))
}
