//! Differences between versions, and whether live jobs could continue.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use tenure_core::lifecycle::{Lifecycle, diff};

use super::review;

fn check(changes: &[(&str, &str)], expected: &Expect) {
    let old = Lifecycle::parse(&review(&[])).unwrap();
    let new = Lifecycle::parse(&review(changes)).unwrap();
    let found = diff(&old, &new);
    let mut text = format!("{}\n", if found.compatible { "compatible" } else { "not compatible" });
    for change in &found.changes {
        let _ = writeln!(text, "{} {}: {}", change.kind.as_str(), change.what, change.how);
        if let Some(why) = &change.blocks {
            let _ = writeln!(text, "    {why}");
        }
    }
    expected.assert_eq(&text);
}

#[test]
fn nothing() {
    check(
        &[],
        &expect![[r#"
        compatible
    "#]],
    );
}

#[test]
fn settings_do_not_block() {
    check(
        &[
            ("version = 1", "version = 2"),
            ("lease        = \"60s\"", "lease = \"30s\""),
            ("factor = 2.0", "factor = 3"),
            ("timeout = \"1h\"", "timeout = \"2h\""),
            ("settle = [\"published\", \"rejected\"]", "settle = [\"published\"]"),
            ("refund = [\"failed\", \"dead\"]", "refund = [\"failed\", \"dead\", \"rejected\"]"),
            ("mount = \"/reviews\"", "mount = \"/r\""),
            ("state = \"status\"", "state = \"stage\""),
            ("jobs      = \"30d\"", "jobs = \"60d\""),
            ("alias = \"done\"", "alias = \"ok\""),
            ("audit = \"DECLINED\"", "audit = \"NO\""),
        ],
        &expect![[r#"
            compatible
            changed version: 1 → 2
            changed state `queued`: timeout 1h → timeout 2h
            changed state `published`: alias done → alias ok
            changed rule `signal:decline` from `in_review`: audit DECLINED → audit NO
            changed policy lease: 1m → 30s
            changed policy backoff: 1s × 2 up to 1m, jitter full → 1s × 3 up to 1m, jitter full
            changed credits in `rejected`: settled → refunded
            changed retention jobs: 30d → 60d
            changed api mount: /reviews → /r
            changed api field `state`: status → stage
        "#]],
    );
}

#[test]
fn a_new_final_state_and_a_new_signal_do_not_block() {
    check(
        &[
            ("dead      = {", "withdrawn = { outcome = \"cancelled\" }\ndead      = {"),
            ("refund = [\"failed\", \"dead\"]", "refund = [\"failed\", \"dead\", \"withdrawn\"]"),
            (
                "on   = \"signal:approve\"",
                "on = \"cancel\"\nfrom = [\"queued\", \"in_review\"]\nto = \"withdrawn\"\n[[transitions]]\non   = \"signal:approve\"",
            ),
        ],
        &expect![[r#"
            compatible
            added state `withdrawn`: outcome cancelled
            added rule `cancel` from `queued`: to `withdrawn`, event job_withdrawn
            added rule `cancel` from `in_review`: to `withdrawn`, event job_withdrawn
        "#]],
    );
}

#[test]
fn a_removed_live_state_blocks() {
    check(
        &[
            ("assigned  = { role = \"held\" }\n", ""),
            (
                "from = \"queued\"\nto   = \"assigned\"",
                "from = \"queued\"\nto   = \"drafting\"\nevent = \"drafting_started\"",
            ),
            (
                "[[transitions]]\non    = \"start\"\nfrom  = \"assigned\"\nto    = \"drafting\"\nevent = \"drafting_started\"\n",
                "",
            ),
            ("[[transitions]]\non   = \"lease_expired\"\nfrom = \"assigned\"\nto   = \"failed\"\n", ""),
        ],
        &expect![[r#"
            not compatible
            removed state `assigned`: role held
                a live job may be in `assigned`, which would not exist
            changed rule `claim` from `queued`: to `assigned` → to `drafting`
            changed rule `claim` from `queued`: event job_assigned → event drafting_started
            removed rule `start` from `assigned`: to `drafting`, event drafting_started
            removed rule `lease_expired` from `assigned`: to `failed`, event job_failed
        "#]],
    );
}

#[test]
fn a_changed_role_and_a_timer_without_a_rule_block() {
    check(
        &[
            ("role = \"waiting\", timeout = \"3d\"", "role = \"ready\""),
            (
                "on   = \"succeed\"\nfrom = \"drafting\"\nto   = \"in_review\"",
                "on = \"succeed\"\nfrom = \"drafting\"\nto = \"published\"",
            ),
            ("from = [\"queued\", \"in_review\"]", "from = \"queued\""),
            (
                "on   = \"claim\"",
                "on = \"signal:look\"\nfrom = \"queued\"\nto = \"in_review\"\n[[transitions]]\non   = \"claim\"",
            ),
        ],
        &expect![[r#"
            not compatible
            changed state `in_review`: role waiting → role ready
                a live job may have entered `in_review` when it was waiting, and would be ready
            changed state `in_review`: timeout 3d → no timeout
                the timeout of a live job in `in_review` may be running, and would have no rule
            changed rule `succeed` from `drafting`: to `in_review` → to `published`
            changed rule `succeed` from `drafting`: event job_in_review → event job_published
            removed rule `timeout` from `in_review`: to `failed`, event job_failed
            added rule `signal:look` from `queued`: to `in_review`, event job_in_review
        "#]],
    );
}

#[test]
fn a_report_that_a_worker_may_still_send_blocks() {
    let old = review(&[(
        "on   = \"signal:approve\"",
        "on = \"release\"\nfrom = \"drafting\"\nto = \"queued\"\n[[transitions]]\non   = \"signal:approve\"",
    )]);
    let found = diff(&Lifecycle::parse(&old).unwrap(), &Lifecycle::parse(&review(&[])).unwrap());
    assert!(!found.compatible);
    let why = found.changes[0].blocks.as_deref();
    assert_eq!(why, Some("a worker that holds a live job in `drafting` may still report `release`"));
}

#[test]
fn a_reversed_order_blocks() {
    let two = |first: &str, second: &str| {
        let source = format!(
            "name = \"two\"\nversion = 1\ninitial = \"queued\"\n[states]\nqueued = {{ role = \"ready\" }}\n\
             one = {{ role = \"waiting\", timeout = \"never\" }}\ntwo = {{ role = \"waiting\", timeout = \"never\" }}\n\
             done = {{ outcome = \"succeeded\" }}\n[[transitions]]\non = \"create\"\nto = \"queued\"\n\
             [[transitions]]\non = \"signal:a\"\nfrom = \"queued\"\nto = \"{first}\"\n\
             [[transitions]]\non = \"signal:b\"\nfrom = \"{first}\"\nto = \"{second}\"\n\
             [[transitions]]\non = \"signal:c\"\nfrom = \"{second}\"\nto = \"done\"\n"
        );
        Lifecycle::parse(&source).unwrap()
    };
    let found = diff(&two("one", "two"), &two("two", "one"));
    let blocks: Vec<&str> = found.changes.iter().filter_map(|change| change.blocks.as_deref()).collect();
    assert_eq!(blocks, ["a live job that went from `one` to `two` would have moved backwards"]);
}

#[test]
fn credits_that_would_stay_reserved_block() {
    check(
        &[("[credits]\nsettle = [\"published\", \"rejected\"]\nrefund = [\"failed\", \"dead\"]\n", "")],
        &expect![[r#"
            not compatible
            removed credits: no final state settles or refunds
                credits reserved for a live job would never be settled or refunded
        "#]],
    );
}
