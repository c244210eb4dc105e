//! `/api/stats`: the snapshot as JSON. The same from every node, and there after a restart.

use serde_json::{Value, json};
use tenure_service::links::page_of;
use tenure_service::problem::Problem;
use tenure_stats::snapshot::{Attention, LifecycleNow};

use crate::app::App;

pub(crate) async fn stats(app: &App) -> Result<Value, Problem> {
    let now = app.stats().snapshot().await?;
    Ok(json!({
        "at": now.at,
        "counts": now.counts,
        "types": now.recent,
        "states": now.lifecycles.iter().flat_map(states).collect::<Vec<_>>(),
        "transitions": now.lifecycles.iter().flat_map(transitions).collect::<Vec<_>>(),
        "failures": now.failures,
        "attention": now.attention.iter().map(attention).collect::<Vec<_>>(),
        "minutes": now.minutes,
        "nodes": now.nodes,
    }))
}

fn states(lifecycle: &LifecycleNow) -> impl Iterator<Item = Value> {
    lifecycle.states.iter().map(|state| {
        json!({
            "lifecycle": lifecycle.name, "state": state.name, "count": state.count,
            "oldest_since": state.oldest_since, "p95_ms": state.p95_ms,
        })
    })
}

fn transitions(lifecycle: &LifecycleNow) -> impl Iterator<Item = Value> {
    lifecycle.transitions.iter().map(|it| {
        json!({
            "lifecycle": lifecycle.name, "from": it.from, "trigger": it.trigger, "to": it.to,
            "per_minute": it.per_minute,
        })
    })
}

fn attention(it: &Attention) -> Value {
    json!({ "what": it.what, "text": it.text, "since": it.since, "link": page_of(&it.subject) })
}
