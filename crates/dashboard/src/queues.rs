//! The queues: depth, rates, time to drain, and pausing them.

use tenure_core::command::Command;
use tenure_core::id::QueueName;
use tenure_service::extract::Named;
use tenure_stats::snapshot::{QueueNow, QueueTrend};

use crate::chart::sparkline;
use crate::figures::rate;
use crate::icon;
use crate::prelude::*;

const COLUMNS: [&str; 9] =
    ["Queue", "#Ready", "Last hour", "Oldest", "#In", "#Out", "Drains in", "#Running", "Status"];

#[derive(Default)]
pub(crate) struct Queues;

impl Page for Queues {
    const TAB: Tab = Tab::Queues;

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let snapshot = service.stats().snapshot().await?;
        // Read from the store, so that the page shows the effect of a button at once.
        let paused = service.store().paused().await?;
        let lacks = Visitor::lacks(caller, Right::ManageSystem);
        let queues: Vec<(&QueueNow, &QueueTrend)> =
            snapshot.queues.iter().zip(&snapshot.queue_trends).collect();
        let row = |it: &(&QueueNow, &QueueTrend)| row(it, paused.contains(&it.0.name), lacks.as_deref());
        let content = rows(&queues, NO_TYPES, "Queues by name", &COLUMNS, row);
        Ok(html! {
            div #queues { (parts.keep("queues", content)) }
            p.hint { "Ready jobs wait for a worker. Rates are averages of the last five full minutes: jobs that became ready, and jobs that were claimed or ended." }
        })
    }
}

fn row((queue, trend): &(&QueueNow, &QueueTrend), paused: bool, lacks: Option<&str>) -> Markup {
    let name = encode(queue.name.as_str());
    let jobs = |phase: &str| format!("/ui/jobs?queue={name}&phase={phase}");
    html! {
        tr {
            th scope="row" { a href=(format!("/ui/jobs?queue={name}")) { (queue.name) } }
            td.number data-label="Ready" { a href=(jobs("ready")) { (count(queue.ready)) } }
            td { (sparkline(&trend.depth, "ready")) }
            td data-label="Oldest" { @if let Some(oldest) = trend.oldest { (when(oldest)) } @else { span.quiet { "–" } } }
            td.number data-label="In" { (rate(trend.in_per_minute)) }
            td.number data-label="Out" { (rate(trend.out_per_minute)) }
            td data-label="Drains in" { (drain(queue, trend, paused)) }
            td.number data-label="Running" { a href=(jobs("active")) { (count(queue.running)) } @if queue.waiting > 0 { div.quiet { a.plain href=(jobs("waiting")) { (count(queue.waiting)) " waiting" } } } }
            td {
                @if paused {
                    span.state.held { (icon::phase(Phase::Waiting)) "paused" } " "
                    (button("Resume", &format!("/ui/queues/{name}/resume"), lacks))
                    @if let Some(pause) = &trend.pause { div.quiet { "by " (pause.by) ", " (when(pause.since)) } }
                } @else {
                    span.quiet { "active" } " "
                    (button("Pause", &format!("/ui/queues/{name}/pause"), lacks))
                }
            }
        }
    }
}

fn drain(queue: &QueueNow, trend: &QueueTrend, paused: bool) -> Markup {
    html! {
        @if queue.ready == 0 { span.quiet { "empty" } }
        @else if paused { span.state.held { "paused" } }
        @else if let Some(time) = trend.drains_in { (span(time)) }
        @else if trend.in_per_minute > trend.out_per_minute { span.state.failed { "grows" } }
        @else { span.state.held { "does not shrink" } }
    }
}

pub(crate) async fn pause(visitor: Visitor, named: Named<QueueName>, form: Form) -> Reply {
    set_paused(visitor, named, form, true).await
}

pub(crate) async fn resume(visitor: Visitor, named: Named<QueueName>, form: Form) -> Reply {
    set_paused(visitor, named, form, false).await
}

async fn set_paused(visitor: Visitor, Named(queue): Named<QueueName>, form: Form, paused: bool) -> Reply {
    let Visitor { dashboard, caller, .. } = visitor;
    caller.may(Right::ManageSystem)?;
    form.done()?;
    dashboard.submit(&caller, None, Command::PauseQueue { queue: queue.clone(), paused }).await?;
    let message = if paused { "is paused; its jobs wait" } else { "is active again" };
    Ok(back("/ui/queues", &format!("Queue {queue} {message}.")))
}
