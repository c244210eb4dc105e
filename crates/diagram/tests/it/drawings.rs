//! The four formats of a lifecycle without live values.

use proptest::prelude::*;
use tenure_core::lifecycle::Lifecycle;
use tenure_diagram::{Format, draw};

use super::mutated::mutated_file;
use super::{all, assert_snapshot, named};

const FORMATS: [Format; 4] = [Format::Text, Format::Mermaid, Format::Dot, Format::Svg];

#[test]
fn drawings_match_their_snapshots() {
    for (file, lifecycle, format) in [
        ("distributed.txt", "distributed", Format::Text),
        ("image.txt", "image", Format::Text),
        ("engine.mermaid", "engine", Format::Mermaid),
        ("so1.dot", "so1", Format::Dot),
        ("so1.svg", "so1", Format::Svg),
    ] {
        assert_snapshot(file, &draw(&named(lifecycle), format));
    }
}

#[test]
fn every_rule_is_in_every_drawing() {
    for lifecycle in all() {
        for format in FORMATS {
            let drawing = draw(&lifecycle, format);
            assert!(drawing.ends_with('\n'));
            for rule in lifecycle.rules.iter().filter(|rule| rule.from.is_some()) {
                let trigger = rule.on.to_string();
                // Mermaid ends a description at a colon.
                let label = if format == Format::Mermaid { trigger.replace(':', " ") } else { trigger };
                assert!(drawing.contains(&label), "{} {format:?} {rule:?}", lifecycle.name);
            }
        }
    }
}

#[test]
fn the_diagram_in_the_documentation_is_current() {
    let page = include_str!("../../../../docs/lifecycles.md");
    let block = |language: &str| {
        let after = page.split_once(&format!("```{language}\n")).expect("the page has such a block").1;
        after.split_once("```").expect("the block ends").0
    };
    let drawing = draw(&Lifecycle::parse(block("toml")).unwrap(), Format::Text);
    assert!(drawing.starts_with(block("text")), "the diagram on the page should be\n{drawing}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_valid_lifecycle_can_be_drawn(file in mutated_file()) {
        if let Ok(lifecycle) = Lifecycle::parse(&file.source) {
            for format in FORMATS {
                prop_assert!(draw(&lifecycle, format).ends_with('\n'));
            }
        }
    }
}
