//! Differences between versions, and whether live jobs could continue.

use std::fmt::Write as _;

use tenure_core::lifecycle::{Lifecycle, diff};

use super::{REVIEW, review};

fn report(source: &str) -> String {
    let found = diff(&Lifecycle::parse(REVIEW).unwrap(), &Lifecycle::parse(source).unwrap());
    let mut text = format!("{}\n", if found.compatible { "compatible" } else { "not compatible" });
    for change in &found.changes {
        let _ = writeln!(text, "{} {}: {}", change.kind.as_str(), change.what, change.how);
        if let Some(why) = &change.blocks {
            let _ = writeln!(text, "    {why}");
        }
    }
    text
}

#[test]
fn a_report_that_a_worker_may_still_send_blocks() {
    let old = review(&[(
        "on   = \"signal:approve\"",
        "on = \"release\"\nfrom = \"drafting\"\nto = \"queued\"\n[[transitions]]\non   = \"signal:approve\"",
    )]);
    let found = diff(&Lifecycle::parse(&old).unwrap(), &Lifecycle::parse(REVIEW).unwrap());
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

cases! {
    "diffs", report:
    fn nothing();
    fn settings_do_not_block();
    fn a_new_final_state_and_a_new_signal_do_not_block();
    fn a_removed_live_state_blocks();
    fn a_changed_role_and_a_timer_without_a_rule_block();
    fn credits_that_would_stay_reserved_block();
}
