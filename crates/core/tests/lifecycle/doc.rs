//! The example file in `docs/lifecycles.md` passes, and each example of a rule breaks that rule only.

use tenure_core::lifecycle::{Lifecycle, RuleId};

use super::cases::changed;

const DOC: &str = include_str!("../../../../docs/lifecycles.md");

/// The blocks of one language, each with the last heading before it.
fn blocks(language: &str) -> Vec<(&'static str, &'static str)> {
    let (mut found, mut heading) = (Vec::new(), "");
    // Text and blocks alternate.
    for (index, part) in DOC.split("```").enumerate() {
        if index % 2 == 0 {
            let last = part.lines().rfind(|line| line.starts_with('#'));
            heading = last.map_or(heading, |line| line.trim_start_matches(['#', ' ']));
        } else if let Some(block) = part.strip_prefix(language).and_then(|rest| rest.strip_prefix('\n')) {
            found.push((heading, block));
        }
    }
    found
}

fn base() -> &'static str {
    blocks("toml")[0].1
}

#[test]
fn the_documented_file_passes() {
    assert!(Lifecycle::parse(base()).is_ok());
}

#[test]
fn each_rule_has_an_example_that_it_alone_refuses() {
    let examples = blocks("diff");
    let headings: Vec<&str> = examples.iter().map(|(heading, _)| *heading).collect();
    let rules: Vec<String> = RuleId::ALL[1..].iter().map(|rule| format!("{rule} {}", rule.title())).collect();
    assert_eq!(headings, rules, "one example under each rule");
    for (heading, change) in examples {
        let flaws = Lifecycle::parse(&changed(base(), change)).expect_err(heading);
        let lines: Vec<String> = flaws.iter().map(ToString::to_string).collect();
        for flaw in &flaws {
            assert!(heading.starts_with(&format!("{} ", flaw.rule)), "{heading} is broken by {lines:#?}");
        }
    }
}
