//! `&&` and `||` with an error on one side: the complete table of CEL.

use serde_json::json;

use crate::{cases, result};

/// Each line: an operation on T(rue), F(alse), E(rror) and N (not a bool), and its result; E is any error.
fn check(table: &str) {
    let payload = json!({ "t": true, "f": false, "n": 1 });
    for (line, expected) in cases(table) {
        let guard: String = line
            .split_whitespace()
            .map(|word| match word {
                "T" => " payload.t ",
                "F" => " payload.f ",
                "E" => " payload.absent ",
                "N" => " payload.n ",
                operator => operator,
            })
            .collect();
        let found = result(&guard, &payload);
        let found = match found.as_str() {
            "true" => "T",
            "false" => "F",
            "payload.absent is missing" => "E",
            "payload.n is an int, not a bool" => "N",
            other => panic!("{guard}: {other}"),
        };
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn and_is_false_if_one_side_is_false() {
    check(include_str!("cases/and.txt"));
}

#[test]
fn or_is_true_if_one_side_is_true() {
    check(include_str!("cases/or.txt"));
}

#[test]
fn chains_absorb_as_pairs_do_and_report_the_first_error() {
    check(include_str!("cases/chains.txt"));
}
