//! The JSON output of `tenure lifecycle`.

use serde_json::{Value, json};
use tenure_core::lifecycle::{Change, Diff, Flaw, Lifecycle, Location};

/// The result of `check` for one file.
pub(super) fn checked(file: &str, flaws: &[Flaw]) -> Value {
    let flaws: Vec<Value> = flaws.iter().map(flaw).collect();
    json!({ "file": file, "ok": flaws.is_empty(), "flaws": flaws })
}

/// One flaw, with its places.
pub(super) fn flaw(flaw: &Flaw) -> Value {
    let place = |it: &Location| json!({ "line": it.line, "column": it.column, "start": it.start, "end": it.end, "label": it.label });
    let places: Vec<Value> = flaw.locations.iter().map(place).collect();
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
    let change = |it: &Change| json!({ "kind": it.kind.as_str(), "what": it.what, "how": it.how, "blocks": it.blocks });
    let changes: Vec<Value> = diff.changes.iter().map(change).collect();
    let head = |lifecycle: &Lifecycle| json!({ "name": lifecycle.name, "version": lifecycle.version });
    json!({ "old": head(old), "new": head(new), "compatible": diff.compatible, "changes": changes })
}
