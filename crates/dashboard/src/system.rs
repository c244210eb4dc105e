//! System: nodes, store, schedules, webhooks, audit log and settings.

use tenure_config::Setting;
use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::event::AuditLine;
use tenure_core::schedule::Schedule;
use tenure_core::webhook::Webhook;
use tenure_stats::snapshot::{NodeLife, NodeNow, StoreNow};

use crate::prelude::*;

/// Lines of the audit log that are shown.
const AUDIT_LINES: usize = 20;

#[derive(Default)]
pub(crate) struct System;

impl Page for System {
    const TAB: Tab = Tab::System;

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup> {
        let snapshot = service.stats().snapshot().await?;
        let (mut schedules, mut webhooks) = (Vec::new(), Vec::new());
        for kind in [AutomationKind::Schedule, AutomationKind::Webhook] {
            for order in service.store().automations(kind).await? {
                match order {
                    Automation::Schedule(it) => schedules.push(it),
                    Automation::Webhook(it) => webhooks.push(it),
                    Automation::Erasure(_) => {}
                }
            }
        }
        let audit = service.store().audit_before(u64::MAX, AUDIT_LINES).await?;
        Ok(html! {
            p.hint {
                "Tenure " (env!("CARGO_PKG_VERSION")) ". "
                a href="/docs" { "API reference" } ", "
                a href="/openapi.json" { "OpenAPI" } ", "
                a href="/metrics" { "metrics" } "."
            }
            section { h2 { "Nodes" } div #nodes { (parts.keep("nodes", nodes(&snapshot.nodes))) } }
            section { h2 { "Store" } div #store { (parts.keep("store", store(&snapshot.store))) } }
            section { h2 { "Schedules" } div #schedules { (parts.keep("schedules", schedules_table(&schedules))) } }
            section { h2 { "Webhooks" } div #webhooks { (parts.keep("webhooks", webhooks_table(&webhooks))) } }
            section { h2 { "Audit log" } div #audit { (parts.keep("audit", audit_table(&audit))) } }
            section { h2 { "Configuration" } (configuration(&service.settings())) }
        })
    }
}

fn nodes(nodes: &[NodeNow]) -> Markup {
    let life = |node: &NodeNow| match node.life {
        NodeLife::Live => html! { span.state.succeeded { "✓ live" } },
        NodeLife::Stopped => html! { span.state.cancelled { "⊘ stopped" } },
        NodeLife::Gone => html! { span.state.failed { "✗ gone" } },
    };
    let rows = html! {
        @for node in nodes {
            tr {
                th.mono scope="row" { (node.id) @if node.own { " " span.quiet { "(this node)" } } }
                td { (life(node)) }
                td { (node.address) }
                td { (node.version) }
                td { (when(node.started_at)) }
                td { @if node.own { span.quiet { "now" } } @else { (when(node.seen_at)) } }
            }
        }
    };
    table("Nodes of the last hour", &["Node", "Status", "Address", "Version", "Started", "Last seen"], &rows)
}

fn store(store: &StoreNow) -> Markup {
    let kind = match store.kind {
        "sqlite" => "SQLite, embedded",
        "postgres" => "PostgreSQL",
        other => other,
    };
    let number = |value: Option<u64>| value.map_or_else(|| "–".to_owned(), count);
    let took = |us: Option<u64>| match us {
        None => "–".to_owned(),
        Some(us) if us < 10_000 => format!("{}.{} ms", us / 1000, us % 1000 / 100),
        Some(us) => span(Millis(us / 1000)),
    };
    let (commands, commit) = (&store.commands_per_commit, &store.commit_us);
    html! {
        dl.pairs {
            dt { "Kind" } dd { (kind) }
            dt { "Batch size" } dd { "p50 " (number(commands.p50)) ", p95 " (number(commands.p95)) }
            dt { "Commit time" } dd { "p50 " (took(commit.p50)) ", p95 " (took(commit.p95)) ", p99 " (took(commit.p99)) }
            dt { "Queued commands" } dd { (count(store.queued_commands as u64)) }
        }
        p.hint { "Last 5 to 10 minutes on this node." }
    }
}

fn schedules_table(schedules: &[Schedule]) -> Markup {
    let row = |it: &Schedule| {
        html! {
            tr {
                th scope="row" { (it.id) }
                td.mono { (it.plan.cron) " " span.quiet { (it.plan.timezone) } }
                td { (it.plan.job.job_type) }
                td { @if let Some(at) = it.next_at { (until(at)) } @else { span.state.held { "⏸ paused" } } }
                td { @if let Some(at) = it.last_at { (when(at)) } @if let Some(id) = it.last_job { " " (job_link(id)) } }
                td { @if let Some(error) = &it.last_error { span.failed { (error) } } }
            }
        }
    };
    let none = ("No schedules.", "tenure schedule create NAME --cron '0 3 * * *' --type TYPE");
    let columns = ["Schedule", "Cron", "Type", "Next run", "Last run", "Last error"];
    list(schedules, none, "Schedules", &columns, row)
}

fn webhooks_table(webhooks: &[Webhook]) -> Markup {
    let row = |it: &Webhook| {
        html! {
            tr {
                th scope="row" { (it.id) }
                td { (it.url) }
                td { @if let Some(at) = it.disabled_at { span.state.failed { "✗ disabled" } " " (when(at)) } @else if it.failures > 0 { span.state.held { "failing, " (it.failures) " attempts" } } @else { span.state.succeeded { "✓ active" } } }
                td.number { (count(it.position.0)) }
                td { @if let Some(error) = &it.last_error { span.failed { (error) } } }
            }
        }
    };
    let none = ("No webhooks.", "tenure webhook create NAME --url https://…");
    list(webhooks, none, "Webhooks", &["Webhook", "URL", "Status", "#Position", "Last error"], row)
}

fn audit_table(lines: &[(u64, AuditLine)]) -> Markup {
    let row = |(_, line): &(u64, AuditLine)| {
        html! {
            tr {
                td { (when(line.ts)) }
                td { (line.actor) }
                td.mono { (line.action) }
                td { @if let Some(id) = line.job_id { (job_link(id)) } }
                td { (line.reason.as_deref().unwrap_or_default()) }
            }
        }
    };
    let columns = ["Time", "Actor", "Action", "Job", "Reason"];
    list(lines, ("The audit log is empty.", ""), "Audit log, newest first", &columns, row)
}

fn configuration(settings: &[Setting]) -> Markup {
    if settings.is_empty() {
        return html! { p.quiet { "Default configuration." } };
    }
    let rows = html! {
        @for setting in settings {
            tr { th.mono scope="row" { (setting.name) } td.mono { (setting.value) } td { (setting.origin) } }
        }
    };
    table("Settings", &["Setting", "Value", "Source"], &rows)
}
