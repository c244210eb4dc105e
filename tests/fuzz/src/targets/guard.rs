//! Guards: the first line is the payload, the rest the guard. A flaw has a place in the text; a valid guard has one result,
//! and means the same in parentheses, negated, and as an operand.

use serde_json::Value;
use tenure_runtime::guard::{Guard, GuardError, GuardFlaw, GuardInput};

pub(super) fn check(input: &[u8]) {
    let Some(text) = super::text(input) else { return };
    let (payload, source) = super::first_line(text);
    let payload = serde_json::from_str(payload).unwrap_or_default();
    match Guard::parse(source) {
        Ok(guard) => check_valid(&guard, source, &payload),
        Err(flaw) => check_flaw(&flaw, source),
    }
}

fn check_flaw(GuardFlaw { message, start, end, .. }: &GuardFlaw, source: &str) {
    assert!(source.get(*start..*end).is_some(), "{start}..{end} is no place in the text");
    assert!(!message.is_empty() && !message.contains('\n'), "the message has one line: {message:?}");
}

fn check_valid(guard: &Guard, source: &str, payload: &Value) {
    assert_eq!(guard.source(), source);
    let result = evaluate(guard, payload);
    assert_eq!(evaluate(guard, payload), result, "the same guard has another result");
    if is_limit(&result) {
        return;
    }
    // On a line alone, because a guard may end with a comment.
    let inside = |before: &str, after: &str| {
        let guard = Guard::parse(&format!("{before}(\n{source}\n){after}")).ok()?;
        Some(evaluate(&guard, payload)).filter(|result| !is_limit(result))
    };
    let kind =
        |result: &Result<bool, GuardError>| result.clone().map_err(|error| std::mem::discriminant(&error));
    for (before, after) in [("", ""), ("", " ? true : false"), ("true && ", ""), ("false || ", "")] {
        if let Some(same) = inside(before, after) {
            assert_eq!(kind(&same), kind(&result), "{before}( … ){after}");
        }
    }
    if let Some(negated) = inside("!", "") {
        assert_eq!(negated.ok(), result.as_ref().ok().map(|result| !result), "negated");
    }
    for (before, after, decided) in
        [("", " || true", true), ("true || ", "", true), ("", " && false", false), ("false && ", "", false)]
    {
        if let Some(absorbed) = inside(before, after) {
            assert_eq!(absorbed, Ok(decided), "{before}( … ){after}");
        }
    }
}

fn evaluate(guard: &Guard, payload: &Value) -> Result<bool, GuardError> {
    guard.admits(&GuardInput { payload, user_id: Some("ann"), now_ms: 1_800_000_000_000 })
}

/// Whether a limit was exceeded, which a longer guard may do where a shorter one does not.
fn is_limit(result: &Result<bool, GuardError>) -> bool {
    matches!(result, Err(GuardError::TooCostly | GuardError::TooDeep))
}
