//! A table of broken files: each change breaks one rule, and is reported as one flaw of that rule.

use tenure_core::lifecycle::{Lifecycle, RuleId};

use super::cases::{cases, changed};
use super::{REVIEW, flaws};

const SYNTAX: &str = include_str!("cases/broken/syntax.txt");
const NAMES: &str = include_str!("cases/broken/names.txt");
const STRUCTURE: &str = include_str!("cases/broken/structure.txt");
const ORDER: &str = include_str!("cases/broken/order.txt");
const RULES: &str = include_str!("cases/broken/rules.txt");

/// Each case breaks the rule that it names, and no other; the rest of its line is a part of the message.
fn check(file: &str) {
    for (change, expected) in cases(file) {
        let (rule, message) = expected.trim_end().split_once(' ').unwrap();
        let found = Lifecycle::parse(&changed(REVIEW, change)).err().unwrap_or_default();
        let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 1, "{change} is one flaw: {lines:#?}");
        let flaw = &found[0];
        assert_eq!(flaw.rule.to_string(), rule, "{change} broke another rule: {lines:#?}");
        assert!(!flaw.help.is_empty() && !flaw.locations.is_empty(), "{flaw:?} has help and a location");
        assert!(flaw.message.contains(message), "{lines:#?} should contain {message}");
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
    let all: Vec<_> = [SYNTAX, NAMES, STRUCTURE, ORDER, RULES].into_iter().flat_map(cases).collect();
    for rule in RuleId::ALL {
        let broken = all.iter().filter(|(_, expected)| expected.starts_with(&format!("{rule} ")));
        assert!(broken.count() >= 2, "{rule} needs two broken files");
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
    let long = format!("{}\n# {}", REVIEW, "x".repeat(300_000));
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
