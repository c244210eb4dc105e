//! Guards and schemas, which check the payload of every new job. Cases are tables of text; each module has one `check`.

mod absorption;
mod evaluation;
mod hostile;
mod loading;
mod properties;
mod schemas;

use serde_json::Value as Json;
use tenure_runtime::guard::{Guard, GuardInput};

/// The result of a guard as text: `true`, `false`, or the error.
fn result(guard: &str, payload: &Json) -> String {
    let guard = Guard::parse(guard).unwrap_or_else(|flaw| panic!("{guard} is refused: {flaw:?}"));
    let scope = GuardInput { payload, user_id: Some("u-1"), now_ms: 1_700_000_000_000 };
    match guard.admits(&scope) {
        Ok(admitted) => admitted.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Lines of `left => right`; blank ones are skipped.
fn cases(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| {
        let (left, right) = line.rsplit_once(" => ").expect("a case has an arrow");
        (left.trim(), right.trim())
    })
}
