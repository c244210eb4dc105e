//! A table of broken files: each change breaks one rule, and is reported as one flaw of that rule.

mod cases;

use cases::{Case, NAMES, ORDER, RULES, STRUCTURE, SYNTAX};
use tenure_core::lifecycle::{Lifecycle, RuleId};

use super::{flaws, review};

fn check(cases: &[Case]) {
    for (rule, changes, message) in cases {
        let found = flaws(changes);
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(!found.is_empty(), "{rule}: {changes:?} should be refused");
        for flaw in &found {
            assert_eq!(flaw.rule, *rule, "{changes:?} broke more than one rule: {lines:#?}");
            assert!(!flaw.help.is_empty() && !flaw.locations.is_empty(), "{flaw:?} has help and a location");
        }
        assert_eq!(found.len(), 1, "{changes:?} is one flaw: {lines:#?}");
        assert!(found[0].message.contains(message), "{lines:#?} should contain {message}");
    }
}

#[test]
fn malformed_files_are_refused() {
    check(SYNTAX);
}

#[test]
fn unknown_and_ambiguous_names_are_refused() {
    check(NAMES);
}

#[test]
fn beginnings_ends_and_paths_between_them_are_checked() {
    check(STRUCTURE);
}

#[test]
fn cycles_and_unlimited_attempts_are_refused() {
    check(ORDER);
}

#[test]
fn incomplete_and_impossible_rules_are_refused() {
    check(RULES);
}

#[test]
fn each_rule_is_broken_by_at_least_two_files() {
    let all: Vec<&Case> = [SYNTAX, NAMES, STRUCTURE, ORDER, RULES].into_iter().flatten().collect();
    for rule in RuleId::ALL {
        assert!(
            all.iter().filter(|(broken, ..)| *broken == rule).count() >= 2,
            "{rule} needs two broken files"
        );
    }
}

#[test]
fn a_lifecycle_needs_a_final_state() {
    let source = "name = \"a\"\nversion = 1\ninitial = \"a\"\n[states]\na = { role = \"ready\" }\n\
                  [[transitions]]\non = \"create\"\nto = \"a\"\n";
    let found = Lifecycle::parse(source).unwrap_err();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].rule, found[0].message.as_str()), (RuleId::L2, "there is no final state"));
}

#[test]
fn sizes_are_limited() {
    let many: Vec<String> = (0..65).map(|n| format!("s{n} = {{ role = \"ready\" }}\n")).collect();
    let found = flaws(&[("[policy]", &format!("{}[policy]", many.concat()))]);
    assert_eq!(found[0].message, "there are 73 states, more than 64");
    let names = vec!["\"queued\""; 5000].join(", ");
    let found = flaws(&[("[\"queued\", \"in_review\"]", &format!("[{names}]"))]);
    assert!(found[0].message.starts_with("there are 5014 rules"), "{}", found[0].message);
    let long = format!("{}\n# {}", review(&[]), "x".repeat(300_000));
    assert_eq!(Lifecycle::parse(&long).unwrap_err()[0].message, "the file is larger than 262144 bytes");
}

#[test]
fn places_count_lines_from_one_and_columns_in_characters() {
    let found = flaws(&[("about   = \"Drafted by", "about = \"Überprüft\"\nabut = \"Drafted by")]);
    let place = &found[0].locations[0];
    assert_eq!((place.line, place.column), (4, 1));
    let found = flaws(&[("{ role = \"held\" }", "{ alias = \"ö\", role = \"hold\" }")]);
    assert_eq!(found.iter().map(|flaw| flaw.locations[0].column).collect::<Vec<_>>(), [23, 35]);
}
