//! How the whole is doing: workers, queues, statistics, the operators' trail.

use std::sync::Arc;

use axum::extract::State;
use serde_json::{Value, json};
use tenure_core::command::Command;
use tenure_core::id::Name;
use tenure_core::job::Job;
use tenure_core::wire;
use tenure_store::Store as _;

use crate::app::App;
use crate::body::OptionalBody;
use crate::caller::{Caller, Right};
use crate::http::jobs::EmptyBody;
use crate::http::{Named, Reply, ok, page};
use crate::problem::Problem;
use crate::pulse;
use crate::query::Given;
use crate::roll::{self, Worker};

pub(crate) async fn workers(State(app): State<App>, caller: Caller, given: Given) -> Reply {
    caller.may(Right::Oversee)?;
    given.done()?;
    let held = |job: &Arc<Job>| {
        let fence = job.lease.as_ref().map(|lease| lease.fence);
        json!({ "job_id": job.id(), "type": job.spec.job_type, "state": job.state, "fence": fence })
    };
    let rows = roll::call(&app).await?.into_iter().map(|Worker { name, seen_at, holds }| {
        json!({ "name": name, "seen_at": seen_at, "holds": holds.iter().map(held).collect::<Vec<_>>() })
    });
    page("workers", rows.collect(), None)
}

pub(crate) async fn queues(State(app): State<App>, caller: Caller, given: Given) -> Reply {
    caller.may(Right::Oversee)?;
    given.done()?;
    let (paused, gauges) = (app.store().paused().await?, app.store().gauges().await?);
    let rows = pulse::queues(&app.runtime().catalog(), &paused, &gauges.jobs);
    page("queues", rows.iter().map(|queue| json!(queue)).collect(), None)
}

pub(crate) async fn pause(
    State(app): State<App>,
    caller: Caller,
    Named(queue): Named,
    given: Given,
    OptionalBody(body): OptionalBody<EmptyBody>,
) -> Reply {
    set_paused(&app, &caller, (queue, true), given, body.key).await
}

pub(crate) async fn resume(
    State(app): State<App>,
    caller: Caller,
    Named(queue): Named,
    given: Given,
    OptionalBody(body): OptionalBody<EmptyBody>,
) -> Reply {
    set_paused(&app, &caller, (queue, false), given, body.key).await
}

async fn set_paused(
    app: &App,
    caller: &Caller,
    (queue, paused): (Name, bool),
    given: Given,
    key: Option<tenure_core::command::GivenKey>,
) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    app.submit(caller, key, Command::Pause(queue.clone(), paused)).await?;
    ok(&json!({ "name": queue, "paused": paused }))
}

pub(crate) async fn audit(State(app): State<App>, caller: Caller, mut given: Given) -> Reply {
    caller.may(Right::Oversee)?;
    let (after, limit) = (given.rows_after("cursor")?, given.limit()?);
    given.done()?;
    let lines = app.store().audit(after, limit).await?;
    let next = (lines.len() == limit).then(|| lines.last().map(|(row, _)| row.to_string())).flatten();
    page("audit", lines.iter().map(|(row, line)| wire::audit_line(*row, line)).collect(), next)
}

pub(crate) async fn stats(State(app): State<App>, caller: Caller, given: Given) -> Reply {
    caller.may(Right::Oversee)?;
    given.done()?;
    let stats: Result<Value, Problem> = crate::stats::stats(&app).await;
    ok(&stats?)
}
