//! The queues: their depth, and pausing them.

use tenure_core::command::Command;
use tenure_core::id::QueueName;
use tenure_service::extract::Named;
use tenure_service::links::encode;
use tenure_stats::snapshot::QueueNow;

use crate::form::Form;
use crate::format::{button, count, nothing, table};
use crate::prelude::*;
use crate::session::back;

struct Queues;

pub(crate) async fn page(visitor: Visitor, params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    params.done()?;
    show(visitor, Queues).await
}

impl Page for Queues {
    const TAB: Tab = Tab::Queues;

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup, Problem> {
        let snapshot = service.stats().snapshot().await?;
        // Read from the store, so that the page shows the effect of a button at once.
        let paused = service.store().paused().await?;
        let is_paused = |queue: &QueueNow| paused.contains(&queue.name);
        let lacks = Visitor::lacks(caller, Right::Operate);
        let content = html! {
            @if snapshot.queues.is_empty() {
                (nothing("No types and no jobs yet. Create a job of any type:", "tenure run hello"))
            } @else {
                (table("Queues by name", &["Queue", "#Ready", "#Running", "#Waiting", "Status"], &html! {
                    @for queue in &snapshot.queues { (row(queue, is_paused(queue), lacks.as_deref())) }
                }))
            }
        };
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
    caller.may(Right::Operate)?;
    form.done()?;
    dashboard.submit(&caller, None, Command::PauseQueue { queue: queue.clone(), paused }).await?;
    let message = if paused { "is paused; its jobs wait" } else { "is active again" };
    Ok(back("/ui/queues", &format!("Queue {queue} {message}.")))
}
