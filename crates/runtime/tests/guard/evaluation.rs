//! Values of expressions.

use serde_json::json;
use tenure_runtime::guard::{Guard, GuardInput};

use crate::{cases, result};

/// Each line: a guard, and its answer over one payload that has something of everything.
fn check(table: &str) {
    let payload = json!({
        "prompt": "a cat", "n": 3, "price": 1.5, "whole": 2.0, "large": 9_007_199_254_740_993_i64,
        "huge": 18_446_744_073_709_551_615_u64, "tags": ["red", "blue"], "box": { "w": 512, "h": 256 },
        "empty": "", "nothing": null, "yes": true, "in": 1, "umlaut": "äöü", "digits": "42", "grid": [[1, 2], [3]],
    });
    for (guard, expected) in cases(table) {
        assert_eq!(result(guard, &payload), expected, "{guard}");
    }
}

#[test]
fn the_guard_of_the_manual_admits_a_short_and_decent_prompt_only() {
    let guard = r#"size(payload.prompt) <= 2000 && !payload.prompt.matches("(?i)forbidden")"#;
    assert_eq!(result(guard, &json!({ "prompt": "a cat" })), "true");
    assert_eq!(result(guard, &json!({ "prompt": "a ForBidden cat" })), "false");
    assert_eq!(result(guard, &json!({ "prompt": "x".repeat(2000) })), "true");
    assert_eq!(result(guard, &json!({ "prompt": "x".repeat(2001) })), "false");
    assert_eq!(result(guard, &json!({})), "payload.prompt is missing");
    let wrong = "payload.prompt is an int, not a string, a list or a map";
    assert_eq!(result(guard, &json!({ "prompt": 7 })), wrong);
}

#[test]
fn literals_mean_what_they_mean_in_cel() {
    check(include_str!("cases/literals.txt"));
}

#[test]
fn fields_and_indexes_reach_into_the_payload() {
    check(include_str!("cases/fields_and_indexes.txt"));
}

#[test]
fn a_missing_field_is_an_error_except_in_has() {
    check(include_str!("cases/has.txt"));
}

#[test]
fn numbers_compare_by_value_and_exactly() {
    check(include_str!("cases/comparison.txt"));
}

#[test]
fn arithmetic_is_checked_and_does_not_mix_kinds() {
    check(include_str!("cases/arithmetic.txt"));
}

#[test]
fn operators_bind_as_in_cel() {
    check(include_str!("cases/precedence.txt"));
}

#[test]
fn functions_and_methods() {
    check(include_str!("cases/functions.txt"));
}

#[test]
fn without_a_user_the_user_id_is_null() {
    let guard = Guard::parse("user_id == null").unwrap();
    for (user_id, expected) in [(None, true), (Some("u-1"), false)] {
        assert_eq!(guard.admits(&GuardInput { payload: &json!({}), user_id, now_ms: 0 }), Ok(expected));
    }
}

#[test]
fn an_error_quotes_the_guard_on_one_short_line_and_never_the_payload() {
    let secret = json!({ "key": "s3cret", "n": 5 });
    let guards =
        "payload.key > 1; int(payload.key) > 1; payload.key.x == 1; payload.n.matches('5'); payload.key";
    for guard in guards.split("; ") {
        let error = result(guard, &secret);
        assert!(!error.contains("s3cret"), "{error}");
    }
    let long = format!("payload\n.absent == \"{}\"", "é".repeat(100));
    assert_eq!(result(&long, &secret), "payload .absent is missing");
    let long = format!("\"{}\" > 1", "é".repeat(100));
    let error = result(&long, &secret);
    assert!(error.starts_with("\"ééé") && error.contains("é… applies `>` to a string"), "{error}");
}
