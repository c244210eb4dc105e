//! The same answers for programs.

use serde_json::{Value, json};
use tenure_core::lifecycle::{Diff, Flaw, Lifecycle, LongestLife, Timeout};

/// What became of a file's check.
pub(super) fn checked(file: &str, flaws: &[Flaw]) -> Value {
    let flaws: Vec<Value> = flaws.iter().map(flaw).collect();
    json!({ "file": file, "ok": flaws.is_empty(), "flaws": flaws })
}

fn flaw(flaw: &Flaw) -> Value {
    let places: Vec<Value> = flaw
        .places
        .iter()
        .map(|place| {
            json!({
                "line": place.line, "column": place.column, "start": place.start, "end": place.end,
                "label": place.label,
            })
        })
        .collect();
    let first = flaw.places.first();
    json!({
        "rule": flaw.rule.as_str(),
        "message": flaw.message,
        "line": first.map(|place| place.line),
        "column": first.map(|place| place.column),
        "help": flaw.help,
        "places": places,
    })
}

/// A lifecycle with all that is derived from it.
pub(super) fn lifecycle(lifecycle: &Lifecycle) -> Value {
    let states: Vec<Value> = lifecycle
        .states
        .iter()
        .map(|state| {
            json!({
                "name": state.name,
                "phase": state.phase.as_str(),
                "outcome": state.phase.outcome(),
                "timeout": match state.timeout {
                    Timeout::Unsaid => Value::Null,
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

/// What differs.
pub(super) fn diff(old: &Lifecycle, new: &Lifecycle, diff: &Diff) -> Value {
    let changes: Vec<Value> = diff
        .changes
        .iter()
        .map(|change| {
            json!({ "kind": change.kind.as_str(), "what": change.what, "how": change.how, "blocks": change.blocks })
        })
        .collect();
    let head = |lifecycle: &Lifecycle| json!({ "name": lifecycle.name, "version": lifecycle.version });
    json!({ "old": head(old), "new": head(new), "compatible": diff.compatible, "changes": changes })
}
