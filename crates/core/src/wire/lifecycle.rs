//! A lifecycle as callers see it.

use serde_json::{Value, json};

use crate::lifecycle::{Lifecycle, LongestLife, Timeout};

/// A lifecycle with all that is derived from it.
pub fn lifecycle(lifecycle: &Lifecycle) -> Value {
    let states: Vec<Value> = lifecycle
        .states
        .iter()
        .map(|state| {
            json!({
                "name": state.name,
                "phase": state.phase.as_str(),
                "outcome": state.phase.outcome(),
                "timeout": match state.timeout {
                    Timeout::Unset => Value::Null,
                    Timeout::Never => json!("never"),
                    Timeout::After(span) => json!(span),
                },
                "alias": state.alias,
                "rank": state.rank,
            })
        })
        .collect();
    let transitions: Vec<Value> = lifecycle
        .rules
        .iter()
        .map(|rule| {
            json!({
                "on": rule.on, "from": rule.from, "when": rule.when.map(|when| when.to_string()), "to": rule.to,
                "event": rule.event, "audit": rule.audit, "reason": rule.reason,
            })
        })
        .collect();
    json!({
        "name": lifecycle.name,
        "version": lifecycle.version,
        "about": lifecycle.about,
        "initial": lifecycle.initial,
        "states": states,
        "transitions": transitions,
        "longest_life": {
            "untouched": life(&lifecycle.longest_life_untouched()),
            "crashing": life(&lifecycle.longest_life_crashing()),
        },
    })
}

fn life(life: &LongestLife) -> Value {
    match life {
        LongestLife::Within(span) => json!({ "final_within": span, "waits_in": null }),
        LongestLife::Waits(wait) => json!({ "final_within": null, "waits_in": wait.state }),
    }
}
