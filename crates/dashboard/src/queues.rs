//! The queues: their depth, and pausing them.

use tenure_core::command::Command;
use tenure_core::id::QueueName;
use tenure_service::extract::Named;
use tenure_stats::snapshot::QueueNow;

use crate::prelude::*;

#[derive(Default)]
pub(crate) struct Queues;

impl Page for Queues {
    const TAB: Tab = Tab::Queues;

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let snapshot = service.stats().snapshot().await?;
        // Read from the store, so that the page shows the effect of a button at once.
        let paused = service.store().paused().await?;
        let lacks = Visitor::lacks(caller, Right::ManageSystem);
        let row = |queue: &QueueNow| row(queue, paused.contains(&queue.name), lacks.as_deref());
        let columns = ["Queue", "#Ready", "#Running", "#Waiting", "Status"];
        let content = list(&snapshot.queues, NO_TYPES, "Queues by name", &columns, row);
        Ok(html! { div #queues { (parts.keep("queues", content)) } })
    }
}

fn row(queue: &QueueNow, paused: bool, lacks: Option<&str>) -> Markup {
    let name = encode(queue.name.as_str());
    let jobs = |phase: &str| format!("/ui/jobs?queue={name}&phase={phase}");
    html! {
        tr {
            th scope="row" { a href=(format!("/ui/jobs?queue={name}")) { (queue.name) } }
            td.number { a href=(jobs("ready")) { (count(queue.ready)) } }
            td.number { a href=(jobs("active")) { (count(queue.running)) } }
            td.number { a href=(jobs("waiting")) { (count(queue.waiting)) } }
            td {
                @if paused {
                    span.state.held { "⏸ paused" } " "
                    (button("Resume", &format!("/ui/queues/{name}/resume"), lacks))
                } @else {
                    span.quiet { "active" } " "
                    (button("Pause", &format!("/ui/queues/{name}/pause"), lacks))
                }
            }
        }
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
