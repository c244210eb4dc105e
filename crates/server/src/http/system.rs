//! State of the system: workers, queues, statistics, the audit log.

use tenure_api::{PausedQueue, Queue};
use tenure_core::id::QueueName;
use tenure_service::workers;

use crate::http::prelude::*;

pub(crate) async fn workers(State(app): State<App>) -> Reply {
    let rows = workers::list(&app).await?;
    page(CallId::ListWorkers, rows.iter().map(wire::worker).collect(), None)
}

pub(crate) async fn queues(State(app): State<App>) -> Reply {
    let (paused, gauges) = (app.store().paused().await?, app.store().gauges().await?);
    let rows = tenure_stats::queues(&app.runtime().catalog(), &paused, &gauges.jobs);
    let rows = rows.into_iter().map(|queue| Queue {
        name: queue.name.to_string(),
        paused: queue.paused,
        ready: queue.ready,
        running: queue.running,
        waiting: queue.waiting,
    });
    page(CallId::ListQueues, rows.collect(), None)
}

pub(crate) async fn pause_queue(
    State(app): State<App>,
    caller: Caller,
    Named(queue): Named<QueueName>,
    OptionalBody(body): OptionalBody<request::Empty>,
) -> Reply {
    set_paused(&app, &caller, queue, true, body.key).await
}

pub(crate) async fn resume_queue(
    State(app): State<App>,
    caller: Caller,
    Named(queue): Named<QueueName>,
    OptionalBody(body): OptionalBody<request::Empty>,
) -> Reply {
    set_paused(&app, &caller, queue, false, body.key).await
}

async fn set_paused(
    app: &App,
    caller: &Caller,
    queue: QueueName,
    paused: bool,
    key: Option<IdempotencyKey>,
) -> Reply {
    app.submit(caller, key, Command::PauseQueue { queue: queue.clone(), paused }).await?;
    ok(&PausedQueue { name: queue.to_string(), paused })
}

pub(crate) async fn audit(State(app): State<App>, mut params: QueryParams) -> Reply {
    let (after, limit) = (params.rows_after("cursor")?, params.limit()?);
    params.done()?;
    let lines = app.store().audit(after, limit).await?;
    let next = next_cursor(&lines, limit, |(row, _)| row.to_string());
    page(CallId::ListAudit, lines.iter().map(|(row, line)| wire::audit_line(*row, line)).collect(), next)
}

pub(crate) async fn stats(State(app): State<App>) -> Reply {
    let snapshot = app.stats().snapshot().await?;
    ok(&wire::stats(&snapshot))
}
