//! State of the system: workers, queues, statistics.

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

/// Pauses or resumes a queue.
pub(crate) async fn set_paused<const PAUSED: bool>(
    call: CallContext,
    Named(queue): Named<QueueName>,
    body: EmptyBody,
) -> Reply {
    call.submit(body.key, Command::PauseQueue { queue: queue.clone(), paused: PAUSED }).await?;
    ok(&PausedQueue { name: queue.to_string(), paused: PAUSED })
}

pub(crate) async fn stats(State(app): State<App>, mut params: QueryParams) -> Reply {
    let asked = params.history()?;
    params.done()?;
    let mut answer = wire::stats(&*app.stats().snapshot().await?);
    if let Some((series, range)) = asked {
        let history = app.stats().history(series, range, 0).await?;
        answer.history = Some(wire::stats_history(&history));
    }
    ok(&answer)
}
