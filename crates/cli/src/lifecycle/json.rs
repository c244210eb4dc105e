//! The JSON output of `tenure lifecycle`.

use serde_json::{Value, json};
use tenure_core::lifecycle::{Diff, Flaw, Lifecycle};

/// The result of `check` for one file.
pub(super) fn checked(file: &str, flaws: &[Flaw]) -> Value {
    let flaws: Vec<Value> = flaws.iter().map(flaw).collect();
    json!({ "file": file, "ok": flaws.is_empty(), "flaws": flaws })
}

fn flaw(flaw: &Flaw) -> Value {
    let places: Vec<Value> = flaw
        .locations
        .iter()
        .map(|place| {
            json!({
                "line": place.line, "column": place.column, "start": place.start, "end": place.end,
                "label": place.label,
            })
        })
        .collect();
    let first = flaw.locations.first();
    json!({
        "rule": flaw.rule.as_str(),
        "message": flaw.message,
        "line": first.map(|place| place.line),
        "column": first.map(|place| place.column),
        "help": flaw.help,
        "places": places,
    })
}

/// The result of `diff`.
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
