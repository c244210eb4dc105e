//! System: nodes, store and settings.

use tenure_config::Setting;
use tenure_core::lifecycle::Outcome;
use tenure_stats::snapshot::{NodeLife, NodeNow, StoreNow};

use crate::icon;
use crate::prelude::*;

#[derive(Default)]
pub(crate) struct System;

impl Page for System {
    const TAB: Tab = Tab::System;

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup> {
        let snapshot = service.stats().snapshot().await?;
        Ok(html! {
            p.hint {
                "Tenure " (env!("CARGO_PKG_VERSION")) ". "
                a href="/docs" { "API reference" } ", "
                a href="/openapi.json" { "OpenAPI" } ", "
                a href="/metrics" { "metrics" } "."
            }
            section { h2 { "Nodes" } div #nodes { (parts.keep("nodes", nodes(&snapshot.nodes))) } }
            section { h2 { "Store" } div #store { (parts.keep("store", store(&snapshot.store))) } }
            section { h2 { "Configuration" } (configuration(&service.settings())) }
        })
    }
}

fn nodes(nodes: &[NodeNow]) -> Markup {
    let life = |node: &NodeNow| match node.life {
        NodeLife::Live => html! { span.state.succeeded { (icon::check()) "live" } },
        NodeLife::Stopped => {
            html! { span.state.cancelled { (icon::phase(Phase::Final(Outcome::Cancelled))) "stopped" } }
        }
        NodeLife::Gone => html! { span.state.failed { (icon::phase(Phase::Final(Outcome::Failed))) "gone" } },
    };
    let rows = html! {
        @for node in nodes {
            tr {
                th.mono scope="row" { (node.id) @if node.own { " " span.quiet { "(this node)" } } }
                td { (life(node)) }
                td data-label="Address" { (node.address) }
                td data-label="Version" { (node.version) }
                td data-label="Started" { (when(node.started_at)) }
                td data-label="Last seen" { @if node.own { span.quiet { "now" } } @else { (when(node.seen_at)) } }
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

fn configuration(settings: &[Setting]) -> Markup {
    if settings.is_empty() {
        return html! { p.quiet { "Default configuration." } };
    }
    let rows = html! {
        @for setting in settings {
            tr { th.mono scope="row" { (setting.name) } td.mono data-label="Value" { (setting.value) } td data-label="Source" { (setting.origin) } }
        }
    };
    table("Settings", &["Setting", "Value", "Source"], &rows)
}
