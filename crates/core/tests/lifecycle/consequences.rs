//! One mistake is one flaw: flaws that only follow from another are not reported.

use tenure_core::lifecycle::Lifecycle;

use super::{REVIEW, flaws};

fn report(source: &str) -> String {
    let lines: Vec<String> =
        Lifecycle::parse(source).unwrap_err().iter().map(|flaw| format!("{flaw}\n")).collect();
    lines.concat()
}

#[test]
fn an_undeclared_state_is_reported_once_with_every_place() {
    let found = flaws(&[("in_review = { role = \"waiting\", timeout = \"3d\" }\n", "")]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].locations.len(), 4);
}

#[test]
fn a_misspelled_table_of_transitions_is_read_as_meant() {
    let source = REVIEW.replace("[[transitions]]", "[[transition]]");
    let found = Lifecycle::parse(&source).unwrap_err();
    assert_eq!(found.len(), 1, "{found:#?}");
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

cases! {
    "consequences", report:
    fn a_misspelled_state_makes_no_state_unreachable();
    fn a_missing_role_does_not_also_break_what_depends_on_it();
    fn an_unknown_trigger_might_have_been_the_missing_one();
    fn a_state_that_leads_into_a_trap_is_reported_with_it();
    fn independent_flaws_are_reported_together();
}
