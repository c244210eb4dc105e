//! One mistake is one flaw: flaws that only follow from another are not reported.

use expect_test::{Expect, expect};
use tenure_core::lifecycle::Lifecycle;

use super::{flaws, review};

fn check(changes: &[(&str, &str)], expected: &Expect) {
    let lines: Vec<String> = flaws(changes).iter().map(|flaw| format!("{flaw}\n")).collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn a_misspelled_state_makes_no_state_unreachable() {
    check(
        &[("to   = \"in_review\"", "to   = \"in_revue\"")],
        &expect![[r#"
            62:8 L1 `in_revue` is not a state of this lifecycle
        "#]],
    );
}

#[test]
fn an_undeclared_state_is_reported_once_with_every_place() {
    let found = flaws(&[("in_review = { role = \"waiting\", timeout = \"3d\" }\n", "")]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].locations.len(), 4);
}

#[test]
fn a_misspelled_table_of_transitions_is_read_as_meant() {
    let source = review(&[]).replace("[[transitions]]", "[[transition]]");
    let found = Lifecycle::parse(&source).unwrap_err();
    assert_eq!(found.len(), 1, "{found:#?}");
}

#[test]
fn a_missing_role_does_not_also_break_what_depends_on_it() {
    check(
        &[("role = \"active\", ", "")],
        &expect![[r#"
        9:1 L2 `drafting` has neither a role nor an outcome
    "#]],
    );
}

#[test]
fn an_unknown_trigger_might_have_been_the_missing_one() {
    check(
        &[("on   = \"succeed\"", "on   = \"finished_well\"")],
        &expect![[r#"
        60:8 L1 `finished_well` is not a trigger
    "#]],
    );
}

#[test]
fn a_state_behind_an_unreachable_one_is_reported_with_it() {
    let found = flaws(&[
        (
            "on   = \"succeed\"\nfrom = \"drafting\"\nto   = \"in_review\"",
            "on = \"succeed\"\nfrom = \"drafting\"\nto = \"published\"",
        ),
        ("from = \"in_review\"\nto   = \"published\"", "from = \"in_review\"\nto   = \"failed\""),
    ]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].locations.len(), 2, "`rejected` is only reached from `in_review`");
}

#[test]
fn a_state_that_leads_into_a_trap_is_reported_with_it() {
    let found = flaws(&[
        ("[policy]", "limbo = { role = \"waiting\", timeout = \"never\" }\n[policy]"),
        ("to   = \"published\"", "to   = \"limbo\""),
        ("settle = [\"published\", \"rejected\"]", "settle = [\"rejected\"]"),
        ("published = { outcome = \"succeeded\", alias = \"done\" }\n", ""),
    ]);
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["15:1 L5 a job in `limbo` can never finish"]);
}

#[test]
fn independent_flaws_are_reported_together() {
    check(
        &[
            ("version = 1", "version = 0"),
            ("timeout = \"1h\"", "timeout = \"soon\""),
            ("to   = \"assigned\"", "to   = \"asigned\""),
            ("[\"failed\", \"dead\"]", "[\"failed\"]"),
            ("\"in_review\"]", "\"in_review\", \"rejected\"]"),
            ("from = \"assigned\"\nto   = \"failed\"", "from = \"assigned\"\nto   = \"queued\""),
        ],
        &expect![[r#"
            2:11 syntax `version` is 0, which is out of range
            7:41 syntax `soon` is not a duration
            14:1 L12 `dead` neither settles nor refunds
            51:8 L1 `asigned` is not a state of this lifecycle
            83:8 L7 `lease_expired` begins a new attempt without using one up, so the job could run indefinitely
            89:32 L3 no rule may leave `rejected`: it is final
        "#]],
    );
}
