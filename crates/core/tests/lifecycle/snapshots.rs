//! The full text of the most important flaws: rule, message, locations with labels, and help.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use tenure_core::lifecycle::Lifecycle;

use super::review;

fn check(changes: &[(&str, &str)], expected: &Expect) {
    let source = review(changes);
    let mut text = String::new();
    for flaw in Lifecycle::parse(&source).unwrap_err() {
        let _ = writeln!(text, "{} {}: {}", flaw.rule, flaw.rule.title(), flaw.message);
        for place in &flaw.locations {
            let piece = &source[place.start..place.end];
            let _ = writeln!(text, "  {}:{} {piece}: {}", place.line, place.column, place.label);
        }
        let _ = writeln!(text, "  help: {}", flaw.help);
    }
    expected.assert_eq(&text);
}

#[test]
fn syntax() {
    check(
        &[("role = \"held\"", "role = \"held")],
        &expect![[r#"
            syntax form: this is not TOML: invalid basic string, expected `"`
              8:29 : here
              help: write TOML: one `key = value` per line, strings in double quotes
        "#]],
    );
    check(
        &[("timeout = \"1h\"", "timeout = \"10 sekunden\"")],
        &expect![[r#"
            syntax form: `10 sekunden` is not a duration
              7:41 "10 sekunden": expected a number and a unit
              help: write it like "500ms", "10s", "1m 30s", "2h" or "3d"; the maximum is a hundred years
        "#]],
    );
}

#[test]
fn names() {
    check(
        &[("to   = \"assigned\"", "to   = \"asigned\"")],
        &expect![[r#"
        L1 names: `asigned` is not a state of this lifecycle
          51:8 "asigned": no state has this name
          help: did you mean `assigned`? the states are queued, assigned, drafting, in_review, published, rejected, failed and dead
    "#]],
    );
    check(
        &[("role = \"held\"", "rol = \"held\"")],
        &expect![[r#"
            L1 names: `rol` is not a setting of a state
              8:15 rol: unknown
              help: did you mean `role`? the settings of a state are role, outcome, timeout and alias
        "#]],
    );
    check(
        &[("alias = \"done\"", "alias = \"failed\"")],
        &expect![[r#"
            L1 names: the alias `failed` is taken
              11:46 "failed": second use
              13:1 failed: first use
              help: choose another alias, or remove it
        "#]],
    );
}

#[test]
fn roles() {
    check(
        &[("role = \"held\"", "role = \"held\", outcome = \"failed\"")],
        &expect![[r#"
            L2 roles: `assigned` has a role and an outcome
              8:40 "failed": this makes it final
              8:22 "held": this makes it not final
              help: keep `outcome` if the job is finished in this state, otherwise `role`
        "#]],
    );
    check(
        &[("initial = \"queued\"", "initial = \"assigned\"")],
        &expect![[r#"
            L2 roles: `create` leads to `queued`, but the initial state is `assigned`
              46:6 "queued": a new job is here
              4:11 "assigned": but should be here
              help: use the same state in both
        "#]],
    );
}

#[test]
fn absorbing() {
    check(
        &[("[\"queued\", \"in_review\"]", "[\"queued\", \"in_review\", \"dead\"]")],
        &expect![[r#"
            L3 absorbing: no rule may leave `dead`: it is final
              89:32 "dead": this rule leaves it
              14:25 "dead": this makes `dead` final
              help: to run it again, create a new job with `retry_of`; or give the state a `role` instead of an `outcome`
        "#]],
    );
}

#[test]
fn reachable() {
    check(
        &[("to    = \"rejected\"", "to    = \"published\"")],
        &expect![[r#"
            L4 reachable: `rejected` cannot be reached from the initial state
              12:1 rejected: never entered
              help: add a transition into it, or remove the state
        "#]],
    );
}

#[test]
fn no_trap() {
    check(
        &[
            ("[policy]", "limbo = { role = \"waiting\", timeout = \"never\" }\n[policy]"),
            (
                "to    = \"rejected\"",
                "to    = \"rejected\"\n[[transitions]]\non = \"signal:shelve\"\nfrom = \"in_review\"\nto = \"limbo\"",
            ),
        ],
        &expect![[r#"
            L5 no trap: a job in `limbo` can never finish
              16:1 limbo: no way out
              help: add a rule that leads from here towards a final state
        "#]],
    );
}

#[test]
fn forward() {
    check(
        &[(
            "on   = \"signal:approve\"",
            "on = \"signal:back\"\nfrom = \"in_review\"\nto = \"drafting\"\n[[transitions]]\non   = \"signal:approve\"",
        )],
        &expect![[r#"
            L6 forward: a job can move in a cycle: `drafting` → `in_review` → `drafting`
              95:6 "drafting": this closes the cycle
              62:8 "in_review": part of the cycle
              help: lead back to a ready state with when = "retry", which begins the next attempt, or forward to a state that the job has not been in
            L9 owned: `signal:back` leads to `drafting`, where no worker would hold the job
              95:6 "drafting": a worker must hold the job here
              94:8 "in_review": no worker holds it in `in_review`
              help: lead to a ready state instead, from which `claim` gives the job to a worker
        "#]],
    );
}

#[test]
fn bounded() {
    check(
        &[("from = \"assigned\"\nto   = \"failed\"", "from = \"assigned\"\nto   = \"queued\"")],
        &expect![[r#"
            L7 bounded: `lease_expired` begins a new attempt without using one up, so the job could run indefinitely
              83:8 "lease_expired": needs `when = "retry"`
              85:8 "queued": a ready state: the next attempt begins
              help: add when = "retry", followed by a rule without a condition for when no attempt is left; only `release` and signals may lead back without it
        "#]],
    );
}

#[test]
fn total() {
    check(
        &[(
            "on   = \"signal:approve\"",
            "on = \"signal:decline\"\nfrom = \"in_review\"\nto = \"published\"\n[[transitions]]\non   = \"signal:approve\"",
        )],
        &expect![[r#"
            L8 total: this `signal:decline` rule can never be followed
              102:9 "signal:decline": never reached
              93:6 "signal:decline": has no `when`, so it always matches
              help: rules of one trigger are tried in file order: put the one without `when` last, and remove rules that are never reached
        "#]],
    );
    check(
        &[(
            "on   = \"lease_expired\"\nfrom = \"assigned\"\n",
            "on = \"lease_expired\"\nfrom = \"assigned\"\nwhen = \"exhausted\"\n",
        )],
        &expect![[r#"
            L8 total: `lease_expired` from `assigned` has no rule for when `exhausted` does not hold
              85:8 "exhausted": the last rule has a condition
              83:6 "lease_expired": for this trigger
              help: add a rule for `lease_expired` without `when` after it
        "#]],
    );
}

#[test]
fn owned() {
    check(
        &[("on   = \"lease_expired\"\nfrom = \"assigned\"", "on = \"cancel\"\nfrom = \"assigned\"")],
        &expect![[r#"
            L9 owned: `assigned` has no rule for `lease_expired`
              8:1 assigned: a worker holds the job here
              8:22 "held": because of this role
              help: add rules from this state for `lease_expired`
        "#]],
    );
}

#[test]
fn timed() {
    check(
        &[("role = \"waiting\", timeout = \"3d\"", "role = \"waiting\"")],
        &expect![[r#"
            L10 timed: a job in `in_review` could wait indefinitely
              10:1 in_review: nothing ends the wait
              10:22 "waiting": no worker holds the job
              help: add a rule for `due`, or a `timeout` with its rule, or declare timeout = "never"
        "#]],
    );
    check(
        &[("{ role = \"held\" }", "{ role = \"held\", timeout = \"1m\" }")],
        &expect![[r#"
            L10 timed: `assigned` has a timeout, but no rule for it
              8:40 "1m": leads nowhere
              8:1 assigned: no `timeout` rule leaves this state
              help: add a transition with on = "timeout", from = "assigned"
        "#]],
    );
}

#[test]
fn sensible() {
    check(
        &[(
            "on   = \"signal:approve\"",
            "on = \"release\"\nfrom = \"in_review\"\nto = \"queued\"\n[[transitions]]\non   = \"signal:approve\"",
        )],
        &expect![[r#"
            L11 sensible: `release` leaves held and active states only, and `in_review` is waiting
              94:8 "in_review": cannot occur here
              10:22 "waiting": because of this role
              help: only there does a worker have a lease: remove it from `from`, or change the state's role
        "#]],
    );
}

#[test]
fn money() {
    check(
        &[("[\"failed\", \"dead\"]", "[\"failed\"]")],
        &expect![[r#"
            L12 money: `dead` neither settles nor refunds
              14:1 dead: a job may finish here
              23:1 [credits]: this does not list it
              help: add it to `settle` if the reserved credits are spent there, or to `refund` if they are returned
        "#]],
    );
    check(
        &[("[\"failed\", \"dead\"]", "[\"failed\", \"dead\", \"rejected\"]")],
        &expect![[r#"
            L12 money: `rejected` is listed twice in [credits]
              25:29 "rejected": second time
              24:24 "rejected": first time
              help: reserved credits move once: settle or refund them
        "#]],
    );
}
